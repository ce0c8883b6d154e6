"""Files that break one rule of spec/format.md at a time.

RULES holds every rule by the name under which the specification cites it: the
file, the state that a reader finds, and the times of the samples that it
emits.  All files hold one story, of which a rule changes one place; so the
samples are known without a reader.
"""

import struct
from collections import namedtuple

from encoder import (BASES, COUNTS, FRAMES, GC, HEADER, MARKS, META,
                     PROCESS, PROCESSES, RATES, SPAN, STRINGS, TASKS,
                     THREADS, File, frame_entry, skippable, string, typed,
                     varint, varints, zstd_frame)

A, B = (1234, 0), (1235, 0)
ALL = (10, 17, 20, 25, 40, 45)  # the times of the story's samples
FIRST, SECOND, THIRD = ALL[:2], ALL[2:4], ALL[4:]
NONE = ()

Rule = namedtuple("Rule", "make state times answer")
RULES = {}


def rule(name, state, times, make, answer=None):
    """answer: of a file without a profile."""
    assert name not in RULES, name
    RULES[name] = Rule(make, state, times, answer)


# --- the story: three segments, two threads, names in each checkpoint


def records(file, number):
    """The records of a segment, its bases and span."""
    if number == 0:
        return (file.full(A, 10, 37, 1, 0) + file.repeat(A, (7, 36)),
                {A: 0}, (10, 17, 2))
    if number == 1:
        return (file.full(A, 3, 37, 0) + file.full(B, 25, 4, 2),
                {A: 17, B: 0}, (20, 25, 2))
    return (file.full(A, 20, 37, 1, 0) + file.full(B, 20, 4, 3, 2),
            {A: 20, B: 25}, (40, 45, 2))


def names(file, number):
    """The strings and frames that are new in a segment."""
    if number == 0:
        file.name(b"a.py")
        file.name(b"f")
        file.frame(0, 1, 3, 3, 4, 9, first_line=2)
        file.frame(0, 1, 7, 8, 0, 12, opcode=5, first_line=2)
    else:
        func = file.name(b"g%d" % number)
        file.frame(0, func, 9 * number)


def story(changes=None, **options):
    """changes: {segment number: arguments of File.segment() that differ}."""
    file = File(**options)
    for number in range(3):
        names(file, number)
        data, bases, span = records(file, number)
        words = {"records": data, "bases": bases, "span": span,
                 **(changes or {}).get(number, {})}
        file.segment(**words)
    return file


def finished(changes=None, edits=None, index=None, **options):
    return lambda: story(changes, **options).finished(
        edits=edits, **index or {})


def opened(changes=None, **options):
    return lambda: story(changes, **options).unfinished()


def put(at, letters, value):
    """Change a field of fixed width."""
    def edit(data):
        data = bytearray(data)
        struct.pack_into("<" + letters, data, at, value)
        return bytes(data)
    return edit


def replaced(kind, change):
    """Change the content of the typed records of one kind."""
    return lambda parts: [(k, change(content) if k == kind else content)
                          for k, content in parts]


def without(kind):
    return lambda parts: [part for part in parts if part[0] != kind]


def added(kind, content):
    return lambda parts: [*parts, (kind, content)]


def body(name, edit, state="damaged", times=None, number=1):
    """A rule of a body: a wrong body takes its segment along."""
    lost = (FIRST, SECOND, THIRD)[number]
    if times is None:
        times = tuple(t for t in ALL if t not in lost)
    rule(name, state, times, finished({number: {"edit": edit}}))


def of_records(name, make, times=(20,), number=1, **words):
    """A rule of records: the samples before the fault are emitted."""
    def build():
        file = File()
        for n in range(3):
            names(file, n)
            data, bases, span = records(file, n)
            if n == number:
                data = make(file)
                bases, span = words.get("bases", bases), words.get("span",
                                                                   span)
            file.segment(data, bases, span)
        return file.finished()
    emitted = [FIRST, SECOND, THIRD]
    emitted[number] = times
    rule(name, words.get("state", "damaged"), sum(emitted, ()), build)


# --- 2: notation

LONG = b"\x80\x80\x80\0"  # three bytes more than a varint of 0 needs


def in_long_form(file):
    return (file.begin(A, 1) + b"\x83\x80\0" + b"\x25" + varint(1) +
            LONG + file.full(B, 25, 4, 2))


of_records("varint-long", in_long_form, SECOND, state="finished")

# --- 4.1: the header

FIELDS = {"unused-byte": (11, "B", 7), "python-unknown": (8, "B", 0),
          "word-free-bits": (60, "I", 0xFFFFFE49)}


def with_header(at, letters, value):
    """The field in the header and in its copy."""
    edit = put(at, letters, value)
    return finished({0: {"edit": replaced(HEADER, edit)}}, {"header": edit})


for _name, _field in FIELDS.items():
    rule("header-" + _name, "finished", ALL, with_header(*_field))
rule("header-interval-0", "finished", ALL, with_header(20, "Q", 0))
rule("header-version-0", "damaged", NONE, with_header(4, "I", 0), "damaged")
rule("header-version-2", "newer", NONE, with_header(4, "I", 2), "newer")
rule("header-compression-0", "damaged", ALL, with_header(56, "I", 0))
rule("header-compression-2", "newer", NONE, with_header(56, "I", 2), "newer")
for _name, _field in {"magic": (0, "I", 0x54414349), "start": (12, "Q", 7),
                      "version": (4, "I", 2), "samples": (28, "Q", 7),
                      "threads": (36, "I", 3), "strings": (40, "Q", 99),
                      "compression": (56, "I", 2)}.items():
    # in the header alone: the index does not agree, the copy takes its place
    rule(f"header-{_name}-wrong", "damaged", ALL,
         lambda field=_field: put(*field)(story().finished()))
for _name, _field in {"samples": (28, "Q", 7), "threads": (36, "I", 3),
                      "strings": (40, "Q", 70),
                      "frames": (48, "Q", 70)}.items():
    # as the index says it
    rule(f"header-{_name}-other", "damaged", ALL,
         finished(edits={"header": put(*_field)}))
rule("header-open-start", "damaged", ALL,
     lambda: put(12, "Q", 7)(story().unfinished()))
rule("header-open-samples", "damaged", ALL,
     lambda: put(28, "Q", 7)(story().unfinished()))

# --- 4.2: records

LAST = (1 << 63) - 1
of_records("record-kind", lambda f: f.full(A, 3, 37, 0) + f.begin(B, 4))
of_records("record-short",
           lambda f: f.full(A, 3, 37, 0) + f.begin(B, 0)[:12])
of_records("record-repeat-0", lambda f: f.full(A, 3, 37, 0) + f.repeat(A))
of_records("record-repeat-count", lambda f: f.full(A, 3, 37, 0) +
           f.begin(B, 0) + varint(9) + b"\x14\x04\x05\x04", (20, 20, 25))
of_records("record-repeat-first", lambda f: f.repeat(A, (3, 37)) +
           f.full(B, 25, 4, 2), SECOND, state="finished")
of_records("record-shared", lambda f: f.full(A, 3, 37, 0) +
           f.suffix(B, 25, 4, 1, 2))
of_records("record-pop", lambda f: f.full(A, 3, 37, 0) +
           f.pop_push(B, 25, 4, 1, 2))
of_records("record-frame", lambda f: f.full(A, 3, 37, 0) +
           f.full(B, 25, 4, 9))
of_records("record-frame-later", lambda f: f.full(A, 3, 37, 0) +
           f.full(B, 25, 4, 3))
of_records("record-depth", lambda f: f.full(A, 3, 37, 0) + f.begin(B, 1) +
           b"\x19\x04" + varint((1 << 24) + 1) + b"\0")
of_records("record-time", lambda f: f.full(A, 3, 37, 0) +
           f.full(B, LAST + 1, 4, 2))
of_records("record-time-last", lambda f: f.full(A, 20, 37, 0) +
           f.full(B, LAST - 25, 4, 2), (40, LAST), 2, state="finished",
           span=(40, LAST, 2))
of_records("record-process", lambda f: f.full(A, 3, 37, 0) +
           f.full(PROCESS, 25, 4, 2))
of_records("record-status", lambda f: f.full(A, 3, 0xFF, 0) +
           f.full(B, 25, 0xC0, 2), SECOND, state="finished")
of_records("record-suffix-less",
           lambda f: f.full(A, 3, 37, 1, 0) + f.suffix(A, 0, 4, 1) +
           f.full(B, 25, 4, 2), (20, 20, 25), state="finished",
           span=(20, 25, 3))

# --- 4.3, 4.4: tables and frames

body("frame-string", replaced(FRAMES, lambda _: varints(2, 1) + frame_entry(
    0, 9, 9) + varint(0)))
body("frame-place", replaced(FRAMES, lambda _: varints(2, 1, 0, 2) +
                             varint((1 << 32) - 2) + varint((1 << 32) - 2) +
                             b"\1\0\xff\0"))
body("frame-first-line", replaced(FRAMES, lambda _: varints(2, 1) +
                                  frame_entry(0, 2, 9) + varint(1 << 31)))
body("frame-svarint", replaced(FRAMES, lambda _: varints(
    2, 1, 0, 2, 1 << 32) + b"\0\1\0\xff\0"))


def without_line():
    """A difference without a line means nothing: the end is -1."""
    file = story({1: {"edit": replaced(FRAMES, lambda _: varints(2, 1, 0, 2) +
                                       b"\1\x0a\1\x0a\xff\0")}})
    file.frames[2] = (varints(0, 2) + b"\1\x0a\1\x0a\xff", b"\0")
    return file.finished()


rule("frame-no-line", "finished", ALL, without_line)


def other_tables(change):
    def make():
        file = story()
        change(file)
        return file.finished()
    return make


rule("table-other-string", "damaged", ALL, other_tables(
    lambda f: f.strings.__setitem__(0, string(b"b.py"))))
rule("table-other-frame", "damaged", ALL, other_tables(
    lambda f: f.frames.__setitem__(0, f.frames[1])))
rule("table-fewer", "damaged", ALL, other_tables(lambda f: f.frames.pop()))
rule("table-more-bytes", "damaged", ALL, other_tables(
    lambda f: f.frames.append((b"more", b""))))
rule("table-changed", "damaged", ALL,
     lambda: flipped(story().finished(), -len(story_end()) - 3))

# --- 4.5, 4.6: statistics and footer


def story_end():
    """The index, statistics and footer of the story."""
    file = story()
    data = file.finished()
    at = 64 + len(file.region()) + sum(map(len, file.tables()))
    return data[at:]


def flipped(data, at):
    data = bytearray(data)
    data[at] ^= 1
    return bytes(data)


rule("statistics-changed", "damaged", ALL,
     lambda: flipped(story().finished(), -88))
rule("statistics-unused", "finished", ALL,
     finished(edits={"end": lambda end: put(36, "I", 7)(end)}))
rule("statistics-known-bits", "finished", ALL,
     finished(edits={"end": lambda end: put(32, "I", 0xFFFFFFFF)(end)}))
rule("statistics-version", "finished", ALL,
     finished(edits={"end": lambda end: put(48, "I", 2)(end)}))
rule("footer-unused", "finished", ALL,
     finished(edits={"end": lambda end: put(72, "Q", 7)(end)}))
rule("footer-size", "damaged", ALL,
     finished(edits={"end": lambda end: put(64, "Q", 70)(end)}))
rule("footer-strings", "damaged", ALL,
     finished(edits={"end": lambda end: put(56, "I", 1)(end)}))
rule("footer-frames", "damaged", ALL,
     finished(edits={"end": lambda end: put(60, "I", 9)(end)}))
rule("footer-changed", "damaged", ALL,
     lambda: flipped(story().finished(), -20))
rule("bytes-after-the-end", "damaged", ALL,
     lambda: story().finished() + b"more")

# --- 5.1: segments


def frame_of(change):
    """Segment 1 with another data frame."""
    file = story()
    file_records, _, _ = records(file, 1)
    return finished({1: {"frame": change(file_records)}})


rule("data-changed", "damaged", FIRST + THIRD,
     lambda: flipped(story().finished(),
                     64 + sum(map(len, story().segments[0])) + 12))
rule("data-size", "damaged", FIRST + THIRD,
     frame_of(lambda r: zstd_frame(r, size=len(r) + 1)))
rule("data-unsized", "damaged", FIRST + THIRD,
     frame_of(lambda r: zstd_frame(r, sized=False)))
rule("data-checksum", "damaged", FIRST + THIRD,
     frame_of(lambda r: zstd_frame(r, check=7)))
rule("data-two-frames", "damaged", FIRST + THIRD,
     frame_of(lambda r: zstd_frame(r) + skippable(b"x", 3)))
rule("data-skippable-first", "damaged", THIRD + FIRST,
     frame_of(lambda r: skippable(b"x", 3) + zstd_frame(r)))
rule("data-empty-sized", "finished", ALL, lambda: with_empty(True))


def with_empty(sized):
    """A segment without records after the others."""
    file = story()
    file.segment(frame=zstd_frame(b"", sized=sized))
    return file.finished()


rule("data-empty", "finished", ALL, lambda: with_empty(False))


def between(bytes_between):
    def make():
        data, at = story().finished(), 64 + len(b"".join(story().segments[0]))
        return data[:at] + bytes_between + data[at:]
    return make


rule("bytes-between-segments", "damaged", ALL, between(b"x"))
rule("frame-between-segments", "damaged", ALL, between(skippable(b"x", 3)))
rule("segments-swapped", "damaged", ALL, lambda: rearranged([1, 0, 2]))
rule("segment-twice", "damaged", ALL, lambda: rearranged([0, 1, 1, 2]))
rule("segment-removed", "damaged", FIRST + THIRD,
     lambda: rearranged([0, 2]))


def rearranged(order):
    file = story()
    region = b"".join(b"".join(file.segments[n]) for n in order)
    return file.header() + region


def of_two():
    """The second segment of another recording stands between."""
    file, other = story(), story(start=5)
    region = [b"".join(s) for s in file.segments]
    return file.header() + region[0] + b"".join(other.segments[1]) + b"".join(
        region[1:])


rule("segment-of-another-file", "damaged", ALL, of_two)
rule("joined-files", "damaged", ALL,
     lambda: story().finished() + story(start=5).finished())
rule("header-cut-off", "damaged", ALL, lambda: story().finished()[64:])
rule("header-cut-off-open", "damaged", ALL, lambda: story().unfinished()[64:])
rule("start-zeroed", "damaged", THIRD, lambda: zeroed(2))


def zeroed(segments):
    file = story()
    n = 64 + len(b"".join(map(b"".join, file.segments[:segments])))
    return bytes(n) + file.finished()[n:]


# --- 5.2: checkpoints


def checkpoint(name, state="damaged", times=FIRST + THIRD, **options):
    rule("checkpoint-" + name, state, times,
         finished({1: {"checkpoint": options}}))


checkpoint("read-2", "newer", NONE, read=2)
RULES["checkpoint-read-2"] = RULES["checkpoint-read-2"]._replace(
    answer="newer")
checkpoint("rewrite-2", "finished", ALL, rewrite=2)
checkpoint("flags", "newer", NONE, flags=2)
RULES["checkpoint-flags"] = RULES["checkpoint-flags"]._replace(answer="newer")
checkpoint("reserved", reserved=1)
checkpoint("number", number=7)
checkpoint("number-twice", number=0)
checkpoint("first", first=7)
checkpoint("length", length=3)
checkpoint("body-size", size=7)
checkpoint("body-zstd", "finished", ALL, flags=1)
checkpoint("body-zstd-size", flags=1, size=7)
rule("checkpoint-changed", "damaged", FIRST + THIRD,
     lambda: flipped(story().finished(), 64 + len(story().region()) -
                     sum(map(len, story().segments[2])) - 1))

# --- 5.3: typed records

body("record-unknown", added(0x3F, b"later"), "finished", ALL)
body("record-private", added(0x81, b"x"), "finished", ALL)
rule("record-critical", "newer", NONE,
     finished({1: {"edit": added(0x7F, b"x")}}), "newer")
rule("record-private-critical", "newer", NONE,
     finished({1: {"edit": added(0xC1, b"x")}}), "newer")
rule("record-beyond-body", "damaged", FIRST + THIRD,
     finished({1: {"extra": b"\x3f\x7fx"}}))
body("body-order", lambda parts: [*parts[2:], *parts[:2]], "finished", ALL)
body("frames-before-strings", lambda parts: [parts[1], parts[0], *parts[2:]])
body("appended-field", replaced(SPAN, lambda c: c + b"later"), "finished",
     ALL)
for _kind, _name in ((STRINGS, "strings"), (FRAMES, "frames"),
                     (BASES, "bases"), (SPAN, "span")):
    body(f"two-{_name}", lambda parts, kind=_kind: [
        *parts, *(part for part in parts if part[0] == kind)])
body("strings-gap", replaced(STRINGS, lambda c: varints(3) + c[1:]))
body("strings-again", replaced(STRINGS, lambda c: varints(1) + c[1:]))
body("strings-count", replaced(STRINGS, lambda c: varints(2, 9) + c[2:]))
body("strings-long", replaced(STRINGS, lambda c: c[:2] + b"\x7f" + c[3:]))
body("frames-gap", replaced(FRAMES, lambda c: varints(3) + c[1:]))
body("frames-count", replaced(FRAMES, lambda c: varints(2, 9) + c[2:]))
body("bases-process", replaced(BASES, lambda _: varints(
    2, *A, 17, *PROCESS, 0)))
of_records("bases-missing", lambda f: records(f, 1)[0], bases={A: 17})
of_records("bases-unused", lambda f: records(f, 1)[0], SECOND,
           bases={A: 17, B: 0, (9, 9): 0})
of_records("bases-back", lambda f: records(f, 1)[0], NONE,
           bases={A: 16, B: 0})
body("bases-twice", replaced(BASES, lambda _: varints(
    3, *A, 17, *B, 0, *A, 17)), times=FIRST + THIRD)


def span(name, times, *values):
    body("span-" + name, replaced(SPAN, lambda _: varints(*values)),
         times=times)


SIZE = 0


def size_of_records():
    file = File()
    return len(records(file, 1)[0])


SIZE = size_of_records()
body("span-missing", without(SPAN))
span("first", ALL, 19, 25, 2, 4, 2, SIZE)
span("last", ALL, 20, 26, 2, 4, 2, SIZE)
span("samples", ALL, 20, 25, 3, 5, 2, SIZE)
span("so-far", ALL, 20, 25, 2, 5, 2, SIZE)
span("threads", ALL, 20, 25, 2, 4, 3, SIZE)
span("bytes", FIRST + THIRD, 20, 25, 2, 4, 2, SIZE + 1)
span("order", FIRST + THIRD, 25, 20, 2, 4, 2, SIZE)
span("time", FIRST + THIRD, 20, 1 << 63, 2, 4, 2, SIZE)
span("too-many", FIRST + THIRD, 20, 25, SIZE, 2 + SIZE, 2, SIZE)
span("too-large", FIRST + THIRD, 20, 25, 2, 4, 2, (256 << 20) + 1)
body("header-missing", without(HEADER), number=0)
body("header-short", replaced(HEADER, lambda c: c[:63]), number=0)
body("header-again", added(HEADER, File().header()), "finished", ALL)
body("header-copies", added(HEADER, File(start=5).header()), times=ALL)

THREAD = varints(1, *A) + b"\1" + string(b"main")
TASK = varints(1, 0x7F00, 4, *A) + string(b"Task-1") + varint(0)


def described(index, *pairs):
    return (varints(1, index, 7, 1, 1700000000000000, 0) + bytes(
        (3, 15, 2)) + string(b"python3") + string(b"box") + string(b"s") +
        varint(len(pairs)) + b"".join(
            string(k) + string(v) for k, v in pairs))


for _name, _kind, _content in (
        ("threads-process", THREADS, varints(1, *PROCESS) + b"\0\0"),
        ("threads-count", THREADS, varint(9) + THREAD[1:]),
        ("threads-index", THREADS, varints(1, *A) + b"\2" + string(b"") +
         varints((1 << 32) - 1, *A)),
        ("meta-empty-key", META, varint(1) + string(b"") + string(b"v")),
        ("meta-nul-key", META, varint(1) + string(b"a\0") + string(b"v")),
        ("meta-long-key", META, varint(1) + string(b"k" * 256) + b"\0"),
        ("counts-kind", COUNTS, varints(1, 1, *A, 1 << 32, 5)),
        ("counts-index", COUNTS, varints(1, 1, (1 << 32) - 1, PROCESS[1], 1,
                                         5)),
        ("gc-index", GC, varints(1, (1 << 32) - 1, *range(10))),
        ("gc-interpreter", GC, varints(1, 0, 1 << 32, *range(9))),
        ("tasks-parents", TASKS, TASK[:-1] + varint(9)),
        ("marks-index", MARKS, varints(1, (1 << 32) - 1, 0, 1, 2) + b"\0"),
        ("marks-kind", MARKS, varints(1, 0, 1 << 32, 1, 2) + b"\0"),
        ("processes-index", PROCESSES, described((1 << 32) - 1)),
        ("processes-key", PROCESSES, described(0, (b"", b"v"))),
        ("rates-index", RATES, varints(1, (1 << 32) - 1, 0, 5)),
        ("rates-interval-0", RATES, varints(1, 0, 0, 0))):
    body(_name, added(_kind, _content))
body("threads-identity", added(THREADS, varints(1, *B) + b"\2\0" + varints(
    0, *A)), times=ALL)
for _name, _kind, _content in (
        ("threads-flags", THREADS, varints(1, *A) + b"\xfd" + string(b"n")),
        ("meta-key-255", META, varint(1) + string(b"k" * 255) + b"\0"),
        ("meta-value", META, varint(1) + string(b"k") + string(b"\0\xff")),
        ("counts-less", COUNTS, varints(1, 2, *A, 1, 5) + varints(*A, 1, 4)),
        ("tasks-ended-thread", TASKS, varints(1, 1, 4, *PROCESS) + b"\0\0"),
        ("marks-back", MARKS, varints(1, 0, 0, 9, 2) + b"\0")):
    body(_name, added(_kind, _content), "finished", ALL)

# --- 6: the index


def index(name, state="damaged", times=ALL, rows=None, **options):
    def make():
        file = story()
        if rows:
            file.rows = rows(file.rows)
        return file.finished(**options)
    rule("index-" + name, state, times, make)


index("read-2", "newer", NONE, read=2)
RULES["index-read-2"] = RULES["index-read-2"]._replace(answer="newer")
index("rewrite-2", "finished", rewrite=2)
index("reserved", reserved=1)
index("missing", index=False)
index("rows-fewer", rows=lambda rows: rows[:2])
index("row-samples", rows=lambda rows: [
    rows[0], (*rows[1][:4], 3), rows[2]])
index("row-first", rows=lambda rows: [
    rows[0], (*rows[1][:2], 19, 6, 2), rows[2]])
index("row-size", rows=lambda rows: [
    (rows[0][0] + 1, rows[0][1] - 1, *rows[0][2:]), *rows[1:]])
index("row-beyond", rows=lambda rows: [
    (1 << 40, *rows[0][1:]), *rows[1:]])
rule("index-changed", "damaged", ALL,
     lambda: flipped(story().finished(), -88 - 20))
rule("index-tail", "damaged", ALL,
     lambda: flipped(story().finished(), -88 - 1))

# --- 3, 7: unfinished and cut files

rule("open", "cut", ALL, opened())
rule("open-cut-data", "cut", FIRST + SECOND,
     lambda: story().unfinished()[:-len(story().segments[2][1]) - 5])
rule("open-cut-checkpoint", "cut", FIRST + SECOND,
     lambda: story().unfinished()[:-5])
rule("open-garbage", "damaged", ALL,
     lambda: story().unfinished() + b"garbage")
rule("open-zeros", "damaged", ALL, lambda: story().unfinished() + bytes(100))
rule("cut-footer", "cut", ALL, lambda: story().finished()[:-1])
rule("cut-index", "cut", ALL, lambda: story().finished()[:-88 - 30])
rule("cut-tables", "cut", ALL,
     lambda: story().finished()[:64 + len(story().region()) + 3])
