#!/usr/bin/env python3
"""Several inputs at once: what each process did, and when, stays true.

    pyconv_several.py [SEED]
"""

import collections
import gzip
import json
import os
import random
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
import pyconv_targets as targets  # noqa: E402
import harness  # noqa: E402
import profiles  # noqa: E402

INTERVAL = 1000
WALL = 1700000000000000


def make(rnd, pid, command, wall_s, interval=INTERVAL):
    """A process with two threads; all processes share ids of threads."""
    maker = profiles.Maker(rnd, names=(), frames=0)
    profile = maker.profile
    profile.start.update(interval_us=interval, mode=0, capture=0x48)
    profile.strings = [b"/app/a.py", b"main", b"f%d" % pid]
    profile.frames = [(0, func, 1, 1, -1, -1, 1, 255) for func in (1, 2)]
    for tid in (1, 2):
        maker.thread((tid, 0), 200, depth=3, gap=(interval,))
    profile.threads[1, 0].main = 1
    profile.meta = {b"pid": b"%d" % pid, b"host": b"box",
                    b"command": command, b"wall_us": b"%d" % (
                        WALL + wall_s * 1000000)}
    profile.start["wall_us"] = WALL + wall_s * 1000000
    profile.stats = (0.25, 1000.0, 0.0, 0.0, 3)
    return profile


def run(*arguments):
    return subprocess.run([outputs.PYCONV, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def weight_of(profile):
    return sum(w for _, _, _, w in outputs.observed(profile))


FILES = ["one.bin", "two.bin", "three.bin"]
PIDS = [101, 202, 303]


def check_sqlite(results, made):
    done = run(*FILES, "--to", "sqlite", "-o", "all.db")
    database = sqlite3.connect("all.db")
    rows = database.execute("SELECT pid, count(*) FROM process GROUP BY 1 "
                            "ORDER BY 1").fetchall()
    samples = database.execute("SELECT sum(samples) FROM thread").fetchone()[0]
    results.check("a database has all processes with their pids",
                  done.returncode == 0 and rows == [(p, 1) for p in PIDS] and
                  samples == sum(p.samples() for p in made),
                  f"{done.stderr} {rows} {samples}")
    database.close()
    run("one.bin", "one.bin", "two.bin", "--to", "sqlite", "-o", "twice.db")
    database = sqlite3.connect("twice.db")
    n = database.execute("SELECT count(*) FROM profile").fetchone()[0]
    results.check("a profile that is given twice is there once", n == 2, n)
    database.close()


def check_speedscope(results, made):
    done = run(*FILES, "-o", "all.speedscope.json")
    with open("all.speedscope.json", encoding="utf-8") as file:
        document = json.load(file)
    names = collections.Counter(
        profile["name"].split(",")[0] for profile in document["profiles"])
    results.check("speedscope names the process of each thread",
                  done.returncode == 0 and
                  all(names[f"app{i}.py (pid {pid})"] == 2
                      for i, pid in enumerate(PIDS)), names)


def check_firefox(results, made):
    done = run(*FILES, "-o", "all.firefox.json.gz")
    with gzip.open("all.firefox.json.gz", "rt", encoding="utf-8") as file:
        document = json.load(file)
    weights = collections.Counter()
    begins = {}
    for thread in document["threads"]:
        pid = int(thread["pid"])
        weights[pid] += round(1000 * sum(thread["samples"]["weight"]))
        begins[pid] = min(begins.get(pid, 1e99), thread["samples"]["time"][0])
    wanted = {pid: weight_of(p) for pid, p in zip(PIDS, made)}
    results.check("Firefox has each process with its time",
                  done.returncode == 0 and weights == wanted,
                  f"{done.stderr} {weights} {wanted}")
    results.check("and where the wall clock says",
                  9999 < begins[202] - begins[101] < 10002 and
                  1999 < begins[303] - begins[101] < 2002 and
                  document["meta"]["startTime"] == WALL / 1000, begins)


def check_pprof(results, made):
    done = run(*FILES, "-o", "all.pb.gz")
    weights = collections.Counter()
    for _, _, ns, labels in targets.read_pprof("all.pb.gz"):
        weights[labels["pid"], labels["process"]] += ns // 1000
    wanted = {(pid, f"app{i}.py (pid {pid})"): weight_of(p)
              for i, (pid, p) in enumerate(zip(PIDS, made))}
    results.check("pprof has pid and process as labels",
                  done.returncode == 0 and weights == wanted,
                  f"{done.stderr} {weights} {wanted}")


def check_collapsed(results, made):
    done = run(*FILES, "--to", "collapsed", "-o", "all.txt")
    counts = collections.Counter()
    with open("all.txt", encoding="utf-8") as lines:
        for line in lines:
            counts[line.split(";")[0]] += int(line.split()[-1])
    wanted = {f"app{i}.py (pid {pid})": p.samples()
              for i, (pid, p) in enumerate(zip(PIDS, made))}
    results.check("a collapsed stack begins with its process",
                  done.returncode == 0 and counts == wanted, counts)


def check_merged(results, made):
    done = run(*FILES, "--to", "bin", "-o", "merged.bin")
    verified = run("--verify", "merged.bin")
    results.check("processes become one profile",
                  done.returncode == 0 and verified.returncode == 0,
                  done.stderr + verified.stderr)
    run("merged.bin", "--to", "collapsed", "-o", "merged.txt")
    with open("merged.txt", "rb") as a, open("all.txt", "rb") as b:
        results.check("that says the same", a.read() == b.read())
    run("merged.bin", "--to", "sqlite", "-o", "merged.db")
    database = sqlite3.connect("merged.db")
    rows = database.execute(
        "SELECT pid, command FROM process ORDER BY pid").fetchall()
    duration = database.execute(
        "SELECT duration_us FROM profile").fetchone()[0]
    results.check("its pids and commands are those of the processes",
                  rows == [(pid, f"python3 /srv/app{i}.py")
                           for i, pid in enumerate(PIDS)], rows)
    results.check("it lasts from the first beginning to the last end",
                  10.2e6 <= duration <= 10.3e6, duration)
    database.close()
    plain = run(*FILES, "--to", "bin", "--compression", "none", "-o",
                "plain.bin")
    results.check("a file of CPython cannot hold one thread id twice",
                  plain.returncode == 6 and not os.path.exists("plain.bin"),
                  plain.stderr)


def check_directory(results):
    os.mkdir("folder")
    for name in FILES:
        os.link(name, os.path.join("folder", name))
    done = run("folder", "--to", "collapsed", "-o", "folder.txt")
    with open("folder.txt", "rb") as a, open("all.txt", "rb") as b:
        results.check("a directory is its profiles",
                      done.returncode == 0 and a.read() == b.read())
    os.mkdir("nothing")
    done = run("nothing", "--to", "collapsed", "-o", "nothing.txt")
    results.check("a directory without one is wrong use",
                  done.returncode == 2 and "'nothing'" in done.stderr,
                  done.stderr)


def check_intervals(results, rnd):
    slow = make(rnd, 404, b"slow.py", 0, interval=10000)
    harness.feed(slow, "slow.bin")
    for name in ("one.bin", "slow.bin"):
        run(name, "--to", "csv", "--time", "nominal", "-f", "-o",
            name + ".csv")
    run("one.bin", "slow.bin", "--to", "csv", "--time", "nominal", "-o",
        "both.csv")

    def self_us(path):
        with open(path, encoding="utf-8") as file:
            return sum(int(line.split(",")[5]) for line in list(file)[1:])
    results.check("each process keeps its interval", self_us("both.csv") ==
                  self_us("one.bin.csv") + self_us("slow.bin.csv"))


def check_rights(results):
    os.umask(0o022)
    os.chmod("one.bin", 0o600)
    wrong = []
    for target in ("collapsed", "sqlite", "bin", "pprof", "svg"):
        for extra in ([], ["-f"]):
            run("one.bin", "two.bin", "--to", target, "-o", "private",
                "-f", *extra)
            mode = stat.S_IMODE(os.stat("private").st_mode)
            if mode != 0o600:
                wrong.append((target, oct(mode)))
            os.chmod("private", 0o644)
    os.chmod("one.bin", 0o644)
    results.check("an output has no more rights than the inputs", not wrong,
                  wrong)


def check_comparison(results, made):
    """Two columns for each stack: of the base, and of the other."""
    done = run("one.bin", "--diff", "two.bin", "--to", "collapsed", "-o",
               "diff.txt")
    columns = [0, 0]
    threads = set()
    with open("diff.txt", encoding="utf-8") as lines:
        for line in lines:
            stack, base, new = line.rsplit(" ", 2)
            columns[0] += int(base)
            columns[1] += int(new)
            threads.add(stack.split(";")[0])
    results.check("a comparison has both counts",
                  done.returncode == 0 and
                  columns == [made[1].samples(), made[0].samples()] and
                  threads <= {"MainThread", "thread"},
                  f"{done.stderr} {columns} {threads}")
    deep = os.path.join(*["d" * 100] * 3)
    os.makedirs(deep)
    os.makedirs("-it's mine")
    for folder, word in (("folder", "folder"), (deep, "DIRECTORY"),
                         ("-it's mine", "./'-it'\\''s mine'")):
        refused = run("one.bin", "--diff", folder, "--to", "html", "-o",
                      "refused.html")
        results.check("a directory is not a base, and the hint makes one of it",
                      refused.returncode == 2 and
                      f"'{folder[:100]}" in refused.stderr and
                      f"hint: 'pyconv {word} --to bin -o old.bin'" in
                      refused.stderr and not os.path.exists("refused.html"),
                      refused.stderr)
    verified = run("--verify", "folder")
    results.check("a directory is not called a pipe",
                  verified.returncode == 2 and
                  verified.stderr ==
                  "pyconv: error: 'folder' is a directory\n",
                  verified.stderr)
    same = run("one.bin", "--diff", "one.bin", "--to", "collapsed", "-o",
               "same.txt", "--style", "plain")
    with open("same.txt", encoding="utf-8") as lines:
        equal = all(line.split()[-1] == line.split()[-2] for line in lines)
    results.check("a profile is equal to itself",
                  same.returncode == 0 and equal, same.stderr)


def check_follow(results, made):
    """A file that grows: its database appears, and is whole at the end."""
    harness.feed(made[1], "whole.bin", segment=500)
    with open("whole.bin", "rb") as file:
        data = file.read()
    harness.feed(made[1], "open.bin", segment=500, end="abort")
    with open("open.bin", "rb") as file:
        beginning = file.read()
    grows = data[64:].startswith(beginning[64:]) and len(data) > len(beginning)
    follower = subprocess.Popen(
        [outputs.PYCONV, "open.bin", "--follow", "-o", "followed.db"],
        stderr=subprocess.PIPE, text=True)
    while not os.path.exists("followed.db") and follower.poll() is None:
        time.sleep(0.01)
    first = os.path.exists("followed.db")
    with open("open.bin", "ab") as file:
        file.write(data[len(beginning):])
    with open("open.bin", "r+b") as file:
        file.write(data[:64])  # the header is complete at last
    _, errors = follower.communicate()
    database = sqlite3.connect("followed.db")
    samples = database.execute("SELECT sum(samples) FROM thread").fetchone()[0]
    database.close()
    results.check("a database follows a file until it is finished",
                  first and grows and follower.returncode == 0 and
                  samples == made[1].samples(), f"{errors} {samples}")


def check_partial(results):
    """One whole and one cut file."""
    with open("two.bin", "rb") as file:
        data = file.read()
    with open("cut.bin", "wb") as file:
        file.write(data[:70])
    done = run("one.bin", "cut.bin", "--to", "sqlite", "-o", "part.db")
    results.check("a file from which nothing can be had is said",
                  done.returncode == 3 and os.path.exists("part.db"),
                  f"{done.returncode} {done.stderr}")


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    rnd = random.Random(seed)
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        made = [make(rnd, pid, b"python3 /srv/app%d.py" % i, wall)
                for i, (pid, wall) in enumerate(zip(PIDS, (0, 10, 2)))]
        for name, profile in zip(FILES, made):
            status, why = harness.feed(profile, name)
            results.check(f"writes {name}", status == 0, why)
        check_sqlite(results, made)
        check_speedscope(results, made)
        check_firefox(results, made)
        check_pprof(results, made)
        check_collapsed(results, made)
        check_merged(results, made)
        check_directory(results)
        check_intervals(results, rnd)
        check_comparison(results, made)
        check_follow(results, made)
        check_rights(results)
        check_partial(results)
    results.exit()


if __name__ == "__main__":
    main()
