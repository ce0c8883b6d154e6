#!/usr/bin/env python3
"""spec/format.md and the code say the same numbers, and tests keep its word.

Every number and text of format/wire.h stands in the section of the
specification that its comment names, and every duty of section 11 is cited by
a test.  Constants that are computed from others are left out: what they are
computed from is checked.
"""

import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")


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


def main():
    spec = read("spec/format.md")
    faults = [*check_constants(spec, read("format/wire.h")),
              *check_duties(spec)]
    for fault in faults:
        print("spec/format.md:", fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
