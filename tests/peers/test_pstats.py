"""Every Python on the machine, old ones too, reads our pstats files."""

import glob
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

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


def reads(python):
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        live.record(target, "run.bin")
    live.succeed(live.PYCONV, "run.bin", "--to", "pstats", "-o", "run.pstats")
    # the encoding of a terminal is not the subject
    stated = live.succeed(python, "-c", READ, "run.pstats",
                        env=dict(os.environ, PYTHONIOENCODING="utf-8")).stdout
    expect("Worker.key" in stated and "Worker.rounds" in stated, "not in: %s", stated)


for version, python in READERS:
    live.tests.append(("a pstats file is read by Python " + version, reads,
                       (python,)))
live.run()
