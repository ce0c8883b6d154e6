"""Conversions and questions against stock replay, on a large made profile."""

import os
import time

import measure
from measure import live

SAMPLES = int(os.environ.get("PYREC_BENCH_SAMPLES", 2000000))
HERE = os.path.dirname(os.path.abspath(__file__))


def seconds(*command):
    begin = time.monotonic()
    live.succeed(*command)
    return time.monotonic() - begin


def convert(target, output):
    return seconds(live.PYCONV, "large.bin", "--to", target, "-f", "-o",
                   output)


def replay(target):
    return seconds(live.STOCK, "-m", "profiling.sampling", "replay",
                   "--" + target, "-o", "stock.out", "large.bin")


def main():
    measure.need_stock()
    live.succeed(live.STOCK, os.path.join(HERE, "large_profile.py"),
                 "large.bin", SAMPLES)
    pstats = replay("pstats")
    measure.ratio("to pstats", convert("pstats", "p.pstats"), pstats, 1 / 50,
                  "s")
    measure.ratio("to speedscope, stock pstats",
                  convert("speedscope", "p.json"), pstats, 1 / 25, "s")
    measure.ratio("to collapsed", convert("collapsed", "p.txt"),
                  replay("collapsed"), 1 / 25, "s")
    measure.ratio("to sqlite, stock pstats", convert("sqlite", "p.db"),
                  pstats, 1 / 25, "s")
    measure.ratio("top 20 by self, stock pstats",
                  seconds(live.PYQUERY, "p.db", "top 20 by self"), pstats,
                  1 / 500, "s")


main()
