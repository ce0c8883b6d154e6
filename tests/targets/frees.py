"""A deep stack whose leaf makes and frees code objects, or does not.

usage: frees.py SECONDS frees|keeps
"""

import sys

import portrait

DEPTH = 40


def deep(n):
    if n:
        deep(n - 1)
    else:
        leaf()


def leaf():
    k = 0
    while not portrait.over():
        k += 1
        if sys.argv[2] == "frees":
            compile("x = %d" % k, "", "exec")
        for i in range(300):
            k ^= i


portrait.publish()
deep(DEPTH)
