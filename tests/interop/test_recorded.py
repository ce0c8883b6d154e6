#!/usr/bin/env python3
"""A real recording, finished and killed, through all three readers: the
library, the second decoder and CPython 3.15 emit the same.  F1 to F8, W4."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import harness

TARGET = """
import threading
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
def work():
    while True:
        fib(15)
for name in ("w\\u00f6rker", "other"):
    threading.Thread(target=work, daemon=True, name=name).start()
print("ready", flush=True)
input()
"""
LONGEST = 60  # seconds until a recording that grows not is given up


def record(pid, path, *options):
    return subprocess.Popen(
        [os.path.join(harness.BIN, "pyrec"), "-p", str(pid), "-o", path,
         *options], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True)


def wait_for_samples(path):
    """Until the file has a whole checkpoint with samples."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        if os.path.exists(path):
            profile = harness.dump(path)[1]
            if profile and profile.samples():
                return True
        time.sleep(0.05)
    return False


def compare(results, name, path, want):
    state, library, why = harness.dump(path)
    other, second, trouble = harness.decode(path)
    if not results.check(f"{name}: {want} to both readers",
                         (state, other) == (want, want), why + trouble):
        return None
    results.check(f"{name}: samples", library.samples() > 0)
    results.check(f"{name}: the same lines", library.json() == second.json())
    return library


def check_finished(results, pid, path):
    recorder = record(pid, path, "-d", "3")
    why = recorder.communicate()[1]
    if not results.check("recorded", recorder.returncode == 0, why):
        return
    library = compare(results, "finished", path, "finished")
    if library and harness.STOCK:
        result, = harness.stock([{"op": "read", "path": path}])
        good = "error" not in result and harness.stock_observed(result) == \
            harness.as_stock(library.observed())
        results.check("finished: the same to CPython 3.15", good,
                      result.get("error"))


def check_killed(results, pid, path):
    recorder = record(pid, path)
    grown = wait_for_samples(path)
    recorder.send_signal(signal.SIGKILL)
    why = recorder.communicate()[1]
    if results.check("killed after its first checkpoint", grown, why):
        compare(results, "killed", path, "cut")


def main():
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            [sys.executable, "-c", TARGET], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True) as target:
        target.stdout.readline()
        check_finished(results, target.pid, os.path.join(folder, "a.bin"))
        check_killed(results, target.pid, os.path.join(folder, "b.bin"))
        target.kill()
    results.exit()


if __name__ == "__main__":
    main()
