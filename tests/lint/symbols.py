#!/usr/bin/env python3
"""include/libpyrec.map names the functions that the public headers declare.

The linker makes exactly those visible in the shared library, under the version
that the map says.  `symbols.py --write` writes the map anew.  A function that
a release had stays where it is; a newer one belongs into a new version of the
map, which is written by hand.
"""

import glob
import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
MAP = os.path.join(SOURCE, "include", "libpyrec.map")


def declared():
    names = set()
    for path in glob.glob(os.path.join(SOURCE, "include", "pyrec", "*.h")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = re.sub(r"^[ \t]*#(?:.*\\\n)*.*$", "", text, flags=re.M)
        text = text.replace('extern "C" {', "")
        while "{" in text:
            shorter = re.sub(r"\{[^{}]*\}", ";", text)
            if shorter == text:
                break
            text = shorter
        for statement in text.split(";"):
            name = re.search(r"\b((?:pr|pf|rec|conv|q)_\w+)\s*\(", statement)
            if name and not re.match(r"\s*(?:typedef|static)\b", statement):
                names.add(name.group(1))
    return names


def mapped():
    with open(MAP, encoding="utf-8") as file:
        return re.findall(r"^ +(\w+);$", file.read(), re.M)


def write(names):
    with open(MAP, "w", encoding="utf-8") as file:
        file.write("PYREC_0 {\n  global:\n")
        file.writelines("    %s;\n" % name for name in sorted(names))
        file.write("  local:\n    *;\n};\n")


def main():
    names = declared()
    if sys.argv[1:] == ["--write"]:
        write(names)
        return 0
    have = mapped()
    faults = ["%s is declared and not in the map" % name
              for name in sorted(names - set(have))]
    faults += ["%s is in the map and not declared" % name
               for name in sorted(set(have) - names)]
    faults += ["%s stands in the map twice" % name
               for name in sorted(set(have)) if have.count(name) > 1]
    for fault in faults:
        print("include/libpyrec.map: %s (tests/lint/symbols.py --write)" % fault)
    return 1 if faults or not names else 0


if __name__ == "__main__":
    sys.exit(main())
