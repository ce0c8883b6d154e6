"""Functions whose shares of the time are known: by the thread's own clock.

A fixed count of turns does not take a fixed time, so each call is timed by the thread's
processor clock; the sums so far lie in a shared file for the test to read:
shares.py SECONDS FILE.  One 64-bit nanosecond count for each function, in the
machine's byte order.
"""

import mmap
import os
import sys
import time

import portrait

TURNS = [8000, 16000, 32000, 64000, 128000, 256000]
SOURCE = "\n".join(
    "def share%d():\n    n = %d\n    while n:\n        n -= 1\n" % (i, turns)
    for i, turns in enumerate(TURNS))


def loop(calls, sums):
    clock = time.clock_gettime_ns
    kind = time.CLOCK_THREAD_CPUTIME_ID
    last = clock(kind)
    while True:
        for i, call in enumerate(calls):
            call()
            now = clock(kind)
            sums[i] += now - last
            last = now


def main():
    space = {}
    exec(compile(SOURCE, "shares.py", "exec"), space)
    names = ["share%d" % i for i in range(len(TURNS))]
    file = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, 4096)
    sums = memoryview(mmap.mmap(file, 4096)).cast("Q")
    portrait.publish(names=names)
    loop([space[name] for name in names], sums)


main()
