#!/usr/bin/env python3
"""Check which room includes which, and draw it.

A room is a folder.  ROOMS says which rooms a room may include; each room may
include itself.  Prints each forbidden include and fails if there is one.
`includes.py --draw` prints the drawing that spec/architecture.md holds.  The
check fails if the one there is another, if the table of rooms there does not
name each room once, and if the way of a sample leads through other rooms than
these or goes back.
"""

import collections
import os
import re
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))

# Room: the rooms it may include, from the ground up.  A room of public headers
# stands with the headers of it that may be included.
PUBLIC = "include/pyrec"
ROOMS = {
    "include/pyrec": [],
    "include/base": [PUBLIC + ":error version"],
    "format": ["include/base", PUBLIC + ":error profile sink writer reader"],
    "format/read": ["format", "include/base",
                    PUBLIC + ":error profile sink reader writer version"],
    "format/write": ["format", "include/base",
                     PUBLIC + ":error profile sink writer version"],
    "recorder/linux": ["include/base", PUBLIC + ":error"],
    "recorder/cpython": ["recorder/linux", "include/base",
                         PUBLIC + ":error profile sink unwinder"],
    "recorder/sample": ["recorder/cpython", "recorder/linux", "include/base",
                        PUBLIC + ":error profile sink unwinder"],
    "recorder": ["recorder/sample", "recorder/cpython", "recorder/linux",
                 "include/base",
                 PUBLIC + ":error profile sink unwinder writer version"],
    "converter/compare": ["include/base", PUBLIC + ":error compare"],
    "converter/encode": ["include/base", PUBLIC + ":error convert"],
    "converter/model": ["converter/encode", "include/base",
                        PUBLIC + ":error profile sink reader convert"],
    "converter/import": ["include/base",
                         PUBLIC + ":error profile sink convert"],
    "converter/input": ["converter/import", "include/base",
                        PUBLIC + ":error profile sink reader convert"],
    "converter/filter": ["include/base",
                         PUBLIC + ":error profile sink convert"],
    "converter/tables": ["converter/model", "converter/encode",
                         "include/base",
                         PUBLIC + ":error profile convert schema"],
    "converter/page": ["converter/compare", "converter/model",
                       "converter/encode", "include/base",
                       PUBLIC + ":error profile convert compare"],
    "converter/target": ["converter/page", "converter/tables",
                         "converter/model",
                         "converter/encode", "converter/input", "include/base",
                         PUBLIC + ":error profile sink reader writer convert"
                         " schema compare version"],
    "converter/job": ["converter/target", "converter/tables",
                      "converter/filter", "converter/model",
                      "converter/encode", "converter/input", "include/base",
                      PUBLIC + ":error profile sink reader convert"],
    "converter/archive": ["converter/job", "converter/target",
                          "converter/filter", "converter/input",
                          "converter/tables", "include/base",
                          PUBLIC + ":error profile convert"],
    "converter": ["converter/job", "converter/encode", "include/base",
                  PUBLIC + ":error reader convert version"],
    "query/live": ["include/base", PUBLIC + ":error"],
    "query/talk": ["include/base"],
    "query/language": ["include/base", PUBLIC + ":error compare"],
    "query/database": ["include/base", PUBLIC + ":error schema query convert"],
    "query/fold": ["query/database", "include/base", PUBLIC + ":error"],
    "query/plan": ["query/fold", "query/database", "query/language",
                   "include/base", PUBLIC + ":error schema query"],
    "query/compare": ["query/plan", "query/database", "query/language",
                      "include/base", PUBLIC + ":error query compare"],
    "query/remote": ["query/plan", "query/fold", "query/database",
                     "query/language", "include/base",
                     PUBLIC + ":error query"],
    "query/render": ["query/language", "include/base",
                     PUBLIC + ":error query"],
    "query": ["query/render", "query/database", "query/language",
              "query/live", "query/talk", "include/base",
              PUBLIC + ":error query version"],
}
PARTS = ("include", "format", "recorder", "converter", "query")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+(["<])([^">]+)[">]')
ARCHITECTURE = os.path.join(SOURCE, "spec", "architecture.md")
BLOCK = r"<!-- %s -->\n```text\n(.*?)```\n"
# Between which things the way of a sample leads.
THINGS = ["memory of the target", "run.bin", "run.db", "answer"]


def sources():
    for part in PARTS:
        for folder, _, names in sorted(os.walk(os.path.join(SOURCE, part))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    yield os.path.relpath(path, SOURCE)


def included(path):
    """(line number, quoted?, path of a header of the project)"""
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            quoted, header = found.group(1) == '"', found.group(2)
            if header.startswith(("pyrec/", "base/")):
                header = "include/" + header
            if quoted or header.startswith("include/"):
                yield number, quoted, header


def allowed(room, header):
    target, name = os.path.split(header)
    if target == room:
        return True
    for entry in ROOMS[room]:
        place, _, names = entry.partition(":")
        if place == target and (not names or name[:-2] in names.split()):
            return True
    return False


def check_file(path, uses):
    room = os.path.dirname(path)
    faults = []
    if room not in ROOMS:
        return ["%s: the room %s is not in ROOMS" % (path, room)]
    for number, quoted, header in included(path):
        uses[room].add(os.path.dirname(header))
        if not allowed(room, header):
            faults.append("%s:%d: may not include %s" % (path, number, header))
        if quoted and "/" not in header:
            faults.append("%s:%d: name the room of %s" % (path, number, header))
    return faults


def floor_of(room, uses, floors):
    """A room stands one floor above the highest room it includes."""
    if room not in floors:
        below = [floor_of(other, uses, floors)
                 for other in uses[room] if other != room]
        floors[room] = 1 + max(below, default=0)
    return floors[room]


def draw(uses):
    floors = {}
    for room in uses:
        floor_of(room, uses, floors)
    lines = []
    for room in sorted(uses, key=lambda r: (-floors[r], r)):
        others = sorted(uses[room] - {room}, key=lambda r: (-floors[r], r))
        lines.append("%d  %-18s  %s" % (
            floors[room], room, "-> " + ", ".join(others) if others else ""))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def block_of(text, name):
    found = re.search(BLOCK % name, text, re.DOTALL)
    return found.group(1) if found else ""


def check_way(way, rooms):
    """Things are at the margin, in this order; rooms are indented."""
    things = [line for line in way.splitlines() if not line.startswith(" ")]
    passed = [line.split()[0] for line in way.splitlines()
              if line.startswith(" ")]
    faults = []
    if things != THINGS:
        faults.append("the way of a sample leads from %s" % " to ".join(things))
    faults += ["the way of a sample passes %s, which is not a room" % room
               for room in passed if room not in rooms]
    parts = [room.split("/")[0] for room in passed]
    order = ["recorder", "format", "converter", "query"]
    if [part for i, part in enumerate(parts) if part not in parts[:i]] != order:
        faults.append("the way of a sample is not %s" % ", ".join(order))
    return faults


def check_table(text, rooms):
    named = re.findall(r"^\| ([a-z/]+) \| (?!knows).*\|.*\|$",
                       text[text.index("| room |"):text.index("## 3.")],
                       re.MULTILINE)
    return ["the table of rooms names %s %d times" % (room, named.count(room))
            for room in sorted(set(named) | set(rooms))
            if named.count(room) != (room in rooms)]


def check_architecture(uses):
    with open(ARCHITECTURE, encoding="utf-8") as file:
        text = file.read()
    faults = check_way(block_of(text, "way"), uses) + check_table(text, uses)
    if block_of(text, "includes") != draw(uses):
        faults.append("the drawing is not that of the includes;"
                      " tests/lint/includes.py --draw prints it")
    return ["spec/architecture.md: " + fault for fault in faults]


def check_names(paths):
    """A file name stands once in the house, a pair .c and .h counts as one."""
    rooms = collections.defaultdict(set)
    for path in paths:
        rooms[os.path.basename(path)].add(os.path.dirname(path))
    return ["%s: in more than one room: %s" % (name, ", ".join(sorted(found)))
            for name, found in sorted(rooms.items())
            if len(found - {PUBLIC}) > 1]


def main():
    uses, faults = collections.defaultdict(set), []
    paths = list(sources())
    for path in paths:
        uses[os.path.dirname(path)].update()
        faults += check_file(path, uses)
    if not faults and sys.argv[1:] == ["--draw"]:
        print(draw(uses), end="")
        return 0
    faults += check_names(paths)
    faults += check_architecture(uses) if not faults else []
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
