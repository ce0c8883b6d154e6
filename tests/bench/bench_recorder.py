"""The recorder's cost against CPython 3.15's profiler and against austin on the
same target, and its cost to the target."""

import struct

import measure
from measure import live

DEPTH = 100
PAIRS = 4
# rate, and the most of stock's cost by each strategy
RATES = (1000, (0.4, 1 / 3)), (10000, (0.3, 0.25))


def rounds(path):
    with open(path, "rb") as file:
        return struct.unpack("Q", file.read(8))[0]


def work_rate(while_running):
    before = rounds("rounds")
    while_running()
    return rounds("rounds") - before


def kept_speed(target, *options):
    """The target's work with a recorder as part of its work without."""
    with_it = without = 0
    for _ in range(PAIRS):
        with_it += work_rate(lambda: measure.ours(target, 1000, 2, *options))
        # as long, in the same way, without a recorder
        without += work_rate(lambda: live.succeed("sleep", 2))
    return with_it / without


def main():
    measure.need_stock()
    against_stock()
    against_austin()


# austin 3.7 reads CPython up to 3.13; of the interpreters that Debian has, 3.11
# runs without a dynamic linker of its own, where austin does not find it.
def against_austin():
    python = live.PYTHONS["3.11"]
    if not measure.AUSTIN or not python:
        print("ok comparison with austin # SKIP no austin, or no CPython 3.11")
        return
    with live.Target(python, "work.py", "rounds", DEPTH,
                     seconds=600) as target:
        measure.compare(
            "processor time of a sample, auto, 1000 Hz, 3.11", "us",
            lambda: measure.cost_of_a_sample(measure.ours, target, 1000),
            lambda: measure.cost_of_a_sample(measure.austin, target, 1000), 1,
            "austin")


def against_stock():
    with live.Target(live.PYTHONS["3.15"], "work.py", "rounds", DEPTH,
                     seconds=600) as target:
        for rate, limits in RATES[:1] if measure.QUICK else RATES:
            for strategy, limit in zip(("auto", "remote"), limits):
                measure.compare(
                    "processor time of a sample, %s, %d Hz" % (strategy, rate),
                    "us", lambda: measure.cost_of_a_sample(
                        measure.ours, target, rate, "--strategy", strategy),
                    lambda: measure.cost_of_a_sample(
                        measure.stock, target, rate), limit)
        for strategy, least in ("auto", 0.95), ("remote", 0.98):
            watch = measure.Watch()
            measure.at_least("the target's speed at 1 kHz, " + strategy,
                             kept_speed(target, "--strategy", strategy), least,
                             watch)


main()
