#!/usr/bin/env python3
"""Files of cProfile and of CPython's sampling profiler as inputs: their numbers
come back, and what they cannot answer is refused in one line.

    pyconv_pstats.py [SEED]

The files are of the interpreters at hand ($PYREC_PYTHON_3xx, $PYREC_STOCK) and
of this one, and marshalled by hand in each version of marshal.
"""

import csv
import marshal
import math
import os
import pstats
import random
import re
import sqlite3
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
import harness  # noqa: E402

PROGRAM = """
import cProfile, sys
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
class Sorter:
    def run(self):
        return sorted(map(str, range(200)), key=lambda text: text[::-1])
profile = cProfile.Profile()
profile.enable()
fib(12)
[Sorter().run() for _ in range(5)]
profile.disable()
profile.dump_stats(sys.argv[1])
"""
MARKER = ("__sampled__",)
TARGETS = {"pstats", "csv", "markdown", "sqlite"}
ELSEWHERE = {"parquet", "clickhouse"}  # their libraries or servers come first


def run(*arguments):
    return subprocess.run([outputs.PYCONV, *map(str, arguments)],
                          capture_output=True, text=True, check=False)


def load(path):
    with open(path, "rb") as file:
        return marshal.load(file)


def save(path, stats, version=marshal.version):
    with open(path, "wb") as file:
        marshal.dump(stats, file, version)
    return path


def interpreters():
    found = {name[-3:]: path for name, path in os.environ.items()
             if re.fullmatch(r"PYREC_PYTHON_3\d+", name) and path}
    return {"this Python": sys.executable, **dict(sorted(found.items()))}


# ---- numbers ----

def rows(path, *options):
    """{(function, file, line): (own count, count, self us, total us)}"""
    done = run(path, "--to", "csv", "-fqo", "rows.csv", *options)
    assert done.returncode == 0, done.stderr
    with open("rows.csv", newline="", encoding="utf-8") as file:
        head, *body = csv.reader(file)
    return head[3:5], {(row[0], row[1], int(row[2])):
                       tuple(map(int, row[3:])) for row in body}


def micro(seconds):
    return max(math.floor(seconds * 1e6 + 0.5), 0)


def check_numbers(results, title, path):
    """Its numbers come back in a pstats file, and stand in a table."""
    stats = load(path)
    sampled = stats.pop(MARKER, False)
    done = run(path, "--to", "pstats", "-fqo", "again.pstats")
    good = done.returncode == 0 and load("again.pstats") == stats
    results.check(f"{title}: the numbers come back", good, done.stderr)
    columns, table = rows(path)
    want = {(name, file, line): (cc, nc, micro(tt), micro(ct))
            for (file, line, name), (cc, nc, tt, ct, _) in stats.items()}
    results.check(f"{title}: the table has them", table == want,
                  sorted(set(table.items()) ^ set(want.items()))[:4])
    results.check(f"{title}: and says what is counted", columns == (
        ["self_samples", "total_samples"] if sampled
        else ["primitive_calls", "calls"]), columns)


# ---- the database ----

FUNCTION = "(SELECT path FROM file WHERE id = %s.file_id), %s.qualname," \
    " ifnull(%s.first_line, 0)"
SUMS = "SELECT %s, self_n, total_n, self_us, total_us FROM function_total" \
    " JOIN function AS f ON f.id = function_id" % (FUNCTION % (("f",) * 3))
EDGES = "SELECT %s, %s, total_n, self_n, self_us, total_us FROM edge_total" \
    " JOIN function AS f ON f.id = callee_id JOIN function AS g" \
    " ON g.id = caller_id" % (FUNCTION % (("f",) * 3), FUNCTION % (("g",) * 3))


def caller_of(value):
    """Without times a caller is a count alone."""
    nc, cc, tt, ct = value if isinstance(value, tuple) else (value, value, 0, 0)
    return nc, cc, micro(tt), micro(ct)


def check_database(results, title, path):
    stats = load(path)
    sampled = stats.pop(MARKER, False)
    done = run(path, "--to", "sqlite", "-fqo", "sums.db")
    database = sqlite3.connect("sums.db")
    sums, edges = (database.execute(sql).fetchall() for sql in (SUMS, EDGES))
    samples, weight = database.execute(
        "SELECT samples, weight_us FROM profile").fetchone()
    database.close()
    results.check(f"{title}: the database has its functions", sorted(sums) ==
                  sorted((file, name, line, cc, nc, micro(tt), micro(ct))
                         for (file, line, name), (cc, nc, tt, ct, _)
                         in stats.items()), done.stderr)
    results.check(f"{title}: and its callers", sorted(edges) == sorted(
        (file, name, line, caller[0], caller[2], caller[1], *caller_of(value))
        for (file, line, name), (*_, callers) in stats.items()
        for caller, value in callers.items()), done.stderr)
    results.check(f"{title}: and their sums", (samples, weight) == (
        sum(v[0] for v in stats.values()) if sampled else 0,
        sum(micro(v[2]) for v in stats.values())), (samples, weight))


def ask(path, question):
    return subprocess.run([outputs.PYQUERY, path, question, "--csv"],
                          capture_output=True, text=True, check=False)


def check_questions(results, path):
    stats = load(path)
    done = ask(path, "top 100 by total")
    answer = list(csv.DictReader(done.stdout.splitlines()))
    order = [micro(value[3]) for value in stats.values()]
    results.check("top is by time, with the calls", [
        round(float(row["total_s"]) * 1e6) for row in answer] == sorted(
            order, reverse=True) and sum(int(row["calls"]) for row in answer)
        == sum(value[1] for value in stats.values()), done.stderr)
    done = ask(path, "callers of fib")
    answer = list(csv.DictReader(done.stdout.splitlines()))
    callers, = (value[4] for key, value in stats.items() if key[2] == "fib")
    results.check("callers have their calls", {
        (row["caller"], int(row["calls"])) for row in answer} == {
            (key[2], value[0]) for key, value in callers.items()}, done.stderr)
    done = subprocess.run([outputs.PYQUERY, path], capture_output=True,
                          text=True, check=False)
    results.check("the overview names the totals", done.returncode == 0 and
                  "no stacks" in done.stdout, done.stdout + done.stderr)
    for question in ("tree", "lines", "stacks", "timeline", "threads",
                     "top where gil", "top per thread", "paths to fib",
                     "diff program.bin"):
        done = ask(path, question)
        results.check(f"'{question}' is refused", done.returncode == 2 and
                      "needs stacks" in done.stderr and not done.stdout,
                      done.stdout + done.stderr)
    done = ask("program.bin", "diff " + path)
    results.check("a comparison with totals is refused", done.returncode == 2
                  and "needs stacks" in done.stderr, done.stderr)


# ---- samples and calls in one database ----

COUNTED = {("/app/a.py", 10, "fib"): (3, 7, 0.5, 1.0, {
    ("/app/a.py", 1, "main"): (2, 2, 0.125, 0.25)}),
           ("/app/b.py", 1, "only"): (4, 4, 0.25, 0.25, {})}


def answer_of(question, *paths):
    done = subprocess.run([outputs.PYQUERY, *paths, question, "--csv"],
                          capture_output=True, text=True, check=False)
    return list(csv.DictReader(done.stdout.splitlines())), done.stderr


def with_calls(rows, names, counted):
    """The rows of the sampled profile alone, with those that count calls."""
    amounts = {}
    for row in rows:
        amounts[tuple(row[name] for name in names)] = [
            row["self_samples"], row["total_samples"], "",
            *(micro(float(row[key])) for key in ("self_s", "total_s"))]
    for key, (calls, own, total) in counted.items():
        entry = amounts.setdefault(key, ["", "", "", 0, 0])
        entry[2:] = [str(calls), entry[3] + micro(own), entry[4] + micro(total)]
    return amounts


def facts_of(*paths):
    return {row["what"]: row["value"]
            for row in answer_of("summary", *paths)[0]}


def check_mixed_rows(results, title, question, names, counted, *paths):
    want = with_calls(answer_of(question, "labelled.bin")[0], names, counted)
    rows, why = answer_of(question, *paths)
    results.check(f"{title}: '{question}' has samples and calls", {
        tuple(row[name] for name in names): [
            row["self_samples"], row["total_samples"], row["calls"],
            micro(float(row["self_s"])), micro(float(row["total_s"]))]
        for row in rows} == want, why or rows[:3])
    return rows


def check_mixed(results, title, *paths):
    rows = check_mixed_rows(
        results, title, "top 1000", ("function", "line", "file"),
        {(name, str(line), file): (value[1], *value[2:4])
         for (file, line, name), value in COUNTED.items()}, *paths)
    own = [float(row["self_s"]) for row in rows]
    whole = float(facts_of(*paths)["seconds"])
    results.check(f"{title}: shares and order are those of the time",
                  own == sorted(own, reverse=True) and all(
                      abs(float(row["self_pct"]) - 100 * own[i] / whole) < 0.01
                      and not row["self_ran_pct"]
                      for i, row in enumerate(rows)), rows[:2])
    check_mixed_rows(results, title, "callers of a.py:fib", ("caller", "callee"),
                     {("main", "fib"): (2, 0.125, 0.25)}, *paths)
    for question in ("top 1000 where label side = new",
                     "callers of a.py:fib where label side = new"):
        alone, mixed = (answer_of(question, *where)[0]
                        for where in (["labelled.bin"], paths))
        results.check(f"{title}: '{question}' is about samples alone",
                      alone and mixed == alone, mixed[:2])
    parts = answer_of("top 1000 per profile", *paths)[0]
    results.check(f"{title}: 'per profile' has samples of one, calls of the "
                  "other", len({row["profile"] for row in parts}) == 2 and all(
                      bool(row["self_samples"]) ==
                      row["profile"].endswith("labelled.bin") ==
                      (not row["calls"]) for row in parts), parts[:2])
    check_mixed_facts(results, title, *paths)


def check_mixed_facts(results, title, *paths):
    facts = facts_of(*paths)
    n = "1500"
    results.check(f"{title}: the summary has the facts of the samples",
                  (facts["samples"], float(facts["interval_s"])) == (n, 0.001),
                  facts)
    samples = [row["samples"] for row in answer_of("profiles", *paths)[0]]
    results.check(f"{title}: calls are no samples of a profile",
                  sorted(samples) == ["", n], samples)
    done = subprocess.run([outputs.PYQUERY, *paths], capture_output=True,
                          text=True, check=False)
    results.check(f"{title}: the overview names both", f" {n} samples of" in
                  done.stdout and "of 2 functions in 1 of the profiles, 0.750 s"
                  in done.stdout, done.stdout + done.stderr)


def check_mixtures(results, rnd):
    profile = outputs.program(rnd)
    profile.meta = {b"label.side": b"new"}
    harness.feed(profile, "labelled.bin")
    save("counted.prof", COUNTED)
    run("labelled.bin", "counted.prof", "-qfo", "made.db")
    run("labelled.bin", "-qfo", "added.db")
    run("counted.prof", "--into", "added.db", "-q")
    check_mixed(results, "one call", "made.db")
    check_mixed(results, "--into", "added.db")
    check_mixed(results, "files", "labelled.bin", "counted.prof")
    os.mkdir("archive")
    for source, name in (("labelled.bin", "labelled.bin"),
                         ("counted.prof", "counted.bin")):
        shutil.copy(source, "archive/" + name)
    check_mixed(results, "a folder", "archive")
    for gone, left in (("counted", "labelled"), ("labelled", "counted")):
        os.rename(f"archive/{gone}.bin", "away")
        for question in "top 1000", "callers of a.py:fib":
            alone = answer_of(question, f"archive/{left}.bin")
            results.check(f"a folder without {gone}.bin: '{question}'",
                          alone[0] and answer_of(question, "archive") == alone,
                          answer_of(question, "archive"))
        os.rename("away", f"archive/{gone}.bin")
    for verb in "diff", "check":
        for new, old in (("made.db", "labelled.bin"),
                         ("labelled.bin", "made.db")):
            done = ask(new, f"{verb} {old}")
            results.check(f"'{verb}' of {new} with {old} is refused",
                          done.returncode == 2 and "needs stacks" in
                          done.stderr, done.stderr)


def check_recorded(results):
    with open("program.py", "w", encoding="utf-8") as file:
        file.write(PROGRAM)
    for name, python in interpreters().items():
        path = f"{name.replace(' ', '-')}.prof"
        subprocess.run([python, "program.py", path], check=True,
                       env=dict(os.environ, LC_ALL="C"))
        check_numbers(results, f"cProfile of {name}", path)
        check_database(results, f"cProfile of {name}", path)


def check_sampled(results):
    if not harness.STOCK:
        results.skip("files of CPython's sampling profiler", "no CPython 3.15")
        return
    subprocess.run([harness.STOCK, "-m", "profiling.sampling", "replay",
                    "--pstats", "-o", "sampled.pstats", "program.bin"],
                   check=True, capture_output=True,
                   env=dict(os.environ, LC_ALL="C"))
    check_numbers(results, "CPython's sampling profiler", "sampled.pstats")
    check_database(results, "CPython's sampling profiler", "sampled.pstats")


def check_own(results):
    for options in ([], ["--lines"], ["--style", "stock"],
                    ["--time", "samples"]):
        title = "own " + (" ".join(options) or "style")
        run("program.bin", "--to", "pstats", "-fqo", "own.pstats", *options)
        check_numbers(results, title, "own.pstats")
        check_database(results, title, "own.pstats")
    whole = {key: value[2:] for key, value in rows("program.bin")[1].items()}
    run("program.bin", "--to", "pstats", "-fqo", "own.pstats")
    times = {key: value[2:] for key, value in rows("own.pstats")[1].items()}
    results.check("own times are those of the profile", times == whole)


# ---- marshal ----

def invented(rnd):
    """Stats of a hundred functions with all that marshal can hold."""
    keys = [(rnd.choice(("/a b.py", "~", "h\u00e9.py", "\ud800", "")),
             rnd.choice((0, 1, 7, 300, 2**31 - 1)), f"f{i}" + rnd.choice(
                 ("", "\0", "\n", "\u202e", "\udc80", "x" * 300)))
            for i in range(100)]
    stats = {}
    for key in keys:
        count = rnd.choice((0, 1, 70000, 2**31, 2**40, 2**61))
        callers = {other: rnd.choice((count, (count, 1, -1e-7, 0.25)))
                   for other in rnd.sample(keys, rnd.randrange(5))}
        stats[key] = (1, count, rnd.choice((0, 0.1, -1e-9)), rnd.random(),
                      callers)
    return stats


def check_marshal(results, rnd):
    stats = invented(rnd)
    for version in range(marshal.version + 1):
        path = save("invented.pstats", stats, version)
        done = run(path, "--to", "pstats", "-fqo", "again.pstats")
        results.check(f"marshal of version {version}", done.returncode == 0
                      and load("again.pstats") == load(path), done.stderr)
    done = run(save("none.prof", {}), "--to", "pstats", "-fqo", "again.pstats")
    results.check("a file without functions", done.returncode == 0 and
                  len(load("again.pstats")) == 1, done.stderr)


def check_wrong(results, rnd):
    entry = (1, 1, 0.5, 0.5, {})
    key = ("a.py", 1, "f")
    wrong = {
        "a key of two": {("a.py", 1): entry},
        "another marker": {("__sample__",): True},
        "a marker that is false": {MARKER: False},
        "a negative count": {key: (-1, 1, 0.5, 0.5, {})},
        "a large negative count": {key: (-2**70, 1, 0.5, 0.5, {})},
        "a count without end": {key: (2**62 + 1, 1, 0.5, 0.5, {})},
        "a time that is none": {key: (1, 1, math.nan, 0.5, {})},
        "a time without end": {key: (1, 1, 0.5, math.inf, {})},
        "a line beyond all": {("a.py", 2**31, "f"): entry},
        "a name of bytes": {(b"a.py", 1, "f"): entry},
        "four numbers": {key: entry[:4]},
        "callers in a list": {key: (*entry[:4], [])},
        "a caller of three": {key: (*entry[:4], {key: (1, 1, 0.5)})},
        "code": {key: (*entry[:4], {key: compile("1", "", "eval")})},
    }
    for title, stats in wrong.items():
        check_refused(results, title, 1, "byte ", save("wrong", stats))
    whole = marshal.dumps(invented(rnd))
    for length in sorted(rnd.sample(range(3, len(whole)), 25)):
        with open("cut", "wb") as file:
            file.write(whole[:length])
        done = run("cut", "--to", "csv", "-fqo", "never")
        if not one_line(done, 1, "byte "):
            results.check(f"{length} bytes of a file", False, done.stderr)
    results.check("a cut file is refused", not os.path.exists("never"))
    with open("more", "wb") as file:
        file.write(whole + b"0")
    check_refused(results, "bytes after the end", 1, "follow the end", "more")


# ---- several files, and what cannot be ----

def check_several(results):
    first, second = "this-Python.prof", "second.prof"
    subprocess.run([sys.executable, "program.py", second], check=True)
    stats = pstats.Stats(first)
    stats.add(second)
    done = run(first, second, "--to", "pstats", "-fqo", "both.pstats")
    got = load("both.pstats") if done.returncode == 0 else {}
    results.check("two files add up as in pstats", got.keys() ==
                  stats.stats.keys() and all(
                      got[key][:2] == value[:2] and
                      math.isclose(got[key][3], value[3]) and
                      got[key][4].keys() == value[4].keys()
                      for key, value in stats.stats.items()), done.stderr)
    renamed = rows(first, "--map", os.getcwd() + "=/app")[1]
    plain = rows(first)[1]
    results.check("paths are renamed", {
        (name, re.sub("^" + os.getcwd(), "/app", file), line): value
        for (name, file, line), value in plain.items()} == renamed)


def one_line(done, status, message):
    return done.returncode == status and message in done.stderr and \
        re.fullmatch(r"pyconv: error: [^\n]+\n(pyconv: hint: [^\n]+\n)?",
                     done.stderr)


def check_refused(results, title, status, message, *arguments):
    done = run(*arguments, *([] if "--to" in arguments else ["--to", "csv"]),
               "-qo", "never")
    results.check(f"{title} is refused", one_line(done, status, message)
                  and not os.path.exists("never"), done.stderr)


def check_refusals(results, path):
    listed = run("--list").stdout.split("\n\n")[0].splitlines()
    for name in [line.split()[0] for line in listed if line[:1].strip()]:
        if name not in TARGETS | ELSEWHERE:
            check_refused(results, name, 2, "and no stacks", path, "--to",
                          name)
    for option in (["--focus", "fib"], ["--hide", "fib"], ["--threads", "1"],
                   ["--where", "gil"], ["--hide-native"], ["--max-depth", "9"],
                   ["--between", "0s..1s"], ["--lines"],
                   ["--time", "nominal"]):
        check_refused(results, option[0], 2, "has totals of functions", path,
                      *option)
    check_refused(results, "the stock style", 2, "has totals of functions",
                  path, "--to", "pstats", "--style", "stock")
    check_refused(results, "a mixture with stacks", 6, "has stacks", path,
                  "program.bin")
    check_refused(results, "another kind by name", 1, "this is not a dict",
                  "program.bin", "--from", "pstats")


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    rnd = random.Random(f"{seed} pstats")
    results = harness.Results()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        status, why = harness.feed(outputs.program(rnd), "program.bin")
        results.check("writes the profile", status == 0, why)
        check_recorded(results)
        check_sampled(results)
        check_own(results)
        check_marshal(results, rnd)
        check_wrong(results, rnd)
        check_several(results)
        check_refusals(results, "this-Python.prof")
        check_questions(results, "this-Python.prof")
        check_mixtures(results, rnd)
    results.exit()


if __name__ == "__main__":
    main()
