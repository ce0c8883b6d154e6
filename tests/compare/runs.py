"""Runs of the programs of characters.py: recorded, and as simulate.c reads
them."""

import collections
import csv
import io
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ.get("BIN", os.path.join(HERE, "../../build"))
CHARACTERS = os.path.join(HERE, "characters.py")
# character: the function that the changed build makes 20 % slower
SLOWER = {"steady": "count_words", "phased": "compare_items",
          "server": "join_strings", "allocating": "make_dicts"}
ROUNDS = 48
PAUSE = float(os.environ.get("PYREC_COMPARE_PAUSE", 0))
WORK = "2"
RATE = "5k"  # as pyrec --repeat


def prefer():
    """Other work on the machine waits; needs CAP_SYS_NICE."""
    try:
        os.nice(-15)
    except PermissionError:
        pass


def record_one(python, folder, character, name, *more):
    path = os.path.join(folder, character, name + ".bin")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if not os.path.exists(path):
        subprocess.run([os.path.join(BIN, "pyrec"), "-q", "-r", RATE, "-o", path, "--",
                        python, CHARACTERS, character, WORK, *more],
                       check=True, preexec_fn=prefer)
        time.sleep(PAUSE)


def record(python, folder, rounds=ROUNDS):
    """In turn, the changed build in every second round; runs that are there
    stay."""
    for i in range(rounds):
        for character, function in SLOWER.items():
            record_one(python, folder, character, "base-%03d" % i)
            if i % 2 == 0:
                record_one(python, folder, character, "slow-%03d" % i,
                           function + "=1.2")


def ask(paths, question):
    done = subprocess.run([os.path.join(BIN, "pyquery"), "--csv", *paths,
                           question],
                          capture_output=True, text=True, check=True)
    return csv.DictReader(io.StringIO(done.stdout))


def matrix(folder, character, measure="self"):
    """One program as simulate.c reads it.  measure: "self" or "self_ran"."""
    place = os.path.join(folder, character)
    names = sorted(os.listdir(place))
    order = ([n for n in names if n.startswith("base-")] +
             [n for n in names if n.startswith("slow-")])
    n_base = sum(n.startswith("base-") for n in names)
    column = {name: i for i, name in enumerate(order)}
    cells = collections.defaultdict(lambda: [(0, 0)] * len(order))
    whole = [[0, 0] for _ in order]
    ran = measure == "self_ran"
    count, us = (("self_ran_n", "self_ran_us") if ran else
                 ("self_n", "self_us"))
    for name in order:
        for row in ask([os.path.join(place, name)], "--sql=" + SUMS):
            pair = int(row[count]), int(row[us])
            if row["kind"] in ("native", "task"):
                pass
            else:
                key = row["path"], row["qualname"]
                old = cells[key][column[name]]
                cells[key][column[name]] = (old[0] + pair[0], old[1] + pair[1])
            whole[column[name]][0] += pair[0]
            whole[column[name]][1] += pair[1]
    functions = sorted(cells)
    slow = next(i for i, (_, name) in enumerate(functions)
                if name == SLOWER[character])
    lines = ["%s %d %d %d %d" % (character, n_base, len(order) - n_base,
                                 len(functions), slow),
             " ".join("%d %d" % tuple(w) for w in whole)]
    lines += [" ".join("%d %d" % pair for pair in cells[f])
              for f in functions]
    return "\n".join(lines) + "\n"


SUMS = ("SELECT path, qualname, kind, self_n, self_us, self_ran_n, self_ran_us"
        " FROM function_total JOIN function ON function.id = function_id"
        " JOIN file ON file.id = file_id")
