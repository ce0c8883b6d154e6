"""Steady work on a deep stack, counted: work.py SECONDS FILE DEPTH.

The innermost dozen frames come and go, the others stay.  The count of rounds
so far lies in FILE as one 64-bit number in the machine's byte order.
"""

import mmap
import os
import sys

import portrait

FILE = sys.argv[2]
DEPTH = int(sys.argv[3])
MOVING = 12


def leaf(n):
    total = 0
    for i in range(n):
        total += i ^ 3
    return total


def top(k):
    if k <= 0:
        rounds[0] += 1
        return leaf(20)
    leaf(5)
    top(k - 1)
    if k % 3 == 0:
        top(k - 2)


def bottom(n):
    if n == 0:
        while not portrait.over():
            top(MOVING)
        return None
    return bottom(n - 1)


file = os.open(FILE, os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
rounds = memoryview(mmap.mmap(file, 4096)).cast("Q")
sys.setrecursionlimit(DEPTH + 100)
portrait.publish(depth=DEPTH)
bottom(DEPTH - MOVING)
