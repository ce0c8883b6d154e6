"""Every verb of the specification answers, and its example is that of help."""

import csv
import io
import os
import re
import shutil
import subprocess
import sys

PYQUERY = os.path.join(os.environ["BIN"], "pyquery")
PYCONV = os.path.join(os.environ["BIN"], "pyconv")
SOURCE = os.environ["SRC"]
ROW = re.compile(r"^\| (\w+) \|.*\| `([^`]*)` \|$", re.MULTILINE)
FORMATS = ("table", "csv", "json", "markdown", "collapsed", "svg")

failed = False


def result(good, name, detail=""):
    global failed
    failed = failed or not good
    print("%s %s" % ("ok" if good else "not ok", name))
    if not good:
        print(detail)


def ask(*arguments, width=80):
    return subprocess.run([PYQUERY, *arguments], capture_output=True,
                          text=True, check=False,
                          env=dict(os.environ, COLUMNS=str(width)))


def examples_of_spec():
    with open(os.path.join(SOURCE, "spec", "query.md"),
              encoding="utf-8") as file:
        section = file.read().split("### 4.1 Verbs")[1].split("### 4.2")[0]
    return dict(ROW.findall(section))


def examples_of_help(profile):
    text = ask(profile, "help", "as", "csv").stdout
    return {row["verb"]: row["example"]
            for row in csv.DictReader(io.StringIO(text))}


FEW = {"check": ("--min-samples=0", "--min-runs=1")}  # the base is small
COMPUTED = ("diff", "check", "history")  # without SQL to explain


def make_database():
    """Functions of the examples' names, over a vector's tables."""
    vector = os.path.join(SOURCE, "spec", "vectors",
                          "good-cpython-3.15.2-zstd.bin")
    done = subprocess.run([PYCONV, vector, "--to", "sqlite", "-q", "-f", "-o",
                           "run.db"], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    import sqlite3
    database = sqlite3.connect("run.db")
    names = ["main", "parse", "load", "json.dumps"]
    for i, name in enumerate(names, 1):
        database.execute("UPDATE function SET qualname = ?, name = ?"
                         " WHERE id = ?", (name, name.split(".")[-1], i))
    database.execute("UPDATE function SET qualname = 'f' || id, name ="
                     " 'f' || id WHERE id > 4")
    database.execute("UPDATE file SET path = '/app/shop.py', base = 'shop.py'"
                     " WHERE id = (SELECT file_id FROM function WHERE id = 1)")
    database.commit()
    database.close()
    shutil.copy("run.db", "old.bin")  # the base of comparisons
    return "run.db"


PARTS = ("function", "line", "file", "module", "class", "task", "thread",
         "process", "profile", "status", "second", "100ms", "label")


def check_parts(profile, verb, example):
    """The help of a verb lists the parts that it takes, and no others."""
    text = ask(profile, "help", verb, "as", "csv").stdout
    listed = [part.split()[0] for row in csv.reader(io.StringIO(text))
              if row[1].startswith("per ") for part in row[1][4:].split("|")]
    question = example.split(" per ")[0].split(" above ")[0]
    wrong = []
    for part in PARTS:
        asked = "label no" if part == "label" else part
        status = ask(profile, "%s per %s" % (question, asked)).returncode
        wanted = 2 if part not in listed else 4 if part == "label" else 0
        if status != wanted:
            wrong.append((part, status, wanted))
    result(not wrong, "help %s lists the parts that it takes" % verb, wrong)


def main():
    profile = make_database()
    spec, printed = examples_of_spec(), examples_of_help(profile)
    result(spec == printed and len(spec) > 20,
           "the specification has the verbs and examples of help",
           set(spec.items()) ^ set(printed.items()))
    for verb, example in spec.items():
        for form in FORMATS if verb in ("top", "tree") else ("table", "json"):
            done = ask(profile, *example.split(), "as", form, *FEW.get(verb, ()))
            result(done.returncode == 0 and done.stdout and not done.stderr,
                   "%s as %s" % (example, form), done.stderr)
        done = ask(profile, "explain", *example.split())
        result(done.returncode == 2 and "comparison" in done.stderr
               if verb in COMPUTED else
               done.returncode == 0 and "SELECT" in done.stdout,
               "explain %s" % example, done.stderr)
        check_parts(profile, verb, example)
        done = ask(profile, "help", verb)
        result(done.returncode == 0 and example in done.stdout,
               "help %s" % verb, done.stderr)
    for width in 40, 80, 200:
        for question in ("top 30", "top per thread", "help", "explain top",
                         *spec.values()):
            answer = ask(profile, *question.split(), width=width).stdout
            wide = [line for line in answer.splitlines() if len(line) > width]
            result(not wide, "%s fits %d columns" % (question, width), wide)
    overview = ask(profile)
    result(overview.returncode == 0 and "trust" in overview.stdout and
           "Ask next:\n" in overview.stdout,
           "without a question there is a summary", overview.stdout)
    with open("one.collapsed", "w", encoding="ascii") as file:
        file.write("main;load 1\n")
    done = ask("one.collapsed")
    result("recorded  1 sample of 1 thread\n" in done.stdout,
           "one of a kind has no plural", done.stdout)
    result("timeline" not in done.stdout and " s\n" not in done.stdout.split(
               "top 5")[0], "a file without times gets none", done.stdout)
    for unit, option in (("opcodes", "--opcodes"), ("tasks", "--async")):
        done = ask("one.collapsed", unit)
        result(option in done.stdout, "%s that were not recorded: the answer"
               " says how" % unit, done.stdout)
    for question in overview.stdout.split("Ask next:\n")[1].splitlines():
        done = ask(profile, question.strip())
        result(done.returncode == 0, "the question '%s' has an answer" %
               question.strip(), done.stderr)
    return failed


sys.exit(main())
