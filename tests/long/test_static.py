"""The static pyrec in roots that have nothing of the machine it was built on:
one whose C library is musl, with a CPython built for it, and an empty one."""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
import rules
from live import expect

CACHE = os.environ.get("PYREC_CACHE") or os.path.expanduser("~/.cache/pyrec")
TARGETS = os.path.join(live.SOURCE, "tests", "targets")
OUTPUT = "/out/run.bin"
SECONDS = 3


def static_pyrec():
    if os.geteuid() != 0:
        raise live.Skip("only root reads a process within another root")
    live.succeed("make", "-s", "-C", live.SOURCE, "B=" + os.environ["BIN"],
                 "static")
    return os.path.join(os.environ["BIN"], "static", "pyrec")


def musl_root():
    """A root whose Python's folder is also that folder within it."""
    root = os.path.join(CACHE, "root", "musl")
    done = subprocess.run(["sh", os.path.join(live.SOURCE, "tests", "setup",
                                              "musl.sh"), root])
    expect(done.returncode == 0, "musl.sh has not made %s", root)
    return root


def in_root(root, folder):
    """The words that run a command in a root, with `folder` as /out."""
    os.makedirs(folder, exist_ok=True)
    return ["bwrap", "--bind", root, "/", "--ro-bind", root, root, "--ro-bind",
            TARGETS, TARGETS, "--bind", folder, "/out", "--proc", "/proc",
            "--dev", "/dev"]


def wrapper(name, words):
    """A program of that name which runs the words with its arguments."""
    with open(name, "w") as file:
        file.write("#!/bin/sh\nexec %s \"$@\"\n" % " ".join(words))
    os.chmod(name, 0o700)
    return os.path.abspath(name)


def expect_true_stacks(database, portrait):
    samples = database.samples()
    impossible, examples = rules.Rule(portrait).impossible(database)
    expect(samples > 100, "%d samples", samples)
    expect(impossible == 0, "%d of %d samples cannot be: %s", impossible,
           samples, examples[:3])


def recorded(pyrec, target):
    """The database of a recording whose output is ./out/run.bin."""
    live.succeed(pyrec, "-p", target.pid, "-o", OUTPUT, "-f", "-d", SECONDS)
    return live.Database("out/run.bin")


@live.once
def it_records_a_running_python_within_a_musl_root():
    root = musl_root()
    words = in_root(root, os.path.abspath("out"))
    python = wrapper("python", words + [root + "/bin/python3.13"])
    shutil.copy(static_pyrec(), os.path.join("out", "pyrec"))
    pyrec = wrapper("inside", words + ["/out/pyrec"])
    for kind in ("tree", "threads"):
        with live.Target(python, "calls.py", kind) as target:
            expect_true_stacks(recorded(pyrec, target), target.portrait)


@live.once
def it_records_a_command_from_its_start_within_a_musl_root():
    root = musl_root()
    words = in_root(root, os.path.abspath("out"))
    shutil.copy(static_pyrec(), os.path.join("out", "pyrec"))
    live.succeed(*words, "/out/pyrec", "-o", OUTPUT, "--",
                 root + "/bin/python3.13", os.path.join(TARGETS, "plain.py"),
                 SECONDS)
    functions = {name for name, in live.Database("out/run.bin").rows(
        "SELECT qualname FROM function")}
    expect({"drive", "zużyj", "Worker.key"} <= functions, "functions %s",
           functions)


@live.once
def it_records_a_musl_python_from_outside_of_its_root():
    root = musl_root()
    python = wrapper("python", in_root(root, os.path.abspath("out")) +
                     [root + "/bin/python3.13"])
    with live.Target(python, "calls.py", "tree") as target:
        live.record(target, "run.bin", seconds=SECONDS)
        expect_true_stacks(live.Database("run.bin"), target.portrait)


@live.each_python
def it_records_from_within_an_empty_root(python):
    os.mkdir("root")
    shutil.copy(static_pyrec(), "root")
    pyrec = wrapper("inside", ["bwrap", "--bind", os.path.abspath("root"), "/",
                               "--bind", os.getcwd(), "/out", "--proc", "/proc",
                               "/pyrec"])
    with live.Target(python, "calls.py", "tree") as target:
        live.succeed(pyrec, "-p", target.pid, "-o", OUTPUT, "-d", SECONDS)
        expect_true_stacks(live.Database("run.bin"), target.portrait)


live.run()
