#!/usr/bin/env python3
"""Each output of pyconv against the same numbers added up in plain Python,
over generated profiles.

    pyconv_outputs.py [SEED]

Where CPython 3.15 is at hand ($PYREC_STOCK), its own outputs of the same
files are the measure of --style stock.
"""

import collections
import json
import marshal
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile

SRC = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(SRC, "tests/interop"))

import harness  # noqa: E402
import profiles  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
PYQUERY = os.path.join(harness.BIN, "pyquery")


def program(rnd):
    """A program with recursion, lines, first lines, native and GC frames."""
    maker = profiles.Maker(rnd, names=(), frames=0)
    profile = maker.profile
    profile.start.update(interval_us=1000, mode=0, capture=0x48)
    profile.strings = [b"/app/a.py", b"/usr/lib/python3.12/json/__init__.py",
                       b"~", b"<GC>", b"<native>", b"main", b"fib", b"C.run",
                       b"<lambda>"]
    for file, func, first in ((0, 5, 1), (0, 6, 10), (0, 7, 20), (1, 6, 10),
                              (0, 8, 30), (0, 8, 40)):
        for line in (0, 1, 2):
            profile.frames.append((file, func, first + line, first + line,
                                   -1, -1, first, 255))
    for func in (3, 4):
        profile.frames.append((2, func, -1, -1, -1, -1, 0, 255))
    for key in ((10, 0), (11, 0), (10, 3)):
        maker.thread(key, 500, depth=9, gap=(900, 1000, 1100, 7000))
    profile.threads[10, 0].main = 1
    profile.threads[11, 0].name = b"pool; 1"
    return profile


# ---- the same by hand ----

def decoded(data, sql=False):
    text = data.decode(errors="replace")
    return text.replace("\0", "\ufffd") if sql else text


def weights(profile, samples):
    """What each sample stands for, in us."""
    interval = profile.start["interval_us"]
    if profile.start["mode"] in (1, 2, 4):
        return [interval] * len(samples)
    times = [time for time, _ in samples] + [samples[-1][0] + interval]
    return [min(b - a, 2 * interval) for a, b in zip(times, times[1:])]


def observed(profile, time="real"):
    """(thread, stack of frames outermost first, samples, weight)."""
    for key, thread in profile.threads.items():
        samples = [s for _, run in thread.runs for s in run]
        if not samples:
            continue
        each = iter(weights(profile, samples))
        for stack, run in thread.runs:
            frames = tuple(profile.frames[i] for i in reversed(stack))
            weight = sum(next(each) for _ in run)
            yield key, frames, len(run), weight


def function_of(frame):
    return frame[0], frame[1], frame[6]


def line_of(frame):
    return (*function_of(frame), frame[2])


class Totals:
    """By unit: samples and weight, its own and all; by edge the same."""

    def __init__(self, profile, unit):
        self.self = collections.Counter()
        self.total = collections.Counter()
        self.n = collections.Counter()
        self.edge = collections.Counter()
        self.edge_n = collections.Counter()
        self.edge_self = collections.Counter()
        for _, stack, n, weight in observed(profile):
            units = [unit(frame) for frame in stack]
            if not units:
                continue
            self.self[units[-1]] += weight
            for u in set(units):
                self.total[u] += weight
                self.n[u] += n
            for edge in set(zip(units, units[1:])):
                self.edge[edge] += weight
                self.edge_n[edge] += n
            if len(units) > 1:
                self.edge_self[units[-2], units[-1]] += weight


def convert(path, to, output, *options):
    return subprocess.run([PYCONV, path, "--to", to, "-o", output, "-q",
                           *options], capture_output=True, text=True,
                          check=False)


# ---- collapsed ----

def short(path):
    found = 0
    for match in re.finditer(
            r"/(?:site|dist)-packages/|/lib(?:64)?/(?:python|pypy)[2-9]"
            r"[0-9.t]*/", path):
        found = match.end()
    return path[found:]


def one_frame(data):
    text = decoded(data).replace(";", ":")
    return re.sub("[\x00-\x1f\x7f\x80-\x9f\u2028\u2029]", " ", text)


def frame_label(profile, frame, lines):
    file, name = (profile.strings[i] for i in frame[:2])
    label = one_frame(name)
    if file not in (b"~", b"<task>"):
        line = frame[2] if lines else frame[6]
        place = one_frame(short(file.decode("latin-1")).encode("latin-1"))
        label += f" ({place}:{line})" if line > 0 else f" ({place})"
    return re.sub(r" (\d+(\.\d*)?)$", r"_\1", label)


def thread_label(profile, key):
    thread = profile.threads[key]
    main = thread.main or any(status & 32 for _, run in thread.runs
                              for _, status in run)
    name = one_frame(thread.name) or ("MainThread" if main else "thread")
    interp = f", interpreter {key[1]}" if key[1] else ""
    return f"{name} ({key[0]}{interp})"


def collapsed(profile, lines):
    out = collections.Counter()
    for key, stack, n, _ in observed(profile):
        out[";".join([thread_label(profile, key),
                      *(frame_label(profile, f, lines) for f in stack)])] += n
    return sorted(out.items(), key=lambda item: (-item[1], item[0].encode()))


def check_collapsed(results, name, profile, path):
    for lines in (False, True):
        kind = "lines" if lines else "functions"
        out = f"{name}.{kind}.txt"
        done = convert(path, "collapsed", out, f"--{kind}")
        want = "".join(f"{text} {n}\n" for text, n in collapsed(profile, lines))
        with open(out, "rb") as file:
            got = file.read()
        results.check(f"collapsed {kind} of {name}",
                      done.returncode == 0 and got == want.encode(),
                      done.stderr or first_line(got, want.encode()))


def first_line(got, want):
    for a, b in zip(got.split(b"\n"), want.split(b"\n")):
        if a != b:
            return f"{a[:300]!r}\n{b[:300]!r}"
    return f"{len(got)} bytes, {len(want)}"


# ---- pstats ----

def pstats_key(profile, unit, least):
    file, name, first = unit[:3]
    line = max(unit[3], 0) if len(unit) > 3 else first or least.get(unit, 0)
    return (profile.strings[file].decode(errors="surrogatepass"), line,
            profile.strings[name].decode(errors="surrogatepass"))


def pstats(profile, lines):
    least = {}
    for frame in profile.frames:
        if frame[2] > 0:
            unit = function_of(frame)
            least[unit] = min(frame[2], least.get(unit, frame[2]))
    totals = Totals(profile, line_of if lines else function_of)
    out = {}
    for unit, n in totals.n.items():
        callers = {
            pstats_key(profile, edge[0], least):
                (edge_n, edge_n, totals.edge_self[edge] / 1e6,
                 totals.edge[edge] / 1e6)
            for edge, edge_n in totals.edge_n.items() if edge[1] == unit}
        out[pstats_key(profile, unit, least)] = (
            n, n, totals.self[unit] / 1e6, totals.total[unit] / 1e6, callers)
    return out or {("~", 0, "<no samples>"): (0, 0, 0.0, 0.0, {})}


def check_pstats(results, name, profile, path):
    if any(not text_like(s) for s in profile.strings):
        return
    for lines in (False, True):
        kind = "lines" if lines else "functions"
        out = f"{name}.{kind}.pstats"
        done = convert(path, "pstats", out, f"--{kind}")
        with open(out, "rb") as file:
            got = marshal.load(file)
        want = pstats(profile, lines)
        # functions that differ in nothing that a key shows
        ambiguous = len(want) < len(Totals(
            profile, line_of if lines else function_of).n)
        results.check(f"pstats {kind} of {name}",
                      done.returncode == 0 and
                      (got.keys() == want.keys() if ambiguous
                       else got == want), done.stderr or "other numbers")


def text_like(data):
    try:
        data.decode(errors="surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


# ---- speedscope ----

def merged_runs(profile):
    """Thread -> [(start, names of frames outermost first, weight)]."""
    out = {}
    for key, thread in profile.threads.items():
        samples = [s for _, run in thread.runs for s in run]
        if not samples:
            continue
        each = iter(weights(profile, samples))
        runs = out[key] = []
        last = None
        for stack, run in thread.runs:
            units = tuple(function_of(profile.frames[i])
                          for i in reversed(stack))
            names = tuple(decoded(profile.strings[u[1]]) for u in units)
            for time, status in run:
                weight = next(each)
                if last != (units, status):
                    runs.append([time, names, 0])
                last = (units, status)
                runs[-1][2] += weight
    return out


def shown_runs(document, number):
    profile = document["profiles"][number]
    frames = document["shared"]["frames"]
    assert len(profile["samples"]) == len(profile["weights"])
    now = 0
    for stack, weight in zip(profile["samples"], profile["weights"]):
        yield [now, tuple(frames[i]["name"] for i in stack), weight]
        now += weight
    assert profile["endValue"] >= now


def check_speedscope(results, name, profile, path):
    out = f"{name}.speedscope.json"
    done = convert(path, "speedscope", out)
    with open(out, encoding="utf-8") as file:
        document = json.load(file)
    expected = merged_runs(profile)
    tids = {thread_label(profile, key): key for key in expected}
    first = 0 if len(expected) == 1 else 1
    good = len(document["profiles"]) == len(expected) + first
    for i in range(first, len(document["profiles"])):
        want = [run for run in
                expected[tids[speedscope_name(document, i)]] if run[2]]
        got = [run for run in shown_runs(document, i)
               if run[1] != ("(not observed)",)]
        deep = any(len(run[1]) > 2000 for run in want)
        got_stacks = got
        want_stacks = [[time, names or ("(idle)",), weight]
                       for time, names, weight in want]
        if profile.start["mode"] in (1, 2, 4):
            got_stacks = [run[1:] for run in got_stacks]
            want_stacks = [run[1:] for run in want_stacks]
        if deep:
            got_stacks = [run[-1] for run in got_stacks]
            want_stacks = [run[-1] for run in want_stacks]
        good = good and got_stacks == want_stacks
    results.check(f"speedscope of {name}", done.returncode == 0 and good,
                  done.stderr)


def speedscope_name(document, i):
    return one_frame(document["profiles"][i]["name"].encode())


# ---- SQLite ----

class Tree:
    """The node table with what ends at each node and at or below it."""

    def __init__(self, database):
        own = dict(database.execute(
            "SELECT node_id, sum(weight_us) FROM node_self GROUP BY 1"))
        self.nodes = {row[0]: row for row in database.execute(
            "SELECT id, last_id, parent_id, function_id, is_first_fn,"
            " is_first_edge FROM node")}
        upto, total = [own.get(0, 0)], own.get(0, 0)
        for i in range(1, len(self.nodes) + 1):
            total += own.get(i, 0)
            upto.append(total)
        self.own = {i: own.get(i, 0) for i in self.nodes}
        self.below = {i: upto[row[1]] - upto[i - 1]
                      for i, row in self.nodes.items()}

    def add_up(self, kind):
        """Weight by function ids, by the recipes of spec/schema.md."""
        out = collections.Counter()
        for i, (_, _, parent, function, first, edge) in self.nodes.items():
            if kind == "self":
                out[function,] += self.own[i]
            elif kind == "total" and first:
                out[function,] += self.below[i]
            elif kind == "edges" and edge and parent:
                out[self.nodes[parent][3], function] += self.below[i]
        return out


def check_sqlite(results, name, profile, path):
    out = f"{name}.db"
    done = convert(path, "sqlite", out)
    if not results.check(f"sqlite of {name}", done.returncode == 0,
                         done.stderr):
        return
    database = sqlite3.connect(out)
    names = {row[0]: row[1:] for row in database.execute(
        "SELECT function.id, path, qualname, coalesce(first_line, 0)"
        " FROM function JOIN file ON file.id = file_id")}
    totals = Totals(profile, function_of)

    def unit(u):
        return (decoded(profile.strings[u[0]], True),
                decoded(profile.strings[u[1]], True), max(u[2], 0))

    tree = Tree(database)

    def same(title, want, key):
        got, expect = collections.Counter(), collections.Counter()
        for ids, value in tree.add_up(title).items():
            got[tuple(names[i] for i in ids)] += value
        for u, value in want.items():
            expect[key(u)] += value
        results.check(f"sqlite {title} of {name}", +got == +expect)

    same("self", totals.self, lambda u: (unit(u),))
    same("total", totals.total, lambda u: (unit(u),))
    same("edges", totals.edge, lambda e: (unit(e[0]), unit(e[1])))
    runs = database.execute("SELECT sum(n), sum(weight_us) FROM run")
    total = [(key, n, w) for key, _, n, w in observed(profile)]
    results.check(
        f"sqlite runs of {name}",
        tuple(x or 0 for x in next(runs)) == (sum(t[1] for t in total),
                                              sum(t[2] for t in total)))
    check_opcodes(results, name, profile, database)
    samples, = next(database.execute("SELECT samples FROM profile"))
    results.check(f"sqlite samples of {name}", samples == profile.samples(),
                  samples)
    database.close()


def opcode_names():
    """By number, as CPython 3.15 itself has them; None: it is not at hand."""
    if not harness.STOCK:
        return None
    done = subprocess.run(
        [harness.STOCK, "-c", "import dis; print(*dis._all_opname[:255])"],
        capture_output=True, text=True, check=True)
    return done.stdout.split()


OPCODES = opcode_names()


def check_opcodes(results, name, profile, database):
    if OPCODES is None:
        results.skip(f"sqlite opcodes of {name}", "no CPython 3.15")
        return
    want = {("3.15", frame[7], OPCODES[frame[7]]) for frame in profile.frames
            if frame[7] != 255 and profile.start["python"][1] == 15
            and not OPCODES[frame[7]].startswith("<")}
    got = set(database.execute("SELECT python, number, name FROM opcode"))
    results.check(f"sqlite opcodes of {name}", got == want, got ^ want)


# ---- stock style ----

def check_stock(results, name, path):
    environment = dict(os.environ, LC_ALL="C")
    for kind in ("collapsed", "pstats"):
        theirs, ours = f"{name}.stock.{kind}", f"{name}.own.{kind}"
        done = subprocess.run(
            [harness.STOCK, "-m", "profiling.sampling", "replay",
             f"--{kind}", "-o", theirs, path], env=environment,
            capture_output=True, text=True, check=False)
        if done.returncode or not os.path.exists(theirs):
            results.skip(f"stock {kind} of {name}", "CPython cannot")
            continue
        mine = convert(path, kind, ours, "--style", "stock")
        with open(theirs, "rb") as a, open(ours, "rb") as b:
            if kind == "pstats":
                good = marshal_by_stock(theirs) == marshal_by_stock(ours)
            else:
                good = a.read() == b.read()
        results.check(f"stock {kind} of {name}", good and not mine.returncode,
                      mine.stderr)


def marshal_by_stock(path):
    """An old Python does not know the marshal version of a new one."""
    done = subprocess.run(
        [harness.STOCK, "-c", "import marshal, sys; d = marshal.load(open("
         "sys.argv[1], 'rb')); print(sorted((k, v[:4], sorted(v[4].items()))"
         " for k, v in d.items() if len(k) == 3), len(d))", path],
        capture_output=True, text=True, check=True,
        env=dict(os.environ, PYTHONIOENCODING="utf-8:surrogatepass"))
    return done.stdout


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    results = harness.Results()
    made = profiles.generate(seed)
    made.append(("program", program(random.Random(f"{seed} program"))))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, profile in made:
            path = f"{name}.bin"
            status, why = harness.feed(profile, path)
            if not results.check(f"writes {name}", status == 0, why):
                continue
            if name != "deeper":  # a line of it has 40 MB
                check_collapsed(results, name, profile, path)
            check_pstats(results, name, profile, path)
            check_speedscope(results, name, profile, path)
            check_sqlite(results, name, profile, path)
            if name == "deeper":
                continue  # CPython's collapsed text would be as long
            if harness.STOCK:
                check_stock(results, name, path)
            else:
                results.skip(f"stock outputs of {name}", "no CPython 3.15")
    results.exit()


if __name__ == "__main__":
    main()
