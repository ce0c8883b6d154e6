#!/usr/bin/env python3
"""Each target of pyconv read by a parser of its own, over generated profiles:
is it well formed, and does it add up to the same numbers?

    pyconv_targets.py [SEED]

Where CPython 3.15 is at hand ($PYREC_STOCK), its JSON lines of the same files
are compared byte by byte.
"""

import codecs
import collections
import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unicodedata
import xml.etree.ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import pyconv_outputs as outputs  # noqa: E402
from pyconv_outputs import convert, decoded, function_of, one_frame  # noqa: E402
import harness  # noqa: E402
import profiles  # noqa: E402


class Wanted:
    """What a profile adds up to, by thread and by function."""

    def __init__(self, profile):
        self.profile = profile
        self.samples = self.weight = 0
        self.of_thread = collections.Counter()
        for key, _, n, weight in outputs.observed(profile):
            self.samples += n
            self.weight += weight
            self.of_thread[key] += weight
        self.totals = outputs.Totals(profile, function_of)
        self.empty = self.weight - sum(self.totals.self.values())

    def name(self, function, rule=None):
        """(file, name, first line), by the rule of the output."""
        rule, strings = rule or one_line, self.profile.strings
        return (rule(strings[function[0]]), rule(strings[function[1]]),
                max(function[2], 0))

    def by_name(self, counter, *, line=True, rule=None):
        out = collections.Counter()
        for function, value in counter.items():
            name = self.name(function, rule)
            out[name if line else name[:2]] += value
        return +out


# Default_Ignorable_Code_Point of other general categories than Cf, and the two
# characters that XML forbids.
IGNORABLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f"
    "\uffa0\ufff0-\ufff8\ufffe\uffff\U000e0000-\U000e0fff]")


def malformed(error):
    data = error.object[error.start:error.end]
    lone = error.object[error.start:error.start + 3]
    if re.fullmatch(rb"\xed[\xa0-\xbf][\x80-\xbf]", lone):
        return chr(0xd000 | (lone[1] & 63) << 6 | lone[2] & 63), \
            error.start + 3
    return "".join(r"\x%02x" % byte for byte in data), error.end


codecs.register_error("terminal", malformed)


def on_terminal(data):
    """pr_quote_terminal() of include/base/terminal.h."""
    def shown(c):
        if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Zl", "Zp") and \
                not IGNORABLE.match(c):
            return c
        form = r"\x%02x" if c < "\u0100" else r"\u%04x" if c < "\U00010000" \
            else r"\U%08x"
        return {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(c, form % ord(c))
    return "".join(map(shown, data.decode("utf-8", "terminal")))


def one_line(data):
    """PR_QUOTE_LINE of include/base/quote.h."""
    return re.sub("[\x00-\x1f\x7f\x80-\x9f\u2028\u2029]", " ", decoded(data))


# ---- pprof ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(field, value) of a message: a number, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        value, at = varint(data, at)
        if tag & 7 == 2:
            assert at + value <= len(data)
            value, at = data[at:at + value], at + value
        else:
            assert tag & 7 == 0
        yield tag >> 3, value


def packed(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def read_pprof(path):
    with gzip.open(path) as file:
        profile = collections.defaultdict(list)
        for field, value in fields(file.read()):
            profile[field].append(value)
    strings = [s.decode() for s in profile[6]]
    assert strings[0] == "" and len(profile[1]) == 2
    functions = {f[1]: (strings[f.get(4, 0)], strings[f.get(2, 0)],
                        f.get(5, 0)) for f in map(dict, map(fields, profile[5]))}
    locations = {}
    for location in map(dict, map(fields, profile[4])):
        assert location[2] == 1
        locations[location[1]] = functions[dict(fields(location[4]))[1]]
    for data in profile[2]:
        stack, values, labels = [], None, {}
        for field, value in fields(data):
            if field == 1:
                stack = packed(value)
            elif field == 2:
                values = packed(value)
            else:
                label = dict(fields(value))
                labels[strings[label[1]]] = (strings[label[2]] if 2 in label
                                             else label.get(3, 0))
        assert len(values) == 2
        yield [locations[i] for i in stack], *values, labels


def check_pprof(wanted, path):
    samples = weight = 0
    self, total = collections.Counter(), collections.Counter()
    threads = collections.Counter()
    for stack, n, ns, labels in read_pprof(path):
        samples += n
        weight += ns
        threads[labels["tid"]] += ns
        if stack:
            self[stack[0]] += ns
        for function in set(stack):
            total[function] += ns
    assert (samples, weight) == (wanted.samples, wanted.weight * 1000)
    kilo = collections.Counter()
    for key, value in wanted.of_thread.items():
        kilo[key[0]] += value * 1000
    assert +threads == +kilo, "threads"
    least = collections.defaultdict(int)
    for key, value in pprof_names(wanted, wanted.totals.self).items():
        least[key] += value * 1000
    assert +self == +collections.Counter(least), "self"


def pprof_names(wanted, counter):
    """A function without a first line has the least line that was seen."""
    least = {}
    for frame in wanted.profile.frames:
        if frame[2] > 0:
            unit = function_of(frame)
            least[unit] = min(frame[2], least.get(unit, frame[2]))
    out = collections.Counter()
    for function, value in counter.items():
        file, name, first = wanted.name(function)
        out[file, name, first or least.get(function, 0)] += value
    return +out


# ---- callgrind ----

def read_callgrind(path):
    """Costs: own, by function; of calls, by (caller, callee); the summary."""
    names = {"fl": {}, "fn": {}}
    own, calls = collections.Counter(), collections.Counter()
    summary = file = function = callee_file = callee = None
    called = False
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines.read().split("\n"):
            key, _, value = line.partition("=")
            if key in ("fl", "fn", "cfl", "cfn"):
                number, _, name = value.partition(" ")
                table = names[key[-2:]]
                if name:
                    assert number not in table
                    table[number] = name
                if key == "fl":
                    file = number
                elif key == "fn":
                    function = file, number
                elif key == "cfl":
                    callee_file = number
                else:
                    callee = callee_file, number
            elif key == "calls":
                called = True
            elif re.match(r"\d+ \d+ \d+$", line):
                cost = int(line.split()[1])
                if called:
                    calls[function, callee] += cost
                else:
                    own[function] += cost
                called = False
            elif line.startswith("summary: "):
                summary = int(line.split()[1])
            else:
                assert not line or line[0] == "#" or ": " in line, line
    full = {f: (names["fl"][f[0]], names["fn"][f[1]])
            for f in {*own, *(f for edge in calls for f in edge)}}
    return own, calls, summary, full


def check_callgrind(wanted, path):
    own, calls, summary, full = read_callgrind(path)
    assert summary == wanted.weight
    assert sum(own.values()) == wanted.weight
    got, want = collections.Counter(), collections.Counter()
    for (_, callee), cost in calls.items():
        file, name = full[callee]
        got[file, re.sub(r":\d+$", "", name)] += cost
    for (file, name), cost in wanted.by_name(wanted.totals.total,
                                             line=False).items():
        want[file or "???", re.sub(r":\d+$", "", name or "???")] += cost
    assert +got == +want, (got - want, want - got)


# ---- tables ----

def check_csv(wanted, path):
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["function", "file", "line", "self_samples",
                       "total_samples", "self_us", "total_us"]
    self, total = collections.Counter(), collections.Counter()
    for row in rows[1:]:
        assert len(row) == 7
        name, file = (re.sub("^'(?=[=+@-])", "", x) for x in row[:2])
        self[file, name] += int(row[5])
        total[file, name] += int(row[6])
    totals = wanted.totals
    for got, want in (self, totals.self), (total, totals.total):
        assert +got == wanted.by_name(want, line=False, rule=on_terminal)


def check_markdown(wanted, path):
    with open(path, encoding="utf-8", newline="\n") as file:
        text = file.read()
    assert len(text.encode()) < 65536
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", text)
    tags = set(re.findall("<[^>]*>?", text))
    assert tags <= {"<details>", "</details>", "<summary>", "</summary>"}, tags
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        cells = {len(re.findall(r"(?<!\\)\|", line))
                 for line in block.splitlines()}
        assert len(cells) == 1, block
    assert "%d of %d threads" % (wanted.samples,
                                 len(wanted.profile.threads)) in text


# ---- pictures and timelines ----

def check_svg(wanted, path):
    root = xml.etree.ElementTree.parse(path).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == space + "svg"
    assert not list(root.iter(space + "script"))
    boxes = []
    for group in root.iter(space + "g"):
        rect = group.find(space + "rect")
        assert group.find(space + "title").text
        boxes.append((float(rect.get("y")), float(rect.get("x")),
                      float(rect.get("width"))))
    if wanted.weight:
        first = [box for box in boxes if box[0] == min(boxes)[0]]
        width = sum(box[2] for box in first)
        # each width is rounded to a tenth
        assert width <= 1180 + 0.05 * len(first) + 1e-6, width
        if len(wanted.of_thread) <= 24:
            assert width > 1180 - 0.6 * len(wanted.of_thread), width
    rows = collections.defaultdict(list)
    for y, x, width in boxes:
        rows[y].append((x, x + width))
    for row in rows.values():
        row.sort()
        for (_, end), (start, _) in zip(row, row[1:]):
            assert start >= end - 0.02, "boxes overlap"


def check_chrome(wanted, path):
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    stacks = collections.defaultdict(list)
    last = collections.Counter()
    shown = collections.Counter()
    for event in document["traceEvents"]:
        tid = event["tid"]
        if event["ph"] not in "BE" or event["ph"] == "M":
            continue
        assert event["ts"] >= last[tid] or len(stacks[tid]) == 0
        if stacks[tid]:
            shown[tid] += event["ts"] - last[tid]
        last[tid] = event["ts"]
        if event["ph"] == "B":
            stacks[tid].append(event["name"])
        else:
            stacks[tid].pop()
    assert not any(stacks.values())
    assert sum(shown.values()) == wanted.weight - wanted.empty


def check_firefox(wanted, path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        document = json.load(file)
    strings = document["shared"]["stringArray"]
    meta = document["meta"]
    weight = 0
    self = collections.Counter()
    for thread in document["threads"]:
        for name in ("samples", "markers", "stackTable", "frameTable",
                     "funcTable", "resourceTable", "nativeSymbols"):
            table = thread[name]
            for column in table.values():
                if isinstance(column, list):
                    assert len(column) == table["length"], name
        samples, stacks = thread["samples"], thread["stackTable"]
        assert samples["time"] == sorted(samples["time"])
        for i, prefix in enumerate(stacks["prefix"]):
            assert prefix is None or 0 <= prefix < i
        assert all(0 <= c < len(meta["categories"])
                   for c in stacks["category"])
        assert {m["type"] for m in thread["markers"]["data"]} <= \
            {s["name"] for s in meta["markerSchema"]}
        for stack, ms in zip(samples["stack"], samples["weight"]):
            us = round(ms * 1000)
            weight += us
            if stack is None:
                assert us == 0
                continue
            function = thread["frameTable"]["func"][stacks["frame"][stack]]
            self[strings[thread["funcTable"]["name"][function]]] += us
    assert weight == wanted.weight, (weight, wanted.weight)
    want = collections.Counter({"(idle)": wanted.empty})
    for function, value in wanted.totals.self.items():
        want[decoded(wanted.profile.strings[function[1]])] += value
    assert +self == +want, "self"


def check_jsonl(wanted, path):
    with open(path, encoding="ascii") as file:
        records = [json.loads(line) for line in file]
    assert records[0]["type"] == "meta" and records[-1]["type"] == "end"
    total = sum(n for _, stack, n, _ in outputs.observed(wanted.profile)
                if stack)
    assert records[-1]["samples_total"] == total
    entries = [e for r in records if r["type"] == "agg" for e in r["entries"]]
    assert sum(e["self"] for e in entries) == total


TARGETS = {"pprof": check_pprof, "callgrind": check_callgrind,
           "csv": check_csv, "markdown": check_markdown, "svg": check_svg,
           "chrome": check_chrome, "firefox": check_firefox,
           "jsonl": check_jsonl}


def check_target(results, target, wanted, name, path):
    suffix = ".json.gz" if target == "firefox" else ""
    out = f"{name}.{target}{suffix}"
    done = convert(path, target, out, "-f")
    why = done.stderr
    good = done.returncode == 0
    if good:
        try:
            TARGETS[target](wanted, out)
        except (AssertionError, ValueError, KeyError, IndexError,
                xml.etree.ElementTree.ParseError) as fault:
            good, why = False, repr(fault)
    results.check(f"{target} of {name}", good, why)


def check_stock_jsonl(results, name, path):
    done = subprocess.run(
        [harness.STOCK, "-m", "profiling.sampling", "replay", "--jsonl", "-o",
         "stock.jsonl", path], env=harness.ENVIRONMENT, capture_output=True,
        text=True, check=False)
    if done.returncode or not os.path.exists("stock.jsonl"):
        results.skip(f"stock jsonl of {name}", "CPython cannot")
        return
    convert(path, "jsonl", "own.jsonl", "-f")
    texts = []
    for made in ("stock.jsonl", "own.jsonl"):
        with open(made, "rb") as file:
            texts.append(re.sub(rb'"run_id":"[0-9a-f]{32}"', b"", file.read()))
    os.unlink("stock.jsonl")
    results.check(f"stock jsonl of {name}", texts[0] == texts[1],
                  outputs.first_line(texts[1], texts[0]))


def formulas(rnd):
    """Names that mean something to a spreadsheet, a browser or a terminal."""
    maker = profiles.Maker(rnd, names=(
        b"=1+1", b"+x", b"-y", b"@z", b"</script><script>alert(1)</script>",
        b"]]>", b"\x1b[31mred", b"a|b`c`", b"\xe2\x80\xaeevil", b'"quoted"',
        b"\xef\xbf\xbe", b"$x^2$ [a](b)", b"&amp;", b"name " + b"y" * 5000))
    maker.thread((7, 0), 200)
    return maker.profile


def main():
    seed = sys.argv[1] if len(sys.argv) > 1 else random.randrange(1 << 32)
    print(f"# seed {seed}")
    results = harness.Results()
    made = profiles.generate(seed)
    made.append(("program", outputs.program(random.Random(f"{seed} program"))))
    made.append(("formulas", formulas(random.Random(f"{seed} formulas"))))
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, profile in made:
            path = f"{name}.bin"
            status, why = harness.feed(profile, path)
            if not results.check(f"writes {name}", status == 0, why):
                continue
            wanted = Wanted(profile)
            for target in TARGETS:
                if (target, name) == ("chrome", "deeper"):
                    # each of 240,000 frames repeats its name, of 5,000 bytes
                    results.skip("chrome of deeper", "it has gigabytes")
                else:
                    check_target(results, target, wanted, name, path)
            if not harness.STOCK:
                results.skip(f"stock jsonl of {name}", "no CPython 3.15")
            elif name != "deeper":
                check_stock_jsonl(results, name, path)
    results.exit()


if __name__ == "__main__":
    main()
