"""Shares of the time against the program's own clock."""

import math
import struct

import live
from live import expect

ON_CPU = 2
SAMPLES = 40000
RATE = 5000
# 36 shares are compared: at 3 standard errors one in ten runs would fail.
STANDARD_ERRORS = 4
# The program's part of a processor, below which others had too much of it; at
# this rate the sampler itself takes a seventh.
QUIET = 0.75


def sums(path, n):
    with open(path, "rb") as file:
        return struct.unpack("%dQ" % n, file.read(8 * n))


def own_samples(names):
    """Samples on the processor by function; those of the loop that calls and
    reads the clock fall to all alike, as its time does in the program's sums."""
    rows = dict(live.Database("run.bin").rows(
        "SELECT qualname, sum(n) FROM node_self"
        " JOIN node ON node.id = node_self.node_id"
        " JOIN function ON function.id = node.function_id"
        " WHERE status & ? GROUP BY qualname", ON_CPU))
    return [rows.get(name, 0) + rows.get("loop", 0) / len(names)
            for name in names]


@live.each_python
def self_time_shares_are_those_of_the_programs_own_clock(python):
    with live.Target(python, "shares.py", "sums") as target:
        names = target.portrait["names"]
        before = sums("sums", len(names))
        live.record(target, "run.bin", "-r", RATE, seconds=SAMPLES // RATE)
        after = sums("sums", len(names))
    spent = [b - a for a, b in zip(before, after)]
    running = sum(spent) / 1e9 / (SAMPLES / RATE)
    if running < QUIET:
        # While it waits for a processor it is sampled at one place again and
        # again: such samples are not independent.
        raise live.Skip("the machine is busy, the program ran %d %% of the time"
                        % (100 * running))
    seen = own_samples(names)
    expect(sum(seen) > SAMPLES / 2, "only %d samples on the processor",
           sum(seen))
    worst = 0
    for name, n, time in zip(names, seen, spent):
        share = time / sum(spent)
        error = math.sqrt(share * (1 - share) / sum(seen))
        off = (n / sum(seen) - share) / error
        print("# %s: true share %.4f, %+.1f standard errors" %
              (name, share, off))
        worst = max(worst, abs(off))
    expect(worst <= STANDARD_ERRORS, "%.1f standard errors off", worst)


live.run()
