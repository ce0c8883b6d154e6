"""The page of `--to html` in a browser: its numbers are those of the database
under every selection; names cannot change it; it loads nothing."""

import collections
import csv as csv_module
import json
import os
import sqlite3
import sys
import xml.dom.minidom

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("PYREC_CACHE") or
                     os.path.expanduser("~/.cache/pyrec"), "npm-page")
PACKAGES = ["playwright-core@1.65.1"]


def install():
    if not os.path.isdir(os.path.join(CACHE, "node_modules", "playwright-core")):
        live.succeed("npm", "install", "--no-audit", "--no-fund", "--silent",
                     "--ignore-scripts", "--prefix", CACHE, *PACKAGES)


def drive(page, *steps):
    """The results of the steps that have one, in order."""
    install()
    with open("steps.json", "w") as file:
        json.dump(steps, file)
    environment = dict(os.environ,
                       NODE_PATH=os.path.join(CACHE, "node_modules"))
    answer = json.loads(live.succeed(
        "node", os.path.join(HERE, "page.js"), os.path.abspath(page),
        "steps.json", env=environment).stdout)
    expect(not answer["errors"], "the page logs errors: %s", answer["errors"])
    expect(not answer["requests"], "the page asks for %s", answer["requests"])
    with_result = {"read", "rows", "value", "save"}
    return [result for result, step in zip(answer["results"], steps)
            if step[0] in with_result]


def record(program, *arguments):
    with live.Target(live.ANY_PYTHON, program, *arguments) as target:
        live.record(target, "run.bin", "-f")
    convert("run.bin")


def convert(profile):
    live.succeed(live.PYCONV, profile, "--to", "html", "-f", "-o", "run.html")
    live.succeed(live.PYCONV, profile, "--to", "sqlite", "-f", "-o", "run.db")


def selected(text):
    """Microseconds and samples of "1.234 s, 1,234 samples selected"."""
    seconds, samples = text.split(" samples")[0].split(" s, ")
    return round(float(seconds) * 1e6), int(samples.replace(",", ""))


def near(page_us, us):
    """The page shows milliseconds."""
    return abs(page_us - us) <= 500


# ---- the same, counted from the database's runs ----

def runs(where="1"):
    database = sqlite3.connect("run.db")
    return database.execute(
        "SELECT node_id, n, run.weight_us FROM run JOIN thread"
        " ON thread.id = thread_id WHERE " + where).fetchall()


def stacks():
    """{node: [function, ...], innermost first}"""
    database = sqlite3.connect("run.db")
    rows = {node: (parent, function) for node, parent, function in
            database.execute("SELECT id, parent_id, function_id FROM node")}
    path = {None: [], 0: []}
    for node in sorted(rows):
        parent, function = rows[node]
        path[node] = [function] + path[parent]
    return path


def totals(where="1"):
    """{(function, file): [self us, total us, self samples]}"""
    database = sqlite3.connect("run.db")
    names = {row[0]: row[1:] for row in database.execute(
        "SELECT function.id, qualname, path FROM function JOIN file"
        " ON file.id = file_id")}
    path, sums = stacks(), collections.defaultdict(lambda: [0, 0, 0])
    for node, n, us in runs(where):
        for function in set(path[node]):
            sums[names[function]][1] += us
        if path[node]:
            sums[names[path[node][0]]][0] += us
            sums[names[path[node][0]]][2] += n
    return sums


def check_functions(rows, where="1", most=200):
    """Rows of the page's table, `most` at once: self s, self %, total s,
    total %, samples, function, file:line."""
    sums = totals(where)
    expect(len(rows) == min(len(sums), most), "%d rows for %d functions",
           len(rows), len(sums))
    names = collections.Counter(name for name, _ in sums)
    for self_s, _, total_s, _, samples, name, place in rows:
        if names[name] > 1:
            continue
        key = next((key for key in sums if key[0] == name), None)
        expect(key is not None, "the database has no function %r", name)
        own, total, n = sums[key]
        expect(near(float(self_s) * 1e6, own) and near(float(total_s) * 1e6, total)
               and int(samples) == n, "%s: page %s %s %s, database %s",
               name, self_s, total_s, samples, sums[key])
        expect(place.startswith(key[1]) or key[1] == "~", "%r is not in %r",
               place, key[1])


# ---- tests ----

@live.once
def the_numbers_of_the_page_are_those_of_the_database():
    record("calls.py", "tree")
    words, rows, lines = drive(
        "run.html", ("open", ""), ("read", "#selected"), ("key", "4"),
        ("rows", 0), ("key", "5"), ("save", "#export"))
    us, samples = selected(words)
    every = runs()
    expect(near(us, sum(r[2] for r in every)), "page %d us", us)
    expect(samples == sum(r[1] for r in every), "page %d samples", samples)
    check_functions(rows)
    of_lines = [row[2] for row in csv_module.reader(lines[1].splitlines())]
    expect(sum(map(int, of_lines[1:])) == samples,
           "the lines do not have all samples")


@live.once
def filters_choose_the_samples_of_the_database():
    record("plain.py")
    thread = sqlite3.connect("run.db").execute(
        "SELECT id, tid FROM thread ORDER BY samples DESC").fetchone()
    label = drive("run.html", ("open", ""), (
        "value", "page.profile.threads.map((t) => [t.tid, t.name])"))[0]
    name = next(name for tid, name in label if tid == thread[1])
    results = drive(
        "run.html", ("open", "#view=functions"),
        ("choose", ("#thread", name)), ("read", "#selected"), ("rows", 0),
        ("choose", ("#thread", "all")), ("choose", ("#state", "gil")),
        ("read", "#selected"), ("rows", 0),
        ("choose", ("#state", "idle")), ("read", "#selected"))
    for words, rows, where in ((*results[0:2], "thread.tid = %d" % thread[1]),
                               (*results[2:4], "status & 1")):
        us, samples = selected(words)
        chosen = runs(where)
        expect(near(us, sum(r[2] for r in chosen)), "%s: page %d us", where, us)
        expect(samples == sum(r[1] for r in chosen), "%s: %d", where, samples)
        check_functions(rows, where)
    us, samples = selected(results[4])
    expect(samples == sum(r[1] for r in runs("status & 7 = 0")),
           "idle: page %d samples", samples)


@live.once
def ranges_of_time_add_up_and_a_link_shows_the_same():
    record("plain.py")
    results = drive(
        "run.html", ("open", "#view=functions"), ("read", "#selected"),
        ("drag", (0, 0.4)), ("read", "#selected"), ("value", "location.hash"),
        ("rows", 0), ("drag", (0.4, 1)), ("read", "#selected"),
        ("focus", "#lanes"), ("key", "Escape"), ("read", "#selected"),
        ("value", "[page.profile.facts.bins, page.profile.facts.bin_us]"))
    whole, left, link, rows, right, again, (bins, length) = results
    expect(selected(left)[1] + selected(right)[1] == selected(whole)[1],
           "%s and %s are not %s", left, right, whole)
    expect(again == whole, "Escape shows %s", again)
    linked = drive("run.html", ("open", link), ("read", "#selected"),
                   ("rows", 0))
    expect(linked == [left, rows], "the link shows %s", linked[0])
    end = round(0.4 * bins) * length
    us = sum(min(us, max(0, end - t0)) for t0, us in sqlite3.connect(
        "run.db").execute("SELECT t0_us, weight_us FROM run"))
    # both pointer and border are rounded to a pixel, which is two bins or less
    expect(abs(selected(left)[0] - us) < 0.02 * selected(whole)[0],
           "page %s, database %d us", left, us)


@live.once
def keys_mouse_and_search_reach_all_views():
    record("calls.py", "tree")
    sums = totals()
    name = max((key for key in sums if sums[key][1]), key=lambda k: sums[k][0])
    results = drive(
        "run.html", ("open", ""), ("focus", "#view canvas"),
        ("key", "ArrowDown"), ("read", "#focus"), ("key", "Enter"),
        ("value", "page.selection.path.length"), ("key", "Backspace"),
        ("value", "page.selection.path.length"), ("key", "ArrowDown"),
        ("key", "s"),
        ("read", "#view h2 >> nth=0"), ("key", "2"),
        ("value", "page.selection.view"),
        ("type", ("#search", name[0])), ("read", "#selected"))
    focus, deep, back, sandwich, view, words = results
    expect(" s, " in focus and deep == 1 and back == 0 and view == "inverted",
           "%s", results)
    expect(sandwich.startswith("Callers of "), "%s", sandwich)
    found = float(words.split("; ")[1].split(" s ")[0]) * 1e6
    expect(near(found, sums[name][1]), "the search finds %s of %s", words,
           sums[name])


@live.once
def pictures_and_tables_are_saved_whole():
    record("calls.py", "tree")
    svg, csv = drive(
        "run.html", ("open", ""), ("save", "#export"), ("key", "4"),
        ("save", "#export"))
    expect(svg[0] == "run.bin.svg" and csv[0] == "run.bin.csv", "names")
    boxes = xml.dom.minidom.parseString(svg[1]).getElementsByTagName("rect")
    expect(len(boxes) > 10, "a picture of %d boxes", len(boxes))
    rows = list(csv_module.reader(csv[1].splitlines()))
    expect(rows[0][5:] == ["function", "file"], "head %s", rows[0])
    check_functions(rows[1:], most=len(rows))


@live.once
def the_page_fits_every_screen_by_day_and_by_night():
    record("plain.py")
    wide = "document.documentElement.scrollWidth <= innerWidth"
    results = drive(
        "run.html", ("open", ""), ("resize", (320, 600)), ("value", wide),
        ("key", "4"), ("value", wide), ("resize", (2560, 1400)),
        ("value", wide), ("key", "1"), ("value",
        "document.querySelector('#view canvas').clientWidth > 2400"),
        ("dark", 0), ("value",
        "getComputedStyle(document.body).backgroundColor"))
    expect(results[:4] == [True] * 4, "widths: %s", results)
    expect(results[4] == "rgb(22, 24, 28)", "dark: %s", results[4])


@live.once
def names_change_nothing_in_the_page():
    record("names.py")
    results = drive(
        "run.html", ("open", "#view=functions"), ("read", "#selected"),
        ("rows", 0), ("value", "document.scripts.length"),
        ("value", "document.querySelectorAll('main script, main img, main b')"
                  ".length"), ("key", "1"), ("key", "3"))
    us, samples = selected(results[0])
    expect(samples == sum(r[1] for r in runs()), "%d samples", samples)
    with open("run.html", encoding="utf-8") as file:
        text = file.read()
    expect(results[2] == text.count("<script"), "scripts: %s", results[2])
    expect(results[3] == 0, "a name became an element")
    shown = "".join(row[5] + row[6] for row in results[1])
    bad = [c for c in shown if ord(c) < 32 or 0x202a <= ord(c) <= 0x202e]
    expect(not bad, "the page shows %r", bad)


@live.once
def a_policy_forbids_all_that_the_page_does_not_need():
    record("plain.py")
    with open("run.html", encoding="utf-8") as file:
        text = file.read()
    with open("evil.html", "w", encoding="utf-8") as file:
        file.write(text.replace(
            "</body>", "<script>window.evil = 1</script>"
            "<img src='http://127.0.0.1:9/x'></body>"))
    with open("steps.json", "w") as file:
        json.dump([("open", ""), ("value", "typeof window.evil")], file)
    environment = dict(os.environ, NODE_PATH=os.path.join(CACHE,
                                                          "node_modules"))
    answer = json.loads(live.succeed(
        "node", os.path.join(HERE, "page.js"), os.path.abspath("evil.html"),
        "steps.json", env=environment).stdout)
    expect(answer["results"][1] == "undefined", "a foreign script ran")
    expect(any("Content Security Policy" in error for error in
               answer["errors"]), "the policy is silent: %s", answer["errors"])


@live.once
def a_profile_without_samples_is_a_page_that_says_so():
    empty = os.path.join(live.SOURCE, "spec", "vectors", "good-empty.bin")
    convert(empty)
    words, = drive("run.html", ("open", ""), ("read", "#selected"),
                   ("key", "2"), ("key", "3"), ("key", "4"), ("key", "5"))
    expect(words.startswith("0.000 s, 0 samples selected"), "%s", words)


live.run()
