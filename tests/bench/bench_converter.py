"""Conversions and questions against stock replay, on a large made profile."""

import os
import time

import measure
from measure import live

SAMPLES = int(os.environ.get("PYREC_BENCH_SAMPLES",
                             200000 if measure.QUICK else 2000000))
HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = min(3, measure.ROUNDS)  # stock takes half a minute each time

# target, what stock writes that is nearest to it, the most of its time
TARGETS = (("pstats", "pstats", 1 / 50), ("speedscope", "pstats", 1 / 25),
           ("collapsed", "collapsed", 1 / 25), ("sqlite", "pstats", 1 / 25),
           ("pprof", "pstats", 1 / 25), ("firefox", "pstats", 1 / 25),
           ("callgrind", "pstats", 1 / 25))


def seconds(*command):
    begin = time.monotonic()
    live.succeed(*command)
    return time.monotonic() - begin


def convert(target):
    return seconds(live.PYCONV, "large.bin", "--to", target, "-f", "-o",
                   "ours." + target)


def replay(target):
    return seconds(live.STOCK, "-m", "profiling.sampling", "replay",
                   "--" + target, "-o", "stock.out", "large.bin")


def main():
    measure.need_stock()
    live.succeed(live.STOCK, os.path.join(HERE, "large_profile.py"),
                 "large.bin", SAMPLES)
    rows = [measure.Row("%d samples to %s, stock %s" % (SAMPLES, ours, theirs),
                        "s", limit) for ours, theirs, limit in TARGETS]
    top = measure.Row("top 20 by self of them, stock pstats", "s", 1 / 500)
    for _ in range(ROUNDS):
        stock = {target: replay(target) for target in ("pstats", "collapsed")}
        for row, (ours, theirs, _) in zip(rows, TARGETS):
            row.add(lambda: convert(ours), stock[theirs])
        top.add(lambda: seconds(live.PYQUERY, "ours.sqlite", "top 20 by self"),
                stock["pstats"])
    for row in rows + [top]:
        row.end()


main()
