"""Every verb of the specification answers, and its example is that of help."""

import collections
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

PYQUERY = os.path.join(os.environ["BIN"], "pyquery")
PYCONV = os.path.join(os.environ["BIN"], "pyconv")
SOURCE = os.environ["SRC"]
ROW = re.compile(r"^\| (\w+) \|.*\| `([^`]*)` \|$", re.MULTILINE)
STACKS = ("top", "tree", "stacks", "paths")  # the verbs that have stacks
CHARTS = ("history",)

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
    database.execute("INSERT INTO meta(profile_id, key, value)"
                     " SELECT id, 'noted.key', 'its value' FROM profile")
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


def has_rows_of(widths):
    """Rows, each as wide as the head."""
    return len(widths) > 0 and len(set(widths)) == 1


def is_markdown(text):
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return has_rows_of([len(re.findall(r"(?<!\\)\|", row)) for row in rows]) \
        and re.fullmatch(r"(\| *:?-+:? *)+\|", rows[1])


def is_json(text):
    answer = json.loads(text)
    return all(len(row) == len(answer["columns"]) for row in answer["rows"])


def is_svg(text):
    root = xml.etree.ElementTree.fromstring(text)
    space = "{http://www.w3.org/2000/svg}"
    return root.tag == space + "svg" and len(list(root.iter(space + "title")))


FORMATS = {
    "table": lambda text: text.strip(),
    "csv": lambda text: has_rows_of(
        [len(row) for row in csv.reader(io.StringIO(text))]),
    "json": is_json,
    "markdown": is_markdown,
    "collapsed": lambda text: all(re.fullmatch(r".+ [1-9]\d*", line)
                                  for line in text.splitlines()),
    "svg": is_svg,
}


def has_format(question, verb, form):
    if form == "collapsed":
        return verb in STACKS and " per " not in question
    if form == "svg":
        return verb in CHARTS or has_format(question, verb, "collapsed")
    return True


def check_formats(profile, verb, question):
    """Each format is well formed, or refused in one line."""
    for form, is_right in FORMATS.items():
        done = ask(profile, *question.split(), "as", form, *FEW.get(verb, ()))
        if has_format(question, verb, form):
            good = (done.returncode == 0 and done.stdout and
                    not done.stderr and is_right(done.stdout))
        else:
            said = done.stderr.splitlines()
            good = (done.returncode == 2 and not done.stdout and
                    "takes no 'as %s'" % form in said[0] and
                    [line.split()[1] for line in said
                     if line.startswith("pyquery:")] == ["error:", "hint:"])
        result(good, "%s as %s" % (question, form), done.stdout + done.stderr)


def stacks_of(profile, question):
    stacks = collections.Counter()
    for line in ask(profile, question + " as collapsed").stdout.splitlines():
        stack, _, n = line.rpartition(" ")
        stacks[tuple(stack.split(";"))] += int(n)
    return stacks


def check_stacks(profile):
    """The stacks of a named function are those of the answer."""
    every = stacks_of(profile, "top")
    name = max(every, key=len)[1]
    leading, below = collections.Counter(), collections.Counter()
    for stack, n in every.items():
        if name in stack:
            at = stack.index(name)
            leading[stack[:at + 1]] += n
            below[stack[at:]] += n
    result(every == stacks_of(profile, "stacks 1") ==
           stacks_of(profile, "tree above 99%"),
           "collapsed has all stacks, whatever rows are shown", every)
    for question, wanted in (("paths to %s", leading),
                             ("tree from %s", below)):
        found = stacks_of(profile, question % name)
        result(len(wanted) > 0 and found == wanted,
               "collapsed has the stacks of '%s'" % question,
               (found, wanted))


def check_hints(profile):
    """A question that ends too early gets an example."""
    for question, hint in (
            ("callers", "callers of json.dumps"), ("callees of", "callees of"),
            ("paths", "paths to load"), ("source", "source load"),
            ("tree from", "tree from main"), ("explain", "explain top"),
            ("explain callers", "callers of json.dumps")):
        done = ask(profile, question)
        result(done.returncode == 2 and "'%s" % hint in
               done.stderr.splitlines()[-1], "'%s' gets an example" % question,
               done.stderr)
    for arguments in (("top", "--all"), ("--sql", "SELECT 1", "--all"),
                      ("-i", "top"), ("-i", "--csv"), ("--follow", "--json"),
                      ("--follow", "-i")):
        done = ask(profile, *arguments)
        result(done.returncode == 2 and not done.stdout,
               "%s is refused" % " ".join(arguments), done.stderr)
    for arguments in (("--all",), ("summary", "--all")):
        done = ask(profile, *arguments, "--csv")
        result(done.returncode == 0 and "noted.key,its value\n" in done.stdout,
               "%s lists what the recorder noted" % " ".join(arguments),
               done.stdout + done.stderr)
    result(ask(profile, "--csv").stdout == ask(profile, "summary", "--csv").stdout,
           "a format without a query is that of the summary")


def check_unobserved(profile):
    """Nothing lost and no gap do not mean that all was observed."""
    import sqlite3
    database = sqlite3.connect(profile)
    for table in "event", "loss":
        database.execute("DELETE FROM " + table)
    for us in 0, 5000:
        database.execute("UPDATE thread SET unobserved_us = ?", (us,))
        database.execute("UPDATE profile SET unobserved_us = (SELECT"
                         " sum(unobserved_us) FROM thread)")
        database.commit()
        threads = database.execute("SELECT count(*) FROM thread").fetchone()[0]
        for verb in "gaps", "events", "losses":
            done = ask(profile, verb)
            _, _, named = done.stdout.partition("not observed: ")
            amounts = re.findall(r"(\d)\.(\d{3}) s of thread", named)
            result("(none)" in done.stdout and threads == 3 and
                   sum(int(s + ms) for s, ms in amounts) == threads * us / 1000,
                   "%s with %d us unobserved" % (verb, us), done.stdout)
    database.close()


def main():
    profile = make_database()
    spec, printed = examples_of_spec(), examples_of_help(profile)
    result(spec == printed and len(spec) > 20,
           "the specification has the verbs and examples of help",
           set(spec.items()) ^ set(printed.items()))
    for verb, example in spec.items():
        check_formats(profile, verb, example)
        done = ask(profile, "explain", *example.split())
        result(done.returncode == 2 and "comparison" in done.stderr
               if verb in COMPUTED else
               done.returncode == 0 and "SELECT" in done.stdout,
               "explain %s" % example, done.stderr)
        check_parts(profile, verb, example)
        done = ask(profile, "help", verb)
        result(done.returncode == 0 and example in done.stdout,
               "help %s" % verb, done.stderr)
    check_formats(profile, "top", "top per thread")
    check_formats(profile, "explain", "explain top")
    check_stacks(profile)
    check_hints(profile)
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
    check_unobserved(profile)
    return failed


sys.exit(main())
