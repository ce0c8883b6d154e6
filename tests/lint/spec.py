#!/usr/bin/env python3
"""spec/format.md and the code have the same numbers, and tests keep its word.

Every number and text of format/wire.h stands in the section of the
specification that its comment names.  Constants that are computed from others
are left out.  Every sentence with MUST has a mark with the tests that hold it,
these tests exist, every rule of tests/interop/rules.py is cited, and every
duty of section 11 is cited by a test.  spec/schema.md has the tables' version.
"""

import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(ROOT, "tests/interop"))

import rules  # noqa: E402  (after its folder is in the path)

MARK = re.compile(r"\[(?:checked|writer|reader): ([^\]]+)\]")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def sections(spec):
    """{"4": text with all below it, "4.1": text, ...}"""
    found = {}
    heads = list(re.finditer(r"^##+ (\d+(?:\.\d+)?)\.? .*$", spec, re.M))
    for i, head in enumerate(heads):
        end = heads[i + 1].start() if i + 1 < len(heads) else len(spec)
        text = spec[head.start():end]
        for name in {head[1], head[1].split(".")[0]}:
            found[name] = found.get(name, "") + text
    return found


def constants(wire):
    """(section, name, value): a number, or a text in quotes."""
    section = None
    define = re.compile(r'#define (PF_\w+) +(0x[0-9a-f]+u?|\d+u?|"[^"]+"|'
                        r"\(\d+u << \d+\))\s*(?:/\*.*)?$")
    member = re.compile(r"(PF_\w+) = (0x[0-9a-f]+|\d+),?\s*(?:/\*.*)?$")
    for line in wire.splitlines():
        line = line.strip()
        head = re.match(r"/\* (\d+(?:\.\d+)?|RFC 8878)[ :]", line)
        if head:
            section = "5.1" if head[1] == "RFC 8878" else head[1]
        match = define.match(line) or member.match(line)
        if match:
            yield section, match[1], number(match[2])


def number(word):
    if word.startswith('"'):
        return word
    return eval(word.replace("u", ""), {})  # digits and shifts only


def spellings(value):
    if isinstance(value, str):
        return [re.escape(value.strip('"'))]
    out = [rf"\b{value}\b", rf"\b0x0*{value:x}\b", rf"\b0x0*{value:X}\b"]
    if value and value % (1 << 20) == 0:
        out.append(rf"\b{value >> 20} MiB\b")
    if value and value & (value - 1) == 0:
        out.append(rf"\bbits? {value.bit_length() - 1}\b")
        out.append(rf"\bbits 0-{value.bit_length() - 1}\b")
    if value and value & (value + 1) == 0:
        out.append(rf"\bbits 0-{value.bit_length() - 1}\b")
        out.append(rf"2\^{value.bit_length()} ?- ?1")
    return out


def check_constants(spec, wire):
    by_number = sections(spec)
    checked = 0
    for section, name, value in constants(wire):
        checked += 1
        text = by_number.get(section, "")
        if not any(re.search(s, text) for s in spellings(value)):
            yield f"{name} = {value} does not stand in section {section}"
    if checked < 50:
        yield f"only {checked} constants found in wire.h"


def check_duties(spec):
    duties = re.findall(r"^- \*\*([FWRP]\d+)\*\* ", spec, re.M)
    tests = ""
    for kind in ("py", "c", "h", "sh"):
        for path in glob.glob(os.path.join(ROOT, f"tests/**/*.{kind}"),
                              recursive=True):
            if not path.endswith("lint/spec.py"):
                tests += read(path)
    if len(duties) < 20:
        yield f"only {len(duties)} duties found"
    for duty in duties:
        if not re.search(rf"\b{duty}\b", tests):
            yield f"no test cites {duty}"


def normative(spec):
    """The paragraphs and items of the sections with rules, without the one
    that explains the words."""
    text = spec[:spec.index("\n## 14.")]
    text = text.replace(text[text.index("\nMUST, MUST NOT"):
                             text.index("\n*reserved*")], "")
    return re.split(r"\n\n+|\n(?=- |\d+\. |\|)", text)


def check_marks(spec):
    """A mark follows each MUST before the next sentence with one."""
    found = 0
    for paragraph in normative(spec):
        words = " ".join(paragraph.split())
        for sentence in re.split(r"(?<=\]) ", words):
            found += "MUST" in sentence
            first = sentence.split("MUST", 1)[-1]
            wrong = "MUST" in sentence and not MARK.search(sentence)
            alone = re.search(r"\. [^.]*MUST", re.sub(r"\d\.\d", "", first))
            if wrong or alone:
                yield f"a MUST without a mark: {sentence[:100]}"
    if found < 100:
        yield f"only {found} rules found"


def exists(test):
    """A vector, a rule, or a file below tests/ with a function in it."""
    path, *function = test.split()
    if "/" not in path:
        return path in rules.RULES or os.path.exists(
            os.path.join(ROOT, f"spec/vectors/{path}.bin"))
    where = os.path.join(ROOT, "tests", path)
    return os.path.exists(where) and all(
        f"\n{name}(" in read(f"tests/{path}") for name in function)


def check_tests(spec):
    cited = {test.strip() for paragraph in normative(spec)
             for mark in MARK.findall(" ".join(paragraph.split()))
             for test in mark.split(",")}
    for test in sorted(cited):
        if not exists(test):
            yield f"there is no test {test}"
    for name in sorted(rules.RULES.keys() - cited):
        yield f"nothing cites the rule {name}"


def check_schema():
    version = re.search(r"PR_SCHEMA_VERSION +(\d+)",
                        read("include/pyrec/schema.h"))[1]
    if f"`PRAGMA user_version` is {version}," not in " ".join(
            read("spec/schema.md").split()):
        yield f"the tables have version {version} in include/pyrec/schema.h"


def main():
    spec = read("spec/format.md")
    faults = [f"spec/format.md: {fault}" for fault in (
        *check_constants(spec, read("format/wire.h")), *check_duties(spec),
        *check_marks(spec), *check_tests(spec))]
    faults += [f"spec/schema.md: {fault}" for fault in check_schema()]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
