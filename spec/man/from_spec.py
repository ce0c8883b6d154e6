#!/usr/bin/env python3
"""A specification in Markdown as a man page in scdoc's language.

usage: from_spec.py PAGE(SECTION) "one line about it" <spec.md >page.scd

Knows what the specifications use: headings, paragraphs, lists, tables, code
blocks, bold, italic, code and links.
"""

import re
import sys

ITEM = re.compile(r"( *)(-|\d+\.) +(.*)")


def escaped(text):
    return re.sub(r"([\\*_])", r"\\\1", text)


def inline(text):
    """Markup within a line; code keeps its letters as they are."""
    parts = re.split(r"(`[^`]*`|\*\*[^*]+\*\*|\*[^*]+\*|\[[^\]]*\]\([^)]*\))",
                     text)
    out = []
    for part in parts:
        link = re.fullmatch(r"\[([^\]]*)\]\([^)]*\)", part)
        if link:
            out.append(escaped(link.group(1)))
        elif part.startswith("**"):
            out.append("*%s*" % escaped(part.strip("*")))
        elif part.startswith("`") or (len(part) > 2 and part[0] == "*"):
            out.append(escaped(part.strip("`*")))
        else:
            out.append(escaped(part))
    return "".join(out)


def paragraph(text):
    text = inline(" ".join(text.split()))
    return "\\" + text if text[:1] in "#-.|[]:;" else text


# tbl breaks the text of a column at 1/(N+1) of the line if there are N columns;
# the one with the longest text is given what the others leave ("<").


def table(rows):
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
             for row in rows]
    lengths = [max(map(len, column)) for column in zip(*cells)]
    longest = lengths.index(max(lengths))
    lines = []
    for number, row in enumerate(cells[:1] + cells[2:]):
        for i, cell in enumerate(row):
            mark = ((":" if i else "|" if number else "[") +
                    ("<" if i == longest else "["))
            text = inline(cell.replace("\\|", "|"))
            lines.append("%s %s" % (mark, "*%s*" % text.replace("*", "")
                                    if number == 0 and text else text))
    return "\n".join(lines)


def items(lines):
    """A list; a line that begins no item goes on with the last one."""
    out = []
    for line in lines:
        item = ITEM.match(line)
        if item:
            mark = "-" if item.group(2) == "-" else "."
            out.append([mark, item.group(3)])
        else:
            out[-1][1] += " " + line.strip()
    return "\n".join("%s %s" % (mark, paragraph(text)) for mark, text in out)


def block(lines):
    if lines[0].startswith("|"):
        return table(lines)
    if lines[0].startswith("    "):
        return "```\n%s\n```" % "\n".join(line[4:] for line in lines)
    if ITEM.match(lines[0]):
        return items(lines)
    first = next((i for i, line in enumerate(lines) if ITEM.match(line)), None)
    text = paragraph(" ".join(lines[:first]))
    return text if first is None else text + "\n\n" + items(lines[first:])


def blocks(text):
    """Paragraphs, lists, tables and code, each as its lines."""
    lines, fenced = [], False
    for line in text.splitlines():
        if line.startswith("```"):
            if not fenced and lines:
                yield lines
            lines = [line] if not fenced else lines + ["```"]
            if fenced:
                yield lines
                lines = []
            fenced = not fenced
        elif fenced:
            lines.append(line)
        elif line.startswith("#") or not line.strip():
            if lines:
                yield lines
            lines = []
            if line.strip():
                yield [line]
        else:
            lines.append(line.rstrip())
    if lines:
        yield lines


def page(title, about, text):
    name = title.partition("(")[0]
    out = [title, "# NAME", "%s - %s" % (name, about)]
    for lines in blocks(text):
        heading = re.match(r"(#+) (.*)", lines[0])
        if lines[0].startswith("```"):
            out.append("```\n%s\n```" % "\n".join(lines[1:-1]))
        elif not heading:
            out.append(block(lines))
        elif len(heading.group(1)) > 1:
            out.append("%s %s" % ("#" * min(2, len(heading.group(1)) - 1),
                                  escaped(heading.group(2).replace("`", ""))))
    return "\n\n".join(out) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page(sys.argv[1], sys.argv[2], sys.stdin.read()))
