"""The recorder's cost against stock CPython 3.15 on the same target, and what
both cost the target."""

import struct

import measure
from measure import live

DEPTH = 100
SHORT, LONG = 1, 6  # seconds; the difference is without start and end
PAIRS = 4


def ours(target, rate, seconds, *options):
    live.record(target, "ours.bin", "-r", rate, "-f", "-q", *options,
                seconds=seconds)
    return "ours.bin"


def stock(target, rate, seconds, *options):
    live.succeed(live.STOCK, "-m", "profiling.sampling", "attach", "--binary",
                 "-o", "stock.bin", "-r", rate, "-d", seconds, *options,
                 target.pid)
    return "stock.bin"


def cost_of_a_sample(record, *arguments):
    """Microseconds of processor time per sample that is in the file."""
    spent = []
    samples = []
    for seconds in SHORT, LONG:
        spent.append(measure.cpu_seconds(
            lambda: samples.append(live.header_samples(
                record(*arguments[:2], seconds, *arguments[2:])))))
    return 1e6 * (spent[1] - spent[0]) / (samples[1] - samples[0])


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
        with_it += work_rate(lambda: ours(target, 1000, 2, *options))
        # as long, in the same way, but nobody looks
        without += work_rate(lambda: live.succeed("sleep", 2))
    return with_it / without


def main():
    measure.need_stock()
    with live.Target(live.PYTHONS["3.15"], "work.py", "rounds", DEPTH,
                     seconds=600) as target:
        for rate, limits in ((1000, (0.4, 1 / 3)), (10000, (0.3, 0.25))):
            theirs = cost_of_a_sample(stock, target, rate)
            for strategy, limit in zip(("auto", "remote"), limits):
                measure.ratio(
                    "processor time of a sample, %s, %d Hz" % (strategy, rate),
                    cost_of_a_sample(ours, target, rate, "--strategy",
                                     strategy), theirs, limit, "us")
        measure.at_least("the target's speed at 1 kHz, auto",
                         kept_speed(target), 0.95)
        measure.at_least("the target's speed at 1 kHz, remote",
                         kept_speed(target, "--strategy", "remote"), 0.98)


main()
