"""Collects garbage a known number of times, then waits."""

import gc
import sys

import portrait

if sys.version_info < (3, 15):
    sys.exit(77)

TIMES = 3


class Ring:
    """Refers to itself, so that only the collector frees it."""

    def __init__(self):
        self.me = self


for _ in range(TIMES):
    Ring()
    gc.collect()
portrait.publish(times=TIMES)
while not portrait.over():
    Ring()
    gc.collect()
    sys.stdin.readline()  # the test says when
