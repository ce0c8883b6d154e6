#!/usr/bin/env python3
"""Makes the test vectors of spec/vectors: small files, each of which shows
one thing.

    make_vectors.py [FOLDER]    write what is missing, and README.md

A vector that exists is never written again: old vectors stay as they are.
The expected answer of a new one is the second decoder's; read it before you
commit it.  good-*: whole files.  bad-*: cut, damaged or foreign ones.
unsupported-*: whole files for a newer reader.
"""

import os
import struct
import sys

import decoder
from encoder import (COUNTS, GC, MARKS, META, PROCESS, PROCESSES, RATES,
                     TASKS, THREADS, File,
                     skippable, string, typed, varint, varints,
                     zstd_frame)

A, B = (1234, 0), (1235, 0)
MAKERS = {}


def vector(name, shows):
    """Registers a function that returns the bytes of a vector."""
    def register(make):
        assert name not in MAKERS, name
        MAKERS[name] = shows, make
        return make
    return register


def small(order="<", **options):
    """Two names, two frames."""
    file = File(order, **options)
    path, func = file.name(b"a.py"), file.name(b"f")
    file.frame(path, func, 3, 3, 4, 9, first_line=2)
    file.frame(path, func, 7, 8, 0, 12, opcode=5, first_line=2)
    return file


def two(order="<", **options):
    """One thread, two samples."""
    file = small(order, **options)
    file.segment(file.full(A, 10, 37, 1, 0) + file.repeat(A, (7, 36)),
                 {A: 0}, (10, 17, 2))
    return file


def three(order="<"):
    """A second segment, in which the first thread goes on."""
    file = two(order)
    file.segment(file.full(A, 3, 37, 0) + file.full(B, 25, 4),
                 {A: 17, B: 0}, (20, 25, 2))
    return file


# --- whole files of segments


@vector("good-empty", "no sample, no name: F1, F2, F7, R14")
def _():
    file = File()
    file.segment()
    return file.finished()


@vector("good-two-samples", "one thread, FULL and REPEAT")
def _():
    return two().finished()


@vector("good-two-samples-be", "the same, written by a big-endian machine: R1")
def _():
    return two(">").finished()


@vector("good-two-segments", "a thread goes on in the next segment from its "
        "base time: F3, F4, F5")
def _():
    return three().finished()


@vector("good-two-segments-be", "the same, big-endian: R1")
def _():
    return three(">").finished()


@vector("good-empty-first-segment", "segments without records stand before "
        "the first sample: F3, W7")
def _():
    file = File()
    for _ in range(2):
        file.segment()
    path, func = file.name(b"a.py"), file.name(b"f")
    file.frame(path, func, 1, 1)
    file.segment(file.full(A, 10, 5, 0), {A: 0}, (10, 10, 1))
    return file.finished()


def all_kinds(order):
    file = small(order)
    records = (file.full(A, 0, 0xFF, 1, 0) + file.suffix(A, 1, 4, 1, 0, 1) +
               file.pop_push(A, 200, 5, 2) + file.repeat(A, (0, 1), (1, 2)) +
               file.repeat(B, (9, 4)) + file.pop_push(A, 70000, 37, 0, 1) +
               file.suffix(B, 1, 4, 0, 1) + file.full(A, 1, 1))
    return file, records


@vector("good-all-kinds", "the four record kinds, empty stacks, threads "
        "interleaved, free status bits kept: R12, R13")
def _():
    file, records = all_kinds("<")
    file.segment(records, {A: 0, B: 0}, (0, 70203, 9))
    return file.finished()


@vector("good-all-kinds-be", "the same, big-endian: R1")
def _():
    file, records = all_kinds(">")
    file.segment(records, {A: 0, B: 0}, (0, 70203, 9))
    return file.finished()


@vector("good-names", "an empty name, NUL, newline, not ASCII, a lone "
        "surrogate, not UTF-8 at all: R12, W5")
def _():
    file = File()
    for name in (b"", b"a\0b", b"a\nb;c", "d\u00e9j\u00e0 \U0001f40d".encode(),
                 b"\xed\xb3\xa9.py", b"\xff\xfe"):
        file.name(name)
    for func in range(6):
        file.frame(5 - func, func)
    file.segment(file.full(A, 1, 4, *range(6)), {A: 0}, (1, 1, 1))
    return file.finished()


@vector("good-interpreters", "one thread in two interpreters is two threads")
def _():
    file = small()
    other = (A[0], 7)
    file.segment(file.full(A, 1, 4, 0) + file.full(other, 2, 4, 1),
                 {A: 0, other: 0}, (1, 2, 2))
    return file.finished()


def notes():
    """One of each ancillary record, in the order of 5.3."""
    threads = varints(2, *A) + b"\1" + string(b"MainThread")
    threads += varints(*B) + b"\0" + string(b"")
    meta = varint(3) + string(b"wall_us") + string(b"1700000000000000")
    meta += string(b"host") + string("h\u00f6st".encode())
    meta += string(b"label.empty") + string(b"")
    counts = varints(17, 2, *A, 0, 2) + varints(*PROCESS, 16, 300)
    gc = varints(1, 0, 0, 2, 5, 9, 1, 20, 3, 40, 4096, 4000)
    tasks = varints(2, 0x7F00, 4, *A) + string(b"Task-1") + varint(0)
    tasks += varints(0x7F10, 5, *PROCESS) + string(b"") + varints(1, 0x7F00)
    marks = varints(2, 0, 0, 11, 16) + string(b"") + varints(0, 3, 12, 12)
    marks += string(b"here")
    return b"".join(map(typed, (THREADS, META, COUNTS, GC, TASKS, MARKS),
                        (threads, meta, counts, gc, tasks, marks)))


@vector("good-notes", "thread names, metadata, counts, GC, tasks, marks")
def _():
    file = small()
    file.segment(file.full(A, 10, 37, 0), {A: 0}, (10, 10, 1), notes())
    return file.finished()


@vector("good-notes-later", "a later checkpoint renames a thread, and its "
        "metadata and counts win")
def _():
    file = small()
    file.segment(file.full(A, 10, 37, 0), {A: 0}, (10, 10, 1), notes())
    file.segment(
        extra=typed(THREADS, varints(1, *A) + b"\1" + string(b"renamed")) +
        typed(META, varint(1) + string(b"host") + string(b"other")) +
        typed(COUNTS, varints(30, 1, *A, 0, 9)))
    return file.finished()


def process(index, pid, parent, *pairs):
    return (varints(index, pid, parent, 1700000000000000, 0) +
            bytes((3, 15, 2)) + string(b"python3 -m x") + string(b"box") +
            string(b"boot:4026531836") + varint(len(pairs)) + b"".join(
                string(key) + string(value) for key, value in pairs))


@vector("good-processes", "two processes with equal thread numbers, one of "
        "them described again; rates; counts, events and marks of a process")
def _():
    file = small()
    alias = (A[0] + (1 << 32), A[1])
    extra = typed(PROCESSES, varint(2) + process(0, 7, 1) + process(
        1, 8, 7, (b"label.part", b"worker")))
    extra += typed(THREADS, varints(2, *A) + b"\1" + string(b"main") +
                   varints(*alias) + b"\2" + string(b"other") +
                   varints(1, *A))
    extra += typed(RATES, varints(2, 0, 0, 2000, 1, 15, 500))
    extra += typed(COUNTS, varints(21, 2, 1, PROCESS[1], 41, 0) +
                   varints(*alias, 32, 12345))
    extra += typed(GC, varints(1, 1, 0, 2, 5, 9, 1, 20, 3, 40, 4096, 4000))
    extra += typed(TASKS, varints(1, 0x7F00, 4, 1, PROCESS[1]) +
                   string(b"Task-1") + varint(0))
    extra += typed(MARKS, varints(1, 1, 0, 11, 16) + string(b"asleep"))
    file.segment(file.full(A, 10, 37, 1, 0) + file.full(alias, 20, 4, 0),
                 {A: 0, alias: 0}, (10, 20, 2), extra)
    file.segment(extra=typed(PROCESSES, varint(1) + process(1, 9, 7)))
    return file.finished()


@vector("good-unknown-ancillary", "record types that nobody knows, a private "
        "one too, are skipped: R7")
def _():
    file = small()
    extra = typed(0x3F, b"of a later version") + typed(0x81, b"\xff" * 20)
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 extra + typed(META, varint(1) + string(b"k") + string(b"v")))
    return file.finished()


@vector("good-appended-fields", "fields of a later version after those of "
        "known records are ignored: R7")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1), typed(
        META, varint(1) + string(b"k") + string(b"v") + b"later") + typed(
            MARKS, varints(1, 0, 0, 1, 2) + string(b"m") + b"\xff" * 12))
    return file.finished()


@vector("good-unknown-kinds", "count and mark kinds that nobody knows are "
        "passed on: R7")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1), typed(
        COUNTS, varints(1, 1, *A, 99, 5)) + typed(
            MARKS, varints(1, 0, 99, 1, 2) + string(b"m")))
    return file.finished()


@vector("good-rewriter-2", "a newer rewriter is wanted, not a newer reader: "
        "R8, P2")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 checkpoint={"rewrite": 2})
    return file.finished()


@vector("good-rewriter-2-index", "the same, said by the index: R8, P2")
def _():
    return two().finished(rewrite=2)


@vector("good-body-zstd", "a checkpoint whose body is one zstd frame")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 checkpoint={"flags": 1})
    return file.finished()


@vector("good-start-unknown", "mode and capture flags not known, no Python "
        "version; unknown bits of the word are kept: R15")
def _():
    file = two(word=0x8000_0000, python=(0, 0, 0), interval=100)
    return file.finished()


@vector("good-deep", "a stack of 5000 frames: R13")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, *[0, 1] * 2500), {A: 0}, (1, 1, 1))
    return file.finished()


@vector("good-times", "a sample after more than 2^32 microseconds; times "
        "that do not move")
def _():
    file = small()
    late = 1 << 40
    file.segment(file.full(A, late, 4, 0) + file.repeat(A, (0, 4), (0, 5)),
                 {A: 0}, (late, late, 3))
    return file.finished()


# --- files as CPython writes them


def stock(order="<", **options):
    file = small(order, **options)
    records = (file.full(A, 10, 37, 1, 0) + file.repeat(A, (7, 36)) +
               file.full(B, 9, 4) + file.suffix(B, 1, 4, 0, 1))
    return file, records


@vector("good-stock-raw", "a file of CPython without compression: R3")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2, file.statistics((1.5, 1000.0, 0.5, 2.0)))


@vector("good-stock-raw-be", "the same of a big-endian machine: R1, R3")
def _():
    file, records = stock(">", compression=0)
    return file.plain(records, 4, 2, file.statistics((1.5, 1000.0, 0.5, 2.0)))


@vector("good-stock-zstd", "a file of CPython, one zstd frame: R3")
def _():
    file, records = stock()
    return file.plain(zstd_frame(records), 4, 2,
                      file.statistics((1.5, 1000.0, 0.0, 0.0), known=0))


@vector("good-stock-unsized", "its zstd frame without content size and with "
        "no checkpoint after it, as a stream has it: R3")
def _():
    file, records = stock()
    return file.plain(zstd_frame(records, sized=False), 4, 2,
                      file.statistics())


@vector("good-stock-stats-32", "statistics of 32 bytes: R3")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2, file.statistics_short(1.5, 1000.0))


@vector("good-stock-no-stats", "no statistics: R3")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2)


@vector("good-stock-more-bytes", "unknown bytes before the statistics: R3")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2, b"of a later version" +
                      file.statistics((1.5, 1000.0, 0.5, 2.0)))


@vector("good-stock-skippable", "skippable frames of somebody else between "
        "zstd frames: R3")
def _():
    file, records = stock()
    cut = len(records) - 20
    region = (zstd_frame(records[:cut]) + skippable(b"note", 3) +
              skippable(b"not a checkpoint of this format" * 2) +
              zstd_frame(records[cut:]))
    return file.plain(region, 4, 2, file.statistics())


@vector("good-stock-no-samples", "a recording of nothing: R3")
def _():
    return File(compression=0).plain(b"", 0, 0)


# --- cut files


@vector("bad-cut-open", "never finished, cut at a segment's border: R5")
def _():
    return three().unfinished()


@vector("bad-cut-data", "cut in the second data frame: R5")
def _():
    file = three()
    return file.unfinished()[:64 + len(file.region()) -
                             len(file.segments[1][1]) - 9]


@vector("bad-cut-checkpoint", "cut in the second checkpoint: R5")
def _():
    return three().unfinished()[:-5]


@vector("bad-cut-first", "cut in the first checkpoint: no sample is whole: R5")
def _():
    return two().unfinished()[:-1]


@vector("bad-cut-header-only", "a header and nothing else: R5")
def _():
    return two().unfinished()[:64]


@vector("bad-cut-in-header", "the first 11 bytes: R5")
def _():
    return two().unfinished()[:11]


@vector("bad-cut-finished", "a finished file without its last byte: every "
        "segment is whole: R5")
def _():
    return three().finished()[:-1]


@vector("bad-cut-stock", "a file of CPython without its end: R2, R3")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2, file.statistics())[:-40]


# --- foreign files


@vector("bad-foreign-empty", "no byte: R2")
def _():
    return b""


@vector("bad-foreign-text", "a text: R2")
def _():
    return b"This is a text.\n" * 20


@vector("bad-foreign-zeros", "64 zeros, as an aborted CPython leaves it: R2")
def _():
    return bytes(64)


# --- damaged files


def flipped(data, at, bit=0):
    data = bytearray(data)
    data[at] ^= 1 << bit
    return bytes(data)


@vector("bad-header-bit", "a bit of the start time is wrong: R4")
def _():
    return flipped(three().finished(), 12)


@vector("bad-open-header-bit", "the same, never finished: R4")
def _():
    return flipped(three().unfinished(), 12)


@vector("bad-data-bit", "a bit in the first data frame: the other segment is "
        "emitted: R4, R6")
def _():
    return flipped(three().finished(), 64 + 15)


@vector("bad-open-data-bit", "the same, never finished: R4, R6")
def _():
    return flipped(three().unfinished(), 64 + 15)


@vector("bad-checkpoint-bit", "a bit in the first checkpoint: R4, R6")
def _():
    file = three()
    return flipped(file.finished(), 64 + len(file.segments[0][0]) + 60)


@vector("bad-open-checkpoint-bit", "the same, never finished: the names of "
        "the first segment are lost, the second uses them: R4, R6")
def _():
    file = three()
    return flipped(file.unfinished(), 64 + len(file.segments[0][0]) + 60)


@vector("bad-open-checkpoint-magic", "a bit in the first checkpoint's inner "
        "magic, never finished: R4, R6")
def _():
    file = three()
    return flipped(file.unfinished(), 64 + len(file.segments[0][0]) + 9)


@vector("bad-table-bit", "a bit in a name of the string table: R4")
def _():
    file = three()
    return flipped(file.finished(), 64 + len(file.region()) + 1)


@vector("bad-index-bit", "a bit in the index: R4")
def _():
    return flipped(three().finished(), -88 - 30)


@vector("bad-index-magic", "a bit in the index' last magic: R4")
def _():
    return flipped(three().finished(), -88 - 1)


@vector("bad-statistics-bit", "a bit in the statistics: R4")
def _():
    return flipped(three().finished(), -88)


@vector("bad-statistics-magic", "a bit in TACHSTAT: R4")
def _():
    return flipped(three().finished(), -48)


@vector("bad-footer-bit", "a bit in the footer's file size: R4")
def _():
    return flipped(three().finished(), -20)


@vector("bad-trailing-byte", "one byte after the footer: R4")
def _():
    return three().finished() + b"\0"


@vector("bad-no-index", "finished, but somebody took the index away: R4")
def _():
    return three().finished(index=False)


def damaged_records(records, samples=1):
    """A segment whose checksums are right and whose records are not."""
    def make():
        file = small()
        file.segment(records(file), {A: 0}, (1, 1, samples))
        return file.finished()
    return make


for _name, _shows, _records in (
        ("kind-4", "an unknown record kind", lambda f: f.begin(A, 4) + b"\1"),
        ("record-short", "a record of 12 bytes",
         lambda f: f.full(A, 1, 4, 0) + f.begin(A, 0)[:12]),
        ("repeat-0", "a REPEAT of no sample",
         lambda f: f.full(A, 1, 4, 0) + f.repeat(A)),
        ("repeat-count", "a REPEAT of 2^31 samples in two bytes: R9",
         lambda f: f.begin(A, 0) + varint(1 << 31) + b"\1\4"),
        ("depth", "a stack of 2^32 - 1 frames in one byte: R9",
         lambda f: f.begin(A, 1) + b"\1\4" + varint((1 << 32) - 1) + b"\0"),
        ("shared", "SUFFIX shares more frames than there are",
         lambda f: f.full(A, 1, 4, 0) + f.suffix(A, 0, 4, 2, 1)),
        ("pop", "POP_PUSH removes more frames than there are",
         lambda f: f.full(A, 1, 4, 0) + f.pop_push(A, 0, 4, 2, 1)),
        ("frame-id", "a frame id beyond the table",
         lambda f: f.full(A, 1, 4, 2)),
        ("varint-11", "a varint of eleven bytes",
         lambda f: f.begin(A, 1) + b"\x81" + b"\x80" * 9 + b"\0\4\1\0"),
        ("varint-65", "a varint above 2^64",
         lambda f: f.begin(A, 1) + b"\xff" * 9 + b"\2\4\1\0"),
        ("varint-33", "a frame id above 2^32",
         lambda f: f.begin(A, 1) + b"\1\4\1" + varint(1 << 32)),
        ("time", "times that pass 2^64",
         lambda f: f.full(A, (1 << 64) - 1, 4, 0) + f.repeat(A, (1, 4))),
        ("thread", "a thread that the bases do not name",
         lambda f: f.full(A, 1, 4, 0) + f.full(B, 1, 4, 0))):
    vector("bad-inside-" + _name, _shows)(damaged_records(_records))


@vector("bad-inside-span", "another number of samples than the checkpoint says")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 2))
    return file.finished()


@vector("bad-samples", "another number of samples than the header says")
def _():
    return two().finished(samples=3)


@vector("bad-reserved", "the reserved byte of a checkpoint is 1")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 checkpoint={"reserved": 1})
    return file.finished()


@vector("bad-index-reserved", "a reserved byte of the index is 1")
def _():
    return two().finished(reserved=1)


@vector("bad-body-size", "a body of 256 MiB and one byte: R9")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 checkpoint={"size": (256 << 20) + 1})
    return file.finished()


@vector("bad-inside-body-count", "2^62 strings in some bytes: R9")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 typed(0x41, varints(2, 1 << 62) + b"\1x"))
    return file.finished()


@vector("bad-inside-bomb", "a data frame that claims a content of 4 GiB: R9")
def _():
    file = small()
    records = file.full(A, 1, 4, 0)
    file.segment(records, {A: 0}, (1, 1, 1),
                 frame=zstd_frame(records, size=0xFFFFFFFF))
    return file.finished()


@vector("bad-string-id", "a frame whose name is beyond the string table")
def _():
    file = small()
    file.frame(0, 99)
    file.segment(file.full(A, 1, 4, 2), {A: 0}, (1, 1, 1))
    return file.finished()


@vector("bad-number", "the second segment is named as the third")
def _():
    file = two()
    file.segment(file.full(A, 3, 37, 0), {A: 17}, (20, 20, 1),
                 checkpoint={"number": 2})
    return file.finished()


@vector("bad-foreign-checkpoint", "a checkpoint of another file: R4")
def _():
    file = two()
    file.segment(file.full(A, 3, 37, 0), {A: 17}, (20, 20, 1),
                 checkpoint={"first": 64})
    return file.finished()


@vector("bad-stock-strings", "a file of CPython with 2^32 - 1 strings: R9")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2, strings=0xFFFFFFFF)


@vector("bad-stock-frames", "a file of CPython with 2^28 frames: R9")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2, frames=1 << 28)


@vector("bad-stock-samples", "a file of CPython, other counts than declared")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 5, 2)


@vector("bad-stock-threads", "a file of CPython with more threads than it "
        "declares")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 1)


@vector("bad-stock-trailing", "bytes after a whole file of CPython")
def _():
    file, records = stock(compression=0)
    return file.plain(records, 4, 2, file.statistics()) + b"more"


@vector("bad-stock-offsets", "a table offset after the end of the file")
def _():
    file, records = stock(compression=0)
    data = bytearray(file.plain(records, 4, 2))
    struct.pack_into("<Q", data, 48, len(data) + 1)
    return bytes(data)


@vector("bad-stock-early", "the layout of an early 3.15, four bytes shorter "
        "under the same version: R2")
def _():
    file, records = stock(compression=0)
    data = bytearray(file.plain(records, 4, 2))
    samples, threads, strings, frames = struct.unpack_from("<QI2Q", data, 28)
    struct.pack_into("<IIQQI", data, 28, samples, threads, strings, frames, 0)
    return bytes(data)


# --- files for a newer reader


@vector("unsupported-version", "version 2 of the format: R8")
def _():
    return two(version=2).finished()


@vector("unsupported-critical", "an unknown critical record: R8")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1), typed(0x7F, b"x"))
    return file.finished()


@vector("unsupported-checkpoint", "a checkpoint for readers of version 2: R8")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 checkpoint={"read": 2})
    return file.finished()


@vector("unsupported-flags", "a checkpoint flag that nobody knows: R8")
def _():
    file = small()
    file.segment(file.full(A, 1, 4, 0), {A: 0}, (1, 1, 1),
                 checkpoint={"flags": 4})
    return file.finished()


@vector("unsupported-index", "an index for readers of version 2: R8")
def _():
    return two().finished(read=2)


@vector("unsupported-compression", "a file of CPython's with compression 2: "
        "R8")
def _():
    file, records = stock(compression=2)
    return file.plain(records, 4, 2, file.statistics())


def expected(data):
    """(suffix, text): canonical JSON lines, or the answer's name."""
    try:
        return ".json", decoder.decode(data).json()
    except decoder.Fault as fault:
        return ".err", type(fault).__name__.lower() + "\n"


README = """# Test vectors

Small files of the format (../format.md), each showing one thing. NAME.json beside NAME.bin is the profile that every
reader finds in it, as the canonical JSON lines below (tests/interop/canon.py); NAME.err is the answer of a reader that finds
none: foreign, newer, cut or damaged. Of bad-inside-*, whose checksums are right and whose content is not, a reader may
emit more: all before the fault. Letters with numbers are duties of the specification's conformance section.

tests/interop/make_vectors.py makes them, but for good-cpython-*, which CPython wrote. Old vectors are never made
again, only added to.

## The canonical form

One JSON value a line, in this order. Bytes stand as one character a byte (Latin-1). KEY of a thread is [id, interpreter], with
the process after them if it is not process 0; counters of a process have thread 0 and interpreter 4294967295.

| line | one for |
|---|---|
| {"state": WORD, "samples": N} | the file: the state of 7.6, the samples that are emitted |
| {"start": {...}} | the header: start_us, interval_us, python [major, minor, micro], mode (255: not known), capture |
| {"meta": [key, value]} | each metadata pair, in order of the keys' bytes |
| {"string": text}, {"frame": [file, function, line, end line, column, end column, first line, opcode]} | each, in order of the ids |
| {"process": [index, ...]} | each process of which more is known than the header says, with the fields of PROCESSES |
| {"rate": [process, time, interval]} | each change of the interval |
| {"thread": KEY, "main": 0 or 1, "name": text} | each thread, in order of KEY |
| {"stack": [frame ids, innermost first], "samples": [[time, status], ...]} | after its thread: each run of samples with equal stacks |
| {"count": [...KEY, kind, [[time, value], ...]]} | each counter |
| {"gc": [...]}, {"task": [...]}, {"mark": [process, kind, time, end, text]} | each, with the fields of 5.3 |
| {"stats": [duration, rate, error, missed, which are known]} | the statistics, if the file has them |

| file | shows |
|---|---|
"""

# not made here: CPython's own
RECORDED = {
    "good-cpython-3.15.2-raw": "written by CPython 3.15.2's BinaryWriter, "
                               "compression none: R3",
    "good-cpython-3.15.2-zstd": "the same with zstd: R3",
}


def readme():
    rows = {name: shows for name, (shows, _) in MAKERS.items()} | RECORDED
    return README + "".join(f"| {name} | {rows[name]} |\n"
                            for name in sorted(rows))


def main(folder):
    for name, (_, make) in MAKERS.items():
        path = os.path.join(folder, name)
        if os.path.exists(path + ".bin"):
            continue
        data = make()
        suffix, text = expected(data)
        with open(path + ".bin", "wb") as file:
            file.write(data)
        with open(path + suffix, "w", encoding="ascii") as file:
            file.write(text)
    with open(os.path.join(folder, "README.md"), "w",
              encoding="utf-8") as file:
        file.write(readme())


if __name__ == "__main__":
    main(*sys.argv[1:] or [os.path.join(os.path.dirname(__file__),
                                        "../../spec/vectors")])
