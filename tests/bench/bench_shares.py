"""Where the time goes, by the target's own thread clock: all shares, the leaf
of a chain that makes system calls, and the lines that call the clock.

By the default strategy, by SCHED_FIFO, by --strategy remote, whose bias is
printed and not judged, and by a user without privileges, who gets a slice.

usage: bench_shares.py [SAMPLES [VERSION ...]]
"""

import os
import shutil
import struct
import sys

from measure import live

RATE = 2000
SAMPLES = int(sys.argv[1]) if sys.argv[1:] else 8000
NOBODY = 65534
# 19 degrees of freedom: one run in a thousand is over 44 by chance
CHI_SQUARE = 45
# The program's part of a processor, below which others had too much of it: its
# samples are not independent then, and its times are not equal.
QUIET = 0.75
# How far a share may be outside of what the clock, or FIFO, says.
OFF = 0.03
HOWS = {"default": (), "fifo": ("--realtime",),
        "remote": ("--strategy", "remote")}


class Costs:
    """What a recording of costs.py and its clock say."""

    def __init__(self, python, kind, *options, **target):
        for name in "sums", "run.bin":
            if os.path.exists(name):
                os.unlink(name)  # may be another user's
        with live.Target(python, "costs.py", os.path.abspath("sums"), kind,
                         seconds=SAMPLES / RATE + live.PATIENCE,
                         **target) as program:
            stated = program.portrait
            before = self.read_sums(stated["calls"])
            live.succeed("./pyrec", "-p", program.pid, "-o", "run.bin", "-f",
                         "-r", RATE, "-d", SAMPLES / RATE, *options, **target)
            after = self.read_sums(stated["calls"])
        self.first = stated["first"]
        self.spent = [b - a for a, b in zip(before, after)][:-1]
        self.database = live.Database("run.bin")
        self.policy = self.database.meta("recorder.policy")
        self.seen = [self.below(i) for i in range(len(self.spent))]
        self.busy = sum(self.spent) / 1e9 / (SAMPLES / RATE)

    @staticmethod
    def read_sums(n):
        with open("sums", "rb") as file:
            return struct.unpack("%dQ" % (n + 1), file.read(8 * (n + 1)))

    def below(self, i):
        """Samples on the processor while line i of the loop runs."""
        return self.database.value(
            "SELECT coalesce(sum(n), 0) FROM node JOIN function"
            " ON function.id = function_id JOIN node_self"
            " ON node_id BETWEEN node.id AND last_id"
            " WHERE qualname = 'loop' AND line = ? AND status & 2",
            self.first + i)

    def own(self, name, *line):
        """Samples on the processor in a function itself, or in a line of it."""
        return self.database.value(
            "SELECT coalesce(sum(n), 0) FROM node_self JOIN node"
            " ON node.id = node_id JOIN function ON function.id = function_id"
            " WHERE qualname = ? AND status & 2" + " AND line = ?" * len(line),
            name, *line)

    def chi_square(self):
        """Over the calls; the loop itself (the last) makes no degree more."""
        spent, seen = self.spent[:-1], self.seen[:-1]
        total, samples = sum(spent), sum(seen)
        return sum((n - samples * s / total) ** 2 / (samples * s / total)
                   for n, s in zip(seen, spent))

    def loop_share(self):
        """If each line costs the loop what the one without a call does."""
        return len(self.spent) * self.spent[-1] / sum(self.spent)


def report(costs, good, text, *values):
    busy = "" if costs.busy >= QUIET else " # SKIP the machine is busy"
    print(("ok " if good or busy else "not ok ") + text % values + busy,
          flush=True)


def mixed(version, how, python, *options, **target):
    costs = Costs(python, "mixed", *options, **target)
    chi = costs.chi_square()
    judged = how != "remote"
    report(costs, not judged or chi < CHI_SQUARE,
         "shares of 20 functions on %s, %s (%s): chi-square %.1f of %d"
         " samples%s, %.0f %% of a processor", version, how, costs.policy, chi,
         sum(costs.seen), " (less than %d)" % CHI_SQUARE if judged else "",
         100 * costs.busy)


def system(version, how, python, *options, **target):
    """The leaf costs about what it costs alone, and what the chain costs more
    than one without the system calls."""
    costs = Costs(python, "system", *options, **target)
    ours = costs.own("call100") / max(1, costs.seen[0] -
                                      costs.own("loop", costs.first))
    full, alone, bare = (spent - costs.spent[-1] for spent in costs.spent[:3])
    low, high = sorted((alone / full, 1 - bare / full))
    judged = how != "remote"
    report(costs, not judged or low - OFF <= ours <= high + OFF,
         "leaf with system calls on %s, %s (%s): share %.3f, by its clock %.3f"
         " to %.3f%s", version, how, costs.policy, ours, low, high,
         " (within %.2f)" % OFF if judged else "")


# Share of the lines that call the clock, by version.
fifo_share = {}


def recursion(version, how, python, *options, **target):
    """Judged by FIFO: the clock does not see all that a call of it costs."""
    costs = Costs(python, "recursion", *options, **target)
    ours = costs.own("loop") / max(1, sum(costs.seen))
    wanted = fifo_share.setdefault(version, ours)
    judged = how in ("default", "fifo")
    report(costs, not judged or abs(ours - wanted) <= OFF,
         "lines that call the clock on %s, %s (%s): share %.3f, fifo %.3f%s,"
         " by the clock %.3f", version, how, costs.policy, ours, wanted,
         " (within %.2f)" % OFF if judged else "",
         costs.loop_share())


def reachable(python):
    """Can the unprivileged start this Python, and does it find the program?"""
    program = os.path.join(live.SOURCE, "tests", "targets", "costs.py")
    try:
        return live.call(python, "-c", "import sys; open(sys.argv[1]).close()",
                         program, user=NOBODY).returncode == 0
    except PermissionError:
        return False


def without_privileges(version, python):
    if os.geteuid() != 0 or not reachable(python):
        print("ok unprivileged on %s # SKIP no other user can start it" %
              version, flush=True)
        return
    for measurement in system, recursion:
        measurement(version, "unprivileged", python, user=NOBODY)


def main():
    # for the unprivileged, who may not get at the build folder either
    os.chmod(".", 0o777)
    shutil.copy(live.PYREC, "pyrec")
    chosen = sys.argv[2:] or [version for version in live.PYTHONS
                              if live.PYTHONS[version]]
    for version in chosen:
        python = live.PYTHONS[version]
        for how in "fifo", "default", "remote":
            for measurement in mixed, system, recursion:
                measurement(version, how, python, *HOWS[how])
        without_privileges(version, python)


main()
