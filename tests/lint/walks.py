#!/usr/bin/env python3
"""Count the files that one more of a kind touches.

Each walk is counted with one of the kind that exists: the files of the source
that name it are those that the next one will touch.  Prints the count and the
files of each walk, and fails if a walk is longer than its limit.
"""

import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PARTS = ("include", "format", "recorder", "converter", "query")

# (kind, one of it as the source names it, files at most, what these are)
WALKS = (
    ("a target format", r"callgrind", 2,
     "its file, and a line of the table"),
    ("a CPython version", r"3_14", 3,
     "its offsets, a line of the table, and the names of its opcodes"),
    ("a verb of the query language", r"Q_STACKS", 3,
     "its name, its row, and its plan"),
    ("a record of the checkpoint with its operation of the sink",
     r"pr_rate|pr_sink_rate|PF_TYPE_RATES", 9,
     "number, struct and operation; read, listed and written; merged and"
     " modelled; and the recorder, which makes it"),
)


def sources():
    for part in PARTS:
        for folder, _, names in sorted(os.walk(os.path.join(SOURCE, part))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    yield os.path.join(folder, name)


def files_that_name(word):
    pattern = re.compile(r"(?<![A-Za-z0-9])(?:%s)(?![A-Za-z0-9_])" % word)
    for path in sources():
        with open(path, encoding="utf-8") as file:
            if pattern.search(file.read()):
                yield os.path.relpath(path, SOURCE)


def main():
    failed = False
    for kind, word, limit, meaning in WALKS:
        files = list(files_that_name(word))
        print("%s: %d files (at most %d: %s)" % (kind, len(files), limit,
                                                 meaning))
        for path in files:
            print("    " + path)
        failed = failed or not 0 < len(files) <= limit
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
