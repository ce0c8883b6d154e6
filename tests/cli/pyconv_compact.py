#!/usr/bin/env python3
"""A day of recordings in one file: pyconv DIR --to bin keeps every answer.

    pyconv_compact.py [SEED]

Of different processes nothing changes.  Where one process was recorded several
times, the last sample of each recording stands for at most one interval more,
because the next one of its thread follows in the same file; counts, shares and
states stay as they were.
"""

import csv
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402

QUESTIONS = ("top 9999 by self", "lines 99999", "callers 999 of step_04",
             "callees 999 of step_04", "tree above 0%", "stacks 99999",
             "waits 999", "top 9999 where gil", "modules 999",
             "top 9999 where label service = service00", "files 999")
TIMES = ("seconds", "self_s", "total_s", "self_ran_s", "total_ran_s", "ran_s")
SAMPLES, PROFILES, THREADS, INTERVAL_S = 90, 24, 3, 0.01
ROUNDING_S = 1e-6
RESULTS = harness.Results()
check = RESULTS.check


def program(name, *arguments):
    return subprocess.run([os.path.join(harness.BIN, name), *arguments],
                          capture_output=True, text=True, check=False)


def rows(question, *paths):
    """The rows in any order, and the seconds of each."""
    done = program("pyquery", "--csv", *paths, question)
    assert done.returncode == 0, done.stderr
    found = {}
    for row in csv.DictReader(done.stdout.splitlines()):
        times = [float(row.pop(key) or 0) for key in TIMES if key in row]
        found.setdefault(tuple(sorted(row.items())), []).append(times)
    for times in found.values():
        times.sort()
    return found


def compact(folder, seed, processes):
    os.makedirs(folder)
    subprocess.run([harness.tool("fleet"), folder, str(PROFILES),
                    str(SAMPLES), str(seed), "1760000000", str(processes)],
                   check=True)
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    day = folder + ".bin"
    done = program("pyconv", folder, "--to", "bin", "--level", "19", "-o", day)
    check("%s: pyconv compacts %d files" % (folder, len(files)),
          done.returncode == 0, done.stderr)
    size = sum(map(os.path.getsize, files))
    check("%s: a tenth at least is saved" % folder,
          os.path.getsize(day) < 0.9 * size,
          "%d of %d" % (os.path.getsize(day), size))
    check("%s: the day is whole" % folder,
          program("pyconv", "--verify", day).returncode == 0)
    return files, day


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    print("# seed %d" % seed)
    files, day = compact("many", seed % 1000, PROFILES)
    one_service = [path for number, path in enumerate(files)
                   if number % 20 == 0]
    done = program("pyconv", *one_service, "--to", "bin", "-o", "service.bin")
    check("files of one service are one", done.returncode == 0, done.stderr)
    for question in QUESTIONS:
        parts, whole = ((one_service, "service.bin") if "label" in question or
                        " of " in question else (files, day))
        check("of many processes: '%s'" % question,
              rows(question, *parts) == rows(question, whole))
    files, day = compact("one", seed % 1000, 1)
    slack = (PROFILES - 1) * THREADS * INTERVAL_S
    for question in QUESTIONS:
        parts, whole = rows(question, *files), rows(question, day)
        near = parts.keys() == whole.keys() and all(
            len(parts[key]) == len(whole[key]) and
            all(-ROUNDING_S <= b - a <= slack + ROUNDING_S
                for before, after in zip(parts[key], whole[key])
                for a, b in zip(before, after)) for key in parts)
        check("of one process: '%s'" % question, near and parts)
    RESULTS.exit()


main()
