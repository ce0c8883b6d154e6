"""Pythons that are too old are called by their version and refused."""

import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

OLD = [path for name in ["2.7"] + ["3.%d" % minor for minor in range(4, 11)]
       for path in sorted(glob.glob(os.path.expanduser(
           "~/.pyenv/versions/%s.*/bin/python%s" % (name, name)))
           + glob.glob("/usr/bin/python" + name))[-1:]]
PROGRAM = "import sys, time; sys.stdout.write('runs\\n'); " \
          "sys.stdout.flush(); time.sleep(60)"


def is_refused(python):
    version = os.path.basename(python)[len("python"):]
    process = subprocess.Popen([python, "-c", PROGRAM], stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        done = live.call(live.PYREC, "--check", process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    expect(done.returncode == 8, "status %d: %s", done.returncode, done.stderr)
    expect("CPython %s is too old" % version in done.stderr, "%s", done.stderr)


for path in OLD or [None]:
    live.tests.append(("%s is too old" % os.path.basename(
        path or "a Python before 3.11"), is_refused, (path,)))
live.run()
