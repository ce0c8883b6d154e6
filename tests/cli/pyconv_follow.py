#!/usr/bin/env python3
"""pyconv --follow keeps a database up to date with a file that grows.

    pyconv_follow.py [SEED]

A made profile grows by whole segments.  After each step the database has the
samples of one conversion up to its moment, and at the end every row of one
conversion of the finished file.
"""

import collections
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import decoder  # noqa: E402
import harness  # noqa: E402

INTERVAL_US, LATE = 10000, 20
PYCONV = os.path.join(harness.BIN, "pyconv")
RESULTS = harness.Results()
check = RESULTS.check


def made_profile(seed):
    os.makedirs("made", exist_ok=True)
    subprocess.run([harness.tool("fleet"), "made", "1", "9000", str(seed),
                    "1760000000"], check=True)
    with open(os.path.join("made", os.listdir("made")[0]), "rb") as file:
        return file.read()


def rows(database, query):
    return database.execute(query).fetchall()


def paths(database):
    """The functions and lines of each stack, outermost first."""
    frames = {number: (qualname, line) for number, qualname, line in rows(
        database, "SELECT frame.id, qualname, line FROM frame JOIN function"
        " ON function.id = function_id")}
    found = {0: ()}
    for node, parent, frame in rows(
            database, "SELECT id, parent_id, frame_id FROM node ORDER BY id"):
        found[node] = found[parent or 0] + (frames[frame],)
    return found


def answers(path):
    """All that questions can be about, without ids and without the time that
    the last sample of a thread stands for."""
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    stacks = paths(database)
    selves = collections.Counter()
    for tid, node, status, n in rows(
            database, "SELECT tid, node_id, status, n FROM node_self JOIN"
            " thread ON thread.id = thread_id"):
        selves[tid, stacks[node], status] += n
    found = {
        "samples by stack": selves,
        "runs": [(tid, stacks[node], *rest) for tid, node, *rest in rows(
            database, "SELECT tid, node_id, status, run.t0_us, run.t1_us, n"
            " FROM run JOIN thread ON thread.id = thread_id"
            " ORDER BY tid, run.id")],
        "functions": rows(database, "SELECT function, file, self_samples,"
                          " total_samples FROM functions ORDER BY 1, 2"),
        "callers": rows(database, "SELECT function, caller, samples FROM"
                        " callers ORDER BY 1, 2, 3"),
        "sums": rows(database, "SELECT qualname, self_n, total_n FROM"
                     " function_sum JOIN function ON function.id ="
                     " function_id ORDER BY 1, 2"),
        "threads": rows(database, "SELECT tid, thread, main, samples, first_s,"
                        " lost FROM threads ORDER BY tid"),
        "profiles": rows(database, "SELECT samples, host, command, labels FROM"
                         " profiles"),
        "processes": rows(database, "SELECT pid, command, threads, samples"
                          " FROM processes"),
        "meta": rows(database, "SELECT key, value FROM meta ORDER BY 1"),
        "losses": rows(database, "SELECT thread, reason, samples FROM losses"
                       " ORDER BY 1, 2"),
        # the end of a file that is not finished is lost so far
        "events": rows(database, "SELECT kind, first_s, last_s FROM events"
                       " WHERE kind <> 'lost' ORDER BY 1, 2"),
    }
    times = set()
    for query in ("SELECT sum(weight_us) FROM run",
                  "SELECT sum(weight_us) FROM node_self",
                  "SELECT sum(weight_us) FROM thread",
                  "SELECT weight_us FROM profile",
                  "SELECT sum(total_us) FROM edge_total WHERE caller_id = 0"):
        times.add(rows(database, query)[0][0])
    found["one sum of times"] = len(times)
    return found


def samples_in(path):
    try:
        database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        return rows(database, "SELECT sum(samples) FROM profile")[0][0]
    except sqlite3.OperationalError:
        return None  # it is not there, or is being written


def wait_for(what, condition):
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


class Step:
    """The first segments of a file, and what a database of them holds."""

    def __init__(self, data):
        with open("part.bin", "wb") as file:
            file.write(data)
        state, profile, why = harness.decode("part.bin")
        assert profile, (state, why)
        times = [moment for thread in profile.threads.values()
                 for _, pairs in thread.runs for moment, *_ in pairs]
        self.until_us = max(times) - LATE * INTERVAL_US
        self.samples = sum(moment < self.until_us for moment in times)

    def check(self, number):
        done = subprocess.run(
            [PYCONV, "-q", "part.bin", "--between",
             "0..%.6fs" % (self.until_us / 1e6), "--to", "sqlite", "-f", "-o",
             "part.db"], capture_output=True, text=True, check=False)
        assert done.returncode == 3, done.stderr
        grown, wanted = answers("grown.db"), answers("part.db")
        for name, value in wanted.items():
            check("step %d: %s" % (number, name), grown[name] == value,
                  "%s\n%s" % (str(grown[name])[:900], str(value)[:900]))


def content(path):
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    names = [name for name, in rows(
        database, "SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {name: sorted(map(repr, rows(database, "SELECT * FROM " + name)))
            for name in names}


def follow(data, ends):
    """Grow the file to each end, and then to its whole length."""
    with open("grown.bin", "wb") as file:
        file.write(data[:ends[0]])
    process = subprocess.Popen([PYCONV, "--follow", "grown.bin", "-q", "--to",
                                "sqlite", "-f", "-o", "grown.db"],
                               stderr=subprocess.PIPE, text=True)
    try:
        before = 0
        for number, end in enumerate(ends):
            with open("grown.bin", "ab") as file:
                file.write(data[before or ends[0]:end])
            before = end
            step = Step(data[:end])
            wait_for("step %d" % number,
                     lambda: samples_in("grown.db") == step.samples)
            step.check(number)
        with open("grown.bin", "ab") as file:
            file.write(data[before:])
        with open("grown.bin", "r+b") as file:
            file.write(data[:64])  # the header is complete at last
        _, words = process.communicate(timeout=120)
        check("the last conversion is of the finished file",
              process.returncode == 0 and not words, words)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()


def has_open(process, name):
    folder = "/proc/%d/fd" % process.pid
    try:
        return any(os.path.basename(os.readlink(os.path.join(folder, fd))) ==
                   name for fd in os.listdir(folder))
    except OSError:
        return process.poll() is not None  # it ended, and says why


def check_question_meanwhile():
    """A question waits for the moment in which a part is added."""
    writer = sqlite3.connect("grown.db", isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    process = subprocess.Popen(
        [os.path.join(harness.BIN, "pyquery"), "--csv", "grown.db", "top 1"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for("pyquery opens the database",
             lambda: has_open(process, "grown.db"))
    writer.execute("COMMIT")
    writer.close()
    out, words = process.communicate(timeout=120)
    check("a question waits for a writer",
          process.returncode == 0 and len(out.splitlines()) == 2, words)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 31)
    print("seed", seed)
    data = made_profile(seed)
    ends = [found.end for found in decoder.Decoder(data, "<").search()]
    assert len(ends) > 8, len(ends)
    follow(data, [ends[i] for i in (0, 1, 2, 4, 6, len(ends) - 2)])
    with open("whole.bin", "wb") as file:
        file.write(data)
    os.makedirs("once")
    subprocess.run([PYCONV, "-q", "grown.bin", "--to", "sqlite", "-o",
                    "once/grown.db"], check=True)
    grown, once = content("grown.db"), content("once/grown.db")
    for name in once:
        check("at the end %s has the rows of one conversion" % name,
              grown[name] == once[name])
    check_question_meanwhile()
    RESULTS.exit()


main()
