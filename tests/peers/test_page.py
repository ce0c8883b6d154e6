"""The page of `--to html` in a browser: its numbers are those of the database
under every selection; names cannot change it; it loads nothing."""

import collections
import csv as csv_module
import json
import os
import random
import re
import sqlite3
import sys
import xml.dom.minidom

for folder in "live", "interop":
    sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", folder))
import harness
import live
import profiles
from browser import drive, drive_all
from live import expect

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
    """The page shows milliseconds, which binary fractions do not hit."""
    return abs(page_us - us) < 501


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
    """Rows of the page's table, `most` at once: function, self s, self %,
    total s, total %, samples, file:line."""
    sums = totals(where)
    expect(len(rows) == min(len(sums), most), "%d rows for %d functions",
           len(rows), len(sums))
    names = collections.Counter(name for name, _ in sums)
    for name, self_s, _, total_s, _, samples, place in rows:
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


# ---- made profiles ----

def make(path, counts, line=10):
    """A profile at 1 kHz of main, which calls each function for its number of
    samples, one after the other."""
    names = [b"/srv/app.py", b"main", *(name.encode() for name in counts)]
    profile = profiles.Maker(random.Random(1), names, 0, 0).profile
    profile.start["interval_us"] = 1000
    profile.frames = [(0, 1, 3, 3, 0, 1, 2, 255)] + [
        (0, 2 + i, line + 10 * i, line + 10 * i, 0, 1, line + 10 * i - 1, 255)
        for i in range(len(counts))]
    thread = profile.threads[(77, 0)] = profiles.Thread()
    time = 0
    for i, n in enumerate(counts.values()):
        thread.add((1 + i, 0), [(time + 1000 * j, 37) for j in range(n)])
        time += 1000 * n
    harness.feed(profile, path)


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
    of_lines = [row[3] for row in csv_module.reader(lines[1].splitlines())]
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


# fragment of the page's address, clauses of the query
SELECTIONS = [("", ""), ("&state=gil", "where gil"),
              ("&state=idle", "where idle"), ("&state=main", "where main"),
              ("&class=project", "only project"),
              ("&class=stdlib&state=gil", "where gil only stdlib")]


@live.once
def the_page_and_pyquery_give_the_same_numbers():
    record("states.py")
    for fragment, clauses in SELECTIONS:
        rows, words, trust = drive(
            "run.html", ("open", "#view=functions" + fragment), ("rows", 0),
            ("read", "#selected"), ("read", "#trust"))
        answer = ask("top 10000 by self " + clauses)
        ours = sorted((name, place, int(n), float(own), float(total))
                      for name, own, _, total, _, n, place in rows)
        theirs = sorted(
            (row["function"], place_of(row), row["self_samples"],
             row["self_s"], row["total_s"]) for row in answer["rows"])
        expect(len(ours) == len(theirs) and all(
            a[:3] == b[:3] and near(a[3] * 1e6, b[3] * 1e6) and
            near(a[4] * 1e6, b[4] * 1e6) for a, b in zip(ours, theirs)),
               "%s: page %s, pyquery %s", clauses, ours, theirs)
        us, samples = selected(words)
        expect(samples == answer["samples"] and
               near(us, answer["seconds"] * 1e6), "%s: page %s, pyquery %s",
               clauses, words, answer["samples"])
        check_trust(trust, answer["quality"])


def ask(query):
    answer = json.loads(live.succeed(live.PYQUERY, "run.db", query,
                                     "--json").stdout)
    return dict(answer, rows=[dict(zip(answer["columns"], row))
                              for row in answer["rows"]])


def place_of(row):
    return row["file"] + (":%d" % row["line"] if row["line"] else "")


def check_trust(words, quality):
    """Each fact that pyquery has about the recording is in the page's head."""
    for name in "proven", "unproven", "lost":
        if quality[name] is not None:
            expect("%s %s" % (format(quality[name], ","), name) in words,
                   "%s is not in %s", quality, words)
    expect("%.3f s unobserved" % quality["unobserved_s"] in words or
           not quality["unobserved_s"], "%s is not in %s", quality, words)


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
    expect([rows[0][0], rows[0][-1]] == ["function", "file"], "head %s", rows[0])
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


def made_threads(path, n, busy, seconds):
    """n threads of one process, of which the first `busy` ones run now and
    then."""
    profile = profiles.Maker(random.Random(3), [
        b"/srv/app.py", b"main", b"work", b"wait"], 0, 0).profile
    profile.start["interval_us"] = 10000
    profile.frames = [(0, 1 + i, 10 * i + 5, 10 * i + 5, 0, 1, 10 * i + 4, 255)
                      for i in range(3)]
    for number in range(n):
        thread = profile.threads[(1000 + number, 0)] = profiles.Thread(
            int(number == 0), b"worker-%d" % number)
        for second in range(number, seconds, 97):
            runs_now = number < busy and second % 2
            thread.add((1 if runs_now else 2, 0), [
                (second * 1000000 + 10000 * i, 3 if runs_now else 0)
                for i in range(5)])
    harness.feed(profile, path)


@live.once
def an_hour_of_two_hundred_threads_folds_and_scrolls():
    made_threads("run.bin", 200, 30, 3600)
    convert("run.bin")
    lanes = "page.timeline.lanes.map((lane) => lane.name)"
    folded, scrolled, below, unfolded, again, words, thread, wide = drive(
        "run.html", ("open", ""), ("value", lanes), ("wheel", 100),
        ("value", "page.timeline.scroll"), ("focus", "#lanes"),
        *[("key", "ArrowDown")] * 40, ("value", "page.timeline.scroll"),
        ("label", 15), ("value", lanes), ("key", "f"), ("value", lanes),
        ("key", "ArrowUp"), ("label", 0), ("read", "#selected"),
        ("value", "page.selection.thread"),
        ("value", "document.documentElement.scrollWidth <= innerWidth"))
    expect(len(folded) == 31 and folded[30] == "170 idle threads" == again[30],
           "folded: %s", folded)
    expect(scrolled == 1 and below == 31 - 16, "scroll: %d, %d", scrolled,
           below)
    expect(len(unfolded) == 200 and len(again) == 31 and wide, "lanes")
    tid = 1000 + thread
    expect(selected(words)[1] == sum(
        r[1] for r in runs("thread.tid = %d" % tid)) and tid < 1030,
           "thread %d: %s", tid, words)


@live.once
def processes_are_groups_of_lanes():
    harness.feed(profiles.processes(random.Random(5)), "run.bin")
    convert("run.bin")
    lanes, words, process, rows = drive(
        "run.html", ("open", "#view=functions"),
        ("value", "page.timeline.lanes.map((lane) => [lane.isProcess, lane.name])"),
        ("label", 3), ("read", "#selected"), ("value", "page.selection.process"),
        ("rows", 0))
    expect([bool(lane[0]) for lane in lanes] == 3 * [True, False, False],
           "lanes: %s", lanes)
    database = sqlite3.connect("run.db")
    samples = [n for n, in database.execute(
        "SELECT sum(n) FROM run JOIN thread ON thread.id = thread_id"
        " GROUP BY process_id ORDER BY process_id")]
    expect(process == 1 and selected(words)[1] == samples[1], "%s is not %s",
           words, samples)
    expect(rows, "the process has no functions")


@live.once
def colours_show_the_state_in_which_most_time_lies():
    record("states.py")
    states, drawn = drive(
        "run.html", ("open", "#colour=state&view=inverted"),
        ("value", STATES), ("value",
         "page.flames[0].boxes.slice(1).every((box) => page.flames[0]"
         ".colourOf(box.group) === page.colours.named(page.flames[0].tree"
         ".stateOf(box.group)) || box.group.narrow)"))
    most = collections.defaultdict(collections.Counter)
    database = sqlite3.connect("run.db")
    for name, path, status, us in database.execute(
            "SELECT qualname, path, status, run.weight_us FROM run JOIN node"
            " ON node.id = node_id JOIN function ON function.id = function_id"
            " JOIN file ON file.id = file_id"):
        most[name, path]["gil" if status & 1 else "waiting" if status & 8
                       else "unknown" if status & 4
                       else "cpu" if status & 2 else "idle"] += us
    for name, path, state in states:
        ordered = most[name, path].most_common(2)
        tie = len(ordered) > 1 and ordered[0][1] == ordered[1][1]
        expect(tie or state == ordered[0][0], "%s: %s, database %s", name,
               state, ordered)
    expect(states and drawn, "boxes: %s", states)


# Name, file and state of the boxes below the root.
STATES = """(() => {
  const flame = page.flames[0];
  return flame.tree.children(flame.tree.root).map((group) =>
    [flame.profile.functions[group.func].name, flame.profile.functions[group.func].path,
      flame.tree.stateOf(group)]);
})()"""


@live.once
def keys_reach_all_that_the_mouse_reaches_and_all_has_a_name():
    record("plain.py")
    focusable = ("[...document.querySelectorAll('button, select, input, canvas')]"
                 ".filter((element) => element.offsetParent).length")
    walk = [step for _ in range(20) for step in (
        ("key", "Tab"), ("value", "document.activeElement.id ||"
                                  " document.activeElement.textContent"))]
    names, count, *reached = drive("run.html", ("open", ""), ("names", 0),
                                   ("value", focusable), *walk)
    for name in ('tab "flame"', 'tab "source"', 'searchbox "Search functions',
                 'combobox "state"', 'combobox "thread"', 'combobox "colour"',
                 'button "Show all"', 'button "Export"',
                 'application "Time line', 'application "Flame graph'):
        expect(name in names, "%s has no name: %s", name, names)
    at = reached.index("lanes")
    first_round = reached[at:at + count]
    expect(len(set(first_round)) == count, "%d of %d are reached: %s",
           len(set(first_round)), count, reached)


@live.once
def a_printed_page_has_the_picture_and_not_the_controls():
    record("plain.py")
    shown = ("['#controls', 'footer', '#lanes', '#view canvas', '#facts'].map("
             "(name) => document.querySelector(name).offsetParent !== null)")
    before, printed = drive("run.html", ("open", ""), ("value", shown),
                            ("media", "print"), ("value", shown))
    expect(before == [True] * 5, "on a screen: %s", before)
    expect(printed == [False, False, True, True, True], "printed: %s", printed)


@live.once
def firefox_shows_the_same():
    if not os.path.exists("/usr/bin/firefox-esr"):
        raise live.Skip("no firefox-esr here")
    record("names.py")
    steps = (("open", ""), ("read", "#facts"), ("read", "#trust"),
             ("drag", (0, 0.4)),
             ("value", "!page.selection.isWholeTime && page.selection.first"),
             ("open", "#view=functions&first=50&end=400"),
             ("read", "#selected"), ("rows", 0), ("key", "Escape"),
             ("type", ("#search", "call")), ("read", "#selected"),
             ("resize", (320, 600)),
             ("value", "document.documentElement.scrollWidth <= innerWidth"),
             ("resize", (1200, 800)), ("focus", "#lanes"), ("key", "1"),
             ("value", "page.flames[0].boxes.length"),
             ("value", "location.hash"))
    firefox = drive("run.html", *steps, script="firefox.js")
    chromium = drive("run.html", *steps)
    for a, b in zip(firefox, chromium):
        expect(a == b, "Firefox %s, Chromium %s", a, b)


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
    shown = "".join(row[0] + row[6] for row in results[1])
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
    answer = drive_all("evil.html", ("open", ""),
                       ("value", "typeof window.evil"))
    expect(answer["results"][1] == "undefined", "a foreign script ran")
    expect(any("Content Security Policy" in error for error in
               answer["errors"]), "the policy is silent: %s", answer["errors"])


STEADY = {"steady%d" % i: 900 + 10 * i for i in range(8)}
OLD = {**STEADY, "slower": 1000, "faster": 1000, "jitter": 1000, "old": 300}
NEW = {**STEADY, "slower": 2000, "faster": 400, "jitter": 1150, "young": 300}
VERDICTS = {"slower": "worse", "faster": "better", "young": "new",
            "old": "gone"}


@live.once
def a_comparison_marks_what_is_larger_than_the_noise():
    make("old.bin", OLD)
    make("new.bin", NEW, line=500)  # the file grew at its head
    live.succeed(live.PYCONV, "new.bin", "--diff", "old.bin", "--to", "html",
                 "-f", "-o", "run.html")
    words, functions, lines, boxes, base, half, verdicts = drive(
        "run.html", ("open", ""), ("read", "#selected"), ("key", "4"),
        ("rows", 0), ("key", "5"), ("rows", 0), ("key", "1"),
        ("value", BOXES), ("choose", ("#side", "base")), ("value", BOXES),
        ("choose", ("#side", "new")), ("drag", (0, 0.5)), ("key", "4"),
        ("rows", 0), ("value", "page.profile.facts.compare.verdicts.length"))
    expect(words == "new %.3f s, %s samples, base %.3f s, %s samples selected" % (
        sum(NEW.values()) / 1e3, format(sum(NEW.values()), ","),
        sum(OLD.values()) / 1e3, format(sum(OLD.values()), ",")), "%s", words)
    for name, now, was, _, mark, *rest in functions:
        if name == "main":
            continue
        expect((float(now) * 1e3, float(was) * 1e3) == (
            NEW.get(name, 0), OLD.get(name, 0)), "%s: %s %s", name, now, was)
        expect(mark[2:] == VERDICTS.get(name, "") and rest[3] == mark,
               "%s is marked %r and %r", name, mark, rest[3])
    expect(len(functions) == len({**NEW, **OLD}) + 1 == verdicts,
           "%d functions, %d verdicts", len(functions), verdicts)
    expect(sum(int(row[-3]) for row in lines) == sum(NEW.values()) and
           sum(int(row[-2]) for row in lines) == sum(OLD.values()),
           "lines: %s", lines)
    expect(boxes == [[name, n * 1000, VERDICTS.get(name, "")] for name, n in
                     sorted(NEW.items(), key=lambda item: -item[1])],
           "boxes %s", boxes)
    expect(["old", 300000, "gone"] in base, "boxes of the base: %s", base)
    parts = {row[0]: float(row[1]) for row in half}
    expect(abs(sum(parts.values()) - sum(NEW.values()) / 2e3) <
           0.02 * sum(NEW.values()) / 1e3, "half: %s", parts)


# Name, microseconds and verdict of the boxes below main.
BOXES = """(() => {
  const flame = page.flames[0], main = flame.tree.children(flame.tree.root)[0];
  return flame.tree.children(main).map((group) => [flame.nameOf(group), group.us,
    flame.verdictOf(group)]);
})()"""


@live.once
def a_profile_is_equal_to_itself():
    record("plain.py")
    live.succeed(live.PYCONV, "run.bin", "--diff", "run.bin", "--to", "html",
                 "-f", "-o", "run.html")
    rows, = drive("run.html", ("open", "#view=functions"), ("rows", 0))
    for row in rows:
        expect(row[1] == row[2] and not row[4] and row[5] == row[6] and
               not row[8], "a difference: %s", row)


@live.once
def the_source_shows_the_time_of_each_line():
    record("plain.py")
    folder = os.path.join(live.SOURCE, "tests", "targets")
    live.succeed(live.PYCONV, "run.bin", "--to", "html", "-f", "-o",
                 "run.html", "--source", folder)
    path = os.path.join(folder, "plain.py")
    number, = drive("run.html", ("open", ""), (
        "value", "page.profile.facts.files.indexOf(%s) / 2" % json.dumps(path)))
    rows, csv = drive("run.html", ("open", "#view=source&file=%d" % number),
                      ("unfold", 0), ("rows", 0), ("save", "#export"))
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    expect([row[3] for row in rows] == lines, "the text is another")
    own, total = line_times(path)
    for line, self_s, total_s, _ in rows:
        line = int(line)
        expect(near(float(self_s or 0) * 1e6, own[line]) and
               near(float(total_s or 0) * 1e6, total[line]),
               "line %d: page %s %s, database %d %d", line, self_s, total_s,
               own[line], total[line])
    expect(sum(own.values()) > 0, "no sample ends in %s", path)
    expect(len(list(csv_module.reader(csv[1].splitlines()))) ==
           len(lines) + 1, "the saved table has other lines")


def line_times(path):
    """{line: us} of samples that end there, and that hold it."""
    database = sqlite3.connect("run.db")
    nodes = {node: (parent, line if where == path else None)
             for node, parent, line, where in database.execute(
                 "SELECT node.id, parent_id, line, path FROM node JOIN function"
                 " ON function.id = function_id JOIN file ON file.id = file_id")}
    own, total = collections.Counter(), collections.Counter()
    for node, _, us in runs():
        if node not in nodes:
            continue
        own[nodes[node][1]] += us
        lines = set()
        while node in nodes:
            lines.add(nodes[node][1])
            node = nodes[node][0]
        for line in lines:
            total[line] += us
    return own, total


TEXT = "".join("line %d\n" % i for i in range(1, 9))
# path in the profile: the text that the page has, or the reason why not
SOURCES = {
    "/srv/app/inner/ok.py": "</script><b>\0\u202e\n" + TEXT,
    "other.py": "pass\n" + TEXT,
    "/etc/passwd": "missing",
    "/proc/self/environ.py": "missing",
    "../outside.py": "missing",
    "/srv/../../outside.py": "missing",
    "linked.py": "missing",
    "fifo.py": "missing",
    "folder.py": "missing",
    "/usr/lib/python3.13/json/decoder.py": "missing",
    "/usr/lib/python3.13/json/nul\0.py": "missing",
    "/x" * 3000 + ".py": "missing",
    "short.py": "other",
    "big.py": "large",
    "<string>": "nothing",
}


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


@live.once
def only_sources_below_the_folder_are_in_the_page():
    write("src/inner/ok.py", SOURCES["/srv/app/inner/ok.py"])
    write("src/other.py", SOURCES["other.py"])
    write("outside.py", "secret\n" * 9)
    write("src/decoder.py", "secret\n" * 9)
    write("src/short.py", "one\n")
    write("src/big.py", "x = 1\n" * 300000)
    os.symlink("../outside.py", "src/linked.py")
    os.mkfifo("src/fifo.py")
    os.mkdir("src/folder.py")
    profile = profiles.Maker(random.Random(1), [], 0, 0).profile
    profile.strings = [b"f", *(path.encode() for path in SOURCES)]
    profile.frames = [(1 + i, 0, 5, 5, 0, 1, 1, 255)
                      for i in range(len(SOURCES))]
    thread = profile.threads[(77, 0)] = profiles.Thread()
    for i in range(len(SOURCES)):
        thread.add((i,), [(1000 * i, 37)])
    harness.feed(profile, "run.bin")
    live.succeed(live.PYCONV, "run.bin", "--to", "html", "--source", "src",
                 "-f", "-o", "run.html")
    sources, files, words = drive(
        "run.html", ("open", "#view=source"),
        ("value", "page.profile.facts.sources"),
        ("value", "page.profile.facts.files"), ("read", "main"))
    texts = {files[2 * file]: text for file, text in sources.pop("texts")}
    expect(texts == {path: text for path, text in SOURCES.items()
                     if path in ("/srv/app/inner/ok.py", "other.py")},
           "the page has %s", texts)
    reasons = collections.Counter(SOURCES.values())
    expect(sources == {name: reasons[name] for name in sources},
           "%s is not %s", sources, reasons)
    expect("\u202e" not in words and "\\u202e" in words, "%r", words)
    for folder in "nowhere", "outside.py":
        done = live.call(live.PYCONV, "run.bin", "--to", "html",
                                "--source", folder, "-f", "-o", "no.html")
        expect(done.returncode in (1, 2) and folder in done.stderr and
               not os.path.exists("no.html"), "%s", done)


@live.once
def a_profile_without_samples_is_a_page_that_says_so():
    empty = os.path.join(live.SOURCE, "spec", "vectors", "good-empty.bin")
    convert(empty)
    words, said = drive("run.html", ("open", ""), ("read", "#selected"),
                        ("read", "main"), *[("key", k) for k in "234561e"])
    expect(words.startswith("0.000 s, 0 samples selected"), "%s", words)
    expect(said == "The recording has no samples.", "%s", said)


@live.once
def a_selection_without_samples_says_how_to_leave_it():
    record("plain.py")
    said, again, boxes = drive(
        "run.html", ("open", "#state=exception&class=site"), ("read", "main"),
        ("focus", "#lanes"), ("key", "Escape"), ("read", "#selected"),
        ("value", "page.flames[0].boxes.length"))
    expect(said == "No sample passes the filters. Escape shows all.", "%s", said)
    expect(not again.startswith("0.000 s") and boxes > 1, "%s", again)


def colours(css):
    """{name: (red, green, blue)} of the names that a block sets."""
    found = {}
    for name, value in re.findall(r"--([a-z-]+): #([0-9a-f]{3,6})", css):
        digits = value if len(value) == 6 else "".join(c + c for c in value)
        found[name] = [int(digits[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    return found


def contrast(a, b):
    """WCAG 2.2, 1.4.3."""
    def luminance(colour):
        parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
                 for c in colour]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


BOXES_OF = ("project stdlib site frozen special other worse better new gone"
            " same gil waiting cpu idle unknown").split()


@live.once
def letters_stand_out_from_what_is_below_them():
    with open(os.path.join(live.SOURCE, "converter", "page", "page.css"),
              encoding="utf-8") as file:
        light, dark = file.read().split("@media (prefers-color-scheme: dark)")
    for name, block in (("light", light), ("dark", dark.split("\n* {")[0])):
        of = colours(block)
        pairs = [("letters", box) for box in BOXES_OF] + [
            (word, "back") for word in ("front", "quiet", "bad", "choice",
                                        "mark")]
        pairs += [("quiet", "panel"), ("front", "panel"), ("front", "heat"),
                  ("front", "heat-total")]
        low = [(a, b, round(contrast(of[a], of[b]), 2)) for a, b in pairs
               if contrast(of[a], of[b]) < 4.5]
        expect(not low, "%s: %s", name, low)


live.run()
