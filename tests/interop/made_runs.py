"""Runs of a made program, with an exact number of samples of each function, and
questions about them."""

import csv
import io
import os
import random
import subprocess
import sys
import tempfile

import harness
import profiles

PYQUERY = os.path.join(harness.BIN, "pyquery")
INTERVAL = 1000  # us; also what each sample stands for
WALL = 1700000000000000


def write(path, counts, file=b"/app/shop.py", start_s=0, mode=0,
          python=(3, 13, 5), interval=INTERVAL, labels=None, host=b"box",
          recording=None, pid=100, callers=None):
    """counts: {function: samples whose innermost frame it is}; all are called
    by main(), or by another of them that main() calls: {function: caller}."""
    profile = profiles.Maker(random.Random(1), names=(), frames=0,
                             start=1).profile
    profile.start.update(interval_us=interval, mode=mode, capture=0x48,
                         python=list(python), wall_us=WALL + start_s * 1000000)
    profile.strings = [file, b"main", *(name.encode() for name in counts)]
    profile.frames = [(0, 1 + i, 1 + i, 1 + i, -1, -1, 1 + i, 255)
                      for i in range(len(counts) + 1)]
    thread = profile.thread(1, 0)
    thread.main = 1
    time = 0
    place = {name: 1 + i for i, name in enumerate(counts)}
    for i, (name, n) in enumerate(counts.items()):
        between = [place[callers[name]]] if name in (callers or {}) else []
        thread.add((1 + i, *between, 0), [(time + interval * j, 5) for j in range(n)])
        time += interval * n
    profile.meta = {b"pid": b"%d" % pid, b"host": host,
                    b"command": b"python3 shop.py",
                    b"wall_us": b"%d" % profile.start["wall_us"]}
    if recording:
        profile.meta[b"recording.id"] = recording
    for key, value in (labels or {}).items():
        profile.meta[b"label." + key.encode()] = str(value).encode()
    profile.stats = (time / 1e6, 1000.0, 0.0, 0.0, 3)
    status, why = harness.feed(profile, path)
    assert status == 0, why


def noisy(rnd, counts, common=0.1, own=0.02, **slower):
    """The counts of one run: with noise, and some functions slower."""
    factor = rnd.lognormvariate(0, common)
    return {name: round(n * factor * rnd.lognormvariate(0, own)
                        * slower.get(name, 1))
            for name, n in counts.items()}


def ask(*arguments):
    return subprocess.run([PYQUERY, *arguments], capture_output=True,
                          text=True, check=False)


def rows(*arguments):
    """The rows of an answer as csv, each {column: text}."""
    done = ask(*arguments)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(io.StringIO(done.stdout)))


def check_refused(results, title, arguments, status, word):
    """The question ends with this status and this word, without an answer."""
    done = ask(*arguments)
    results.check(f"refused: {title}", done.returncode == status and
                  word in done.stderr and not done.stdout,
                  f"{done.returncode} {done.stderr}")


def run(check_all):
    """check_all(results, rnd) in a folder of its own, by the seed of the
    command line."""
    seed = sys.argv[1] if len(sys.argv) > 1 else "1"
    print(f"# seed {seed}")
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        check_all(results, random.Random(seed))
    results.exit()
