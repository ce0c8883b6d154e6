#!/usr/bin/env python3
"""pyconv --to bin: the same again, a range of time, several files in one; and
what Python's own pstats makes of the output for it.

    pyconv_bin.py [SEED]
"""

import copy
import os
import random
import subprocess
import sys
import tempfile

SRC = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(SRC, "tests/interop"))

import canon  # noqa: E402
import harness  # noqa: E402
import profiles  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
PYTHON = os.environ.get("PYTHON", sys.executable)
END = 1 << 64


def convert(*arguments):
    return subprocess.run([PYCONV, *arguments, "-q"], capture_output=True,
                          text=True, check=False)


def between(profile, start, end, shift=0):
    """The samples with start <= time < end; times count from `shift`."""
    part = copy.copy(profile)
    part.start = dict(profile.start, start_us=profile.start["start_us"] + shift)
    part.threads = {}
    for key, thread in profile.threads.items():
        part.threads[key] = canon.Thread(thread.main, thread.name)
        for stack, samples in thread.runs:
            part.threads[key].add(stack, [(t - shift, s) for t, s in samples
                                          if start <= t < end])
    return part


def read_back(path):
    _, profile, _ = harness.dump(path)
    return profile


def same(a, b):
    return a.observed(first_line=True) == b.observed(first_line=True)


def check_copy(results, name, profile):
    harness.feed(profile, "a.bin")
    for options in ((), ("--level", "3"), ("--compression", "none")):
        done = convert("a.bin", "--to", "bin", "-f", "-o", "copy.bin",
                       *options)
        plain = "none" in options
        good = done.returncode == 0 and (
            read_back("copy.bin").observed() == profile.observed() if plain
            else same(read_back("copy.bin"), profile))
        results.check(f"bin {' '.join(options)} of {name}", good, done.stderr)
    done = convert("a.bin", "--to", "bin", "-f", "-o", "copy.bin")
    copied = read_back("copy.bin")
    results.check(f"bin keeps what stands beside the samples of {name}",
                  all(getattr(copied, part) == getattr(profile, part)
                      for part in ("meta", "counts", "gc", "tasks", "marks")))


def check_range(results, name, profile):
    harness.feed(profile, "a.bin", segment=2000)
    times = sorted({t for thread in profile.threads.values()
                    for _, run in thread.runs for t, _ in run})
    if not times:
        return
    middle = times[len(times) // 2]
    for start, end in ((0, middle), (middle, times[-1] + 1),
                       (times[len(times) // 3], middle)):
        if start >= end:
            continue
        done = convert("a.bin", "--to", "bin", "-f", "-o", "part.bin",
                       "--between", f"{start}us..{end}us")
        results.check(f"between {start} and {end} us of {name}",
                      done.returncode == 0 and
                      same(read_back("part.bin"), between(profile, start, end)),
                      done.stderr)


def check_merge(results, name, profile):
    times = sorted({t for thread in profile.threads.values()
                    for _, run in thread.runs for t, _ in run})
    if len(times) < 2:
        return
    middle = times[len(times) // 2]
    first, second = between(profile, 0, middle), between(
        profile, middle, END, shift=middle)
    # ids of its own: the same frames in another order
    second.frames = list(reversed(profile.frames))
    for thread in second.threads.values():
        thread.runs = [(tuple(len(second.frames) - 1 - i for i in stack), run)
                       for stack, run in thread.runs]
    first.meta, second.meta = {b"pid": b"7"}, {b"pid": b"7"}
    first.counts = {(*canon.NO_THREAD, 16): [(9, 30)]}
    second.counts = {(*canon.NO_THREAD, 16): [(9, 12)]}
    for part in (first, second):
        part.gc, part.tasks, part.marks = [], [], []
    harness.feed(first, "1.bin")
    harness.feed(second, "2.bin")
    done = convert("2.bin", "1.bin", "--to", "bin", "-f", "-o", "both.bin")
    merged = read_back("both.bin") if done.returncode == 0 else None
    results.check(f"two halves of {name} are the whole",
                  merged and same(merged, profile), done.stderr)
    results.check(f"counters of the halves of {name} add up",
                  merged and merged.counts[(*canon.NO_THREAD, 16)][-1][1]
                  == 42)


def check_refusals(results, profile):
    other = copy.deepcopy(profile)
    harness.feed(profile, "a.bin")
    other.start["mode"] = 1
    harness.feed(other, "b.bin")
    done = convert("a.bin", "b.bin", "--to", "bin", "-o", "refused.bin")
    results.check("another mode is not merged", done.returncode == 6,
                  done.stderr)
    profile.meta = {b"pid": b"42"}
    harness.feed(profile, "a.bin")
    done = convert("a.bin", "a.bin", "--to", "bin", "-o", "refused.bin")
    results.check("nor one process at one time twice", done.returncode == 6,
                  done.stderr)
    results.check("and leaves no file", not os.path.exists("refused.bin"))


PSTATS = """
import pstats, sys
stats = pstats.Stats(sys.argv[1], stream=open("printed", "w"))
stats.sort_stats("tottime").print_stats(); stats.print_callers()
stats.print_callees(); stats.add(sys.argv[1])
"""


def check_pstats(results, name, profile):
    harness.feed(profile, "a.bin")
    convert("a.bin", "--to", "pstats", "-f", "-o", "a.pstats")
    done = subprocess.run([PYTHON, "-X", "utf8", "-c", PSTATS, "a.pstats"],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ,
                                   PYTHONIOENCODING="utf-8:replace"))
    results.check(f"pstats takes, prints and adds {name}",
                  done.returncode == 0, done.stderr)


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    results = harness.Results()
    made = dict(profiles.generate(seed))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name in ("names", "wild_names", "no_samples", "empty_stacks",
                     "statuses", "interpreters", "long_time", "notes"):
            check_copy(results, name, made[name])
            check_range(results, name, made[name])
            check_merge(results, name, made[name])
        for name in ("names", "no_samples", "empty_stacks", "deep"):
            check_pstats(results, name, made[name])
        check_refusals(results, made["names"])
    results.exit()


if __name__ == "__main__":
    main()
