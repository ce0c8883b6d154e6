#!/usr/bin/env python3
"""Vectors damaged at random, by both decoders.

    test_differential.py [SEED [COUNT]]

A file that one of them calls finished, the other calls finished too and emits
the same of it (R4); neither fails in another way than by its answer (R9).
"""

import collections
import glob
import os
import random
import sys
import tempfile

import harness


def damage(rnd, data):
    """A cut, appended bytes, or some wrong bits or bytes."""
    data = bytearray(data)
    kind = rnd.randrange(5)
    if kind == 0:
        return data[:rnd.randrange(len(data))]
    if kind == 1:
        return data + rnd.randbytes(rnd.randrange(1, 100))
    for _ in range(rnd.choice((1, 1, 2, 8))):
        at = rnd.randrange(len(data))
        data[at] = (rnd.randrange(256) if kind == 2 else
                    data[at] ^ 1 << rnd.randrange(8))
    return data


def judge(path):
    """(the library's state, the fault of the two answers or None)"""
    state, library, why = harness.dump(path)
    other, second, trouble = harness.decode(path)
    if state not in ("finished", "cut", "damaged", "newer", "foreign"):
        return state, why
    if "finished" in (state, other):
        if state != other:
            return state, f"{state} and {other}: {why} {trouble}"
        if library.json() != second.json():
            return state, "both finished, but not the same"
    return state, None


def main(seed, count):
    print(f"# seed {seed}")
    rnd = random.Random(seed)
    paths = sorted(glob.glob(os.path.join(harness.VECTORS, "*.bin")))
    vectors = []
    for path in paths:
        with open(path, "rb") as file:
            vectors.append((os.path.basename(path), file.read()))
    vectors = [(name, data) for name, data in vectors if data]
    answers, wrong = collections.Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "damaged.bin")
        for number in range(count):
            name, data = rnd.choice(vectors)
            with open(path, "wb") as file:
                file.write(damage(rnd, data))
            state, fault = judge(path)
            answers[state] += 1
            if fault:
                wrong.append(f"{number}, of {name}: {fault}")
    results = harness.Results()
    results.check(f"{count} damaged vectors: {dict(sorted(answers.items()))}",
                  not wrong and len(answers) == 5, "\n".join(wrong))
    results.exit()


if __name__ == "__main__":
    # one seed for all runs: a new one is a hunt, this is a check
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20261129,
         int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
