"""Shares of the time against the program's own clock."""

import math
import struct

import live
from live import expect

ON_CPU = 2
SAMPLES = 40000
RATE = 5000
# 36 shares are compared: at 3 standard errors one in ten runs would fail.
STANDARD_ERRORS = 4


def sums(path, n):
    with open(path, "rb") as file:
        return struct.unpack("%dQ" % n, file.read(8 * n))


@live.each_python
def self_time_shares_are_those_of_the_programs_own_clock(python):
    with live.Target(python, "shares.py", "sums") as target:
        names = target.portrait["names"]
        before = sums("sums", len(names))
        live.record(target, "run.bin", "-r", RATE, seconds=SAMPLES // RATE)
        after = sums("sums", len(names))
    spent = [b - a for a, b in zip(before, after)]
    seen = dict(live.Database("run.bin").rows(
        "SELECT qualname, sum(n) FROM node_self"
        " JOIN node ON node.id = node_self.node_id"
        " JOIN function ON function.id = node.function_id"
        " WHERE status & ? GROUP BY qualname", ON_CPU))
    total = sum(seen.get(name, 0) for name in names)
    expect(total > SAMPLES / 4, "only %d samples on the processor", total)
    for name, time in zip(names, spent):
        share = time / sum(spent)
        error = math.sqrt(share * (1 - share) / total)
        off = (seen.get(name, 0) / total - share) / error
        print("# %s: true share %.4f, %+.1f standard errors" %
              (name, share, off))
        expect(abs(off) <= STANDARD_ERRORS,
               "%s is %.1f standard errors off", name, off)


live.run()
