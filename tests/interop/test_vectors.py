#!/usr/bin/env python3
"""Both decoders on every vector of spec/vectors and every example of
spec/format.md: the answer that stands beside it.  The citations of duties are
in spec/vectors/README.md."""

import glob
import os
import tempfile

import harness
import spec_vectors


def answer(path):
    """The answer beside a vector: canonical JSON lines or a fault's name."""
    for suffix in (".json", ".err"):
        if os.path.exists(path + suffix):
            with open(path + suffix, encoding="ascii") as file:
                return file.read()
    raise FileNotFoundError(path + ".json or .err")


def emitted(state, profile):
    return profile.json() if profile else state + "\n"


def check(results, path):
    name, want = os.path.basename(path), answer(path)
    for reader, read in (("library", harness.dump),
                         ("decoder", harness.decode)):
        state, profile, why = read(path + ".bin")
        have = emitted(state, profile)
        results.check(f"{reader}: {name}", have == want,
                      f"wanted\n{want}got\n{have}{why}")


def check_jobs(results, path):
    """R11: any number of decoding threads, the same lines in the same
    order."""
    one = harness.dump(path + ".bin", 0, 2**64 - 1, 1)
    four = harness.dump(path + ".bin", 0, 2**64 - 1, 4)
    results.check(f"library with four threads: {os.path.basename(path)}",
                  emitted(*one[:2]) == emitted(*four[:2]))


def main():
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        spec_vectors.main(folder)
        paths = sorted(glob.glob(os.path.join(harness.VECTORS, "*.bin")) +
                       glob.glob(os.path.join(folder, "*.bin")))
        for path in paths:
            check(results, path.removesuffix(".bin"))
            check_jobs(results, path.removesuffix(".bin"))
    results.exit()


if __name__ == "__main__":
    main()
