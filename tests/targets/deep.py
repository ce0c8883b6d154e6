"""A stack of any depth: deep.py SECONDS DEPTH."""

import sys

import portrait

DEPTH = int(sys.argv[2])


def bottom():
    portrait.publish(depth=DEPTH)
    while not portrait.over():
        pass


def descend(n):
    if n == 0:
        return bottom()
    return descend(n - 1)


# "<module>" and bottom() stand below and above the recursion.
sys.setrecursionlimit(DEPTH + 100)
descend(DEPTH - 3)
