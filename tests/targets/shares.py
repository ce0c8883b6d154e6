"""Functions whose shares of the time are known: by the thread's own clock.

A fixed count of turns does not take a fixed time, so each call is timed by the
thread's processor clock.  The rounds so far lie in a shared file for the test
to read: shares.py SECONDS FILE.  Its numbers have 64 bits in the machine's byte
order.  The first one counts the rounds; each round has two times of the
monotonic clock, its begin and its end, and the processor time of each function,
all in nanoseconds.
"""

import mmap
import os
import sys
import time

import portrait

TURNS = [8000, 16000, 32000, 64000, 128000, 256000]
ROUNDS = 50000  # more than a test needs; the program ends after them
SOURCE = "\n".join(
    "def share%d():\n    n = %d\n    while n:\n        n -= 1\n" % (i, turns)
    for i, turns in enumerate(TURNS))


def loop(calls, file):
    clock = time.clock_gettime_ns
    own, wall = time.CLOCK_THREAD_CPUTIME_ID, time.CLOCK_MONOTONIC
    at = 1
    for number in range(1, ROUNDS + 1):
        begin = clock(wall)
        last = clock(own)
        for i, call in enumerate(calls, at + 2):
            call()
            now = clock(own)
            file[i] = now - last
            last = now
        file[at] = begin
        file[at + 1] = clock(wall)
        file[0] = number
        at += 2 + len(calls)


def main():
    space = {}
    exec(compile(SOURCE, "shares.py", "exec"), space)
    names = ["share%d" % i for i in range(len(TURNS))]
    size = 8 * (1 + ROUNDS * (2 + len(names)))
    file = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, size)
    numbers = memoryview(mmap.mmap(file, size)).cast("Q")
    portrait.publish(names=names)
    loop([space[name] for name in names], numbers)


main()
