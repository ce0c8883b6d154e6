"""What the benchmarks share: processor time, ratios, and how they are printed."""

import os
import resource
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live

SHORT, LONG = 1, 6  # seconds; the difference is without start and end


def cpu_seconds(run):
    """Processor time of the children that run() starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime -
            before.ru_utime - before.ru_stime)


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
        spent.append(cpu_seconds(
            lambda: samples.append(live.header_samples(
                record(*arguments[:2], seconds, *arguments[2:])))))
    return 1e6 * (spent[1] - spent[0]) / (samples[1] - samples[0])


def ratio(what, ours, theirs, at_most, unit):
    """One line: our cost as part of theirs, and whether it is low enough."""
    part = ours / theirs
    print("%s %s: %.3g %s, stock %.3g: ratio %.2f (at most %.2f)" %
          ("ok" if part <= at_most else "not ok", what, ours, unit, theirs,
           part, at_most), flush=True)


def at_least(what, value, least):
    print("%s %s: %.3f (at least %.2f)" %
          ("ok" if value >= least else "not ok", what, value, least),
          flush=True)


def need_stock():
    if not live.STOCK:
        print("ok comparison with stock # SKIP no CPython 3.15 as peer")
        sys.exit(0)
