#!/usr/bin/env python3
"""A long answer on a terminal, with pagers of all kinds: the answer is shown
whole, or as far as its reader wants it."""

import os
import pty
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402
import made_runs  # noqa: E402

FUNCTIONS = 300
QUERY = f"top {FUNCTIONS}"


def read_all(fd):
    text = b""
    while True:
        try:
            part = os.read(fd, 65536)
        except OSError:  # the terminal has no writer any more
            part = b""
        if not part:
            os.close(fd)
            return text.decode().replace("\r\n", "\n")
        text += part


def on_terminal(pager, *arguments):
    """(status, what the terminal shows, what stderr gets)"""
    ours, theirs = pty.openpty()
    environment = dict(harness.ENVIRONMENT, COLUMNS="80", NO_COLOR="1",
                       TERM="dumb", PAGER=pager)
    with subprocess.Popen([made_runs.PYQUERY, *arguments], stdin=theirs,
                          stdout=theirs, stderr=subprocess.PIPE, text=True,
                          env=environment) as process:
        os.close(theirs)
        shown = read_all(ours)
        said = process.stderr.read()
    return process.returncode, shown, said


def check_pagers(results, _):
    made_runs.write("run.bin", {f"function_{i}": 5
                                for i in range(FUNCTIONS)})
    whole = made_runs.ask("run.bin", QUERY).stdout
    for pager in "/nonexistent", "nonexistent -x", "./run.bin":
        status, shown, said = on_terminal(pager, "run.bin", QUERY)
        results.check(f"without the pager '{pager}' the answer is shown",
                      status == 0 and shown == whole and
                      f"note: the pager '{pager}' cannot run" in said,
                      (status, shown[:300], said))
    for pager, most in (("cat", None), ("head -n 3", 3), ("exit 1", 0),
                        ("true", 0)):
        status, shown, said = on_terminal(pager, "run.bin", QUERY)
        want = whole if most is None else "".join(
            whole.splitlines(keepends=True)[:most])
        results.check(f"'{pager}' shows what its reader wants",
                      (status, shown, said) == (0, want, ""),
                      (status, shown[:300], said))
    for pager in "cat", "/nonexistent":
        status, shown, said = on_terminal(
            pager, "run.bin", "check run.bin", "--min-runs=1",
            "--fail=seconds > +5%", "--json=/nonexistent/x")
        results.check(f"a report that cannot be written fails with '{pager}'",
                      status == 1 and "held" in shown and
                      "cannot create '/nonexistent/x'" in said,
                      (status, shown, said))
        status, shown, said = on_terminal(pager, "run.bin", "top of")
        results.check(f"a wrong query needs no '{pager}'", status == 2 and
                      not shown and "pager" not in said, said)


made_runs.run(check_pagers)
