#!/usr/bin/env python3
"""Histories of made builds: known steps, known labels, known failures.

    pyquery_history.py [SEED]
"""

import os
import random
import sys
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import made_runs  # noqa: E402
from made_runs import ask, check_refused, rows  # noqa: E402

COUNTS = {"load": 450, "parse": 350, "price": 250, "pack": 200, "sort": 150,
          "send": 120}
BUILDS, STEP = 24, 14


def make(rnd):
    """Two runs a build; from build STEP on price() takes 30 % longer.  The
    names of the files are not in the order of the builds."""
    os.makedirs("runs")
    for build in range(BUILDS):
        for run in range(2):
            slower = {"price": 1.3} if build >= STEP else {}
            made_runs.write("runs/%s.bin" % "".join(rnd.sample("abcdefgh", 8)),
                            made_runs.noisy(rnd, COUNTS, **slower),
                            start_s=100 * build + run,
                            labels={"commit": "c%02d" % build})


def check_all(results):
    found = rows("runs", "history per label commit as csv")
    results.check("the function that changed comes first",
                  found[0]["function"] == "price" and
                  found[0]["points"] == "1" and
                  found[0]["changes"].endswith(" at c%02d" % STEP) and
                  len(found) == len(COUNTS), found[0])
    results.check("no other function changed",
                  all(row["points"] == "0" for row in found[1:]), found)
    results.check("trends have a sign for each build",
                  all(len(row["trend"]) == BUILDS for row in found), found)


def check_one(results):
    for series in ("self(price)", "price", "self(shop.price)"):
        found = rows("runs", f"history {series} per label commit as csv")
        points = [row["build"] for row in found if row["point"]]
        results.check(f"one row a build of {series}, in order of time",
                      [row["build"] for row in found] ==
                      ["c%02d" % i for i in range(BUILDS)] and
                      all(row["n_runs"] == "2" for row in found) and
                      points == ["c%02d" % STEP], points)
    levels = [float(row["level_pct"]) for row in found]
    results.check("levels are constant but for the step",
                  levels[0] == levels[STEP - 1] == 0 and
                  20 < levels[STEP] < 40 and levels[STEP] == levels[-1],
                  levels)
    found = rows("runs", "history total(main) per label commit as csv")
    results.check("totals have a history, too",
                  all(float(row["build_s"]) > 1 for row in found), found[0])
    found = rows("runs", "history price as csv")
    results.check("without a label each run is a build",
                  len(found) == 2 * BUILDS, len(found))
    done = ask("runs", "history price per label commit")
    results.check("a table has the series as one line of signs",
                  any(len(line) == BUILDS and set(line) <= set("▁▂▃▄▅▆▇█")
                      for line in done.stdout.splitlines()), done.stdout)
    done = ask("runs", "history price per label commit as markdown")
    results.check("markdown has a row for each build",
                  done.stdout.count("\n| c") == BUILDS, done.stdout)


def check_chart(results):
    done = ask("runs", "history self(price) per label commit as svg")
    root = xml.etree.ElementTree.fromstring(done.stdout)
    space = "{http://www.w3.org/2000/svg}"
    dots = [dot.find(space + "title").text
            for dot in root.iter(space + "circle")]
    levels = [line for line in root.iter(space + "line")
              if line.get("stroke-width") == "2"]
    results.check("a chart has a dot for each build and a line for each level",
                  [dot.split(":")[0] for dot in dots] ==
                  ["c%02d" % i for i in range(BUILDS)] and len(levels) == 2,
                  done.stdout)
    done = ask("runs", "history as svg")
    results.check("a chart is of one series",
                  done.returncode == 2 and "self(NAME)" in done.stderr,
                  done.stderr)


def check_newest(results):
    """The step at the end: too new for a level, but it is reported."""
    os.makedirs("fresh")
    rnd = random.Random(2)
    for build in range(16):
        slower = {"pack": 1.5} if build == 15 else {}
        made_runs.write("fresh/%02d.bin" % build,
                        made_runs.noisy(rnd, COUNTS, **slower),
                        start_s=100 * build)
    found = rows("fresh", "history as csv")
    pack = next(row for row in found if row["function"] == "pack")
    results.check("the newest build is judged at once",
                  pack["newest"] == "1" and
                  "record more runs" in pack["newest_text"], pack)


def check_failures(results):
    for title, question, status, word in (
            ("a label that no run has", "history per label nothing", 4,
             "nothing"),
            ("a function that is not there", "history self(nobody)", 4,
             "nobody"),
            ("a part that is not a build", "history per thread", 2, "label"),
            ("an empty name", "history self()", 2, "name"),
            ("explain", "explain history", 2, "explain")):
        check_refused(results, title, ["runs", question], status, word)


def check_everything(results, rnd):
    make(rnd)
    check_all(results)
    check_one(results)
    check_chart(results)
    check_newest(results)
    check_failures(results)


made_runs.run(check_everything)
