#!/usr/bin/env python3
"""Comparisons of made runs: known sums, known changes, known failures.

    pyquery_diff.py [SEED]
"""

import csv
import io
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import made_runs  # noqa: E402
from made_runs import PYQUERY, ask, check_refused  # noqa: E402

COUNTS = {"load": 900, "parse": 700, "price": 500, "pack": 400, "sort": 300,
          "send": 250, "log": 200, "check": 150}


def rows(*arguments):
    return {row["function"]: row for row in made_runs.rows(*arguments)}


def near(text, value, within=1e-9):
    return abs(float(text) - value) <= within * max(1, abs(value))


def make_sides(rnd):
    """Six runs a side in turn; `pack` takes 40 % longer in the new one."""
    os.makedirs("old")
    os.makedirs("new")
    for i in range(6):
        made_runs.write(f"old/{i}.bin", made_runs.noisy(rnd, COUNTS),
                        start_s=20 * i, labels={"commit": "a1", "work": 10})
        made_runs.write(f"new/{i}.bin", made_runs.noisy(rnd, COUNTS, pack=1.4),
                        start_s=20 * i + 10,
                        labels={"commit": "b2", "work": 10})


def check_exact(results):
    """One run a side, whose sums are known."""
    made_runs.write("a.bin", {"f": 100, "g": 300})
    made_runs.write("b.bin", {"f": 150, "g": 300, "h": 50})
    found = rows("b.bin", "diff a.bin as csv")
    f, h = found["f"], found["h"]
    results.check("seconds, shares and samples are those of the runs",
                  (f["base_samples"], f["new_samples"]) == ("100", "150") and
                  near(f["base_s"], 0.1) and near(f["new_s"], 0.15) and
                  near(f["base_pct"], 25) and near(f["new_pct"], 30), f)
    results.check("a function that the base never had is new",
                  h["verdict"] == "new" and h["change_pct"] == "", h)
    found = rows("b.bin", "diff a.bin by total as csv")
    results.check("totals are compared by total",
                  near(found["main"]["base_s"], 0.4) and
                  near(found["main"]["new_s"], 0.5),
                  found["main"])
    found = rows("a.bin", "diff a.bin as csv")
    results.check("a profile does not differ from itself",
                  all(near(row["change_pct"], 0) and near(row["raw_pct"], 0)
                      for row in found.values() if row["change_pct"]) and
                  all(row["verdict"] in ("same", "inconclusive")
                      for row in found.values()), found)


def check_conditions(results):
    """A condition that is not one of a whole profile chooses samples."""
    for condition, base, new in (
            ("function = f", 100, 150), ("file = /app/shop.py", 100, 150),
            ("class like *", 100, 150),
            ("line > 0", 100, 150), ("depth = 2", 100, 150),
            ("thread = MainThread", 100, 150), ("tid > 0", 100, 150),
            ("pid = 100", 100, 150), ("interp = 0", 100, 150)):
        done = ask("b.bin", f"diff a.bin where {condition} as csv")
        found = {row["function"]: row for row in
                 csv.DictReader(io.StringIO(done.stdout))}.get("f", {})
        got = [found.get(f"{side}_samples") for side in ("base", "new")]
        results.check(f"diff where {condition}",
                      done.returncode == 0 and
                      got == [str(base), str(new)],
                      f"{got} {done.stderr}")
    for new, base, verdict in (("b.bin", "a.bin", "new"),
                               ("a.bin", "b.bin", "gone")):
        found = rows(new, f"diff {base} where function = h as csv")
        results.check(f"diff where a function is {verdict}",
                      {name: row["verdict"] for name, row in found.items()} ==
                      {"h": verdict}, found)
    found = rows("b.bin", "diff a.bin where function = f as csv")
    results.check("a function outside the condition has no row",
                  sorted(found) == ["f"], found)
    done = ask("b.bin", "check a.bin where function = f", "--min-samples=0",
               "--min-runs=1", "--fail", "self(f) > +40%")
    results.check("check where function",
                  done.returncode == 5 and "+50.0%" in done.stdout,
                  f"{done.returncode} {done.stdout} {done.stderr}")
    done = ask("old", "new", "history where tid > 0 and function = pack as csv")
    results.check("history where tid and function",
                  done.returncode == 0 and "pack" in done.stdout and
                  "load" not in done.stdout, f"{done.stdout} {done.stderr}")


def check_presence(results):
    """`get` has no self time in the new side, but `read` is called from it;
    `left` is on no stack of it, with a share too small to be tested."""
    before = {**COUNTS, "get": 24, "read": 200, "left": 12, "gone": 300}
    made_runs.write("calls.bin", before, callers={"read": "get"})
    made_runs.write("still.bin", {**COUNTS, "pack": 4000, "get": 0,
                                  "read": 200}, callers={"read": "get"})
    for order in ("", " by total"):
        found = rows("still.bin", f"diff calls.bin{order} as csv")
        results.check(f"a function that is still called is not gone{order}",
                      found["get"]["verdict"] not in ("new", "gone") and
                      found["left"]["verdict"] == "gone" and
                      found["gone"]["verdict"] == "gone",
                      {n: r["verdict"] for n, r in found.items()})
    names = list(rows("still.bin", "diff calls.bin as csv"))
    results.check("a function that is gone and was small is not among the first",
                  names[0] == "pack" and names.index("gone") <
                  names.index("log") < names.index("left"), names)
    done = ask("still.bin", "diff calls.bin")
    results.check("the head counts the functions that are gone",
                  " 0 new, 2 gone" in done.stdout, done.stdout)


def check_found(results):
    for title, question in (
            ("a folder", ["new", "diff", "old", "as", "csv"]),
            ("a pattern", ["new", "diff old/*.bin as csv"]),
            ("a list", ["new", "diff", *(f"old/{i}.bin" for i in range(6)),
                        "as", "csv"]),
            ("a label", ["old", "new", "diff where label commit = a1 as csv"]),
            ("two labels", ["old", "new", "diff where label commit = a1 to"
                            " label commit = b2 as csv"])):
        found = rows(*question)
        results.check(f"one slower function is found against {title}",
                      [name for name, row in found.items()
                       if row["verdict"] not in ("same", "inconclusive")] ==
                      ["pack"] and found["pack"]["verdict"] == "worse" and
                      float(found["pack"]["low_pct"]) < 40 <
                      float(found["pack"]["high_pct"]),
                      {n: r["verdict"] for n, r in found.items()})


def check_json(results):
    done = ask("new", "diff old as json")
    answer = json.loads(done.stdout)
    facts = answer["comparison"]
    results.check("json holds the comparison as a whole",
                  facts["tested"] == 8 and facts["marked"] == 1 and
                  facts["confirmed"] is True and facts["scale"] == "centred"
                  and facts["factor_low"] < facts["factor"]
                  < facts["factor_high"] and
                  any("6 runs against 6" in n for n in answer["notes"]),
                  done.stdout)
    done = ask("new", "diff 3 old")
    lines = done.stdout.splitlines()
    results.check("a table begins with the marked function",
                  done.returncode == 0 and
                  [line for line in lines if line.startswith("pack ")
                   and " worse " in line] != [], done.stdout)
    done = ask("new", "diff 3 old as markdown")
    results.check("markdown has the same rows",
                  "| pack | worse |" in done.stdout, done.stdout)


def check_head(results):
    """What pyquery did before it compared is said, and stays in view."""
    table = subprocess.run([PYQUERY, "new", "diff 3 old"], text=True,
                           capture_output=True, check=True,
                           env={**os.environ, "COLUMNS": "80"}).stdout
    head = next(line for line in table.splitlines() if "verdict" in line)
    results.check("80 columns have room for the change without the factor",
                  "  change  " in head and head.split().count("raw") == 1 and
                  all(len(line) <= 80 for line in table.splitlines()), table)
    results.check("the head says that runs are divided by their factor",
                  "divides each run by the factor that all its functions share"
                  in table, table)
    few = {name: n // 8 for name, n in COUNTS.items()}
    made_runs.write("few.bin", few)
    made_runs.write("few-now.bin", {n: few[n] * 7 // 10 for n in few})
    done = ask("few-now.bin", "diff few.bin")
    results.check("the head says that few samples have no factor",
                  "too few functions have enough" in done.stdout and
                  "divides" not in done.stdout, done.stdout)
    done = ask("few-now.bin", "diff few.bin scale seconds")
    results.check("and not if seconds were asked for",
                  "seconds as they are\n" in done.stdout, done.stdout)


def check_scales(results):
    shares = rows("new", "diff old scale share as csv")
    results.check("on the scale of shares the others seem better",
                  shares["load"]["raw_pct"] != shares["load"]["change_pct"] and
                  float(shares["load"]["change_pct"]) < 0, shares["load"])
    work = rows("new", "diff old unit work as csv")
    plain = rows("new", "diff old as csv")
    results.check("seconds of a unit of work",
                  all(near(work[f]["base_s"], float(plain[f]["base_s"]) / 10,
                           1e-6) for f in COUNTS), work)
    done = ask("new", "diff old unit requests")
    results.check("a run that does not say its work is not compared",
                  done.returncode == 6 and "requests" in done.stderr,
                  done.stderr)


def check_recordings(results):
    """Two processes of one recording are one run."""
    os.makedirs("tree")
    for pid in (1, 2):
        made_runs.write(f"tree/{pid}.bin", {"f": 100 * pid}, pid=pid,
                        recording=b"0123456789abcdef")
    found = rows("a.bin", "diff tree as csv")
    results.check("profiles of one recording are one run",
                  found["f"]["base_samples"] == "300" and
                  near(found["f"]["base_s"], 0.3), found["f"])


def check_roots(results):
    """Two checkouts: the base's files are found under the new side's root."""
    os.makedirs("there")
    for name, folder in (("x", b"/ci/main/src/app"), ("y", b"/ci/main/src/lib")):
        made_runs.write(f"there/{name}.bin", {"f": 100, "g": 200},
                        file=folder + b"/shop.py", recording=b"1" * 32)
        made_runs.write(f"here-{name}.bin", {"f": 100, "g": 200},
                        file=folder.replace(b"/ci/main", b"/home/me/pr 7") +
                        b"/shop.py", recording=b"2" * 32)
    done = ask("here-x.bin", "here-y.bin", "diff there as json")
    answer = json.loads(done.stdout)
    column = {name: i for i, name in enumerate(answer["columns"])}
    results.check("a function is one in two checkouts",
                  len(answer["rows"]) == 4 and
                  all(row[column["base_samples"]] == row[column["new_samples"]]
                      for row in answer["rows"]) and
                  any("/home/me/pr 7" in n and "/ci/main" in n
                      for n in answer["notes"]), done.stdout)


def check_renames(results):
    made_runs.write("before.bin", {**COUNTS, "total_price": 330, "other": 90})
    made_runs.write("after.bin", {**COUNTS, "sum_prices": 350, "fresh": 45})
    found = rows("after.bin", "diff before.bin as csv")
    results.check("a function of another name and the same time is a hint",
                  found["sum_prices"]["note"] == "renamed? total_price" and
                  found["total_price"]["note"] == "renamed? sum_prices",
                  found["sum_prices"])
    results.check("a function of another name and another time is new",
                  found["fresh"]["verdict"] == "new" and
                  found["fresh"]["note"] == "", found["fresh"])


def check_warnings(results):
    made_runs.write("other.bin", COUNTS, mode=1, python=(3, 12, 1),
                    host=b"elsewhere")
    done = ask("other.bin", "diff old")
    results.check("a diff of runs that do not compare says why",
                  done.returncode == 0 and "modes differ" in done.stdout and
                  "Pythons differ" in done.stdout and
                  "machines differ" in done.stdout, done.stdout)
    results.check("a mark of one run is unconfirmed",
                  "unconfirmed" in done.stdout, done.stdout)


def check_failures(results):
    for title, arguments, status, word in (
            ("no base", ["new", "diff"], 2, "base"),
            ("a base that is missing", ["new", "diff gone.bin"], 1, "gone.bin"),
            ("a pattern of nothing", ["new", "diff gone/*.bin"], 1, "gone"),
            ("a label of nobody", ["new", "diff where label commit = zz"], 4,
             "base"),
            ("a function of neither side",
             ["b.bin", "diff a.bin where function = nobody"], 4, "nobody"),
            ("all are the base", ["new", "diff where label commit = b2"], 4,
             "new side"),
            ("a label after 'to'", ["new", "diff old to pid = 3"], 2, "pid"),
            ("a scale", ["new", "diff old scale metres"], 2, "metres"),
            ("explain", ["new", "explain diff old"], 2, "explain"),
            ("stacks", ["new", "diff old as collapsed"], 2, "stacks")):
        check_refused(results, title, arguments, status, word)
    with open("old/0.bin", "rb") as file:
        data = file.read()
    with open("cut.bin", "wb") as file:
        file.write(data[:len(data) * 2 // 3])
    done = ask("new", "diff cut.bin")
    results.check("a base that is cut is compared as far as it goes, or refused",
                  "part is missing" in done.stdout or done.returncode,
                  done.stdout)


def check_everything(results, rnd):
    make_sides(rnd)
    check_exact(results)
    check_conditions(results)
    check_presence(results)
    check_found(results)
    check_json(results)
    check_head(results)
    check_scales(results)
    check_recordings(results)
    check_roots(results)
    check_renames(results)
    check_warnings(results)
    check_failures(results)


made_runs.run(check_everything)
