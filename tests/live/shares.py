"""Shares of samples against shares of time.

Samples of one thread are not independent: while it waits for a processor it is
sampled at one place again and again.  So the standard error of a share is that
of the differences between blocks of time, and at least that of independent
samples.
"""

import math

# One deviation in 10,000 is larger by chance, in blocks without number; one in
# 3,000 in 25 of them (Student's t).  live.expect_within() measures it again.
STANDARD_ERRORS = 4


def deviation(blocks):
    """By how many standard errors a function has too many samples.  A block is
    (samples of the function, all samples, the function's share of the time)."""
    samples = sum(n for _, n, _ in blocks)
    off = [own - share * n for own, n, share in blocks]
    share = sum(share * n for _, n, share in blocks) / samples
    between = sum(x * x for x in off) * len(blocks) / (len(blocks) - 1)
    independent = samples * share * (1 - share)
    return sum(off) / math.sqrt(max(between, independent))
