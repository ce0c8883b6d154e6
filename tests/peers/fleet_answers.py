"""Answers of a server, or of files of another engine, against those of pyquery:
the tables of spec/fleet.md under their names in SQL."""

import csv
import json
import os
import random
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402
import profiles as made  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
PYQUERY = os.path.join(harness.BIN, "pyquery")
WALL = 1760000000  # of the first profile; the others follow within a day
RESULTS = harness.Results()
check = RESULTS.check


def fleet(folder, profiles, samples, seed):
    """Generated profiles (tests/interop/fleet.c); their paths."""
    os.mkdir(folder)
    subprocess.run([harness.tool("fleet"), folder, str(profiles), str(samples),
                    str(seed), str(WALL)], check=True)
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))]


def ask(question, *paths):
    done = subprocess.run([PYQUERY, "--csv", *paths, question],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(done.stdout.splitlines()))


def ask_sql(sql, *paths):
    done = subprocess.run([PYQUERY, "--csv", *paths, "--sql", sql],
                          capture_output=True, text=True, check=True)
    return list(csv.DictReader(done.stdout.splitlines()))


def make_certificate(name):
    """NAME.pem, a certificate of 127.0.0.1 that is its own authority, and its
    key NAME.key."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
                    "-keyout", name + ".key", "-out", name + ".pem", "-days",
                    "2", "-subj", "/CN=127.0.0.1", "-addext",
                    "subjectAltName=IP:127.0.0.1"], check=True,
                   capture_output=True)


def key_of(row, names):
    return tuple(str(row[name] or "") for name in names)


def same(name, local, remote, keys, numbers, floats=("self_s", "total_s")):
    """Row by row: counts are equal, seconds to the microsecond."""
    def table(rows):
        found = {}
        for row in rows:
            key = key_of(row, keys)
            entry = found.setdefault(key, [0] * (len(numbers) + len(floats)))
            for i, column in enumerate(numbers):
                entry[i] += int(row[column])
            for i, column in enumerate(floats):
                entry[len(numbers) + i] += round(float(row[column]) * 1e6)
        return found
    a, b = table(local), table(remote)
    wrong = [(key, a.get(key), b.get(key)) for key in a.keys() | b.keys()
             if a.get(key) != b.get(key)]
    check("%s: %d rows are equal" % (name, len(a)), a and not wrong,
          wrong[:5])


FUNCTIONS = ("SELECT %s function, file, line, sum(self_samples) AS"
             " self_samples, sum(total_samples) AS total_samples, sum(self_s)"
             " AS self_s, sum(total_s) AS total_s FROM pyrec.functions %s"
             " GROUP BY %s function, file, line")
NUMBERS = ("self_samples", "total_samples")
NAMES = ("function", "file", "line")


def answers(rows, files, local):
    """rows(sql): of the engine; `files`, of equal distance in a day, are what
    was handed over, and `local` are paths that pyquery asks for all of them."""
    same("top", ask("top 100000 by self", *local),
         rows(FUNCTIONS % ("", "", "")), NAMES, NUMBERS)
    same("top per label",
         ask("top 100000 by self per label service", *local),
         rows(FUNCTIONS % (
             "value AS label,", "JOIN pyrec.label USING (profile)"
             " WHERE key = 'service'", "value,")), ("label", *NAMES), NUMBERS)
    for function in ("Handler1.step_04", "Handler2.step_07"):
        same("callers of " + function,
             ask("callers 100000 of " + function, *local),
             rows("SELECT coalesce(caller, '(root)') AS caller, file,"
                  " sum(self_samples) AS self_samples,"
                  " sum(total_samples) AS total_samples, sum(total_s)"
                  " AS total_s FROM pyrec.callers WHERE function = '%s'"
                  " GROUP BY 1, 2" % function),
             ("caller", "file"), NUMBERS, ("total_s",))
    day = 86400 * 1000000
    start, end = len(files) // 4, len(files) // 2
    same("top between two moments",
         ask("top 100000 by self", *files[start:end]),
         rows(FUNCTIONS % (
             "", "JOIN pyrec.profile USING (profile) WHERE wall_us >= %d AND"
             " wall_us < %d" % (WALL * 1000000 + start * day // len(files),
                                WALL * 1000000 + end * day // len(files)),
             "")), NAMES, NUMBERS)


def inner_answers(rows, local):
    """Answers of the tables below the totals."""
    same("threads by their samples", [
        {"tid": row["tid"], "n": row["samples"]}
        for row in ask("threads", *local)],
         rows("SELECT tid, sum(n) AS n FROM pyrec.run JOIN pyrec.thread"
              " USING (profile, thread) GROUP BY profile, thread, tid"),
         ("tid",), ("n",), ())
    same("states of the samples",
         ask_sql("SELECT status, sum(n) AS n FROM node_self GROUP BY 1",
                 *local),
         rows("SELECT status, sum(n) AS n FROM pyrec.node_self GROUP BY 1"),
         ("status",), ("n",), ())


# Each is answered from tables that have no stacks.
LISTINGS = ("threads", "threads where gil and label service = service03",
            "threads where idle and host != host001", "processes",
            "processes where pid != 1007", "profiles", "losses", "gc", "gaps",
            "events")
# Profiles of a day from WALL on: 2025-10-09 08:53:20 UTC.
QUESTIONS = (
    "top 100000 by self", "top 7 by total", "top 20", "top 30 by name",
    "top 1000 by self in m0.py",
    "top 1000 by self per label service", "top 5 by total per label region",
    "top 10 by self where label service = service03",
    "top 10 where label service != service03 and host = host001",
    "top 10 where host != host001",
    "top 10 where pid = 1007", "top 10 per label region where pid != 1007",
    "top 100000 by self where gil", "top 100000 by total where idle",
    "top 1000 where cpu and label region = region2",
    "top 100000 by self between 0s and 101ms",
    "top 100000 by total between 15ms and 1h",
    "top 100000 by self between 2025-10-09 12:00 and 18:00",
    "top 9 per label service where gil between 2025-10-09 12:00 and 13:00",
    "callers 1000 of Handler1.step_04", "callees 1000 of Handler1.step_04",
    "callers 1000 of Handler1.step_04 where gil",
    "callees 1000 of Handler2.step_07 per label region",
    "callers 1000 of Handler1.step_03 between 0s and 55ms",
    "callees 1000 of step_20 where label region = region1",
    "top where label service = \"'; DROP TABLE pyrec.profile; --\"",
    "callers of nonsense", "top per label nonsense", "top 5 where waiting",
    *LISTINGS,
)
REFUSED = (
    "summary", "lines 5", "files", "tree", "bottomup", "stacks",
    "threads between 0s and 1s", "timeline", "explain top", "explain threads",
    "top 5 per thread",
    "top 5 where main", "top 5 where function = main", "top 5 focus main",
    "top 5 only project", "top 5 where label service like 's*'",
    "top 5 between 10% and 20%", "top 5 thread MainThread",
)


def said_by(where, *words, **env):
    """(status, the rows in any order, messages) of pyquery."""
    done = subprocess.run([PYQUERY, "--csv", where, *words],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, TZ="UTC", **env))
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


def is_line(said):
    return re.fullmatch(r"pyquery: error: [^\n]+\n(\s[^\n]*\n)*"
                        r"(pyquery: hint: [^\n]+\n)?", said)


def asked(address, local, questions=QUESTIONS):
    """pyquery asks the server, and gets what it gets of `local`."""
    for question in questions:
        here = said_by(local, question)
        begin = time.monotonic()
        there = said_by(address, question)
        print("# %.2f s" % (time.monotonic() - begin))
        check("asked: " + question, here[:2] == there[:2], (
            here[2], there[2], [row for row in here[1] if row not in
                                there[1]][:5], there[1][:5]))


def same_quality(address, local):
    """With the losses of threads and of processes."""
    here, there = (json.loads(subprocess.run(
        [PYQUERY, "--json", where, "top", "1"], capture_output=True, text=True,
        check=True).stdout)["quality"] for where in (local, address))
    lost = sum(int(row["samples"]) for row in ask("losses", local))
    check("asked: the quality of all samples", here == there and
          here["lost"] == lost > 0, (here, there, lost))


def refused(address):
    for question in REFUSED:
        status, rows, said = said_by(address, question)
        check("refused in a line: " + question, status == 2 and not rows and
              is_line(said) and "a server" in said, said)
    status, rows, said = said_by(address, "--sql", "SELECT 1")
    check("refused in a line: --sql", status == 2 and not rows and
          is_line(said), said)


TABLES = ("profile", "label", "meta", "process", "thread", "file", "function",
          "node", "run", "node_self", "function_total", "edge_total", "event",
          "loss")
COUNTS = " UNION ALL ".join(
    "SELECT '%s' AS name, count(*) AS n FROM pyrec.%s" % (table, table)
    for table in TABLES)


def write_hostile(path):
    """A profile whose names, labels and host want to be SQL."""
    names = (b"'; DROP TABLE pyrec.profile; --", b"\\.", b"\\N", b"a\tb\nc\rd",
             b"$$; DROP SCHEMA pyrec CASCADE; $$", b"\\\\", b"\\", b"\x01\x7f",
             b"", b"\0", "\u017curek \U0001f40d".encode(),
             *made.WILD_NAMES)
    maker = made.Maker(random.Random(5), names)
    maker.thread((1234, 0), 400)
    profile = maker.profile
    profile.meta = {b"label." + names[0]: names[0], b"label.x": b"\\.",
                    b"host": names[3]}
    harness.feed(profile, path)


def hostile_names(path, rows, hex_of):
    """hex_of: the engine's SQL for a text's bytes in hexadecimal."""
    local = {row["h"] for row in ask_sql(
        "SELECT hex(qualname) AS h FROM function UNION SELECT hex(value) FROM"
        " label", path)}
    remote = {row["h"] for row in rows(
        "SELECT %s AS h FROM pyrec.function UNION SELECT %s FROM pyrec.label"
        % (hex_of % "qualname", hex_of % "value"))}
    check("hostile names come back byte by byte", len(local) > 10 and
          local <= remote, local - remote)
    check("and the tables are there", len(rows(COUNTS)) == len(TABLES))
