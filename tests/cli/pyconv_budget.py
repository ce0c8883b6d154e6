#!/usr/bin/env python3
"""Small files that expand, many files, one file twice, and long outputs: each
ends in an error that names the limit and the option that raises it."""

import os
import random
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
import pyconv_several as several  # noqa: E402
import harness  # noqa: E402
from encoder import FRAMES, STRINGS, File, frame_entry, string, varints  # noqa: E402

A = (1234, 0)
MIB = 1 << 20
PROGRAMS = (("pyconv", "--to", "html", "-o", "out"), ("pyconv", "--info"),
            ("pyconv", "--verify"), ("pyquery",))


def zstd(content):
    """One frame with content size and checksum."""
    return subprocess.run(
        ["zstd", "-q", "-1", "--check", "--stream-size=%d" % len(content)],
        input=content, capture_output=True, check=True).stdout


def deep_bomb(size):
    """Records of `size` bytes in some kilobytes: one stack, ever deeper."""
    file = File()
    path, func = file.name(b"a.py"), file.name(b"f")
    file.frame(path, func, 1, 1)
    depth = 10000
    record = file.full(A, 0, 4, *[0] * depth)
    n = size // len(record)
    data = record * n
    file.segment(data, {A: 0}, (0, 0, n), frame=zstd(data))
    return file.unfinished()


def names_bomb(size):
    """Names of `size` bytes in the body of a checkpoint of some kilobytes."""
    file = File()
    name = string(b"x" * 60000)
    n = size // len(name)
    body = []

    def edit(parts):
        body.extend([parts[0], (STRINGS, varints(0, n) + name * n),
                     (FRAMES, varints(0, 1) + frame_entry(0, 0) + b"\0"),
                     *parts[1:]])
        return body

    file.segment(edit=edit, packed=zstd)
    return file.unfinished()


def run(folder, program, *words):
    return subprocess.run(
        [os.path.join(harness.BIN, program), *map(str, words)], cwd=folder,
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def check_bombs(results, folder):
    for name, data in (("deep", deep_bomb(24 * MIB)),
                       ("names", names_bomb(24 * MIB))):
        path = os.path.join(folder, name + ".bin")
        with open(path, "wb") as file:
            file.write(data)
        results.check(f"{name}: a small file", len(data) < 64 << 10, len(data))
        for program, *words in PROGRAMS:
            done = run(folder, program, path, *words)
            results.check(
                f"{name}: {program} {' '.join(words)} refuses it",
                done.returncode == 1 and "16 MiB" in done.stderr and
                "--memory" in done.stderr, done)
            results.check(f"{name}: {program} leaves nothing",
                          not os.path.exists(os.path.join(folder, "out")))
            done = run(folder, program, "--memory", "64M", path, *words)
            results.check(f"{name}: {program} --memory 64M takes it",
                          done.returncode in (0, 3), done)
            if "out" in words:
                os.unlink(os.path.join(folder, "out"))


def check_stacks(results, folder):
    """The stacks of a profile have a budget of their own."""
    path = os.path.join(folder, "stacks.bin")
    profile = several.make(random.Random(1), 7, b"x", 0)
    assert harness.feed(profile, path)[0] == 0
    done = run(folder, "pyconv", path, "--to", "html", "-o", "out",
               "--memory", "1K")
    results.check("too little memory is said",
                  done.returncode == 1 and "--memory" in done.stderr, done)
    for size in ("", "0", "-1", "1X", "1 M", "99999999999999999999", "M"):
        done = run(folder, "pyconv", path, "--info", "--memory", size)
        results.check(f"--memory '{size}' is wrong", done.returncode == 2,
                      done)


def check_output(results, folder):
    path = os.path.join(folder, "stacks.bin")
    whole = run(folder, "pyconv", path, "--to", "jsonl", "-o", "-").stdout
    for name in ("out", "-"):
        done = run(folder, "pyconv", path, "--to", "jsonl", "-o", name,
                   "--max-output", len(whole) - 1)
        results.check(f"an output to {name} beyond its limit",
                      done.returncode == 1 and
                      "--max-output" in done.stderr and
                      len(done.stdout) < len(whole) and
                      not os.path.exists(os.path.join(folder, "out")), done)
    done = run(folder, "pyconv", path, "--to", "jsonl", "-o", "-",
               "--max-output", len(whole))
    results.check("an output of just its limit", done.stdout == whole, done)


def few_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))


def check_many(results, folder):
    paths = []
    for pid in range(1, 101):
        paths.append(os.path.join(folder, f"{pid}.bin"))
        profile = several.make(random.Random(pid), pid, b"x", pid)
        for thread in profile.threads.values():
            del thread.runs[5:]
        assert harness.feed(profile, paths[-1])[0] == 0
    done = subprocess.run([outputs.PYCONV, *paths, "--to", "bin", "-o",
                           "all.bin"], cwd=folder, capture_output=True,
                          text=True, check=False, preexec_fn=few_descriptors)
    results.check("a hundred files with 32 descriptors",
                  done.returncode == 0, done)
    done = run(folder, "pyconv", *paths[:3], paths[1], "--to", "bin", "-o",
               "twice.bin")
    results.check("a file that is given twice", done.returncode == 6 and
                  "the same recording" in done.stderr, done)


def main():
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        check_bombs(results, folder)
        check_stacks(results, folder)
        check_output(results, folder)
        check_many(results, folder)
    results.exit()


if __name__ == "__main__":
    main()
