#!/usr/bin/env python3
"""Each rule of rules.py: the library and the second decoder find the state
that the specification gives, and emit the samples that it gives."""

import os
import tempfile

import harness
import rules


def times(profile):
    return sorted(time for thread in profile.threads.values()
                  for _, samples in thread.runs for time, _ in samples)


def check(results, name, path):
    broken = rules.RULES[name]
    with open(path, "wb") as file:
        file.write(broken.make())
    answers = []
    for reader, read in (("library", harness.dump),
                         ("decoder", harness.decode)):
        state, profile, why = read(path)
        have = (state, tuple(times(profile)) if profile else ())
        results.check(f"{reader}: {name}", have ==
                      (broken.state, tuple(sorted(broken.times))),
                      f"{have} {why}")
        answers.append(profile.json() if profile else None)
    results.check(f"both the same: {name}", answers[0] == answers[1],
                  "\n".join(map(str, answers)))


def main():
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        for name in rules.RULES:
            check(results, name, os.path.join(folder, name))
    results.exit()


if __name__ == "__main__":
    main()
