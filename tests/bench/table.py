#!/usr/bin/env python3
"""The table of a run of benchmarks: table.py ROWS JSON.

ROWS has the lines that the benchmarks wrote.  Prints the table and writes JSON
with the machine, its load, the commit, and the rows.
"""

import datetime
import json
import os
import platform
import statistics
import subprocess
import sys

LOADED = 0.05  # as in measure.py


def processor():
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], text=True,
                          capture_output=True, check=False)
    return done.stdout.strip() or "unknown"


def line(row):
    if "ratios" in row:
        ratios = row["ratios"]
        return "%6.3f  %6.3f to %6.3f  at most %-5.3g  %s: %.3g %s, %s %.3g" % (
            statistics.median(ratios), min(ratios), max(ratios),
            row["at_most"], row["what"], statistics.median(row["ours"]),
            row["unit"], row["peer"], statistics.median(row["theirs"]))
    bound = ("at most %g" % row["most"] if "most" in row
             else "at least %g" % row["least"])
    return "%6.4g  %16s  %-12s  %s" % (row["value"], "", bound, row["what"])


def main():
    rows = []
    if os.path.exists(sys.argv[1]):
        with open(sys.argv[1], encoding="utf-8") as file:
            rows = [json.loads(text) for text in file]
    loaded = sum(row["others"] > LOADED for row in rows)
    run = {"time": datetime.datetime.now(datetime.timezone.utc).isoformat(
               timespec="seconds"), "commit": commit(),
           "processor": processor(), "processors": os.cpu_count(),
           "kernel": platform.release(), "load": os.getloadavg(),
           "measured": not loaded, "rows": rows}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(run, file, indent=1)
        file.write("\n")
    print("%s, commit %s" % (run["time"], run["commit"]))
    print("%s, %d processors, Linux %s, load %.1f" % (
        run["processor"], run["processors"], run["kernel"], run["load"][0]))
    print("ratio to the peer in the same run: median, least to most")
    for row in rows:
        print(line(row), "(not a measurement)" if row["others"] > LOADED else "")
    if loaded:
        print("not a measurement: other programs used the processors during"
              " %d of %d rows" % (loaded, len(rows)))


main()
