"""What the live tests share: interpreters, targets, recordings, databases.

A test is a function decorated with @once, or with @each_python and then called
with each interpreter there is; its name is a sentence, its failure an
AssertionError.  run() at the end of a file runs them and prints TAP.
"""

import json
import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import traceback

SOURCE = os.environ["SRC"]
PYREC = os.path.join(os.environ["BIN"], "pyrec")
PYCONV = os.path.join(os.environ["BIN"], "pyconv")
PYQUERY = os.path.join(os.environ["BIN"], "pyquery")
STOCK = os.environ.get("PYREC_STOCK")


def python_of(version):
    return os.environ.get("PYREC_PYTHON_" + version.replace(".", "").upper())


PYTHONS = {version: python_of(version)
           for version in ("3.11", "3.12", "3.13", "3.14", "3.15", "3.13t")}
# Debian's mirrors do not always have the sources of these.
PYTHONS.update({version: python_of(version) for version in ("3.14t", "3.15t")
                if python_of(version)})
# for what does not depend on the version
ANY_PYTHON = next((python for python in PYTHONS.values() if python),
                  sys.executable)

# A machine under load may take this long for what takes no time.
PATIENCE = 60
# A command ends when it has been recorded for a while: in processor time, of
# which the sampler gets its part on any machine.
UNTIL_RECORDED = """\
import os, time
while not os.path.exists("run.bin"):
    pass
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
"""

tests = []


class Skip(Exception):
    """Raised by a test that cannot be run here."""


def once(test):
    tests.append((sentence(test), test, ()))
    return test


def each_python(test):
    for version, python in PYTHONS.items():
        tests.append(("%s on %s" % (sentence(test), version), test, (python,)))
    return test


def sentence(test):
    return test.__name__.replace("_", " ")


def run():
    """Run the collected tests, or those whose name contains an argument, each
    in a folder of its own."""
    failed = False
    scratch = os.getcwd()
    chosen = [test for test in tests if not sys.argv[1:] or
              any(word in test[0] for word in sys.argv[1:])]
    print("1..%d" % len(chosen))
    for number, (name, test, arguments) in enumerate(chosen):
        folder = os.path.join(scratch, str(number))
        os.mkdir(folder)
        os.chdir(folder)
        try:
            if arguments == (None,):
                raise Skip("no such Python here")
            test(*arguments)
            print("ok %s" % name, flush=True)
        except Skip as reason:
            print("ok %s # SKIP %s" % (name, reason), flush=True)
        except Exception as error:
            failed = True
            traceback.print_exc()
            cause = str(error).strip().split("\n")[0]
            print("not ok %s: %s" % (name, cause[:300]), flush=True)
    sys.exit(1 if failed else 0)


def expect(condition, text, *values):
    """As assert, with the values that a reader of the log wants to see."""
    if not condition:
        raise AssertionError(text % values if values else text)


def expect_within(limit, measure):
    """measure() returns {what: signed deviation} of a measurement that chance
    has a part in.  When one is beyond the limit, all is measured once more; a
    fault is what is beyond it both times and to the same side.

    If chance takes each of n deviations beyond one side with probability p, a
    right program fails with probability 2 n p^2."""
    first = {what: off for what, off in measure().items() if abs(off) > limit}
    if not first:
        return
    print("# measured again:", first)
    os.mkdir("again")
    os.chdir("again")  # run() leaves it
    second = measure()
    for what, off in first.items():
        again = second.get(what, 0)
        expect(abs(again) <= limit or (again > 0) != (off > 0),
               "%s is off by %+.3g and again by %+.3g (%.3g may be by chance)",
               what, off, again, limit)


def wait_until(condition, what):
    """Wait for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("waited in vain until " + what)
        time.sleep(0.01)


def set_group_nice(process, nice):
    """The nice value of a session among others (sched(7), autogroup), where
    that is permitted."""
    try:
        with open("/proc/%s/autogroup" % process, "w") as file:
            file.write(str(nice))
    except OSError:
        pass


class Target:
    """A program of tests/targets that runs: `with Target(python, "x.py")`.

    One that is preferred, and this process, have processors before others that
    want them: for what cannot be measured on a busy machine."""

    def __init__(self, python, program, *arguments, seconds=PATIENCE,
                 preferred=False, **options):
        path = os.path.join(SOURCE, "tests", "targets", program)
        command = [python, path, str(seconds), *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            start_new_session=True, **options)
        self.portrait = self.read_portrait(program)
        self.pid = self.portrait["pid"]
        if preferred:
            for process in "self", self.pid:
                set_group_nice(process, -19)

    def read_portrait(self, program):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        if self.process.wait() == 77:
            raise Skip("this Python cannot run " + program)
        raise AssertionError("%s did not start" % program)

    def end(self):
        set_group_nice("self", 0)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


def call(*command, **options):
    """Run one of the programs to its end; text outputs."""
    return subprocess.run([str(word) for word in command], text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=4 * PATIENCE,
                          **options)


def succeed(*command, **options):
    done = call(*command, **options)
    expect(done.returncode == 0, "%s: status %d: %s", command[0],
           done.returncode, done.stderr)
    return done


def record(target, output, *options, seconds=2):
    """A recording that must go well."""
    return succeed(PYREC, "-p", target.pid, "-o", output, "-d", seconds,
                   *options)


def header_samples(path):
    """The count of samples in the header of a finished file."""
    with open(path, "rb") as file:
        return struct.unpack("<Q", file.read(36)[28:])[0]


def size(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


def one_line(text):
    line = re.sub(r"(?m)^py\w+: hint: .*\n\Z", "", text)
    return line.count("\n") == 1 and line.endswith("\n")


class Database:
    """The SQLite tables of a profile file (spec/schema.md)."""

    def __init__(self, profile, *options, status=0):
        path = profile + ".db"
        done = call(PYCONV, profile, "--to", "sqlite", "-o", path, "-f",
                    *options)
        expect(done.returncode == status, "pyconv: status %d: %s",
               done.returncode, done.stderr)
        self.stderr = done.stderr
        self.connection = sqlite3.connect(path)

    def rows(self, sql, *values):
        return self.connection.execute(sql, values).fetchall()

    def value(self, sql, *values):
        return self.rows(sql, *values)[0][0]

    def samples(self):
        return self.value("SELECT coalesce(sum(n), 0) FROM run")

    def meta(self, key):
        rows = self.rows("SELECT value FROM meta WHERE key = ?", key)
        return rows[0][0] if rows else None

    def stacks(self):
        """(thread row, samples, names from the outermost in) of each stack."""
        parent = {}
        name = {}
        for node, above, function in self.rows(
                "SELECT node.id, node.parent_id, qualname FROM node"
                " JOIN function ON function.id = node.function_id"):
            parent[node] = above
            name[node] = function
        for thread, node, n in self.rows(
                "SELECT thread_id, node_id, sum(n) FROM node_self"
                " GROUP BY thread_id, node_id"):
            path = []
            while node in name:
                path.append(name[node])
                node = parent[node]
            yield thread, n, path[::-1]
