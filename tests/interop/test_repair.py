#!/usr/bin/env python3
"""pyconv --to bin as a repairer: P1 to P4 of spec/format.md 11.4.

    test_repair.py [SEED]
"""

import os
import random
import subprocess
import sys
import tempfile

import decoder
import harness
import profiles

NOTES = ("meta", "rates", "processes", "gc", "tasks", "marks")


def repair(path, out):
    """(exit status, words on stderr)"""
    done = subprocess.run(
        [os.path.join(harness.BIN, "pyconv"), path, "--to", "bin", "-o", out],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return done.returncode, done.stderr.strip()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def broken(whole, opened):
    """{what: bytes} of a finished and a never finished file."""
    first = next(decoder.Decoder(whole, "<").search())
    end, second = first.at, first.end

    def flip(data, where):
        data = bytearray(data)
        data[where] ^= 1
        return bytes(data)

    return {
        "whole": whole,
        "never finished": opened,
        "cut in a segment": opened[:-20],
        "a bit in the first data frame": flip(whole, 64 + 20),
        "a bit in the second data frame": flip(opened, second + 20),
        "a bit in the first checkpoint": flip(opened, end + 60),
        "a bit in the header": flip(whole, 13),
        "a bit in the string table": flip(
            whole, decoder.Header(whole, "<").strings + 1),
    }


def last_values(profile):
    return {key: values[-1][1] for key, values in profile.counts.items()}


def check(results, name, data, folder):
    path, out = (os.path.join(folder, n) for n in ("in.bin", "out.bin"))
    with open(path, "wb") as file:
        file.write(data)
    if os.path.exists(out):
        os.remove(out)
    state, emitted, _ = harness.dump(path)
    status, why = repair(path, out)
    results.check(f"{name}: exit status and words",
                  (status == 0 and state == "finished") or
                  (status == 3 and state != "finished" and why), why)
    results.check(f"{name}: the input stays as it is", read(path) == data)
    after, made, trouble = harness.dump(out)
    if not results.check(f"{name}: the output is finished",
                         after == "finished" and made, trouble + why):
        return
    want, have = emitted.observed(True), made.observed(True)
    results.check(f"{name}: all that was emitted of it", want == have,
                  harness.first_difference(want, have))
    results.check(
        f"{name}: notes and names of threads",
        all(getattr(emitted, n) == getattr(made, n) for n in NOTES) and
        last_values(emitted) == last_values(made) and
        {k: t.name for k, t in emitted.threads.items()} ==
        {k: t.name for k, t in made.threads.items()},
        [(getattr(emitted, n), getattr(made, n)) for n in NOTES])
    if harness.STOCK:
        result, = harness.stock([{"op": "read", "path": out}])
        results.check(f"{name}: CPython replays the output",
                      len(result.get("samples", ())) == made.samples(), result)


def check_newer(results, folder):
    for name in ("good-rewriter-2", "good-rewriter-2-index"):
        out = os.path.join(folder, name)
        status, why = repair(os.path.join(harness.VECTORS, name + ".bin"), out)
        results.check(f"{name} is not rewritten",
                      status == 1 and not os.path.exists(out), why)


def main(seed):
    print(f"# seed {seed}")
    results = harness.Results()
    profile = profiles.notes(random.Random(f"{seed} repair"))
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for end in ("finish", "abort"):
            path = os.path.join(folder, end)
            harness.feed(profile, path, segment=600, end=end)
            files.append(read(path))
        for name, data in broken(*files).items():
            check(results, name, data, folder)
        check_newer(results, folder)
    results.exit()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1
         else random.SystemRandom().randrange(1 << 32))
