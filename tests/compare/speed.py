#!/usr/bin/env python3
"""CPU seconds of comparisons of a large profile (spec/compare.md, 9.4).

usage: speed.py PROFILE

PROFILE (tests/bench/large_profile.py makes one) becomes a database; another
one holds its sums 100 times, each with noise, with a factor that all functions
share and one that half of them share.
"""

import json
import os
import random
import resource
import sqlite3
import subprocess
import sys
import tempfile

BIN = os.environ.get("BIN", os.path.join(os.path.dirname(os.path.abspath(
    __file__)), "../../build"))


def cpu_seconds(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime -
            before.ru_stime)


def measure(one, base):
    """The least of three, and that the comparison is one of both sides."""
    command = (os.path.join(BIN, "pyquery"), one, "diff " + base)
    answer = json.loads(subprocess.run((*command, "--json"), check=True,
                                       stdout=subprocess.PIPE).stdout)
    made = answer["comparison"]
    assert made["scale"] == "centred" and made["base_s"] > 0, made
    return "%.2f s, %d factors" % (min(cpu_seconds(*command)
                                       for _ in range(3)), made["factors"])


def insert(database, table, rows):
    if rows:
        database.executemany("INSERT INTO %s VALUES(%s)" % (
            table, ",".join("?" * len(rows[0]))), rows)


def multiply(source, path, profiles):
    """A database with the files, functions and sums of `source` alone."""
    made = sqlite3.connect(path)
    for (sql,) in source.execute(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
            " ORDER BY type = 'view', type = 'index'"):
        made.execute(sql)
    for pragma in ("application_id", "user_version"):
        made.execute("PRAGMA %s=%d" % (pragma, source.execute(
            "PRAGMA " + pragma).fetchone()[0]))
    for table in ("file", "function"):
        insert(made, table, source.execute("SELECT * FROM " + table).fetchall())
    profile = source.execute("SELECT * FROM profile").fetchone()
    sums = source.execute("SELECT * FROM function_total").fetchall()
    rnd = random.Random(1)
    for i in range(1, profiles + 1):
        factor = [rnd.lognormvariate(0, 0.1)] * 2
        factor[1] *= rnd.lognormvariate(0, 0.1)
        insert(made, "profile", [(i, bytes([i]) * 8, *profile[2:])])
        insert(made, "function_total", [
            (i, row[1], *(int(value * factor[row[1] % 2] *
                              rnd.lognormvariate(0, 0.02))
                          for value in row[2:])) for row in sums])
    made.execute(
        "INSERT INTO function_sum SELECT function_id, sum(self_n),"
        " sum(self_us), sum(self_ran_n), sum(self_ran_us), sum(total_n),"
        " sum(total_us), sum(total_ran_n), sum(total_ran_us)"
        " FROM function_total GROUP BY function_id")
    made.commit()
    made.close()


def main():
    with tempfile.TemporaryDirectory() as folder:
        one, many = os.path.join(folder, "1.db"), os.path.join(folder, "100.db")
        subprocess.run([os.path.join(BIN, "pyconv"), sys.argv[1], "--to",
                        "sqlite", "-o", one], check=True)
        source = sqlite3.connect(one)
        samples, functions, nodes = source.execute(
            "SELECT (SELECT sum(samples) FROM profile), (SELECT count(*) FROM"
            " function), (SELECT count(*) FROM node)").fetchone()
        print("%d samples, %d functions, %d stacks" % (samples, functions,
                                                       nodes))
        multiply(source, many, 100)
        print("diff of two databases:", measure(one, one))
        print("diff against 100 profiles:", measure(one, many))



main()
