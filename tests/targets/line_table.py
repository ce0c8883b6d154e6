"""One function with a line table of any size: line_table.py SECONDS LINES."""

import sys

import portrait

LINES = int(sys.argv[2])


def main():
    body = "".join("    x = (a + %d * b); y = x + %d\n" % (i, i)
                   for i in range(LINES))
    source = ("def large(a, b):\n" + body + "    reached()\n"
              "    while not over():\n        a += 1\n    return a\n")
    space = {"over": portrait.over, "reached": reached}
    exec(compile(source, "line_table.py", "exec"), space)
    space["large"](1, 2)


def reached():
    """Called by large() after its first lines."""
    code = sys._getframe(1).f_code
    portrait.publish(bytes=len(code.co_linetable),
                  lines=[LINES + 2, LINES + 3, LINES + 4])


main()
