#!/usr/bin/env python3
"""What each import makes of a file: the same totals that are in it.

    pyconv_imports.py [SEED]

Exports of pyconv come back as they were; files of other profilers, written
here from random samples, have the sums of these samples; files that are cut,
damaged or of another kind are refused in one line.
"""

import collections
import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
import pyconv_targets as targets  # noqa: E402
import harness  # noqa: E402
import profiles  # noqa: E402

STYLES = (None, "stock", "pyspy", "plain")


def run(*arguments):
    return subprocess.run([outputs.PYCONV, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)
    return path


def table(path, *options):
    """{(function, file): (self samples, total samples, self us, total us)}"""
    out = path + ".csv"
    done = run(path, "--to", "csv", "-fqo", out, *options)
    assert done.returncode == 0, done.stderr
    totals = collections.defaultdict(lambda: [0] * 4)
    with open(out, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            total = totals[row["function"], row["file"]]
            for i, column in enumerate(("self_samples", "total_samples",
                                        "self_us", "total_us")):
                total[i] += int(row[column])
    return {key: tuple(value) for key, value in totals.items()}


# ---- exports of pyconv ----

def check_collapsed(results, path):
    for style in STYLES:
        for level in ("--functions", "--lines"):
            if style == "stock" and level == "--functions":
                continue
            options = ["--to", "collapsed", "-fq"]
            options += ["--style", style] if style else []
            options += [] if style == "stock" else [level]
            first, again = path + ".1.collapsed.txt", path + ".2.collapsed.txt"
            run(path, *options, "-o", first)
            done = run(first, *options, "-o", again)
            results.check(f"collapsed {style or 'own'} {level} comes back",
                          read(first) and read(first) == read(again),
                          done.stderr)


def thread_sums(path):
    """{(thread, stack): weight}, and the end of each thread."""
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    frames = [tuple(sorted(f.items())) for f in document["shared"]["frames"]]
    sums = collections.Counter()
    for part in document["profiles"]:
        sums[part["name"], "end"] = part["endValue"]
        for ids, weight in zip(part["samples"], part["weights"]):
            sums[part["name"], tuple(frames[i] for i in ids)] += weight
    return sums


def check_speedscope(results, path):
    """The time that a file of nominal times has is real to its reader."""
    for time, again_time in (("real", "real"), ("nominal", "real"),
                             ("samples", "samples")):
        first, again = path + ".1.speedscope.json", path + ".2.speedscope.json"
        run(path, "--time", time, "-fqo", first)
        done = run(first, "--time", again_time, "-fqo", again)
        one, two = thread_sums(first), thread_sums(again)
        results.check(f"speedscope {time} comes back", one == two, done.stderr
                      + str(list((one - two).items())[:3])[:900])


def counted(path):
    counter = collections.Counter()
    for stack, n, ns, labels in targets.read_pprof(path):
        key = tuple(stack), tuple(sorted(labels.items()))
        counter[key, "n"] += n
        counter[key, "ns"] += ns
    return counter


def check_pprof(results, path):
    first, again = path + ".1.pb.gz", path + ".2.pb.gz"
    run(path, "-fqo", first)
    done = run(first, "-fqo", again)
    results.check("pprof comes back", counted(first) == counted(again),
                  done.stderr)
    plain = write(path + ".pb", gzip.decompress(read(first)))
    results.check("pprof without gzip has the same functions",
                  table(plain) == table(first) == table(path))


# ---- files of others ----

class Sample:
    def __init__(self, rnd):
        self.pid, self.tid = rnd.choice(((7, 11), (7, 12), (8, 11)))
        self.stack = [rnd.choice((("/app/a b.py", "main", 3),
                                  ("/app/a b.py", "C.run", 9),
                                  ("<frozen os>", "<listcomp>", 12),
                                  ("/lib/\u00e9.py", "h\u00e9", 4)))
                      for _ in range(rnd.randrange(6))]
        self.us = rnd.choice((0, 90, 100, 101, 250, 99999))


def samples(rnd):
    made = [Sample(rnd) for _ in range(400)]
    for key in {(s.pid, s.tid) for s in made}:
        last = [s for s in made if (s.pid, s.tid) == key][-1]
        last.us = 100  # the interval
    return made


def sums(made):
    """{(function, file): (self us, total us)}"""
    totals = collections.defaultdict(lambda: [0, 0])
    for s in made:
        for file, function, _ in set((f, n, 0) for f, n, _ in s.stack):
            totals[function, file][1] += s.us
        if s.stack:
            totals[s.stack[-1][1], s.stack[-1][0]][0] += s.us
    return {key: tuple(value) for key, value in totals.items() if value[1]}


def austin_1(made):
    return "".join("Process %d;Thread %x%s %d\n" % (s.pid, s.tid, "".join(
        ";%s (%s);L%d" % (name, file, line) for file, name, line in s.stack),
        s.us) for s in made)


def austin_1_alternative(made):
    return "".join("Process %d;Thread %x%s %d\n" % (s.pid, s.tid, "".join(
        ";%s (%s:%d)" % (name, file, line) for file, name, line in s.stack),
        s.us) for s in made)


def austin_1_full(made):
    return "".join("Process %d;Thread %x%s %d 4096 0\n" % (
        s.pid, s.tid, "".join(
            ";%s (%s);L%d" % (name, file, line)
            for file, name, line in s.stack), s.us) for s in made)


def austin_3(made):
    return "# austin: 3.7.0\n# interval: 100\n# mode: wall\n\n" + "".join(
        "P%d;T0:%d%s %d\n" % (s.pid, s.tid, "".join(
            ";%s:%s:%d" % frame for frame in s.stack), s.us)
        for s in made) + "# duration: 7\n"


def austin_3_full(made):
    return "# austin: 3.7.0\n# interval: 100\n# mode: full\n\n" + "".join(
        "P%d;T0:%d%s %d,%d,-12\n" % (s.pid, s.tid, "".join(
            ";%s:%s:%d" % frame for frame in s.stack), s.us, i % 2)
        for i, s in enumerate(made))


def number(value):
    out, value = [value & 63], value >> 6
    while value:
        out[-1] |= 128
        out.append(value & 127)
        value >>= 7
    return bytes(out)


def mojo(made, version=3):
    """Keys of strings and frames are those of one process."""
    out = bytearray(b"MOJ" + number(version))
    for key, value in ((b"austin", b"3.7.0"), (b"interval", b"100"),
                       (b"mode", b"wall")):
        out += b"\1" + key + b"\0" + value + b"\0"
    known = {}

    def key_of(pid, value, event):
        """The key of a string or frame, after its definition if it is new."""
        if (pid, value) not in known:
            known[pid, value] = number(1000 + len(known) % 900)
            out.extend(event(known[pid, value]))
        return known[pid, value]

    for s in made:
        out += b"\2" + number(s.pid) + (number(0) if version > 2 else b"")
        out += b"%x\0" % s.tid
        for file, name, line in s.stack:
            keys = [key_of(s.pid, text, lambda key, text=text: (
                b"\13" + key + text.encode() + b"\0")) for text in (file, name)]
            more = b"".join(map(number, (line, 5, 8))) if version > 1 else b""
            out += b"\5" + key_of(
                s.pid, (file, name, line), lambda key, keys=keys, line=line,
                more=more: b"\3" + key + keys[0] + keys[1] + number(line)
                + more)
        out += b"\11" + number(s.us)
    return bytes(out)


def pyspy_speedscope(made, evented):
    frames = sorted({frame for s in made for frame in s.stack})
    by_thread = collections.defaultdict(list)
    for s in made:
        by_thread["Process %d Thread 0x%x" % (s.pid, s.tid)].append(s)
    parts = []
    for name, each in by_thread.items():
        part = {"name": name, "unit": "seconds", "startValue": 0.0,
                "endValue": sum(s.us for s in each) / 1e6}
        if evented:
            part.update(type="evented", events=list(events(each, frames)))
        else:
            part.update(type="sampled", weights=[s.us / 1e6 for s in each],
                        samples=[[frames.index(f) for f in s.stack]
                                 for s in each])
        parts.append(part)
    return json.dumps({
        "profiles": parts, "exporter": "py-spy@0.3.14",
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": [{"name": n, "file": f, "line": l}
                              for f, n, l in frames]}})


def events(each, frames):
    now = 0
    for s in each:
        for frame in s.stack:
            yield {"type": "O", "frame": frames.index(frame), "at": now / 1e6}
        now += s.us
        for frame in reversed(s.stack):
            yield {"type": "C", "frame": frames.index(frame), "at": now / 1e6}


def check_foreign(results, rnd):
    made = samples(rnd)
    want = sums(made)
    for name, data in (
            ("austin 1.0", austin_1(made)),
            ("austin 1.0 -a", austin_1_alternative(made)),
            ("austin 1.0 --full", austin_1_full(made)),
            ("austin 3", austin_3(made)),
            ("austin 3 --full", austin_3_full(made)),
            *(("MOJO %d" % v, mojo(made, v)) for v in (1, 2, 3, 4)),
            ("speedscope of py-spy", pyspy_speedscope(made, False)),
            ("evented speedscope", pyspy_speedscope(made, True))):
        path = write("foreign", data)
        got = {key: value[2:] for key, value in table(path).items()}
        results.check(f"{name}: the sums of its samples", got == want,
                      sorted(set(got.items()) ^ set(want.items())))
        packed = write("packed", gzip.compress(read(path)))
        results.check(f"{name} in gzip", table(packed) == table(path))


def check_pyspy_raw(results):
    path = write("raw", 'process 7:"python app.py";thread (0x1F): worker-1;'
                        "main (app.py:3);f (app.py:9) 5\n"
                        'process 7:"python app.py";main (app.py:4) 2\n')
    results.check("py-spy raw", table(path) == {
        ("main", "app.py"): (2, 7, 20000, 70000),
        ("f", "app.py"): (5, 5, 50000, 50000)}, table(path))
    note = run(path, "--to", "csv", "-fo", "note.csv").stderr
    results.check("a guess of the interval is stated", "are guesses" in note,
                  note)


def check_recorded(results):
    """A recording of austin 1.0.1 (Debian 12) of Python 3.8: austin -C -i 2000
    python3.8 shop.py, with paths below /usr/local."""
    path = os.path.join(outputs.SRC, "tests/interop/austin-1.0.1.txt")
    self, total = collections.Counter(), collections.Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            stack, us = line.rstrip("\n").rsplit(" ", 1)
            _, _, *parts = stack.split(";")
            frames = [re.fullmatch(r"(.*) \((.*)\)", text).groups()
                      for text in parts[::2]]
            if frames:
                self[frames[-1]] += int(us)
            for frame in set(frames):
                total[frame] += int(us)
    done = run(path, "--to", "csv", "-fqo", "recorded.csv")
    got_self, got_total = collections.Counter(), collections.Counter()
    with open("recorded.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            got_self[row["function"], row["file"]] += int(row["self_us"])
            got_total[row["function"], row["file"]] += int(row["total_us"])
    results.check("a recording of austin: self", +got_self == +self,
                  done.stderr + str((self - got_self, got_self - self)))
    results.check("a recording of austin: total", +got_total == +total,
                  (total - got_total, got_total - total))


def check_stock(results, path):
    """CPython's own collapsed stacks of a file, and the file itself."""
    if not harness.STOCK:
        results.skip("collapsed stacks of CPython", "no CPython 3.15")
        return
    subprocess.run([harness.STOCK, "-m", "profiling.sampling", "replay",
                    "--collapsed", "-o", "stock.txt", path], check=True,
                   capture_output=True, env=dict(os.environ, LC_ALL="C"))
    done = run("stock.txt", "--to", "collapsed", "--style", "stock", "-fqo",
               "again.txt")
    results.check("collapsed stacks of CPython come back",
                  read("stock.txt") == read("again.txt"), done.stderr)
    wanted = collections.Counter()
    for (function, file), value in table(path).items():
        wanted[function, os.path.basename(file)] += value[0]
    got = collections.Counter({key: value[0] for key, value
                               in table("stock.txt").items()})
    results.check("and have the samples of its file", +got == +wanted,
                  (got - wanted, wanted - got))


# ---- refusals ----

def refused(results, title, status, message, *arguments):
    done = run(*arguments, "-fqo", "never")
    results.check(title, done.returncode == status and message in done.stderr
                  and not os.path.exists("never")
                  and done.stderr.count("\n") <= 2, done.stderr)


def check_refusals(results, rnd):
    text = write("counts", "main;f 3\nmain 4\n")
    mojo_file = write("some.mojo", mojo(samples(rnd)))
    refused(results, "a range of time of a file without one", 2,
            "does not say when", text, "--to", "csv", "--between", "0s..1s")
    refused(results, "an unknown kind", 2, "there is no import 'perf'", text,
            "--to", "csv", "--from", "perf")
    refused(results, "another kind by name", 1, "does not begin with MOJ",
            text, "--to", "csv", "--from", "mojo")
    refused(results, "a text as a profile", 1, "not a profile", text, "--to",
            "csv", "--from", "bin")
    refused(results, "a comparison", 2, "compares two profiles",
            write("two", "a;b 3 4\na 1 0\n"), "--to", "csv")
    refused(results, "a line without a count", 1, "line 2 does not end",
            write("torn", "a;b 3\na;b\n"), "--to", "csv")
    refused(results, "more samples than any", 1, "more than",
            write("many", "a;b %d\n" % 10**12), "--to", "csv")
    refused(results, "memory of austin", 2, "amounts of memory",
            write("memory", "# mode: memory\n\nP1;T0:1;a:b:1 5\n"), "--to",
            "csv")
    refused(results, "JSON that is not whole", 1, "ends too early",
            write("half", pyspy_speedscope(samples(rnd), False)[:-5]),
            "--to", "csv")
    done = run(mojo_file, "--to", "csv", "--between", "0s..10ms", "-fqo",
               "some.csv")
    results.check("a range of time of austin's", done.returncode == 0,
                  done.stderr)


def check_cuts(results, rnd):
    """MOJO has no end of its own: pyconv reads the whole events."""
    data = mojo(samples(rnd)[:12])
    statuses = collections.Counter()
    for length in range(4, len(data)):
        done = run(write("cut", data[:length]), "--from", "mojo", "--to",
                   "jsonl", "-fqo", "cut.jsonl")
        statuses[done.returncode] += 1
        if done.returncode not in (0, 3):
            results.check(f"MOJO of {length} bytes", False, done.stderr)
    results.check("cut MOJO: its whole events", set(statuses) == {0, 3}, statuses)


# Targets that are a folder or a server; tests/peers asks what arrived there.
NO_FILE = {"parquet", "clickhouse"}


def check_targets(results):
    """Imports of hostile names, of nothing and of an empty stack into every
    target that is a file."""
    listed = run("--list").stdout.split("\n\n")[0]
    names = [line.split()[0] for line in listed.splitlines() if line[0] != " "]
    hostile = "".join("\\u%04x" % ord(c) for c in "</script>\x1b[31m\u202e;\"")
    frames = [{"name": "x" * 5000}, {"name": "\0"}, {"name": "\ud800"}]
    document = json.dumps({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "shared": {"frames": frames}, "profiles": [{
            "type": "sampled", "name": "t", "unit": "none", "startValue": 0,
            "endValue": 4, "samples": [[0, 1], [2], []],
            "weights": [1, 1, 2]}]}).replace('"t"', '"%s"' % hostile)
    for title, data in (("hostile names", document),
                        ("an empty stack", "Thread 7f00 100\n"),
                        ("no sample", mojo([]))):
        path = write("odd", data)
        for name in sorted(set(names) - NO_FILE):
            done = run(path, "--to", name, "-fqo", "odd.out")
            results.check(f"{title} to {name}", done.returncode == 0,
                          done.stderr)


def check_question(results):
    path = write("asked", "main (a.py:1);work (a.py:7) 30\nmain (a.py:2) 10\n")
    done = subprocess.run(
        [os.path.join(harness.BIN, "pyquery"), path, "top 1 by self", "--csv"],
        capture_output=True, text=True, check=False)
    results.check("pyquery asks an import", done.returncode == 0
                  and "work" in done.stdout, done.stdout + done.stderr)


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    rnd = random.Random(f"{seed} imports")
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        status, why = harness.feed(outputs.program(rnd), "program.bin")
        results.check("writes the profile", status == 0, why)
        check_collapsed(results, "program.bin")
        check_speedscope(results, "program.bin")
        check_pprof(results, "program.bin")
        check_foreign(results, rnd)
        check_pyspy_raw(results)
        check_recorded(results)
        check_stock(results, "program.bin")
        check_refusals(results, rnd)
        check_cuts(results, rnd)
        check_targets(results)
        check_question(results)
    results.exit()


if __name__ == "__main__":
    main()
