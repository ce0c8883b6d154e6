"""Threads one after another, whose times are known: each is busy for a while.

The rounds so far lie in a shared file for the test to read: in_turn.py SECONDS
FILE.  Its numbers have 64 bits in the machine's byte order.  The first one
counts the rounds; each round has three times of the monotonic clock in
nanoseconds: its begin, and the begin and the end of its thread's work.
"""

import mmap
import os
import sys
import threading
import time

import portrait

BUSY_NS = 20_000_000
PAUSE_S = 0.005
ROUNDS = 50000  # more than a test needs; the program ends after them


def work(numbers, at):
    clock, wall = time.clock_gettime_ns, time.CLOCK_MONOTONIC
    begin = now = clock(wall)
    while now < begin + BUSY_NS:
        now = clock(wall)
    numbers[at] = begin
    numbers[at + 1] = now


def main():
    size = 8 * (1 + 3 * ROUNDS)
    file = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
    os.ftruncate(file, size)
    numbers = memoryview(mmap.mmap(file, size)).cast("Q")
    portrait.publish()
    for number in range(ROUNDS):
        at = 1 + 3 * number
        numbers[at] = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        thread = threading.Thread(target=work, args=(numbers, at + 1))
        thread.start()
        thread.join()
        time.sleep(PAUSE_S)
        numbers[0] = number + 1


main()
