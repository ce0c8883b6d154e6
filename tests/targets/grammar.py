"""Calls that obey an exact grammar: every possible stack follows a rule.

usage: grammar.py SECONDS tree|chain

tree   base0 -> base1 -> ... -> base49 -> node -> node_a -> node_ab -> ...:
       below the base each function is called only by the one whose name is a
       letter shorter, so that a stack mixed from two moments shows.
chain  a0 -> ... -> a99 or b0 -> ... -> b99, the two taking turns at the same
       addresses, with frames of different sizes.
"""

import itertools
import sys

import portrait

BASE = 50
TREE_DEPTH = 5
CHAIN = 100


def tree_source():
    """One function for each path of a ternary tree, called on top of a base."""
    lines = []
    for depth in range(TREE_DEPTH + 1):
        for path in itertools.product("abc", repeat=depth):
            name = "_".join(["node", "".join(path)]) if path else "node"
            lines.append("def %s(x):" % name)
            for letter in "abc" if depth < TREE_DEPTH else "":
                child = name + letter if path else name + "_" + letter
                lines.append("    v%s = %s(x)" % (letter, child))
            # frames of different sizes, so that addresses do not repeat
            lines += ["    w%d = x" % i
                      for i in range(sum(map(ord, path)) % 3)]
            lines.append("    return x + 1")
    for i in range(BASE - 1):
        lines.append("def base%d(x):\n    return base%d(x)" % (i, i + 1))
    lines.append("def base%d(x):" % (BASE - 1))
    lines.append("    while not over():\n        node(x)")
    lines.append("def start():\n    base0(1)")
    return "\n".join(lines)


def chain_source():
    lines = []
    for letter in "ab":
        for i in range(CHAIN):
            lines.append("def %s%d(x):" % (letter, i))
            lines += ["    v%d = x" % k
                      for k in range((i * 7 + (letter == "b")) % 4)]
            lines.append("    return %s + 1" % (
                "%s%d(x)" % (letter, i + 1) if i + 1 < CHAIN else "x"))
    lines.append("def start():\n    while not over():\n"
                 "        for _ in range(500):\n"
                 "            a0(1)\n            b0(1)")
    return "\n".join(lines)


def main():
    source = tree_source() if sys.argv[2] == "tree" else chain_source()
    space = {"over": portrait.over}
    exec(compile(source, "grammar.py", "exec"), space)
    portrait.tell(base=BASE, depth=TREE_DEPTH, chain=CHAIN)
    space["start"]()


main()
