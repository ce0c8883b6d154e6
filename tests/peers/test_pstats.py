"""Every Python on the machine, old ones too, reads our pstats files."""

import glob
import os
import sys

for folder in "live", "interop":
    sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", folder))
import live
from live import expect

import harness
import profiles

READ = """\
import pstats, sys
stats = pstats.Stats(sys.argv[1], stream=sys.stdout)
stats.sort_stats("tottime").print_stats(5)
stats.print_callers(5)
stats.print_callees(5)
"""
OLD = [("3.%d" % minor, path) for minor in range(8, 16)
       for path in sorted(glob.glob(os.path.expanduser(
           "~/.pyenv/versions/3.%d.*/bin/python3.%d" % (minor, minor))))[-1:]]
READERS = OLD + [(version, python) for version, python in live.PYTHONS.items()
                 if python]


MADE = {"hostile names": profiles.wild_names, "no samples": profiles.no_samples,
        "empty stacks": profiles.empty_stacks}
SEED = os.environ.get("PYREC_SEED", "pstats")


def read(python):
    live.succeed(live.PYCONV, "run.bin", "--to", "pstats", "-q", "-f", "-o",
                 "run.pstats")
    # the encoding of a terminal is not the subject
    encoding = "utf-8:backslashreplace"
    return live.succeed(python, "-c", READ, "run.pstats",
                        env=dict(os.environ, PYTHONIOENCODING=encoding)).stdout


def reads(python):
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        live.record(target, "run.bin")
    stated = read(python)
    expect("Worker.key" in stated and "Worker.rounds" in stated, "not in: %s",
           stated)


def reads_any(python):
    for kind, make in MADE.items():
        profile = make(profiles.random.Random(f"{SEED} {kind}"))
        status, why = harness.feed(profile, "run.bin")
        expect(status == 0, "cannot write %s: %s", kind, why)
        expect("function calls" in read(python), "%s: no table", kind)


for version, python in READERS:
    live.tests.append(("a pstats file is read by Python " + version, reads,
                       (python,)))
    live.tests.append(("hostile names, no samples and empty stacks are read by "
                       "Python " + version, reads_any, (python,)))
live.run()
