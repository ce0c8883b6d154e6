#!/usr/bin/env python3
"""The bar of a conversion that takes more than a second: on a terminal alone,
and gone at the end.

The conversion is stopped for a second while it reads, so that it takes as long
on any machine.
"""

import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import time

SRC = os.environ.get("SRC", os.path.join(os.path.dirname(__file__), "../.."))
sys.path.insert(0, os.path.join(SRC, "tests/interop"))

import harness  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
SAMPLES = 600000
PATIENCE = 1.2  # seconds: pyconv's is one
ATTEMPTS = 50   # a conversion may end before it is stopped


def has_opened(process, path):
    folder = f"/proc/{process}/fd"
    try:
        return any(os.readlink(os.path.join(folder, fd)) == path
                   for fd in os.listdir(folder))
    except OSError:
        return False  # ended, or closed one meanwhile


def state_of(process, *options):
    """A change of its state, which a later call sees again; None: no change."""
    return os.waitid(os.P_PID, process, os.WNOWAIT | os.WEXITED | sum(options))


def stop(process, path):
    """Stop it while it reads the file; False: it has ended."""
    while not has_opened(process, path):
        if state_of(process, os.WNOHANG):
            return False
    os.kill(process, signal.SIGSTOP)
    return state_of(process, os.WSTOPPED).si_code == os.CLD_STOPPED


def read_all(fd):
    text = b""
    try:
        while chunk := os.read(fd, 65536):
            text += chunk
    except OSError:
        pass  # the other end of a terminal is closed
    return text.decode()


def convert(path, *options, terminal=True):
    """The text of pyconv on stderr; None: it ended too early."""
    ours, its = pty.openpty() if terminal else os.pipe()
    process = os.fork()
    if process == 0:
        os.dup2(its, 2)
        os.execv(PYCONV, [PYCONV, path, "--to", "csv", "-f", "-o", "out.csv",
                          *options])
    os.close(its)
    begin = time.monotonic()
    stopped = stop(process, path)
    if stopped:
        time.sleep(max(0, begin + PATIENCE - time.monotonic()))
        os.kill(process, signal.SIGCONT)
    text = read_all(ours)
    os.close(ours)
    assert os.waitpid(process, 0)[1] == 0, text
    return text if stopped else None


def shown(path):
    """The text of a conversion that was stopped before its last report."""
    for _ in range(ATTEMPTS):
        text = convert(path)
        if text and "[" in text:
            return text
    return ""


def main():
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run([harness.tool("fleet"), ".", "1", str(SAMPLES), "1",
                        "0"], check=True)
        path = os.path.realpath("p0000000.bin")
        text = shown(path)
        bars = re.findall(r"\rpyconv: \[(#*)( *)\] (\d+) %", text)
        results.check("a terminal shows a bar", bars, repr(text))
        results.check("the bar is as long as its number says", all(
            len(done) + len(rest) == 40 and len(done) == int(percent) * 40 // 100
            for done, rest, percent in bars), bars)
        percents = [int(percent) for _, _, percent in bars]
        results.check("the bar grows", percents == sorted(set(percents)) and
                      percents and percents[-1] <= 100, percents)
        results.check("the bar is removed, and a note counts the samples",
                      re.search(r"%\r\033\[Kpyconv: " + str(SAMPLES) +
                                r" samples to 'out\.csv'\r\n$", text),
                      repr(text))
        for name, options, terminal in (("-q", ("-q",), True),
                                        ("a pipe", (), False)):
            text = convert(path, *options, terminal=terminal)
            results.check(f"{name} shows no bar", not text, repr(text))
    results.exit()


if __name__ == "__main__":
    main()
