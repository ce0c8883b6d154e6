"""Other programs open what pyconv writes: Go's pprof, Mozilla's loader of
profiles, callgrind_annotate, xmllint, speedscope's schema; over profiles with
hostile names, without samples, with empty stacks, and recorded ones."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

for folder in "live", "interop", "cli":
    sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", folder))
import live
from live import expect

import harness
import npm
import profiles
import pyconv_targets as targets

HERE = os.path.dirname(os.path.abspath(__file__))
SEED = os.environ.get("PYREC_SEED", "peers")

MADE = {"names": profiles.names, "wild names": profiles.wild_names,
        "no samples": profiles.no_samples,
        "empty stacks": profiles.empty_stacks, "threads": profiles.threads,
        "formulas": targets.formulas}


def go():
    found = shutil.which("go") or next(
        iter(sorted(glob.glob("/usr/lib/go-*/bin/go"), reverse=True)), None)
    expect(found, "no Go here")
    return found


def make(kind):
    """A profile file of that kind, and its parts in Python or None."""
    if kind == "recorded":
        with live.Target(live.ANY_PYTHON, "plain.py") as target:
            live.record(target, "run.bin", "-f")
        return None
    profile = MADE[kind](profiles.random.Random(f"{SEED} {kind}"))
    status, why = harness.feed(profile, "run.bin")
    expect(status == 0, "cannot write it: %s", why)
    return targets.Wanted(profile)


def convert(target, output):
    live.succeed(live.PYCONV, "run.bin", "--to", target, "-q", "-f", "-o",
                 output)


def milliseconds(text):
    """Go's durations: 1.50s, 370ms, 12.34us, 2.05mins."""
    number, unit = re.fullmatch(r"([\d.]+)(\w+)", text).groups()
    return float(number) * {"ns": 1e-6, "us": 1e-3, "ms": 1, "s": 1000,
                            "mins": 60000, "hrs": 3600000,
                            "days": 86400000}[unit]


def pprof(kind):
    wanted = make(kind)
    convert("pprof", "run.pb.gz")
    env = dict(os.environ, HOME=os.getcwd(), PPROF_TMPDIR=os.getcwd())
    shown = live.succeed(go(), "tool", "pprof", "-top", "-nodecount=5",
                         "run.pb.gz", env=env).stdout
    expect("flat%" in shown, "no table: %s", shown)
    total = re.search(r"Total samples = ([\d.]+\w+)", shown)
    if wanted and wanted.weight:
        expect(total, "no total: %s", shown)
        ratio = milliseconds(total[1]) * 1000 / wanted.weight
        expect(0.99 < ratio < 1.01, "%s, not %d us", total[1], wanted.weight)
    live.succeed(go(), "tool", "pprof", "-tags", "run.pb.gz", env=env)


def loader(*arguments):
    env = dict(os.environ, HOME=os.getcwd())
    program = os.path.join(npm.modules(*npm.READERS), "@firefox-devtools",
                           "profiler-cli", "dist", "profiler-cli.js")
    return subprocess.run(["node", program, *arguments], env=env,
                          capture_output=True, text=True, check=False,
                          timeout=4 * live.PATIENCE)


def ask(*arguments):
    """The command `load` starts a server and gives up after half a second,
    while on a loaded machine the server still starts."""
    deadline = time.monotonic() + live.PATIENCE
    while True:
        done = loader(*arguments)
        if done.returncode == 0 or time.monotonic() > deadline:
            expect(done.returncode == 0, "%s: %s", arguments, done.stderr)
            return done.stdout


def firefox(kind):
    npm.install(*npm.READERS)
    wanted = make(kind)
    convert("firefox", "run.firefox.json.gz")
    if wanted and not wanted.samples:
        return  # the loader wants a thread to select
    try:
        loader("load", os.path.abspath("run.firefox.json.gz"))
        shown = ask("profile", "info")
        if wanted:
            expect("contains %d threads" % len(wanted.of_thread) in shown,
                   "not all threads: %s", shown)
        ask("thread", "samples", "--include-idle")
        ask("thread", "markers")
    finally:
        loader("stop", "--all")


def callgrind(kind):
    wanted = make(kind)
    convert("callgrind", "run.callgrind")
    shown = live.succeed("callgrind_annotate", "--inclusive=yes",
                         "--threshold=100", "run.callgrind").stdout
    expect("PROGRAM TOTALS" in shown, "no totals: %s", shown)
    if wanted:
        total = re.search(r"^ *([\d,]+) .*PROGRAM TOTALS", shown, re.M)
        expect(int(total[1].replace(",", "")) == wanted.weight,
               "%s, not %d", total[1], wanted.weight)


def svg(kind):
    make(kind)
    convert("svg", "run.svg")
    live.succeed("xmllint", "--noout", "--nonet", "run.svg")


def speedscope(kind):
    modules = npm.modules(*npm.READERS)
    make(kind)
    convert("speedscope", "run.speedscope.json")
    schema = os.path.join(modules, "speedscope", "dist", "release",
                          "file-format-schema.json")
    live.succeed("node", os.path.join(HERE, "schema.js"), schema,
                 "run.speedscope.json",
                 env=dict(os.environ, NODE_PATH=modules))
    with open("run.speedscope.json", encoding="utf-8") as file:
        for profile in json.load(file)["profiles"]:
            expect(all(profile["samples"]), "an empty stack")


for title, check in (("Go's pprof", pprof), ("Mozilla's loader", firefox),
                     ("callgrind_annotate", callgrind), ("xmllint", svg),
                     ("speedscope's schema", speedscope)):
    for kind in ("recorded", *MADE):
        live.tests.append((f"{title} takes a profile: {kind}", check,
                           (kind,)))
live.run()
