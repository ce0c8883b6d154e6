"""The limits of a rate: thousands of idle threads, 50 kHz, many threads, and a
tick without any pause against CPython 3.15's unwinder."""

import os

import measure
from measure import live

HERE = os.path.dirname(os.path.abspath(__file__))
IDLE = 2000
MANY = 31  # and the one that works
FAST = 50000
WITHOUT_PAUSE = 1000000  # no tick is ever due later
SECONDS = 5
REMOTE = ("--strategy", "remote")


def ticks(target, rate, *options):
    """Ticks taken and missed in a recording."""
    live.record(target, "run.bin", "-f", "-q", "-r", rate, *options,
                seconds=SECONDS)
    database = live.Database("run.bin")
    return (int(database.meta("count.ticks")),
            int(database.meta("count.missed") or 0))


def idle_threads(version, python):
    watch = measure.Watch()
    with live.Target(python, "many.py", IDLE, seconds=600) as target:
        taken, missed = ticks(target, 100)
    measure.at_most("missed of %d ticks at 100 Hz, %d idle threads, on %s" %
                    (taken + missed, IDLE, version), missed, 0, "ticks", watch)


def sustained(version, python):
    watch = measure.Watch()
    with live.Target(python, "work.py", "rounds", 100, seconds=600) as target:
        taken, missed = ticks(target, FAST, *REMOTE)
    measure.at_least("part of the ticks due at %d Hz on %s, remote, depth 100"
                     % (FAST, version), taken / (taken + missed), 0.99, watch)


def stock_tick(target):
    return float(live.succeed(
        live.STOCK, os.path.join(HERE, "stock_unwind.py"), target.pid,
        SECONDS).stdout)


def our_tick(target):
    return measure.cost_of_a_sample(measure.ours, target, WITHOUT_PAUSE,
                                    *REMOTE)


def against_stock(python):
    for depth, limit in (100, 1 / 2), (500, 1 / 2):
        with live.Target(python, "work.py", "rounds", depth,
                         seconds=600) as target:
            measure.compare("a tick without a pause, remote, depth %d" % depth,
                            "us", lambda: our_tick(target),
                            lambda: stock_tick(target), limit)
    with live.Target(python, "many.py", MANY, seconds=600) as target:
        measure.compare(
            "processor time for one of %d threads, remote, 1 kHz" % (MANY + 1),
            "us", lambda: measure.cost_of_a_sample(
                measure.ours, target, 1000, *REMOTE),
            lambda: measure.cost_of_a_sample(
                measure.stock, target, 1000, "-a"), 1 / 3)


def main():
    for version, python in live.PYTHONS.items():
        if python:
            idle_threads(version, python)
            sustained(version, python)
    measure.need_stock()
    against_stock(live.PYTHONS["3.15"])


main()
