#!/usr/bin/env python3
"""Sentences that a reader has to read twice, by their kind.

Reads the text of documents, the comments and messages of C files, and the
comments and docstrings of scripts.  KINDS lists the kinds, each with what to
write in its place.  `words.py PATH...` checks some files or folders only.
"""

import io
import os
import re
import sys
import tokenize

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
PLACES = ("README.md", ".github", "Makefile", "spec", "tests", "converter",
          "query", "include", "format", "recorder")
# The list of kinds itself, and names that are data.
SKIPPED = ("tests/lint/words.py", "tests/targets/names.py", "tests/cases/",
           "spec/vectors/")

VERB = (r"(?:is|was|are|were|has|had|can|cannot|could|may|might|must|will|"
        r"would|does|did|comes|came|goes|runs|ran|reads|needs|wants|gets|"
        r"makes|fails|lasts|stays|stands|ends)")
START = r"(?:^|[.;:] +)"

# (name, what to write instead, pattern over one sentence, exceptions)
KINDS = (
    ("who", "name the actor: 'a reader that', 'the thread that'",
     START + r"who(?:ever)?\b(?!.*\?)|"
     r"\b(?:by|of|to|for|from|with|than|as|and|but|if|when) who(?:ever)?\b",
     r"\bwho awaits whom\b"),
    ("what", "name the thing: 'a field that is missing'",
     START + r"what(?:ever)? " + VERB + r"\b(?!.*\?)", None),
    ("of", "begin with the thing, not with its owner", r"^\W*(?-i:Of) (?!course\b)",
     None),
    ("it is said", "name the actor: 'the summary says'",
     r"\bit is (?:said|told|shown|asked|looked)\b|"
     r"\b(?:is|are|was|were) said so\b", None),
    ("is no", "is not a", r"(?<!there )\b(?:is|are|was|were) no (?!longer|more|"
     r"less|fewer|later|earlier|other|such)", None),
    ("behind", "after", r"\bbehind\b", r"\b(?:fall|fell|falls|lag)\w* behind"),
    ("yet", "later, still, so far", r"\byet\b",
     r"\b(?:not|never|no|none|nothing)\b.*\byet\b|n't .*yet"),
    ("look", "sample, read, search, check",
     r"\blook(?:s|ed|ing)?\b(?!(?:ed|s|ing)? up\b)",
     r"\blooks? like\b|\blook-?ups?\b"),
    ("tell", "emit, print, report, say",
     r"\b(?:tell|tells|told|telling|teller)\b(?!\.)", None),
    ("be had", "be read, be obtained", r"\b(?:be|is|are|was|were) had\b", None),
    ("not proven", "unproven", r"\bnot proven\b", None),
    ("hang on", "depend on", r"\bhangs? on\b", None),
)
COMPILED = [(name, instead, re.compile(pattern, re.I),
             re.compile(allowed, re.I) if allowed else None)
            for name, instead, pattern, allowed in KINDS]


def c_text(text):
    """(line, text) of each comment and each string of a C file."""
    pattern = re.compile(
        r"/\*(.*?)\*/|//([^\n]*)|\"((?:[^\"\\\n]|\\.)*)\"|'(?:[^'\\\n]|\\.)+'",
        re.S)
    last, end, line = None, 0, 0
    for found in pattern.finditer(text):
        body = found.group(1) or found.group(2) or ""
        if found.group(3) is not None:
            # adjacent strings are one
            if last is not None and not text[end:found.start()].strip():
                last += found.group(3)
            else:
                if last is not None:
                    yield line, last
                last, line = found.group(3), text.count("\n", 0, found.start())
            end = found.end()
        elif body:
            yield text.count("\n", 0, found.start()), re.sub(
                r"^ *\* ?", "", body, flags=re.M)
    if last is not None:
        yield line, last


def python_text(text):
    """(line, text) of the comments and docstrings of a Python file."""
    block, start, last = [], 0, -2
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING and token.line.lstrip().startswith(
                ('"""', "'''")) and token.start[1] == len(
                    token.line) - len(token.line.lstrip()):
            yield token.start[0] - 1, token.string.strip("\"'")
        if token.type != tokenize.COMMENT:
            continue
        if token.start[0] != last + 1 and block:
            yield start, " ".join(block)
            block = []
        if not block:
            start = token.start[0] - 1
        block.append(token.string.lstrip("# "))
        last = token.start[0]
    if block:
        yield start, " ".join(block)


def hash_text(text):
    """(line, text) of each block of # comments."""
    block, start = [], 0
    for number, line in enumerate(text.splitlines() + [""]):
        comment = re.match(r"\s*#+ ?(.*)", line)
        if comment and not line.startswith("#!"):
            if not block:
                start = number
            block.append(comment.group(1))
        elif block:
            yield start, "\n".join(block)
            block = []


def prose(text):
    """(line, text) of the paragraphs of a document, without its code."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group().count("\n"), text,
                  flags=re.S | re.M)
    text = re.sub(r"`[^`\n]*`", "`code`", text)
    at = 0
    for part in re.split(r"(\n(?:[ \t]*\n|(?=[ \t]*(?:[-*|+#]|\d+\. ))))", text):
        if part.strip() and not part.startswith("    "):
            yield at, part.strip().lstrip("-*|+# 0123456789.")
        at += part.count("\n")


def texts(path):
    if not path.endswith((".c", ".h", ".js", ".css", ".py", ".sh", ".md",
                          ".scd", "Makefile", "tests/run")):
        return ()
    with open(os.path.join(SOURCE, path), encoding="utf-8") as file:
        text = file.read()
    if path.endswith((".c", ".h", ".js", ".css")):
        return c_text(text)
    if path.endswith(".py") or path == "tests/run":
        return python_text(text)
    if path.endswith(".sh") or path == "Makefile":
        return hash_text(text)
    return prose(text)


def check(path):
    for line, text in texts(path):
        text = " ".join(text.split())
        for sentence in re.split(r"(?<=[.?!])\s+(?=[A-Z`'\"(])", text):
            for name, instead, pattern, allowed in COMPILED:
                found = pattern.search(sentence)
                if found and not (allowed and allowed.search(sentence)):
                    yield "%s:%d: '%s' (%s): %s" % (
                        path, line + 1, name, instead, sentence[:100])


def files(places):
    for place in places:
        full = os.path.join(SOURCE, place)
        if os.path.isfile(full):
            yield place
        for folder, _, names in sorted(os.walk(full)):
            for name in sorted(names):
                path = os.path.relpath(os.path.join(folder, name), SOURCE)
                if not path.startswith(SKIPPED) and "__pycache__" not in path:
                    yield path


def main():
    places = [os.path.relpath(place, SOURCE) for place in sys.argv[1:]]
    faults = [fault for path in files(places or PLACES)
              for fault in check(path)]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
