"""What the benchmarks share: processor time, ratios to a peer, and how they are
printed.

The peer is CPython 3.15's profiler or austin.  A row alternates between us and
the peer, PYREC_BENCH_ROUNDS times (5), and its value is the median of the
ratios of the rounds.  While it runs, other programs
may use a little of the processors; when they use more, the row is skipped: it
is not a measurement.  Each row is one line of TAP, and one of JSON in the file that
PYREC_BENCH_JSON names.
"""

import ctypes
import glob
import json
import os
import re
import resource
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live

SHORT, LONG = 1, 6  # seconds; the difference is without start and end
ROUNDS = int(os.environ.get("PYREC_BENCH_ROUNDS", 5))
QUICK = bool(os.environ.get("PYREC_BENCH_QUICK"))
OTHERS_AT_MOST = 0.05  # of all processors
AUSTIN = os.environ.get("PYREC_AUSTIN")
TICK = os.sysconf("SC_CLK_TCK")


def busy_seconds():
    """The time of all processors since the machine started, without idle and waiting."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(
            int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICK


def adopt_orphans():
    """The time of a process is its parent's after a wait for it, and lost where
    the parent ends first, as a browser's does; an orphan becomes the child of
    this program from now on (prctl(2), PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def wait_for_orphans():
    """Call it while nothing runs that is to be waited for elsewhere."""
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        pass


def own_seconds():
    """The time of this program and all that it started, ended or not."""
    parents, seconds = {}, {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as file:
                fields = file.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        pid = int(path.split("/")[2])
        parents[pid] = int(fields[1])
        seconds[pid] = sum(map(int, fields[11:15])) / TICK
    total, known = 0, {os.getpid()}
    while known:
        total += sum(seconds.get(pid, 0) for pid in known)
        known = {pid for pid, parent in parents.items() if parent in known}
    return total


class Watch:
    """The part of all processors that other programs use from now on."""

    def __init__(self):
        self.begin = time.monotonic(), busy_seconds(), own_seconds()

    def others(self):
        elapsed, busy, own = (
            now - then for now, then in zip(
                (time.monotonic(), busy_seconds(), own_seconds()), self.begin))
        return max(0, busy - own) / (max(elapsed, 1 / TICK) * os.cpu_count())


def report(good, text, others, **facts):
    """One row of results: a line for the reader, one for the file."""
    if others > OTHERS_AT_MOST:
        print("ok %s; others %d %% # SKIP not a measurement: other programs used"
              " the processors" % (text, 100 * others), flush=True)
    else:
        print("%s %s" % ("ok" if good else "not ok", text), flush=True)
    path = os.environ.get("PYREC_BENCH_JSON")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            json.dump(dict(facts, others=round(others, 3)), file)
            file.write("\n")


class Row:
    """Our cost as a part of the peer's, round by round."""

    def __init__(self, what, unit, at_most, peer="stock"):
        self.what, self.unit, self.at_most = what, unit, at_most
        self.peer = peer
        self.ours, self.theirs, self.others = [], [], []

    def add(self, ours, theirs):
        """What ours() measures; theirs is a function, too, or its result."""
        watch = Watch()
        self.theirs.append(theirs() if callable(theirs) else theirs)
        self.ours.append(ours())
        self.others.append(watch.others())

    def end(self):
        ratios = [a / b for a, b in zip(self.ours, self.theirs)]
        middle = statistics.median(ratios)
        report(middle <= self.at_most,
               "%s: ratio %.3f (%.3f to %.3f, at most %.3g), %.3g %s, %s"
               " %.3g" % (self.what, middle, min(ratios), max(ratios),
                          self.at_most, statistics.median(self.ours),
                          self.unit, self.peer,
                          statistics.median(self.theirs)),
               statistics.median(self.others), what=self.what, unit=self.unit,
               peer=self.peer, at_most=self.at_most, ratios=ratios, ours=self.ours,
               theirs=self.theirs)


def compare(what, unit, ours, theirs, at_most, peer="stock"):
    row = Row(what, unit, at_most, peer)
    for _ in range(ROUNDS):
        row.add(ours, theirs)
    row.end()


def at_least(what, value, least, watch=None):
    report(value >= least, "%s: %.3f (at least %.2f)" % (what, value, least),
           watch.others() if watch else 0, what=what, value=value, least=least)


def at_most(what, value, most, unit, watch=None):
    report(value <= most, "%s: %.3g %s (at most %g)" % (what, value, unit, most),
           watch.others() if watch else 0, what=what, value=value, most=most)


def cpu_seconds(run):
    """Processor time of the children that run() starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime -
            before.ru_utime - before.ru_stime)


# A recording by each program; the result is the number of samples.

def ours(target, rate, seconds, *options):
    live.record(target, "ours.bin", "-r", rate, "-f", "-q", *options,
                seconds=seconds)
    return live.header_samples("ours.bin")


def stock(target, rate, seconds, *options):
    live.succeed(live.STOCK, "-m", "profiling.sampling", "attach", "--binary",
                 "-o", "stock.bin", "-r", rate, "-d", seconds, *options,
                 target.pid)
    return live.header_samples("stock.bin")


def austin(target, rate, seconds):
    said = live.succeed(AUSTIN, "--binary", "-i", 1000000 // rate, "-x", seconds,
                        "-o", "austin.mojo", "-p", target.pid).stderr
    return int(re.search(r"Error rate.*?/([0-9]+)", said).group(1))


def cost_of_a_sample(record, target, rate, *options):
    """Microseconds of processor time per sample that was taken."""
    spent = []
    samples = []
    for seconds in SHORT, LONG:
        spent.append(cpu_seconds(lambda: samples.append(
            record(target, rate, seconds, *options))))
    return 1e6 * (spent[1] - spent[0]) / (samples[1] - samples[0])


def need_stock():
    if not live.STOCK:
        print("ok comparison with stock # SKIP no CPython 3.15 as peer")
        sys.exit(0)
