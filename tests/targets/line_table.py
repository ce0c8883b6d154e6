"""One function with a line table of any size: line_table.py SECONDS LINES."""

import sys

import portrait

LINES = int(sys.argv[2])


def main():
    body = "".join("    x = (a + %d * b); y = x + %d\n" % (i, i)
                   for i in range(LINES))
    source = ("def large(a, b):\n" + body +
              "    while not over():\n        a += 1\n    return a\n")
    space = {"over": portrait.over}
    exec(compile(source, "line_table.py", "exec"), space)
    large = space["large"]
    portrait.tell(bytes=len(large.__code__.co_linetable),
                  lines=[LINES + 2, LINES + 3])
    large(1, 2)


main()
