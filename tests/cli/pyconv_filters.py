#!/usr/bin/env python3
"""Each filter of pyconv against the same selection in plain Python, over
generated profiles (spec/convert.md 3).

    pyconv_filters.py [SEED]
"""

import collections
import csv
import fnmatch
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
import harness  # noqa: E402
import profiles  # noqa: E402

INTERVAL = 1000
LEFT_OUT = "<frames left out>"


def make(rnd):
    """Recursion, classes, equal names in two files, native frames, every
    status, three threads."""
    maker = profiles.Maker(rnd, names=(), frames=0)
    profile = maker.profile
    profile.start.update(interval_us=INTERVAL, mode=0, capture=0x48,
                         python=[3, 15, 0])
    profile.strings = [b"/srv/app/a.py", b"/srv/app/lib/b.py", b"~",
                       b"<native>", b"main", b"C.run", b"fib", b"run",
                       b"<lambda>", b"/opt/x/a.py"]
    for file, func, first in ((0, 4, 1), (0, 5, 10), (0, 6, 20), (1, 6, 30),
                              (1, 7, 40), (9, 8, 50), (9, 4, 60)):
        profile.frames.append((file, func, first, first, -1, -1, first, 255))
    profile.frames.append((2, 3, -1, -1, -1, -1, 0, 255))
    for tid, name in ((10, b"MainThread"), (11, b"pool-1"), (12, b"pool-2")):
        maker.thread((tid, 0), 400, depth=9, statuses=range(64),
                     gap=(900, 1000, 1100, 5000))
        profile.threads[tid, 0].name = name
    profile.threads[10, 0].main = 1
    return profile


class Sample:
    def __init__(self, profile, key, stack, status, weight):
        self.thread = profile.threads[key].name.decode()
        self.main = bool(profile.threads[key].main or status & 32)
        self.tid, self.status, self.weight = key[0], status, weight
        self.frames = [(profile.strings[profile.frames[i][0]].decode(),
                        profile.strings[profile.frames[i][1]].decode(),
                        profile.frames[i][6]) for i in reversed(stack)]


def samples_of(profile):
    for key, thread in profile.threads.items():
        samples = [s for _, run in thread.runs for s in run]
        each = iter(outputs.weights(profile, samples))
        for stack, run in thread.runs:
            for _, status in run:
                yield Sample(profile, key, stack, status, next(each))


def means(name, frame):
    file, function, line = frame
    if function == name or function.endswith("." + name):
        return True
    if file == name or file.endswith("/" + name):
        return True
    head, _, tail = name.rpartition(":")
    if head and (file == head or file.endswith("/" + head)):
        if function == tail or function.endswith("." + tail) or \
                tail == str(line):
            return True
    return any(c in name for c in "*?[") and any(
        fnmatch.fnmatchcase(text, name)
        for text in (function, file, os.path.basename(file)))


def holds(state, sample):
    return {"gil": sample.status & 1, "cpu": sample.status & 2,
            "idle": not sample.status & 7, "waiting": sample.status & 8,
            "exception": sample.status & 16, "main": sample.main}[state]


def shortened(frames, limit):
    if len(frames) <= limit:
        return frames
    head = (limit + 1) // 2
    tail = limit - head
    return frames[:head] + [("~", LEFT_OUT, 0)] + \
        frames[len(frames) - tail:]


def renamed(path, maps, prefixes):
    for old, new in maps:
        if path.startswith(old):
            return new + path[len(old):]
    for prefix in prefixes:
        if path.startswith(prefix):
            return path[len(prefix):].lstrip("/")
    return path


def label(frame):
    file, function, line = frame
    if file == "~":
        return function
    return f"{function} ({file}:{line})" if line else f"{function} ({file})"


def expected(samples, options, use_weight):
    """Collapsed lines of the filtered profile."""
    given = collections.defaultdict(list)
    for option, value in options:
        given[option].append(value)
    maps = [value.split("=", 1) for value in given["--map"]]
    out = collections.Counter()
    for s in samples:
        frames = [(renamed(f[0], maps, given["--strip-prefix"]), *f[1:])
                  for f in s.frames]
        if not all(holds(state, s) for v in given["--where"]
                   for state in v.split(",")):
            continue
        if given["--threads"] and not any(
                s.thread == v or str(s.tid) == v or
                fnmatch.fnmatchcase(s.thread, v) for v in given["--threads"]):
            continue
        if given["--focus"] and not any(
                means(v, f) for v in given["--focus"] for f in frames):
            continue
        if any(means(v, f) for v in given["--ignore"] for f in frames):
            continue
        frames = [f for f in frames
                  if not any(means(v, f) for v in given["--hide"])]
        if "--hide-native" in given:
            frames = [f for f in frames if f[1] != "<native>"]
        for limit in given["--max-depth"]:
            frames = shortened(frames, int(limit))
        out[";".join([f"{s.thread} ({s.tid})", *map(label, frames)])] += \
            s.weight if use_weight else 1
    return out


CASES = [
    [("--where", "gil")], [("--where", "cpu")], [("--where", "idle")],
    [("--where", "waiting")], [("--where", "exception")],
    [("--where", "main")], [("--where", "gil,exception")],
    [("--where", "gil"), ("--where", "cpu")],
    [("--threads", "pool-1")], [("--threads", "12")],
    [("--threads", "pool-*")], [("--threads", "pool-1"), ("--threads", "10")],
    [("--focus", "fib")], [("--focus", "b.py:fib")], [("--focus", "run")],
    [("--focus", "C.run")], [("--focus", "lib/b.py")],
    [("--focus", "a.py:20")], [("--focus", "f?b")],
    [("--focus", "fib"), ("--focus", "main")],
    [("--ignore", "fib")], [("--ignore", "*.run")],
    [("--focus", "main"), ("--ignore", "fib")],
    [("--hide", "fib")], [("--hide", "/opt/x/a.py")], [("--hide", "*")],
    [("--hide-native", None)], [("--hide-native", None), ("--hide", "run")],
    [("--max-depth", "1")], [("--max-depth", "2")], [("--max-depth", "5")],
    [("--hide", "fib"), ("--max-depth", "3")],
    [("--strip-prefix", "/srv/app")], [("--map", "/srv/app/=here/")],
    [("--map", "/opt=/usr"), ("--strip-prefix", "/srv/app/lib")],
    [("--map", "/srv=X"), ("--focus", "X/app/a.py")],
    [("--where", "gil"), ("--threads", "pool-*"), ("--focus", "main"),
     ("--ignore", "C.run"), ("--hide", "fib"), ("--max-depth", "4"),
     ("--strip-prefix", "/srv/")],
]


def run(*arguments):
    return subprocess.run([outputs.PYCONV, *arguments], capture_output=True,
                          text=True, check=False)


def words(options):
    return [word for option, value in options
            for word in ((option,) if value is None else (option, value))]


def shown(path):
    out = collections.Counter()
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            text, _, n = line.rstrip("\n").rpartition(" ")
            out[text] += int(n)
    return out


def check_case(results, samples, options, source):
    title = " ".join(words(options))
    for time in ("samples", "real"):
        done = run(source, "--to", "collapsed", "-q", "-f", "-o", "out.txt",
                   "--time", time, "--functions", *words(options))
        want = +expected(samples, options, time == "real")
        good = done.returncode == 0
        results.check(f"{title}: {time}", good and shown("out.txt") == want,
                      done.stderr or difference(shown("out.txt"), want))
    # a filtered profile again has the same samples
    done = run(source, "--to", "bin", "-q", "-f", "-o", "part.bin",
               *words(options))
    done = done if done.returncode else run(
        "part.bin", "--to", "collapsed", "-q", "-f", "-o", "out.txt")
    want = +expected(samples, options, False)
    good = done.returncode == 0
    results.check(f"{title}: in a profile", good and shown("out.txt") == want,
                  done.stderr or difference(shown("out.txt"), want))


CLAUSES = {"--focus": "focus", "--ignore": "ignore", "--threads": "thread"}


def check_question(results, samples, options):
    """pyquery's clauses choose the samples that the options choose."""
    if any(option not in CLAUSES for option, _ in options) or \
            len(dict(options)) < len(options):
        return
    query = "top 1 by self " + " ".join(
        f"{CLAUSES[option]} '{value}'" for option, value in options)
    done = subprocess.run([outputs.PYQUERY, "run.db", query + " as json"],
                          capture_output=True, text=True, check=False)
    want = sum(expected(samples, options, False).values())
    results.check(query, done.returncode == 0 and
                  json.loads(done.stdout)["samples"] == want,
                  f"{want}: {done.stdout}{done.stderr}")


def difference(got, want):
    return f"too much: {list((got - want).items())[:3]}\n" \
        f"missing: {list((want - got).items())[:3]}"


def check_refusal(results, title, wanted, message, source, *options):
    done = run(source, "--to", "collapsed", "-o", "none.txt", *options)
    results.check(title, done.returncode == wanted and
                  message in done.stderr and not os.path.exists("none.txt"),
                  f"{done.returncode}: {done.stderr}")


def check_refusals(results, source):
    check_refusal(results, "a name that nothing has leaves no output", 4,
                  "nothing in the profile is called 'nobody'", source,
                  "--focus", "nobody")
    check_refusal(results, "a thread that is not there leaves no output", 4,
                  "called 'nobody'", source, "--threads", "nobody")
    check_refusal(results, "and the hint says where threads have names", 4,
                  "hint: 'pyquery FILE threads'", source, "--threads",
                  "nobody")
    check_refusal(results, "filters that leave no sample leave no output", 4,
                  "the filters leave no sample", source, "--ignore", "*",
                  "--focus", "main")
    check_refusal(results, "a range without samples leaves no output", 4,
                  "no sample lies in the range", source, "--between",
                  "3000s..3001s")
    check_refusal(results, "an unknown state is refused", 2, "'asleep'",
                  source, "--where", "asleep")
    check_refusal(results, "a map without '=' is refused", 2, "'x'", source,
                  "--map", "x")
    done = run(source, "--to", "collapsed", "-o", "out.txt", "-f", "--hide",
               "nobody")
    results.check("a hidden name that nothing has is said",
                  done.returncode == 0 and "called 'nobody'" in done.stderr,
                  done.stderr)


def check_unknown_states(results, rnd):
    maker = profiles.Maker(rnd)
    maker.profile.start.update(python=[3, 14, 0])
    maker.thread((1, 0), 50, statuses=(4, 5, 36))
    harness.feed(maker.profile, "unknown.bin")
    for state in ("cpu", "idle"):
        check_refusal(results, f"a profile without CPU state refuses {state}",
                      2, "does not say what was on a CPU", "unknown.bin",
                      "--where", state)
    check_refusal(results, "Python 3.14 does not know what waits for the GIL",
                  2, "does not say which threads wait", "unknown.bin",
                  "--where", "waiting")


def parted(rnd):
    """Threads that begin and end at different times, one of them with long
    pauses."""
    profile = make(rnd)
    for tid, n, start, gap in ((20, 9, 300000, (900, 1100)),
                               (21, 12, 0, (1000, 90000)),
                               (22, 2, 5000, (700000,))):
        stack = rnd.randrange(3), 4
        thread = profile.threads[tid, 0] = profiles.Thread()
        time = start
        for _ in range(n):
            thread.add(stack, [(time, 5)])
            time += rnd.choice(gap)
    return profile


def rows_of_csv(path):
    with open(path, encoding="utf-8", newline="") as file:
        return {(row["function"], row["file"], row["line"], unit):
                int(row[unit]) for row in csv.DictReader(file)
                for unit in ("self_samples", "self_us")}


def summary_of_callgrind(path):
    with open(path, encoding="utf-8") as file:
        line, = [line for line in file if line.startswith("summary: ")]
    return dict(enumerate(map(int, line.split()[1:])))


def threads_of_sqlite(path):
    database = sqlite3.connect(path)
    rows = database.execute("SELECT tid, samples, weight_us, unobserved_us"
                            " FROM thread").fetchall()
    ordered = database.execute("SELECT count(*) FROM thread WHERE t1_us <"
                               " t0_us + (weight_us > 0)").fetchone()[0]
    database.close()
    assert not ordered, rows
    return {(tid, i): value for tid, *values in rows
            for i, value in enumerate(values)}


def stacks_of_speedscope(path):
    """The threads alone: a part with one of them has no profile of all.  They
    are known by their ids: in a plain file the states of a thread's samples
    show that it is the main one, and a part need not have such a sample."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    names = [frame["name"] for frame in document["shared"]["frames"]]
    found = collections.Counter()
    for profile in document["profiles"]:
        if profile["name"] == "all threads":
            continue
        for stack, weight in zip(profile["samples"], profile["weights"]):
            if stack and names[stack[0]] == "(not observed)":
                continue
            tid = re.search(r"\((\d+)\)", profile["name"]).group(1)
            found[tid, tuple(names[i] for i in stack)] += weight
    return found


READERS = {"csv": rows_of_csv, "callgrind": summary_of_callgrind,
           "sqlite": threads_of_sqlite, "speedscope": stacks_of_speedscope}


def check_parts(results, rnd, source, *options):
    """The parts of a profile, cut anywhere, sum up to the whole."""
    cuts = sorted(rnd.randrange(1, 900000) for _ in range(6))
    bounds = [0, *cuts, 3600000000]
    for target, read in READERS.items():
        run(source, "--to", target, "-fo", "whole", *options)
        whole = collections.Counter(read("whole"))
        parts = collections.Counter()
        for begin, end in zip(bounds, bounds[1:]):
            done = run(source, "--to", target, "-fo", "part", "--between",
                       f"{begin}us..{end}us", *options)
            if done.returncode == 0:
                parts.update(read("part"))
        results.check(
            f"the parts of {source} sum up, {target} {' '.join(options)}",
            +parts == +whole and sum(whole.values()) > 0,
            f"cuts {cuts}: {difference(+parts, +whole)}")


def check_all_parts(results, rnd):
    profile = parted(rnd)
    harness.feed(profile, "parted.bin", segment=700)
    harness.feed(profile, "plain.bin", compression=0)
    run("parted.bin", "--to", "speedscope", "-o", "foreign.json")
    check_parts(results, rnd, "parted.bin")
    check_parts(results, rnd, "plain.bin")
    check_parts(results, rnd, "foreign.json")
    check_parts(results, rnd, "parted.bin", "--where", "gil")
    check_parts(results, rnd, "parted.bin", "--time", "nominal")


def check_tasks(results, rnd):
    """Three tasks of one thread, sampled at the same moments, weigh alike."""
    maker = profiles.Maker(rnd, names=(b"<task>", b"one", b"two", b"three",
                                       b"/a.py", b"work"), frames=0)
    profile = maker.profile
    profile.start.update(interval_us=INTERVAL, mode=0, capture=0x48)
    profile.frames = [(4, 5, 1, 1, -1, -1, 1, 255)] + [
        (0, name, -1, -1, -1, -1, 0, 255) for name in (1, 2, 3)]
    thread = profile.threads[1, 0] = profiles.Thread()
    for tick in range(100):
        for task in (1, 2, 3):
            thread.add((0, task), [(tick * 1100, 5)])
    harness.feed(profile, "tasks.bin")
    done = run("tasks.bin", "--to", "csv", "-o", "tasks.csv")
    with open("tasks.csv", encoding="utf-8") as file:
        rows = [line.strip().split(",") for line in file][1:]
    totals = {row[0]: int(row[6]) for row in rows}
    results.check("tasks sampled at one moment weigh alike, and it is said",
                  {totals[n] for n in ("one", "two", "three")} == {100000} and
                  "time is nominal" in done.stderr,
                  f"{totals} {done.stderr}")


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    rnd = random.Random(seed)
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        profile = make(rnd)
        harness.feed(profile, "run.bin")
        samples = list(samples_of(profile))
        run("run.bin", "--to", "sqlite")
        for options in CASES:
            check_case(results, samples, options, "run.bin")
            check_question(results, samples, options)
        check_refusals(results, "run.bin")
        check_unknown_states(results, rnd)
        check_tasks(results, rnd)
        check_all_parts(results, rnd)
    results.exit()


if __name__ == "__main__":
    main()
