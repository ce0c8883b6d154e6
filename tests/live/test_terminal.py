"""The live view and the interactive mode on a real terminal (tmux)."""

import os
import re
import signal
import subprocess
import uuid

from live import (ANY_PYTHON, PATIENCE, PYQUERY, PYREC, Target, expect, once,
                  record, run, wait_until)

SOCKET = "pyquery-test-%d" % os.getpid()


def tmux(*arguments):
    return subprocess.run(["tmux", "-L", SOCKET, "-f", "/dev/null",
                           *map(str, arguments)], capture_output=True,
                          text=True, check=False).stdout


class Terminal:
    def __init__(self, *command, columns=80, rows=24):
        self.name = uuid.uuid4().hex[:8]
        line = " ".join("'%s'" % word for word in map(str, command))
        tmux("new-session", "-d", "-s", self.name, "-x", columns, "-y", rows,
             "-e", "LANG=C.UTF-8", "%s 2>terminal.err; echo status $?;"
             " sleep %d" % (line, PATIENCE))

    def screen(self):
        return tmux("capture-pane", "-t", self.name, "-p")

    def keys(self, *keys):
        tmux("send-keys", "-t", self.name, *keys)

    def resize(self, columns, rows):
        tmux("resize-window", "-t", self.name, "-x", columns, "-y", rows)

    def shows(self, text):
        wait_until(lambda: re.search(text, self.screen()),
                   "the terminal to show '%s', not\n%s" % (text, self.screen()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        tmux("kill-session", "-t", self.name)


def recorder(target, *options):
    return subprocess.Popen([PYREC, "-p", str(target.pid), "-o", "run.bin",
                             "-q", *options], stderr=subprocess.DEVNULL)


@once
def the_live_view_obeys_its_keys():
    with Target(ANY_PYTHON, "calls.py", "tree") as target:
        pyrec = recorder(target)
        wait_until(lambda: os.path.exists("run.bin"), "a profile")
        with Terminal(PYQUERY, "--follow", "run.bin") as t:
            t.shows(r"top \d+ by ran: \d+ of \d+ samples")
            for key, text in (("3", r"threads: "), ("4", r"tree above 1%"),
                              ("5", r"waits \d+: "), ("2", r"lines \d+ by ran"),
                              ("1", r"top \d+ by ran"), ("s", r"by self: "),
                              ("t", r"by total: "), ("w", r"last 5s: "),
                              ("f", r"where gil last 5s: "),
                              ("p", r"\[paused\]"), ("?", r"since the start, the last 5 s")):
                t.keys(key)
                t.shows(text)
            t.keys("?")
            t.keys("p")
            t.keys("/")
            t.shows("search:")
            t.keys("xyzzy", "Enter")
            t.shows("/xyzzy")
            t.keys("q")
            t.shows("status 0")
        pyrec.send_signal(signal.SIGINT)
        pyrec.wait(PATIENCE)


@once
def the_live_view_follows_the_size_of_its_window():
    with Target(ANY_PYTHON, "calls.py", "tree") as target:
        record(target, "run.bin", seconds=1)
        with Terminal(PYQUERY, "--follow", "run.bin", "top 5") as t:
            t.shows("top 5: ")
            for columns, rows in ((40, 12), (200, 50), (20, 5), (80, 24)):
                t.resize(columns, rows)
                t.shows(r"(?m)^q quit")
                lines = t.screen().splitlines()
                expect(all(len(line) <= columns for line in lines),
                       "%d columns: %s", columns, lines)
            t.keys("q")
            t.shows("status 0")


@once
def the_live_view_says_that_the_recording_has_ended():
    with Target(ANY_PYTHON, "calls.py", "tree") as target:
        pyrec = recorder(target)
        wait_until(lambda: os.path.exists("run.bin"), "a profile")
        with Terminal(PYQUERY, "--follow", "run.bin") as t:
            t.shows("top ")
            target.end()
            t.shows("the recording has ended")
            t.keys("q")
            t.shows("status 0")
        pyrec.wait(PATIENCE)


@once
def the_live_view_says_that_the_recorder_is_silent():
    with Target(ANY_PYTHON, "calls.py", "tree") as target:
        pyrec = recorder(target)
        wait_until(lambda: os.path.exists("run.bin"), "a profile")
        with Terminal(PYQUERY, "--follow", "run.bin") as t:
            t.shows("top ")
            pyrec.kill()
            pyrec.wait(PATIENCE)
            t.shows("the recorder may have been killed")
            t.keys("q")
            t.shows("status 0")


@once
def pyrec_top_shows_the_process_and_leaves_nothing():
    os.mkdir("temporary")
    with Target(ANY_PYTHON, "calls.py", "tree") as target:
        with Terminal("env", "TMPDIR=temporary", PYREC, "--top", "-p",
                      target.pid) as t:
            t.shows(r"top \d+ by ran: ")
            t.shows(r"pyquery  \S+ \(process %d\)" % target.pid)
            t.keys("q")
            t.shows("status 0")
    expect(os.listdir("temporary") == [], "%s", os.listdir("temporary"))


@once
def pyrec_top_names_a_process_that_is_no_python():
    sleeper = subprocess.Popen(["sleep", "600"])
    try:
        with Terminal(PYREC, "--top", "-p", sleeper.pid) as t:
            t.shows("status 8")
    finally:
        sleeper.kill()
        sleeper.wait()
    with open("terminal.err", encoding="utf-8") as file:
        expect("pyrec: error: " in file.read(), "no message")


@once
def the_interactive_mode_completes_and_remembers():
    with Target(ANY_PYTHON, "calls.py", "tree") as target:
        record(target, "run.bin", seconds=1)
    # less -F stays when the text fills the screen and its end comes late
    with Terminal("env", "PAGER=cat", PYQUERY, "-i", "run.bin") as t:
        t.shows("pyquery>")
        t.keys("thre", "Tab")
        t.shows("pyquery> threads")
        t.keys("Enter")
        t.shows(r"threads: \d+ samples")
        t.keys("tpo", "Enter")
        t.shows(r"pyquery> tpo\npyquery>")
        t.keys("Up", "Up")
        t.shows(r"pyquery> threads\s*$")
        t.keys("C-u")
        t.keys("help top", "Enter")
        t.shows(r"by self \| total(.|\n)*flame graph\npyquery>")
        t.keys("C-d")
        t.shows("status 0")
    with open("terminal.err", encoding="utf-8") as file:
        expect("did you mean 'top'" in file.read(), "no candidate for 'tpo'")


@once
def a_live_view_without_a_terminal_is_refused():
    done = subprocess.run([PYQUERY, "--follow", "run.bin"],
                          stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, check=False)
    expect(done.returncode == 2 and "needs a terminal" in done.stderr, "%s",
           done.stderr)


try:
    run()
finally:
    tmux("kill-server")
