#!/usr/bin/env python3
"""Print the tables of spec/compare.md, 7, from recorded and simulated runs.

usage: tables.py [--runs FOLDER] [--rounds N] [--draws N] [--seed N]

Records what FOLDER (build/compare-runs) lacks: 72 runs of each of four
programs, a quarter of an hour.  The interpreter is PYREC_PYTHON_313 of
build/interpreters.env.
"""

import argparse
import os
import re
import subprocess
import sys

import runs

# name, median sd between runs, sd of the common factor, share of runs in the
# other mode of one function, functions
MODELS = ("model steady 0.056 0.09 0 23\nmodel phased 0.099 0.12 0.1 13\n"
          "model server 0.084 0.10 0.2 8\nmodel allocating 0.054 0.11 0 12\n")


def python():
    with open(os.path.join(runs.BIN, "interpreters.env"),
              encoding="utf-8") as file:
        return re.search(r"PYREC_PYTHON_313=['\"]?([^'\"\n]*)",
                         file.read()).group(1)


def simulate(command, draws, seed, programs):
    done = subprocess.run([os.path.join(runs.BIN, "compare/simulate"), command,
                           str(draws), str(seed)], input=programs, text=True,
                          capture_output=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def table(title, head, rows):
    print("\n%s\n" % title)
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def by_program(rows, kind, key, value):
    """{row name: value for each program, joined by commas}"""
    found = {}
    for row in rows:
        if row[0] == kind:
            found.setdefault(row[key] if key else kind, []).append(row[value])
    return {name: ", ".join(values) for name, values in found.items()}


def print_gate(title, rows):
    columns = [by_program(rows, "gate", 2, i) for i in (3, 4, 5, 6, 7)]
    table("%s: steady/phased/server/allocating" % title,
          ["base v new", "false alarms", "+20 % found",
           "another marked beside it", "+20 % of any above 6 % found",
           "least change found, %"],
          [[sides, *(column[sides] for column in columns)]
           for sides in columns[0]])
    stages = [by_program(rows, "stages", 0, i)["stages"] for i in (2, 3, 4)]
    table("%s, two stages (5 v 1, then 5 v 5)" % title,
          ["false alarms", "+20 % found", "second stage, unchanged"], [stages])


def print_scales(title, rows):
    alarms, power = (by_program(rows, "scale", 2, i) for i in (3, 4))
    table("%s by scale, 5 v 5" % title,
          ["scale", "false alarms", "+20 % found"],
          [[scale, alarms[scale], power[scale]] for scale in alarms])


def history(draws, seed, programs):
    done = subprocess.run([os.path.join(runs.BIN, "compare/history"),
                           str(draws), str(seed)], input=programs, text=True,
                          capture_output=True, check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def print_history(rows):
    table("History: unchanged series of 113 builds, simulated",
          ["correlation of builds", "false points a series",
           "alarms of the newest build in 1000"],
          [row[1:] for row in rows if row[0] == "unchanged"])
    table("History: one step in 80 builds, simulated",
          ["step, %", "sd between builds", "found within 3 builds"],
          [row[1:] for row in rows if row[0] == "step"])
    table("History: the same step, found by an oracle; sd 0.04 to 0.08",
          ["step, %", "oracle", "found within 3 builds"],
          [row[1:] for row in rows if row[0] == "oracle"])
    table("History: recorded series, and a step of 10 % in 80 builds drawn"
          " from those with an sd of 0.04 to 0.08",
          ["program", "unchanged series", "false points in all of them",
           "step found within 3 builds"],
          [row[1:] for row in rows if row[0] == "recorded"])
    table("History: 10,000 series of 200 builds", ["seconds", "points"],
          [row[1:] for row in rows if row[0] == "seconds"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs",
                        default=os.path.join(runs.BIN, "compare-runs"))
    parser.add_argument("--rounds", type=int, default=runs.ROUNDS)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    runs.record(python(), options.runs, options.rounds)
    print("seed %d, %d comparisons a number" % (options.seed, options.draws))
    recorded = "".join(runs.matrix(options.runs, c) for c in runs.SLOWER)
    ran = "".join(runs.matrix(options.runs, c, "self_ran")
                  for c in runs.SLOWER)
    for title, programs in (("Recorded", recorded),
                            ("Recorded, what ran alone", ran),
                            ("Simulated", MODELS)):
        print_gate(title, simulate("gate", options.draws, options.seed,
                                   programs))
        if title != "Recorded, what ran alone":
            print_scales(title, simulate("scales", options.draws, options.seed,
                                         programs))
    print_history(history(options.draws, options.seed, recorded))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
