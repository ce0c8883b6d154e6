"""DuckDB opens the database of --to sqlite: each column of each table and view
has the values that SQLite reads."""

import csv
import glob
import io
import os
import sqlite3
import subprocess
import sys

for folder in "live", "interop":
    sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", folder))
import live
from live import expect

import harness
import profiles
import unpacked

CACHE = os.environ.get("PYREC_CACHE") or os.path.expanduser("~/.cache/pyrec")
DUCKDB = unpacked.Program(os.path.join(CACHE, "duckdb"), "forky", "duckdb",
                          "usr/bin/duckdb")
# DuckDB 2.0 sends SQLite this recursive view with parentheses around the parts
# of its UNION, which are not SQLite's syntax.
UNREAD = ("stacks",)
OPEN = "LOAD '%s'; ATTACH 'run.db' AS run (TYPE sqlite, READ_ONLY);\n"


def questions(database):
    """(relation, column, question): what each column holds, at either end for
    tables; DuckDB takes some numbers of views for texts."""
    for relation, of in database.execute(
            "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')"
            " AND name NOT LIKE 'sqlite%' ORDER BY name").fetchall():
        if relation in UNREAD:
            continue
        for _, column, kind, *_ in database.execute(
                'PRAGMA table_info("%s")' % relation):
            value = ('hex("%s")' if kind == "BLOB" else '"%s"') % column
            ends = ", min({0}), max({0})" if of == "table" else ""
            yield relation, column, (
                "SELECT 'answer', count({0}), count(DISTINCT {0})" + ends +
                ' FROM {{}}"{1}"').format(value, relation)


def duckdb(statements):
    """Their rows, as texts; its warnings stand between them."""
    scanners = glob.glob(DUCKDB.root + "/usr/lib/duckdb/extensions/*/*/"
                         "sqlite_scanner.duckdb_extension")
    if not scanners:
        raise live.Skip("Debian's DuckDB has no extension for SQLite")
    done = subprocess.run(
        DUCKDB.command("-unsigned", "-csv", "-noheader", ":memory:",
                       OPEN % scanners[0] + ";\n".join(statements)),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    expect(done.returncode == 0, "%s", done.stderr.decode())
    rows = csv.reader(io.StringIO(done.stdout.decode(), newline=""))
    return [row for row in rows if row and row[0].endswith("answer")]


def alike(text, value):
    """DuckDB's text of a value of SQLite's; NULL is written out."""
    if isinstance(value, float):
        return text != "NULL" and abs(float(text) - value) <= 1e-9 * abs(value)
    return text == ("NULL" if value is None else str(value))


def reads(profile):
    why = DUCKDB.unpack()
    if why:
        raise live.Skip(why)
    status, why = harness.feed(profile, "run.bin")
    expect(status == 0, "cannot write it: %s", why)
    live.succeed(live.PYCONV, "run.bin", "-q", "-o", "run.db")
    database = sqlite3.connect("run.db")
    asked = list(questions(database))
    answers = duckdb([text.format("run.") for _, _, text in asked])
    expect(len(answers) == len(asked), "%d answers to %d questions",
           len(answers), len(asked))
    for (relation, column, text), answer in zip(asked, answers):
        wanted = database.execute(text.format("")).fetchone()
        expect(all(map(alike, answer[1:], wanted[1:])), "%s.%s: %s instead of %s",
               relation, column, answer, wanted)
    print("# %d columns" % len(asked))


for kind in "threads", "names", "no_samples":
    live.tests.append((
        "duckdb reads each column of the database of a profile with %s" %
        kind.replace("_", " "), reads,
        (getattr(profiles, kind)(profiles.random.Random("duckdb " + kind)),)))
live.run()
