#!/usr/bin/env python3
"""Every bit flipped and every byte cut off, of small files of the library.

    test_damage.py [SEED]

R4, R5, R6, R9, F7, W2.  By damage.c in one process a file, plain and under
AddressSanitizer and UBSan where that build is there.
"""

import os
import random
import subprocess
import sys
import tempfile

import decoder
import harness
import profiles

FILES = {"finished": {"segment": 200},
         "never finished": {"segment": 200, "end": "abort"},
         "finished, one segment": {}}
SANITIZED = os.path.join(harness.BIN, "address-undefined/interop/damage")


def small(seed):
    """Several segments, names, notes, two threads in a few kilobytes."""
    rnd = random.Random(f"{seed} damage")
    maker = profiles.Maker(rnd, names=profiles.PLAIN_NAMES[:9], frames=12)
    maker.thread((1234, 0), 60, depth=6)
    maker.thread((1235, 0), 40, depth=4)
    notes = profiles.notes(rnd)
    profile = maker.profile
    profile.meta, profile.marks = notes.meta, notes.marks
    profile.gc, profile.counts = notes.gc, {(1234, 0, 0): [(9, 50)]}
    profile.tasks = [(0x7F00, 4, (1234, 0), b"Task-1", ())]
    profile.threads[1234, 0].name = b"MainThread"
    return profile


def checkpoints(path):
    """[(end, samples so far)] by the second decoder's parts."""
    with open(path, "rb") as file:
        data = file.read()
    return [(checkpoint.end, decoder.Body(checkpoint, False, 0, 0).span[3])
            for checkpoint in decoder.Decoder(data, "<").search()]


def run(results, name, program, *words):
    done = subprocess.run([program, *map(str, words)], text=True,
                          capture_output=True, check=False)
    lines = done.stdout.strip().splitlines() or [""]
    results.check(f"{name}: {lines[-1]}", done.returncode == 0,
                  done.stdout[:1000] + done.stderr[-2000:])


def check_file(results, name, path, several):
    ends = checkpoints(path)
    results.check(f"{name}: checkpoints", len(ends) > (2 if several else 0),
                  ends)
    words = [w for pair in ends for w in pair]
    programs = {"": harness.tool("damage")}
    if os.path.exists(SANITIZED):
        programs[" under sanitizers"] = SANITIZED
    else:
        results.skip(f"{name} under sanitizers", "not built")
    for how, program in programs.items():
        run(results, f"{name}{how}: every bit", program, "flip", path)
        run(results, f"{name}{how}: every cut", program, "cut", path, *words)


def main(seed):
    print(f"# seed {seed}")
    results = harness.Results()
    profile = small(seed)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in FILES.items():
            path = os.path.join(folder, "profile.bin")
            status, why = harness.feed(profile, path, **options)
            if results.check(f"{name}: written", status == 0, why):
                check_file(results, name, path, "segment" in options)
    results.exit()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1
         else random.SystemRandom().randrange(1 << 32))
