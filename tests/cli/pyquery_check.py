#!/usr/bin/env python3
"""Rules for comparisons of made runs: outcomes, reasons, statuses, reports.

    pyquery_check.py [SEED]
"""

import json
import os
import resource
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import made_runs  # noqa: E402
import harness  # noqa: E402
from made_runs import PYQUERY, ask  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")

COUNTS = {"load": 900, "parse": 700, "price": 500, "pack": 400, "sort": 300,
          "send": 250, "log": 200, "Cart.total": 150}
FINE, USAGE, NAME, REGRESSION, INCOMPARABLE = 0, 2, 4, 5, 6


def make_side(rnd, folder, runs=6, **slower):
    os.makedirs(folder, exist_ok=True)
    for i in range(runs):
        made_runs.write(f"{folder}/{i}.bin",
                        made_runs.noisy(rnd, COUNTS, **slower),
                        start_s=20 * i + len(folder))


def check_default(results):
    done = ask("slow", "check old")
    results.check("a slower function fails the default rule",
                  done.returncode == REGRESSION and
                  "failed  self(*) > +5% and significant" in done.stdout and
                  "pack: " in done.stdout and "load: " not in done.stdout and
                  "1 of 1 rules failed" in done.stderr,
                  done.stdout + done.stderr)
    done = ask("same", "check old")
    results.check("an unchanged program passes it, and sees what it can find",
                  done.returncode == FINE and "held" in done.stdout and
                  not done.stderr, done.stdout + done.stderr)


def check_rules(results):
    """All numbers of one run a side are known: f 100 of 400, then 150 of 500."""
    made_runs.write("a.bin", {"f": 100, "g": 300})
    made_runs.write("b.bin", {"f": 150, "g": 300, "h": 50}, start_s=5)
    for kind, rule, status, why in (
            ("fail", "self(f) > +49%", REGRESSION,
             "f: 0.100 s -> 0.150 s, +50.0%"),
            ("fail", "self(f) > +51%", FINE, "+50.0%"),
            ("fail", "self(f) > +4.9pt", REGRESSION, "25.0% -> 30.0%"),
            ("fail", "self(f) > +5.1pt", FINE, ""),
            ("fail", "self(f)>+49ms", REGRESSION, "0.150 s"),
            ("fail", "self(f) > +0.051 s", FINE, ""),
            ("fail", "self(h) > +9pt", REGRESSION, "new"),
            ("fail", "self(h) > +1%", FINE, ""),
            ("fail", "self(*) > +4pt", REGRESSION, "h: "),
            ("fail", "total(main) > +24%", REGRESSION, "+25.0%"),
            ("fail", "total(main) > +26%", FINE, ""),
            ("fail", "ran(f) > +49%", REGRESSION, "f: "),
            ("fail", "seconds > +24%", REGRESSION, "0.400 s -> 0.500 s"),
            ("fail", "seconds > +101ms", FINE, ""),
            ("fail", "factor > +26%", FINE, "+25.0%"),
            ("max", "self(f) < 30.1%", FINE, "0.150 s, 30.0%"),
            ("max", "self(f) < 30%", REGRESSION, "f: "),
            ("max", "self(*) < 149ms", REGRESSION, "g: "),
            ("max", "seconds < 0.5s", REGRESSION, "0.500 s"),
            ("max", "seconds < 0.6s", FINE, "0.500 s"),
            ("max", "gc < 1%", FINE, "0.00%"),
            ("max", "missed < 1%", FINE, "0.00%"),
            ("max", "lost < 1%", FINE, "0.00%"),
            ("max", "unobserved < 1%", FINE, "0.00%"),
            ("fail", "self(shop.f) > +49%", REGRESSION, "f: "),
            ("fail", "self(shop.py:f) > +49%", REGRESSION, "f: "),
            ("fail", "self(/app/shop.py:f) > +49%", REGRESSION, "f: "),
            ("fail", "self([fg]) > +49%", REGRESSION, "f: ")):
        done = ask("b.bin", "check a.bin scale seconds", "--min-samples=100",
                   f"--{kind}", rule)
        results.check(f"{kind} '{rule}' {'fails' if status else 'holds'}",
                      done.returncode == status and why in done.stdout,
                      f"{done.returncode} {done.stdout}{done.stderr}")


def check_wrong_rules(results):
    for kind, rule, word in (
            ("fail", "", "ends"), ("fail", "self", "'('"),
            ("fail", "self(f", "')'"), ("fail", "self()", "name"),
            ("fail", "self(f) < 5%", "'>'"), ("fail", "self(f) > 5%", "'+'"),
            ("fail", "self(f) > +x%", "number"),
            ("fail", "self(f) > +1e5%", "unit"),
            ("fail", "self(f) > +5", "unit"),
            ("fail", "self(f) > +5% and", "significant"),
            ("fail", "self(f) > +5% or so", "end of the rule"),
            ("fail", "gc > +5%", "self()"), ("max", "gc < 5pt", "unit"),
            ("max", "gc < 5s", "unit"), ("max", "seconds < 5%", "unit"),
            ("max", "factor < 5%", "missed"),
            ("max", "self(f) > +5%", "'<'"),
            ("fail", "self(f) > +5%\n", None)):
        done = ask("b.bin", "check a.bin", "--min-samples=0", f"--{kind}",
                   rule)
        good = (done.returncode == USAGE and word in done.stderr and
                not done.stdout if word else done.returncode == REGRESSION)
        results.check(f"{kind} {rule!r} is {'refused' if word else 'a rule'}",
                      good, f"{done.returncode} {done.stderr}")
    done = ask("b.bin", "check a.bin", "--min-samples=0", "--fail",
               "self(nobody) > +5%")
    results.check("a rule for a function that neither side has",
                  done.returncode == NAME and "nobody" in done.stderr,
                  done.stderr)


def check_incomparable(results):
    made_runs.write("cpu.bin", COUNTS, mode=1)
    made_runs.write("py312.bin", COUNTS, python=(3, 12, 1))
    made_runs.write("py313.bin", COUNTS, python=(3, 13, 9))
    made_runs.write("there.bin", COUNTS, host=b"elsewhere")
    made_runs.write("slow-clock.bin", COUNTS, interval=2000)
    made_runs.write("here.bin", COUNTS)
    rule = ["--fail", "self(load) > +50%"]
    for title, path, more, status, word in (
            ("modes", "cpu.bin", [], INCOMPARABLE, "modes differ"),
            ("minors", "py312.bin", [], INCOMPARABLE, "Pythons differ"),
            ("patches", "py313.bin", [], FINE, ""),
            ("machines", "there.bin", [], INCOMPARABLE, "machines differ"),
            ("any machine", "there.bin", ["--any-machine"], FINE, ""),
            ("intervals", "slow-clock.bin", [], INCOMPARABLE, "intervals"),
            ("samples", "here.bin", ["--min-samples=5000"], INCOMPARABLE,
             "3400 samples"),
            ("runs", "here.bin", ["--min-runs=2"], INCOMPARABLE, "1 run"),
            ("equal", "here.bin", [], FINE, "")):
        done = ask("here.bin", f"check {path}", *rule, *more)
        results.check(f"sides of other {title}: status {status}",
                      done.returncode == status and word in done.stderr,
                      f"{done.returncode} {done.stderr}")
    done = ask("here.bin", "check py313.bin")
    results.check("one run a side is too few for the default rule",
                  done.returncode == INCOMPARABLE and "need 5" in done.stderr,
                  done.stderr)


def check_reports(results):
    done = ask("slow", "check old", "--summary", "sum.md", "--json=all.json",
               "--benchmark", "points.json")
    with open("sum.md", encoding="utf-8") as file:
        text = file.read()
    with open("all.json", encoding="utf-8") as file:
        answer = json.load(file)
    with open("points.json", encoding="utf-8") as file:
        points = json.load(file)
    results.check("the summary is a page of Markdown",
                  done.returncode == REGRESSION and
                  text.startswith("### regression found\n") and
                  "| pack | worse |" in text, text)
    rules, diff = answer["check"], answer["diff"]
    column = {name: i for i, name in enumerate(rules["columns"])}
    results.check("the report of JSON holds rules and functions",
                  answer["status"] == REGRESSION and
                  rules["rows"][0][column["outcome"]] == "failed" and
                  len(diff["rows"]) >= len(COUNTS) and
                  diff["comparison"]["marked"] == 1, answer)
    by_name = {point["name"]: point for point in points}
    results.check("points for a tracker of benchmarks",
                  points[0]["name"] == "all functions" and
                  all(set(p) <= {"name", "unit", "value", "range", "extra"} and
                      p["unit"] == "s" and p["value"] > 0 for p in points) and
                  0.3 < by_name["pack"]["value"] < 0.9, points)
    done = ask("here.bin", "check cpu.bin", "--summary", "sum.md",
               "--json=all.json")
    with open("sum.md", encoding="utf-8") as file:
        text = file.read()
    with open("all.json", encoding="utf-8") as file:
        answer = json.load(file)
    results.check("reports say why there is no answer",
                  done.returncode == INCOMPARABLE and "modes differ" in text
                  and answer["status"] == INCOMPARABLE and
                  "modes differ" in answer["reason"], f"{text} {answer}")
    done = ask("slow", "check old", "--summary", "/nonexistent/x.md")
    results.check("a report that cannot be written fails",
                  done.returncode == 1 and "/nonexistent/x.md" in done.stderr,
                  done.stderr)


REPORTS = "--summary=", "--json=", "--benchmark="


def content(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def check_kept(results, new, base, report):
    """No report may take the place of this file."""
    before = content(report)
    for option in REPORTS:
        done = ask(new, "check " + base, option + report)
        results.check(f"a report in place of {report} is refused",
                      done.returncode == USAGE and not done.stdout and
                      f"error: a report would replace '{report}'" in
                      done.stderr and content(report) == before, done.stderr)


def check_inputs_stay(results):
    write("base.txt", "main;f 700\nmain;g 300\n")
    write("new.txt", "main;f 710\nmain;g 290\n")
    os.makedirs("mixed")
    os.link("here.bin", "mixed/n.bin")
    write("mixed/empty.bin", "")
    os.symlink("base.txt", "link.txt")
    subprocess.run([PYCONV, "-q", "here.bin", "--to", "speedscope", "-o",
                    "here.json"], check=True)
    subprocess.run([PYCONV, "-q", "here.bin", "-o", "here.db"], check=True)
    for new, base, report in (("slow", "old", "slow/0.bin"),
                              ("slow", "old", "old/0.bin"),
                              ("slow", "'ol[d]'", "old/0.bin"),
                              ("here.bin", "cpu.bin", "here.bin"),
                              ("here.bin", "cpu.bin", "cpu.bin"),
                              ("new.txt", "base.txt", "base.txt"),
                              ("new.txt", "base.txt", "new.txt"),
                              ("new.txt", "base.txt", "link.txt"),
                              ("new.txt", "'base.t*'", "base.txt"),
                              ("here.json", "cpu.bin", "here.json"),
                              ("here.bin", "here.json", "here.json"),
                              ("here.db", "cpu.bin", "here.db"),
                              ("mixed", "cpu.bin", "mixed/n.bin"),
                              ("mixed", "cpu.bin", "here.bin"),
                              ("mixed", "cpu.bin", "mixed/empty.bin"),
                              ("cpu.bin", "mixed", "mixed/empty.bin")):
        check_kept(results, new, base, report)
    # files that no side names
    for report in ("a.bin", "here.json", "here.db", "base.txt",
                   write("notes.md", "### to do\n"),
                   write("data.json", '{"status": "ok"}\n')):
        check_kept(results, "b.bin", "py313.bin", report)


def check_reports_go(results):
    """An earlier report makes way, whichever it is, and an empty file."""
    outcomes = (("slow", "old"), ("same", "old"), ("here.bin", "cpu.bin"))
    for i, option in enumerate(REPORTS):
        report = write(f"{i}.again", "")
        os.chmod(report, 0o640)
        for new, base in outcomes:
            first = ask(new, f"check {base}", option + report)
            made = content(report)
            again = ask(new, f"check {base}", option + report)
            results.check(f"{option} of {new} is replaced by the next", made and
                          first.returncode == again.returncode != USAGE and
                          content(report) == made, again.stderr)
        results.check(f"{option} keeps the permissions of its file",
                      os.stat(report).st_mode & 0o777 == 0o640)
        for other in REPORTS:
            done = ask("same", "check old", other + report)
            results.check(f"{option} is replaced by {other}",
                          done.returncode == FINE, done.stderr)
    os.symlink("0.again", "link.again")
    done = ask("slow", "check old", "--summary", "link.again")
    results.check("a link to a report stays one", os.path.islink("link.again")
                  and content("0.again").startswith(b"### regression"),
                  done.stderr)
    name = 255 * "n"  # NAME_MAX of the usual file systems
    done = ask("slow", "check old", "--summary", name)
    results.check("a report has the longest name that a file may have",
                  done.returncode == REGRESSION and content(name), done.stderr)


def check_one_file(results):
    os.makedirs("sub")
    write("first.x", "")
    os.link("first.x", "second.x")
    for i, a in enumerate(REPORTS):
        for b in REPORTS[i + 1:]:
            for one, other in (("same.x", "same.x"), ("same.x", "./same.x"),
                               ("same.x", "sub/../same.x"),
                               ("first.x", "second.x")):
                done = ask("slow", "check old", a + one, b + other)
                results.check(f"{a}{one} and {b}{other} are refused",
                              done.returncode == USAGE and not done.stdout and
                              "two reports" in done.stderr and
                              not os.path.exists("same.x"), done.stderr)
    with open("out.x", "w", encoding="utf-8") as out:
        done = subprocess.run([PYQUERY, "slow", "check old", "--json=out.x"],
                              stdout=out, stderr=subprocess.PIPE, text=True,
                              check=False)
    results.check("a report in place of the standard output is refused",
                  done.returncode == USAGE and "standard output" in
                  done.stderr, done.stderr)


def check_streams(results):
    table = ask("slow", "check old").stdout
    with open("log.x", "w", encoding="utf-8") as out:
        out.write("before\n")
        out.flush()
        subprocess.run([PYQUERY, "slow", "check old", "--summary",
                        "/dev/stdout"], stdout=out, check=False)
    text = content("log.x").decode()
    results.check("/dev/stdout gets a report after what is there",
                  text.startswith("before\n" + table + "### regression"), text)
    os.mkfifo("pipe.x")
    with subprocess.Popen(["cat", "pipe.x"], stdout=subprocess.PIPE,
                          text=True) as reader:
        done = ask("slow", "check old", "--json=pipe.x")
        text = reader.communicate()[0]
    results.check("a pipe gets a report", done.returncode == REGRESSION and
                  json.loads(text)["status"] == REGRESSION, done.stderr)
    done = ask("slow", "check old", "--json=/dev/null", "--summary=/dev/null")
    results.check("/dev/null takes reports", done.returncode == REGRESSION,
                  done.stderr)


def without_room():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))


def check_full(results):
    """A report that does not fit leaves nothing, or the older one."""
    os.makedirs("full")
    old = "### no answer\n\nthe older one\n"
    for option in REPORTS:
        for before in None, old:
            if before:
                write("full/report.x", before)
            done = subprocess.run(
                [PYQUERY, "same/0.bin", "check old/0.bin", "--min-runs=1",
                 "--fail=seconds > +5%", option + "full/report.x"],
                preexec_fn=without_room, capture_output=True, text=True,
                check=False)
            there = os.listdir("full")
            results.check(f"{option} without room, {'an older' if before else 'no'}"
                          " one there", done.returncode == 1 and
                          "cannot write 'full/report.x'" in done.stderr and
                          there == (["report.x"] if before else []) and
                          (not before or content("full/report.x") ==
                           before.encode()), done.stderr + str(there))
        os.remove("full/report.x")


def check_stages(results, rnd):
    """One new run first; --more makes the others, here by moving them."""
    for name, slower, status, more in (("same2", {}, FINE, None),
                                       ("slow2", {"pack": 1.6}, REGRESSION,
                                        True)):
        make_side(rnd, name, 6, **slower)
        os.makedirs(name + "-first")
        os.rename(f"{name}/0.bin", f"{name}-first/0.bin")
        done = ask(name + "-first", "check old", "--more",
                   f"mv {name}/*.bin {name}-first/ && echo >ran-{name}")
        ran = os.path.exists("ran-" + name)
        results.check(f"two stages: {name}", done.returncode == status and
                      ran >= bool(more), f"{ran} {done.stdout}{done.stderr}")
    done = ask("slow2-first/0.bin", "check old", "--more", "exit 3",
               "--fail", "self(pack) > +5% and significant")
    results.check("a command of the second stage that fails",
                  done.returncode == 1 and "status 3" in done.stderr,
                  f"{done.returncode} {done.stdout}{done.stderr}")


def check_usage(results):
    for arguments, word in ((["here.bin", "top", "--fail", "gc > +5%"],
                             "check"),
                            (["here.bin", "top", "--json=x"], "check"),
                            (["here.bin", "check py313.bin", "--min-runs=x"],
                             "whole number")):
        done = ask(*arguments)
        results.check(f"refused: {' '.join(arguments[1:])}",
                      done.returncode == USAGE and word in done.stderr,
                      done.stderr)
    done = ask("slow", "check old as json")
    results.check("a check answers in every format of an answer",
                  done.returncode == REGRESSION and
                  json.loads(done.stdout)["rows"][0][0] == "failed",
                  done.stdout)


def check_everything(results, rnd):
    make_side(rnd, "old")
    make_side(rnd, "same")
    make_side(rnd, "slow", pack=1.4)
    check_default(results)
    check_rules(results)
    check_wrong_rules(results)
    check_incomparable(results)
    check_reports(results)
    check_inputs_stay(results)
    check_reports_go(results)
    check_one_file(results)
    check_streams(results)
    check_full(results)
    check_stages(results, rnd)
    check_usage(results)


made_runs.run(check_everything)
