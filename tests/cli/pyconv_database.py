#!/usr/bin/env python3
"""Two ways into the tables: a new database is written as pages, and one that
is there gets rows.  Both have the same content, in order of every key.

    pyconv_database.py [SEED]
"""

import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402

RESULTS = harness.Results()
check = RESULTS.check
VECTORS = harness.VECTORS


def pyconv(*arguments):
    done = subprocess.run([os.path.join(harness.BIN, "pyconv"), "-q",
                           *arguments], capture_output=True, text=True,
                          check=False)
    assert done.returncode in (0, 3), done.stderr


def made_profiles(seed):
    """Files whose rows fill many pages."""
    os.makedirs("made")
    subprocess.run([harness.tool("fleet"), "made", "12", "4000", str(seed),
                    "1760000000"], check=True)
    return [os.path.join("made", name) for name in sorted(os.listdir("made"))]


def content(path):
    """Every row of every table, and what SQLite has to say of the file."""
    database = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
    names = [name for name, in database.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")]
    found = {name: sorted(map(repr, database.execute("SELECT * FROM " + name)))
             for name in names}
    found["integrity"] = database.execute("PRAGMA integrity_check").fetchall()
    found["pages"] = database.execute("PRAGMA page_count").fetchone()[0]
    found["free"] = database.execute("PRAGMA freelist_count").fetchone()[0]
    return found


def compare(name, files):
    pyconv(*files, "-f", "-o", "pages.db")
    with open("rows.db", "wb"):
        pass  # an empty database
    pyconv(*files, "--into", "rows.db")
    pages, rows = content("pages.db"), content("rows.db")
    check("%s: SQLite finds nothing wrong" % name,
          pages["integrity"] == [("ok",)] and pages["free"] == 0)
    size = os.path.getsize("pages.db")
    check("%s: the file is as long as it has pages" % name,
          size == 8192 * pages["pages"], size)
    for key in ("pages", "free"):
        del pages[key], rows[key]
    for table in rows:
        check("%s: %s has the same rows" % (name, table),
              pages[table] == rows[table], len(pages[table]))


def check_limits(files):
    """A file that may not grow leaves no output, wherever it ends."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    whole = os.path.getsize("pages.db")
    steps = [whole * i // 16 for i in range(16)] + [whole - 8192, whole - 1]
    failed = []
    for most in steps:
        done = subprocess.run([os.path.join(harness.BIN, "pyconv"), *files,
                               "-o", "limited.db"], capture_output=True,
                              text=True, check=False, preexec_fn=limit)
        if done.returncode != 1 or done.stderr.count("pyconv: error:") != 1:
            failed.append((most, done.returncode, done.stderr))
        failed += [name for name in os.listdir(".") if "limited" in name]
    check("a limit on the file's size leaves nothing, and says so",
          not failed, failed)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 31)
    print("seed", seed)
    vectors = sorted(os.path.join(VECTORS, name)
                     for name in os.listdir(VECTORS)
                     if name.startswith("good-") and name.endswith(".bin"))
    for path in vectors:
        compare(os.path.basename(path), [path])
    compare("all vectors", vectors)
    made = made_profiles(seed)
    compare("a made profile", made[:1])
    compare("made profiles", made)
    check_limits(made)
    compare("vectors between made profiles", made[:6] + vectors + made[6:])
    RESULTS.exit()


main()
