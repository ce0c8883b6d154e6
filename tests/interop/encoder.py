"""Profile files made by hand, from spec/format.md alone: for vectors, so that
each byte can be chosen, also a wrong one.

zstd frames are made of raw blocks: no compressor, the same bytes for ever,
and readable in a hexdump.  Section numbers are the specification's.
"""

import struct

from xxh64 import xxh64

REPEAT, FULL, SUFFIX, POP_PUSH = range(4)
STRINGS, FRAMES, BASES, SPAN, HEADER = range(0x41, 0x46)
THREADS, META, COUNTS, GC, TASKS, MARKS, PROCESSES, RATES = range(0x06, 0x0E)
PROCESS = (0, 0xFFFFFFFF)


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def varints(*values):
    return b"".join(map(varint, values))


def svarint(value):
    return varint(value << 1 if value >= 0 else (-value << 1) - 1)


def string(data):
    return varint(len(data)) + data


def zstd_frame(content, size=None, check=None, sized=True):
    """RFC 8878 3.1.1: a frame of raw blocks with content size and checksum;
    the size (or its absence) and checksum can be chosen wrong."""
    size = len(content) if size is None else size
    if check is None:
        check = xxh64(content) & 0xFFFFFFFF
    out = struct.pack("<I", 0xFD2FB528)
    if sized:
        out += struct.pack("<BI", 0xA4, size)
    else:
        out += struct.pack("<BB", 0x04, 7 << 3)  # a window of 128 KiB
    pieces = [content[i:i + 0x20000]
              for i in range(0, len(content), 0x20000)] or [b""]
    for i, piece in enumerate(pieces):
        last = i == len(pieces) - 1
        out += (last | len(piece) << 3).to_bytes(3, "little") + piece
    return out + struct.pack("<I", check)


def skippable(content, number=11):
    return struct.pack("<II", 0x184D2A50 + number, len(content)) + content


def frame_entry(file, func, line=-1, end_line=None, column=-1,
                end_column=None, opcode=255):
    """4.4"""
    to_end = 0 if end_line is None or line == -1 else end_line - line
    to_column = (0 if end_column is None or column == -1
                 else end_column - column)
    return (varints(file, func) + svarint(line) + svarint(to_end) +
            svarint(column) + svarint(to_column) + bytes([opcode]))


def typed(kind, content):
    return bytes([kind]) + string(content)


class File:
    """A file of segments in either byte order."""

    def __init__(self, order="<", version=1, start=1000000, interval=1000,
                 python=(3, 15, 2), word=0x49, compression=1):
        self.order, self.version, self.start = order, version, start
        self.interval, self.python, self.word = interval, python, word
        self.compression = compression
        self.strings, self.frames = [], []  # encoded
        self.said = [0, 0]  # how many of them are in checkpoints
        self.segments = []  # (data frame, checkpoint)
        self.rows = []  # of the index
        self.samples, self.threads = 0, set()
        self.first = 0  # the checksum of checkpoint 0

    def pack(self, letters, *values):
        return struct.pack(self.order + letters, *values)

    def name(self, data):
        self.strings.append(string(data))
        return len(self.strings) - 1

    def frame(self, *args, first_line=0, **kwargs):
        self.frames.append((frame_entry(*args, **kwargs), varint(first_line)))
        return len(self.frames) - 1

    def header(self, samples=0, threads=0, strings=0, frames=0):
        return self.pack("II4BQQQIQQII", 0x54414348, self.version,
                         *self.python, 0, self.start, self.interval, samples,
                         threads, strings, frames, self.compression,
                         self.word)

    # 4.2: records of one thread

    def begin(self, thread, kind):
        return self.pack("QIB", *thread, kind)

    def repeat(self, thread, *samples):
        return (self.begin(thread, REPEAT) + varint(len(samples)) +
                b"".join(varint(d) + bytes([s]) for d, s in samples))

    def full(self, thread, delta, status, *ids):
        return (self.begin(thread, FULL) + varint(delta) + bytes([status]) +
                varints(len(ids), *ids))

    def suffix(self, thread, delta, status, shared, *ids):
        return (self.begin(thread, SUFFIX) + varint(delta) +
                bytes([status]) + varints(shared, len(ids), *ids))

    def pop_push(self, thread, delta, status, pop, *ids):
        return (self.begin(thread, POP_PUSH) + varint(delta) +
                bytes([status]) + varints(pop, len(ids), *ids))

    # 5: segments

    def body(self, bases, span, records=0):
        """All that is new since the last checkpoint, in the order of 5.3:
        [(type, content)]."""
        out = []
        if not self.segments:
            out.append((HEADER, self.header()))
        s, f = self.said
        if s < len(self.strings):
            out.append((STRINGS, varints(s, len(self.strings) - s) +
                        b"".join(self.strings[s:])))
        if f < len(self.frames):
            out.append((FRAMES, varints(f, len(self.frames) - f) +
                        b"".join(a + b for a, b in self.frames[f:])))
        self.said = [len(self.strings), len(self.frames)]
        out.append((BASES, varint(len(bases)) + b"".join(
            varints(*ref, base) for ref, base in bases.items())))
        self.samples += span[2]
        self.threads |= set(bases)
        out.append((SPAN, varints(*span, self.samples, len(self.threads),
                                  records)))
        return out

    def checkpoint(self, frame, body, flags=0, read=1, rewrite=1, reserved=0,
                   size=None, **wrong):
        """5.2; flags bit 0 compresses the body."""
        out = b"PRCK" + bytes([read, rewrite, flags, reserved]) + bytes(8)
        out += self.pack("II", wrong.get("number", len(self.segments)),
                         len(body) if size is None else size)
        out += self.pack("QQQ", wrong.get("first", self.first),
                         wrong.get("length", len(frame)), xxh64(frame))
        pack = wrong.get("packed", zstd_frame)
        out += pack(body) if flags & 1 else body
        out = self.seal(bytearray(skippable(out)), 16)
        if not self.segments:
            self.first, = struct.unpack_from(self.order + "Q", out, 16)
        return out

    def seal(self, data, at):
        """Put the XXH64 of `data`, whose 8 bytes at `at` are 0, there."""
        data[at:at + 8] = bytes(8)
        data[at:at + 8] = self.pack("Q", xxh64(data))
        return bytes(data)

    def segment(self, records=b"", bases=None, span=(0, 0, 0), extra=b"",
                frame=None, checkpoint=None, edit=lambda parts: parts,
                packed=None):
        """Add a segment: its records, {ref: base}, (first, last, samples),
        more typed records; or a chosen data frame, checkpoint options, a
        function that changes the body's list of records, one that compresses
        the body.
        Without records the frame is as 5.1 wants it."""
        if frame is None:
            frame = zstd_frame(records, sized=bool(records))
        parts = self.body(bases or {}, span, len(records))
        body = b"".join(typed(*part) for part in edit(parts)) + extra
        options = checkpoint or {}
        if packed:
            options = {"flags": 1, "packed": packed}
        self.add(frame, self.checkpoint(frame, body, **options), span)

    def add(self, frame, checkpoint, span=(0, 0, 0)):
        self.segments.append((frame, checkpoint))
        self.rows.append((len(frame), len(checkpoint), span[0],
                          span[1] - span[0], span[2]))

    def region(self):
        return b"".join(d + c for d, c in self.segments)

    # the end: 4.3 to 4.6 and 6

    def tables(self):
        return (b"".join(self.strings), b"".join(a for a, _ in self.frames))

    def statistics(self, values=(0.0, 0.0, 0.0, 0.0), known=3):
        return self.pack("4dII8sII", *values, known, 0, b"TACHSTAT", 1, 56)

    def statistics_short(self, duration, rate):
        return self.pack("2d8sII", duration, rate, b"TACHSTAT", 1, 32)

    def footer(self, before, strings=None, frames=None):
        return self.pack(
            "IIQ16x", len(self.strings) if strings is None else strings,
            len(self.frames) if frames is None else frames, before + 32)

    def index(self, header, tables, end, read=1, rewrite=1, reserved=0):
        """6"""
        out = b"PRIX" + bytes([read, rewrite, 0, reserved]) + bytes(8)
        out += self.pack("3Q", xxh64(header), xxh64(tables), xxh64(end))
        out += varint(len(self.rows)) + b"".join(
            varints(*row) for row in self.rows)
        out += self.pack("Q8s", len(out) + 16, b"PYRECIDX")
        return self.seal(bytearray(out), 8)

    def unfinished(self):
        return self.header() + self.region()

    def finished(self, index=True, samples=None, edits=None, **options):
        """edits: functions that change the bytes of the header, the tables
        or the end before the index takes their checksums."""
        edit = {part: lambda data: data for part in ("header", "tables",
                                                     "end")} | (edits or {})
        region, (strings, frames) = self.region(), self.tables()
        at = 64 + len(region)
        samples = self.samples if samples is None else samples
        header = edit["header"](self.header(
            samples, len(self.threads), at, at + len(strings)))
        tables = edit["tables"](strings + frames)
        out = header + region + tables
        stats = self.statistics()
        place = len(self.index(header, b"", b"")) if index else 0
        end = edit["end"](
            stats + self.footer(len(out) + place + len(stats)))
        if index:
            out += self.index(header, tables, end, **options)
        return out + end

    def plain(self, region, samples, threads, stats=b"", **footer):
        """A file as CPython writes it: the sample region as it is."""
        strings, frames = self.tables()
        at = 64 + len(region)
        out = (self.header(samples, threads, at, at + len(strings)) + region +
               strings + frames + stats)
        return out + self.footer(len(out), **footer)
