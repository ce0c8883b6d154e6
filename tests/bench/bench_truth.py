"""Stacks that cannot be, of programs whose every stack follows a rule: each
kind on each Python, at 1 and 10 kHz, with the default strategy.

usage: bench_truth.py [SAMPLES [KIND|VERSION ...]]

SAMPLES is how many ticks a recording lasts (2,000, but no less than a second).
With 100,000 of all it takes five hours: run it by hand, with the variables of
BUILD/interpreters.env and BIN=BUILD SRC=SOURCE, in a folder of its own.
"""

import sys

from measure import live
import rules

SAMPLES = int(sys.argv[1]) if sys.argv[1:] else 2000
RATES = (1000, 10000)
# The most that may be lost or unproven at 1 kHz: of one thread, of several.
ASTRAY = 0.005, 0.02
# Another process moves this one: the samples that remain are not a fair part.
ALWAYS_LOST = {"moved"}
# The kinds whose mean depth is compared with that of the stopped target.
DEPTHS = {"tree", "chain", "fib"}
BLOCKING_RATE = 4000


def result(good, text, *values):
    print(("ok " if good else "not ok ") + text % values, flush=True)


def chosen(names):
    wanted = [name for name in names if name in sys.argv[2:]]
    return wanted or list(names)


def measure_cell(version, kind, rate):
    """What the recording of one cell is worth."""
    seconds = max(1, SAMPLES / rate)
    cell = rules.Cell(live.PYTHONS[version], kind, rate, seconds)
    where = "%s on %s at %d Hz" % (kind, version, rate)
    result(cell.impossible <= cell.unproven,
         "%s: %d of %d stacks cannot be (at most the %d unproven)",
         where, cell.impossible, cell.samples, cell.unproven)
    for example in cell.examples[:10]:
        print("# " + example)
    limit = ASTRAY[kind in rules.SEVERAL]
    judged = rate == 1000 and kind not in ALWAYS_LOST
    result(not judged or cell.astray() <= limit,
         "%s: %d lost, %d not proven, %.3f %%%s; ran %.0f %% of a processor",
         where, cell.lost, cell.unproven, 100 * cell.astray(),
         " (at most %.1f %%)" % (100 * limit) if judged else "",
         100 * cell.busy)
    return cell


def compare_depth(version, kind, cell):
    stopped = rules.Cell(live.PYTHONS[version], kind, BLOCKING_RATE,
                         max(1, SAMPLES / 10000), "--blocking")
    ours, truth = cell.depth(), stopped.depth()
    off, limit = rules.depth_off(ours, truth)
    result(abs(off) <= limit, "depth of %s on %s: %.2f +- %.2f, stopped "
         "%.2f +- %.2f: %+.2f off (at most %.2f)", kind, version, *ours,
         *truth, off, limit)


def main():
    versions = [version for version in live.PYTHONS if live.PYTHONS[version]]
    for version in chosen(versions):
        for kind in chosen(rules.KINDS):
            try:
                for rate in RATES:
                    cell = measure_cell(version, kind, rate)
                if kind in DEPTHS:
                    compare_depth(version, kind, cell)
            except live.Skip as reason:
                print("ok %s on %s # SKIP %s" % (kind, version, reason),
                      flush=True)


main()
