#!/usr/bin/env python3
"""A conversion that is ended by a signal leaves no file."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time

SRC = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(SRC, "tests/interop"))

import harness  # noqa: E402
import profiles  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ATTEMPTS = 50  # a conversion may end before the signal is sent
TARGETS = (("bin", ENDS), ("sqlite", ENDS),
           ("collapsed", ENDS + (signal.SIGKILL,)))


def unlike(rnd):
    """Stacks that do not compress: enough work to be interrupted in."""
    maker = profiles.Maker(rnd, frames=2000)
    maker.thread((1, 0), 6000, depth=250, gap=(1000,))
    return maker.profile


def begun(process, folder):
    """Is there an output, with a name or without?"""
    if os.listdir(folder):
        return True
    opened = f"/proc/{process}/fd"
    try:
        return any(os.readlink(os.path.join(opened, fd)).startswith(folder)
                   for fd in os.listdir(opened))
    except OSError:
        return False  # ended, or closed it meanwhile


def has_unnamed(folder):
    """Does the file system have files without a name?"""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
        return True
    except OSError:
        return False


def take_signals():
    """The program that started this test may ignore some of them."""
    for each in ENDS:
        signal.signal(each, signal.SIG_DFL)


def interrupt(path, target, sent, place):
    """The exit status of a conversion that was sent a signal after its output
    was begun and before its end, and what it left."""
    for _ in range(ATTEMPTS):
        with tempfile.TemporaryDirectory(dir=place) as folder:
            status, left = interrupt_once(path, target, sent, folder)
        if status != 0:
            break
    return status, left


def interrupt_once(path, target, sent, folder):
    job = subprocess.Popen(
        [PYCONV, path, "--to", target, "-o", os.path.join(folder, "out"),
         *(("--level", "22") if target == "bin" else ())],
        stderr=subprocess.DEVNULL, preexec_fn=take_signals)
    while not begun(job.pid, folder) and job.poll() is None:
        time.sleep(0.0005)
    job.send_signal(sent)
    return job.wait(), os.listdir(folder)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    print(f"# seed {seed}")
    results = harness.Results()
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "in.bin")
        status, why = harness.feed(unlike(random.Random(seed)), path)
        results.check("a profile to convert", status == 0, why)
        for target, ends in TARGETS:
            for sent in ends:
                name = f"{target} ended by {sent.name} leaves nothing"
                if sent == signal.SIGKILL and not has_unnamed(place):
                    print(f"ok {name} # SKIP no files without a name here")
                    continue
                status, left = interrupt(path, target, sent, place)
                results.check(name, status == -sent and not left,
                              f"{status} {left}")
    results.exit()


main()
