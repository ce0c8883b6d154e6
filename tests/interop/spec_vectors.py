#!/usr/bin/env python3
"""The annotated hexdumps of spec/format.md as files.

    spec_vectors.py FOLDER      write example-1.bin, example-1.json, ...

Each block ```hexdump is one whole file: offset, bytes, meaning; the offsets
must go on without a gap.  The block ```json after it is the profile in it.
"""

import os
import re
import sys

SPEC = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../spec/format.md")
LINE = re.compile(r"([0-9a-f]{4,})  ((?:[0-9a-f]{2} )*[0-9a-f]{2})(?:  |$)")


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)


def undump(dump):
    data = bytearray()
    for line in dump.splitlines():
        match = LINE.match(line)
        if not match or int(match[1], 16) != len(data):
            raise ValueError(f"not the next line of a hexdump: {line!r}")
        data += bytes.fromhex(match[2])
    return bytes(data)


def examples():
    """[(bytes, JSON lines)]"""
    with open(SPEC, encoding="utf-8") as file:
        text = file.read()
    dumps, answers = blocks(text, "hexdump"), blocks(text, "json")
    if len(dumps) != len(answers) or not dumps:
        raise ValueError("each hexdump has its JSON")
    return [(undump(d), a) for d, a in zip(dumps, answers)]


def main(folder):
    for number, (data, answer) in enumerate(examples(), 1):
        path = os.path.join(folder, f"example-{number}")
        with open(path + ".bin", "wb") as file:
            file.write(data)
        with open(path + ".json", "w", encoding="ascii") as file:
            file.write(answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
