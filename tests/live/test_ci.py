"""spec/ci/compare.sh on two builds of a program, one slower in one function."""

import json
import os
import subprocess

import live
from live import expect

SCRIPT = os.path.join(live.SOURCE, "spec", "ci", "compare.sh")

# Fixed work: each function turns its loop as often as its build says.
SHOP = """\
def load(n):
    total = 0
    for i in range(n):
        total += i ^ 3
    return total


def price(n):
    value = 1
    for i in range(n):
        value = (value * 31 + i) & 0xffffff
    return value


def pack(n):
    items = []
    for i in range(n):
        items.append(i)
        if len(items) > 50:
            items = []
    return items
"""
BENCHMARK = """\
import shop, sys
assert sys.argv[1:] == ["it's", "two words"]

for _ in range(40):
    shop.load(60000)
    shop.price(%d)
    shop.pack(40000)
"""


def write_build(folder, turns):
    os.makedirs(folder)
    with open(folder + "/shop.py", "w") as file:
        file.write(SHOP)
    with open(folder + "/benchmark.py", "w") as file:
        file.write(BENCHMARK % turns)


def compare(base, new, rules):
    path = os.path.dirname(live.PYREC) + ":" + os.environ["PATH"]
    return subprocess.run(
        [SCRIPT, base, new, live.ANY_PYTHON, "benchmark.py", "it's",
         "two words"], text=True,
        capture_output=True, timeout=8 * live.PATIENCE,
        env=dict(os.environ, PATH=path, RULES=rules))


@live.once
def a_slower_function_fails_the_job_and_is_named():
    # five times as slow: found under any load
    write_build("main branch", 30000)
    write_build("request", 150000)
    done = compare("main branch", "request",
                   "--fail 'self(*) > +60% and significant'"
                   " --min-samples 300")
    with open("report.md") as file:
        report = file.read()
    with open("report.json") as file:
        answer = json.load(file)
    expect(done.returncode == 5, "status %d: %s%s", done.returncode,
           done.stdout, done.stderr)
    expect("price: " in done.stdout, "%s", done.stdout)
    expect("### regression found" in report and "| price | worse" in report,
           "%s", report)
    expect(answer["status"] == 5, "%s", answer["status"])
    expect(len(os.listdir("runs/base")) == 5 and
           len(os.listdir("runs/new")) == 5, "%s", os.listdir("runs"))


@live.once
def an_equal_build_passes_a_rule_that_no_noise_breaks():
    write_build("base", 30000)
    write_build("new", 30000)
    done = compare("base", "new", "--fail 'self(price) > +400% and"
                   " significant' --max 'self(price) < 100%' --min-samples 300")
    expect(done.returncode == 0, "status %d: %s%s", done.returncode,
           done.stdout, done.stderr)


@live.once
def a_benchmark_that_fails_fails_the_job():
    write_build("base", 30000)
    write_build("new", 30000)
    with open("base/benchmark.py", "a") as file:
        file.write("raise SystemExit(3)\n")
    done = compare("base", "new", "")
    expect(done.returncode == 3, "status %d: %s", done.returncode, done.stderr)


live.run()
