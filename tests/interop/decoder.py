#!/usr/bin/env python3
"""A second decoder of profile files, written from spec/format.md alone.

    decoder.py FILE     the profile as canonical JSON lines (canon.py)

Standard library and the zstd program only; clear before fast, whole file in
memory.  Exit status 0 finished, 3 cut or damaged, 1 anything else, with one
line on stderr that says what is wrong.  Section numbers are the
specification's.
"""

import struct
import subprocess
import sys
import tempfile

from canon import (MODE_UNKNOWN, PROCESS, Process, Profile, Thread,
                   thread_key)
from xxh64 import xxh64

SKIPPABLE = 0x184D2A5B
MAX_BODY = 256 << 20
NO_LINE = -1
REPEAT, FULL, SUFFIX, POP_PUSH = range(4)


class Fault(Exception):
    """What is wrong with a file; the class name is the answer's name."""


class Foreign(Fault):
    """Not a profile."""


class Newer(Fault):
    """Needs a newer reader."""


class Cut(Fault):
    """Ends too early."""


class Damaged(Fault):
    """Wrong inside."""


class Cursor:
    """Bounded bytes with the notation of section 2."""

    def __init__(self, data, order):
        self.data, self.order, self.at = data, order, 0

    def left(self):
        return len(self.data) - self.at

    def bytes(self, n):
        if n > self.left():
            raise Damaged(f"{n} bytes wanted, {self.left()} left")
        self.at += n
        return bytes(self.data[self.at - n:self.at])

    def fixed(self, letters):
        letters = self.order + letters
        return struct.unpack(letters, self.bytes(struct.calcsize(letters)))

    def u8(self):
        return self.bytes(1)[0]

    def varint(self, bits=64):
        value = 0
        for shift in range(0, 70, 7):
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise Damaged("a varint of more than ten bytes")
        if value >> bits:
            raise Damaged(f"a varint above {bits} bits")
        return value

    def svarint(self):
        value = self.varint(32)
        return value >> 1 ^ -(value & 1)

    def string(self):
        return self.bytes(self.varint())

    def count(self, least):
        """A count of things of at least `least` bytes each."""
        n = self.varint()
        if n * least > self.left():
            raise Damaged(f"{n} things cannot be in {self.left()} bytes")
        return n


def unzstd(data, limit):
    """One or more zstd frames, decompressed: at most `limit` bytes."""
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        with subprocess.Popen(["zstd", "-dcq"], stdin=file,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as zstd:
            out = zstd.stdout.read(limit + 1)
            if len(out) > limit:
                zstd.kill()
    if zstd.returncode:
        raise Damaged("zstd does not decompress it")
    return out


def zstd_frame_end(data, at):
    """Where the zstd data frame at `at` ends and its content size (or None),
    by its block headers (RFC 8878 3.1.1)."""
    cursor = Cursor(memoryview(data)[at:], "<")
    try:
        magic, descriptor = cursor.fixed("IB")
        single = descriptor >> 5 & 1
        if magic != 0xFD2FB528:
            raise Damaged("no zstd frame here")
        cursor.bytes((0 if single else 1) + (0, 1, 2, 4)[descriptor & 3])
        size_flag = descriptor >> 6
        width = (single, 2, 4, 8)[size_flag]
        size = int.from_bytes(cursor.bytes(width), "little") if width else None
        if width == 2:
            size += 256
        last = 0
        while not last:
            header = int.from_bytes(cursor.bytes(3), "little")
            last, kind, length = header & 1, header >> 1 & 3, header >> 3
            if kind == 3:
                raise ValueError("reserved block type")
            cursor.bytes(1 if kind == 1 else length)
        cursor.bytes(4 if descriptor & 4 else 0)
    except Damaged as fault:
        if "wanted" in str(fault):
            raise Cut("a zstd frame has no end") from None
        raise
    except ValueError as fault:
        raise Damaged(str(fault)) from None
    return at + cursor.at, size


class Header:
    """4.1"""

    def __init__(self, data):
        order = {b"HCAT": "<", b"TACH": ">"}.get(bytes(data[:4]))
        if order is None:
            raise Foreign("no magic")
        if len(data) >= 8:
            self.version, = struct.unpack_from(order + "I", data, 4)
            if self.version > 1:
                raise Newer(f"version {self.version}")
        if len(data) < 64:
            raise Cut("the header is not whole")
        (_, self.version, *python, _, self.start, self.interval, self.samples,
         self.threads, self.strings, self.frames, self.compression,
         self.word) = struct.unpack_from(order + "II4B3QI2Q2I", data)
        self.python, self.order, self.raw = python, order, bytes(data[:64])
        if self.version != 1:
            raise Damaged(f"version {self.version}")

    def told(self):
        """The profile's start; 4.1 byte 60."""
        mode = self.word & 7
        return {"start_us": self.start, "interval_us": self.interval,
                "python": self.python,
                "mode": mode - 1 if 1 <= mode <= 5 else MODE_UNKNOWN,
                "capture": self.word & ~7}


class State:
    """A thread while records are read: its stack and clock."""

    def __init__(self, base=0):
        self.stack, self.time = (), base


class Records:
    """4.2: the effect of records on threads; each run goes to tell()."""

    def __init__(self, order, names, tell):
        self.order, self.names, self.tell = order, names, tell
        self.states = {}
        self.order_seen = {}

    def state(self, key):
        if key not in self.states:
            self.states[key] = State()
        self.order_seen.setdefault(key)
        return self.states[key]

    def read(self, data):
        cursor = Cursor(memoryview(data), self.order)
        while cursor.left():
            tid, interp, kind = cursor.fixed("QIB")
            key = tid, interp
            state = self.state(key)
            if kind == REPEAT:
                n = cursor.count(2)
                if not n:
                    raise Damaged("a REPEAT of nothing")
                self.tell(key, state.stack,
                          [self.sample(cursor, state) for _ in range(n)])
            elif kind <= POP_PUSH:
                sample = self.sample(cursor, state)
                state.stack = self.stack(cursor, kind, state.stack)
                self.tell(key, state.stack, [sample])
            else:
                raise Damaged(f"record kind {kind}")

    def sample(self, cursor, state):
        state.time += cursor.varint()
        if state.time >> 64:
            raise Damaged("a time above 64 bits")
        return state.time, cursor.u8()

    def stack(self, cursor, kind, old):
        keep = 0
        if kind != FULL:
            keep = cursor.varint(32)
            if keep > len(old):
                raise Damaged(f"{keep} frames of {len(old)}")
            if kind == POP_PUSH:
                keep = len(old) - keep
        ids = tuple(cursor.varint(32) for _ in range(cursor.count(1)))
        if not all(self.names.known(self.names.frames, i) for i in ids):
            raise Damaged("a frame id beyond the frame table")
        return ids + old[len(old) - keep:]


def read_frame(cursor, names):
    """4.4: (file, func, line, end_line, column, end_column, opcode)."""
    file, func = cursor.varint(32), cursor.varint(32)
    line, to_end = cursor.svarint(), cursor.svarint()
    column, to_column = cursor.svarint(), cursor.svarint()
    opcode = cursor.u8()
    if not (names.known(names.strings, file) and
            names.known(names.strings, func)):
        raise Damaged("a string id beyond the string table")
    end = NO_LINE if line == NO_LINE else line + to_end
    end_column = NO_LINE if column == NO_LINE else column + to_column
    for number in (end, end_column):
        if not -1 << 31 <= number < 1 << 31:
            raise Damaged("a position beyond 31 bits")
    return file, func, line, end, column, end_column, opcode


class Names:
    """Strings and frames by id, in order of arrival.  A lost checkpoint
    leaves holes: then any id may be a name of it."""

    def __init__(self):
        self.strings, self.frames, self.first_line = {}, {}, {}
        self.holes = False
        self.identity = {}  # ref -> thread key, where they differ
        self.described = set()  # processes with a record of their own

    def identify(self, profile, ref, key):
        """What was told of the ref is of the key."""
        if self.identity.get(ref, ref) == key:
            return
        old = self.identity.get(ref, ref)
        self.identity[ref] = key
        if old in profile.threads:
            profile.threads[key] = profile.threads.pop(old)

    def known(self, table, i):
        return i in table or self.holes

    def put(self, table, first, things):
        """What a checkpoint adds; an id never changes its meaning."""
        for i, thing in enumerate(things, first):
            if table.setdefault(i, thing) != thing:
                raise Damaged("an id with two meanings")

    def from_tables(self, data, header, footer):
        """4.3, 4.4; returns where the frame table ends."""
        n_strings, n_frames = footer
        cursor = Cursor(memoryview(data)[header.strings:header.frames],
                        header.order)
        if n_strings > cursor.left():
            raise Damaged("more strings than the string table can hold")
        self.put(self.strings, 0, [cursor.string() for _ in range(n_strings)])
        if cursor.left():
            raise Damaged("bytes left after the string table")
        cursor = Cursor(memoryview(data)[header.frames:-32], header.order)
        if n_frames * 7 > cursor.left():
            raise Damaged("more frames than the frame table can hold")
        self.put(self.frames, 0, [read_frame(cursor, self)
                                  for _ in range(n_frames)])
        return header.frames + cursor.at

    def fill(self, profile):
        """Number all by arrival, in the stacks too; 7.6 step 4."""
        strings = {i: n for n, i in enumerate(self.strings)}
        frames = {i: n for n, i in enumerate(self.frames)}
        file, func = len(strings), len(strings) + 1
        profile.strings = list(self.strings.values())
        profile.frames = [
            (strings.get(f[0], file), strings.get(f[1], func), *f[2:6],
             self.first_line.get(i, 0), f[6]) for i, f in self.frames.items()]
        if self.holes:
            profile.strings += [b"~", b"<lost>"]
            profile.frames.append((file, func, -1, -1, -1, -1, 0, 255))
        for thread in profile.threads.values():
            runs, thread.runs = thread.runs, []
            for stack, samples in runs:
                thread.add(tuple(frames.get(i, len(frames)) for i in stack),
                           samples)


class Checkpoint:
    """5.2 and 5.3: one checkpoint, its body not yet read."""

    FIXED = "4s4BQII3Q"  # from offset 8

    def __init__(self, data, at, order):
        if len(data) - at < 8:
            raise Cut("no checkpoint follows the data frame")
        skippable, length = struct.unpack_from("<II", data, at)
        if skippable != SKIPPABLE or length < 48:
            raise Damaged(f"no checkpoint at byte {at}")
        if length > len(data) - at - 8:
            raise Cut("a checkpoint has no end")
        self.at, self.end, self.order = at, at + 8 + length, order
        frame = bytearray(data[at:self.end])
        (magic, read, _, self.flags, reserved, check, self.number, self.size,
         first, self.data_len, self.data_check) = struct.unpack_from(
             order + self.FIXED, frame, 8)
        self.data_at = at - self.data_len
        self.family = first if self.number else check
        frame[16:24] = bytes(8)
        if magic != b"PRCK":
            raise Damaged(f"a foreign skippable frame at byte {at}")
        if xxh64(frame) != check:
            raise Damaged(f"checkpoint at byte {at}: checksum")
        if read > 1 or self.flags & ~1:
            raise Newer(f"checkpoint at byte {at}")
        if reserved:
            raise Damaged("reserved byte")
        self.stored = bytes(frame[56:])

    def body(self):
        if self.size > MAX_BODY:
            raise Damaged("body above the limit")
        stored = self.stored
        if self.flags & 1:
            end, size = zstd_frame_end(stored, 0)
            if size != self.size or end != len(stored):
                raise Damaged("compressed body of another size")
            stored = unzstd(stored, self.size)
        if len(stored) != self.size:
            raise Damaged("body of another size")
        return stored


class Segment:
    """5.3: what one checkpoint says; its records are told by tell()."""

    def __init__(self, checkpoint, names, profile):
        self.checkpoint, self.names = checkpoint, names
        self.profile, self.header = profile, None
        self.bases, self.span = {}, None
        self.identity = names.identity
        cursor = Cursor(memoryview(checkpoint.body()), checkpoint.order)
        while cursor.left():
            kind, content = cursor.u8(), cursor.string()
            self.take(kind, Cursor(memoryview(content), checkpoint.order))
        if self.span is None:
            raise Damaged("a checkpoint without span")

    def take(self, kind, cursor):
        known = {0x41: self.on_strings, 0x42: self.on_frames,
                 0x43: self.on_bases, 0x44: self.on_span,
                 0x45: self.on_header, 0x06: self.on_threads,
                 0x07: self.on_meta, 0x08: self.on_counts, 0x09: self.on_gc,
                 0x0A: self.on_tasks, 0x0B: self.on_marks,
                 0x0C: self.on_processes, 0x0D: self.on_rates}
        if kind in known:
            known[kind](cursor)
        elif kind & 0x40:
            raise Newer(f"record type {kind:#x}")

    def ref(self, cursor):
        return cursor.varint(), cursor.varint(32)

    def on_strings(self, cursor):
        first, n = cursor.varint(32), cursor.count(1)
        self.names.put(self.names.strings, first,
                       [cursor.string() for _ in range(n)])

    def on_frames(self, cursor):
        first, n = cursor.varint(32), cursor.count(8)
        for i in range(first, first + n):
            frame = read_frame(cursor, self.names)
            self.names.put(self.names.frames, i, [frame])
            self.names.first_line[i] = cursor.varint(32)

    def on_bases(self, cursor):
        self.bases = {}
        for _ in range(cursor.count(3)):
            key = self.ref(cursor)
            if key in self.bases:
                raise Damaged("two bases of one thread")
            self.bases[key] = cursor.varint()

    def on_span(self, cursor):
        self.span = tuple(cursor.varint() for _ in range(6))

    def on_header(self, cursor):
        self.header = cursor.bytes(64)

    def process(self, index):
        """Every process that is named exists."""
        if index == PROCESS:
            raise Damaged("a process beyond the limit")
        return self.profile.processes.setdefault(index, Process())

    def on_threads(self, cursor):
        for _ in range(cursor.count(4)):
            ref, flags, name = self.ref(cursor), cursor.u8(), cursor.string()
            key = ref
            if flags & 2:
                process, tid = cursor.varint(32), cursor.varint()
                self.process(process)
                key = thread_key(process, tid, cursor.varint(32))
            self.names.identify(self.profile, ref, key)
            thread = self.profile.thread(*key)
            thread.main, thread.name = flags & 1, name

    def on_processes(self, cursor):
        for _ in range(cursor.count(12)):
            index = cursor.varint(32)
            numbers = [cursor.varint() for _ in range(4)]
            python = cursor.bytes(3)
            texts = [cursor.string() for _ in range(3)]
            pairs = [(cursor.string(), cursor.string())
                     for _ in range(cursor.count(2))]
            self.process(index)
            self.names.described.add(index)
            self.profile.processes[index] = Process(*numbers, python, *texts,
                                                    pairs)

    def on_rates(self, cursor):
        for _ in range(cursor.count(3)):
            rate = cursor.varint(32), cursor.varint(), cursor.varint()
            if not rate[2]:
                raise Damaged("a rate of nothing")
            self.process(rate[0])
            self.profile.rates.append(rate)

    def owner(self, ref):
        """The thread or process that a ref means, made known."""
        if ref[1] == PROCESS:
            self.process(ref[0])
            return ref
        key = self.identity.get(ref, ref)
        self.profile.thread(*key)
        return key

    def on_meta(self, cursor):
        for _ in range(cursor.count(2)):
            key = cursor.string()
            self.profile.meta[key] = cursor.string()

    def on_counts(self, cursor):
        time = cursor.varint()
        for _ in range(cursor.count(4)):
            key = (*self.owner(self.ref(cursor)), cursor.varint(32))
            self.profile.counts.setdefault(key, []).append(
                (time, cursor.varint()))

    def on_gc(self, cursor):
        for _ in range(cursor.count(11)):
            event = (*(cursor.varint(32) for _ in range(3)),
                     *(cursor.varint() for _ in range(8)))
            self.process(event[0])
            self.profile.gc.append(event)

    def on_tasks(self, cursor):
        for _ in range(cursor.count(6)):
            key, time = cursor.varint(), cursor.varint()
            ref, name = self.ref(cursor), cursor.string()
            parents = tuple(cursor.varint() for _ in range(cursor.count(1)))
            self.profile.tasks.append((key, time, self.owner(ref), name,
                                       parents))

    def on_marks(self, cursor):
        for _ in range(cursor.count(5)):
            mark = (cursor.varint(32), cursor.varint(32), cursor.varint(),
                    cursor.varint(), cursor.string())
            self.process(mark[0])
            self.profile.marks.append(mark)

    def tell(self, data):
        """Check and decode the records: all of them or, on a fault, none."""
        checkpoint = self.checkpoint
        frame = data[checkpoint.data_at:checkpoint.at]
        if checkpoint.data_len != len(frame) or \
                xxh64(frame) != checkpoint.data_check:
            raise Damaged(f"segment {checkpoint.number}: data checksum")
        end, size = zstd_frame_end(data, checkpoint.data_at)
        if size is None:
            size = 0  # 5.1: only a segment without records has no size
        if end != checkpoint.at or size != self.span[5]:
            raise Damaged(f"segment {checkpoint.number}: another data frame")
        told = []
        records = Records(checkpoint.order, self.names,
                          lambda *run: told.append(run))
        records.states = {k: State(base) for k, base in self.bases.items()}
        records.read(unzstd(frame, size))
        if list(records.order_seen) != list(self.bases):
            raise Damaged("other threads than the bases name")
        self.check_span(told)
        for key, stack, samples in told:
            self.profile.thread(*self.identity.get(key, key)).add(stack,
                                                                  samples)

    def check_span(self, told):
        times = [t for _, _, samples in told for t, _ in samples]
        want = (min(times, default=0), max(times, default=0), len(times))
        if self.span[:3] != want:
            raise Damaged("another span than the checkpoint says")


class Decoder:
    def __init__(self, data):
        self.data, self.header = data, Header(data)
        self.profile, self.names = Profile(), Names()
        self.profile.start = self.header.told()
        self.fault, self.end_wrong, self.family = None, False, None
        self.profile.processes[0] = Process()

    def note(self, fault):
        """The first fault is the answer; damage outranks a cut."""
        if self.fault is None or (isinstance(self.fault, Cut) and
                                  isinstance(fault, Damaged)):
            self.fault = fault

    def decode(self):
        index = self.find_index()
        if index:
            self.finished(index)
        elif self.header.strings and not self.next_checkpoint(64):
            self.plain()
        else:
            self.recover()
        self.fill()
        return self.profile

    def fill(self):
        self.names.fill(self.profile)
        if 0 not in self.names.described:
            self.profile.processes[0] = self.first_process()
        if self.fault:
            self.profile.state = type(self.fault).__name__.lower()

    def first_process(self):
        """5.5: the process of a file of one."""
        meta = self.profile.meta

        def number(key):
            value = meta.get(key, b"")
            n = int(value) if value.isdigit() else 0
            return 0 if n >> 64 else n

        return Process(number(b"pid"), number(b"process.parent"),
                       number(b"process.start_us"), number(b"process.end_us"),
                       self.profile.start["python"], meta.get(b"command", b""),
                       meta.get(b"host", b""), meta.get(b"process.scope", b""))

    # --- the end of a file: 4.5, 4.6

    def end(self, size=None):
        """(strings, frames, file size said), statistics or None, where the
        end begins; of the first `size` bytes."""
        size = len(self.data) if size is None else size
        if size < 96:
            raise Cut("no footer")
        footer = struct.unpack_from(self.header.order + "IIQ", self.data,
                                    size - 32)
        begin, stats = size - 32, None
        tag, version, length = struct.unpack_from(
            self.header.order + "8sII", self.data, begin - 16)
        if tag == b"TACHSTAT" and version == 1 and length in (32, 56):
            begin -= length
            values = struct.unpack_from(
                self.header.order + ("2d" if length == 32 else "4dII"),
                self.data, begin)
            stats = ((*values[:4], values[4] & 3) if length == 56 else
                     (*values, 0.0, 0.0, 0))
        return footer, stats, begin

    # --- files of CPython: 7.3

    def check_tables(self):
        """The header's offsets and the footer's size, before anything is
        read by them."""
        header, size = self.header, len(self.data)
        if not 64 <= header.strings <= header.frames <= size:
            early = struct.unpack_from(header.order + "II2QI", header.raw, 28)
            if 64 <= early[2] <= early[3] <= size and early[4] <= 1:
                raise Foreign("an early layout of CPython 3.15")
            if header.strings <= header.frames:
                raise Cut("the file ends before its tables")
            raise Damaged("tables out of order")
        end = self.footer_end()
        if end != size:
            self.note(Damaged("bytes behind the end"))
        footer, stats, begin = self.end(end)
        if header.frames > begin:
            raise Damaged("the frame table lies in the statistics")
        return footer[:2], stats, begin

    def footer_end(self):
        """Where the last footer ends that says that it ends there."""
        for end in range(len(self.data), self.header.frames + 31, -1):
            said, = struct.unpack_from(self.header.order + "Q", self.data,
                                       end - 24)
            if said == end:
                return end
        raise Cut("no footer")

    def plain(self):
        header = self.header
        if header.compression > 1:
            raise Newer(f"compression {header.compression}")
        if header.compression and (
                self.trace(64) or
                self.data.find(b"PYRECIDX", header.strings) >= 0):
            self.note(Damaged("no checkpoint is whole"))
        footer, self.profile.stats, begin = self.check_tables()
        if self.names.from_tables(self.data[:begin + 32], header,
                                  footer) > begin:
            raise Damaged("the frame table runs into the statistics")
        try:
            self.plain_records(self.data[64:header.strings])
            if self.profile.samples() != header.samples or \
                    len(self.profile.threads) != header.threads:
                raise Damaged("other counts than the header declares")
        except Damaged as fault:
            self.note(fault)

    def plain_records(self, region):
        def tell(key, stack, samples):
            if key not in self.profile.threads:
                main = samples[0][1] >> 5 & 1
                self.profile.threads[key] = Thread(main)
            self.profile.threads[key].add(stack, samples)

        if self.header.compression:
            region = unzstd(region, 1 << 30)
        Records(self.header.order, self.names, tell).read(region)

    # --- files with segments: sections 5 to 7

    def find_index(self):
        """6: (index, where it begins, where the end begins, where the file
        should end) or None."""
        at = self.data.rfind(b"PYRECIDX")
        begin = at + 8
        if at < 64 + 56 - 8 or begin + 88 > len(self.data):
            return None
        length, = struct.unpack_from(self.header.order + "Q", self.data,
                                     at - 8)
        if not 57 <= length <= begin - 64:
            return None
        index = bytearray(self.data[begin - length:begin])
        check, = struct.unpack_from(self.header.order + "Q", index, 8)
        index[8:16] = bytes(8)
        if index[:4] != b"PRIX" or xxh64(index) != check:
            return None
        if index[4] > 1:
            raise Newer("the index")
        return index, begin - length, begin, begin + 88

    def finished(self, found):
        index, index_at, begin, end = found
        header, data = self.header, self.data
        cursor = Cursor(memoryview(index)[:-16], header.order)
        *_, r0, r1 = cursor.fixed("4s4B")
        _, header_check, tables_check, end_check = cursor.fixed("4Q")
        if r0 or r1:
            self.note(Damaged("reserved bytes of the index"))
        if end != len(data):
            self.note(Damaged("bytes behind the end"))
        if xxh64(data[begin:end]) != end_check:
            self.note(Damaged("end: checksum"))
            self.end_wrong = True
        else:
            footer, self.profile.stats, _ = self.end(end)
        if xxh64(data[:64]) != header_check:
            self.note(Damaged("header: checksum"))
        elif xxh64(data[header.strings:index_at]) != tables_check:
            self.note(Damaged("tables: checksum"))
        elif not self.fault:
            try:
                self.names.from_tables(data[:end], header, footer[:2])
                return self.by_index(cursor)
            except Damaged as fault:
                self.note(fault)
        return self.recover()

    def by_index(self, cursor):
        at = 64
        for number in range(cursor.count(5)):
            frame, skip, first, span, n = (cursor.varint() for _ in range(5))
            try:
                checkpoint = self.checkpoint(at, at + frame, number)
                segment = Segment(checkpoint, self.names, self.profile)
                if checkpoint.end != at + frame + skip or \
                        segment.span[:3] != (first, first + span, n):
                    raise Damaged("index and checkpoint differ")
                segment.tell(self.data)
            except (Cut, Damaged) as fault:
                self.note(Damaged(*fault.args))
            at += frame + skip
        if at != self.header.strings or cursor.left():
            self.note(Damaged("the index does not fill the sample region"))
        if not self.fault and self.profile.samples() != self.header.samples:
            self.note(Damaged("other counts than the header declares"))

    def checkpoint(self, data_at, at, number):
        checkpoint = Checkpoint(self.data, at, self.header.order)
        self.family = self.family or checkpoint.family
        if checkpoint.number != number or checkpoint.data_at != data_at or \
                checkpoint.family != self.family:
            raise Damaged("a checkpoint of another place")
        return checkpoint

    def trace(self, at):
        """Where the next checkpoint seems to begin, or None."""
        skippable = struct.pack("<I", SKIPPABLE)
        while (at := self.data.find(skippable, at)) >= 0:
            length = int.from_bytes(self.data[at + 4:at + 8], "little")
            if self.data[at + 8:at + 12] == b"PRCK" and length >= 48:
                return at
            at += 1
        return None

    def next_checkpoint(self, at):
        """The first whole checkpoint at or behind `at`, or None."""
        while (at := self.trace(at)) is not None:
            try:
                return Checkpoint(self.data, at, self.header.order)
            except (Cut, Damaged):
                at += 1
        return None

    def recover(self):
        """7.6: what is whole, checkpoint by checkpoint."""
        at, number, size = 64, 0, len(self.data)
        while at < size and at != self.header.strings:
            try:
                end, _ = zstd_frame_end(self.data, at)
                checkpoint = self.checkpoint(at, end, number)
            except (Cut, Damaged) as fault:
                checkpoint = self.next_checkpoint(at)
                self.note(Damaged(*fault.args) if checkpoint else fault)
                if not checkpoint:
                    break
                self.names.holes = True
            self.recover_segment(checkpoint)
            at, number = checkpoint.end, checkpoint.number + 1
        if at == 64:
            raise self.fault or Cut("no whole segment")
        self.note(self.judge_end(at))

    def judge_end(self, at):
        """7.6 steps 6 and 7, when nothing was wrong up to `at`."""
        if not self.header.strings:
            return Cut("never finished")
        try:
            footer, stats, _ = self.end()
        except Fault:
            return Cut("the file ends in its tables")
        if at != self.header.strings or footer[2] != len(self.data):
            return Cut("the file ends before its end")
        if not self.end_wrong:
            self.profile.stats = stats
        return Damaged("the index")

    def recover_segment(self, checkpoint):
        try:
            segment = Segment(checkpoint, self.names, self.profile)
            if checkpoint.number == 0:
                self.check_header(segment.header)
            segment.tell(self.data)
        except (Cut, Damaged) as fault:
            self.note(Damaged(*fault.args))

    def check_header(self, first):
        """The copy in segment 0 is right where the header is not."""
        if first is None:
            raise Damaged("segment 0 has no header")
        header = bytearray(self.header.raw)
        if self.header.strings:  # what was not known at first
            header[28:56] = bytes(28)
        if first != header:
            self.note(Damaged("the header differs from its copy"))
            self.header = Header(first)
            self.profile.start = self.header.told()


def decode(data):
    """The profile in `data`; Foreign and Newer, and a Cut or Damaged file
    without any whole part, raise."""
    return Decoder(data).decode()


def segments(data):
    """(end of its checkpoint, SPAN) of each segment from the first one on, up
    to one that is not whole."""
    order, names, at = Header(data).order, Names(), 64
    while True:
        try:
            end, _ = zstd_frame_end(data, at)
            checkpoint = Checkpoint(data, end, order)
        except Fault:
            return
        yield checkpoint.end, Segment(checkpoint, names, Profile()).span
        at = checkpoint.end


def main(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        profile = decode(data)
    except Fault as fault:
        name = type(fault).__name__.lower()
        print(f"decoder: {path}: {name}: {fault}", file=sys.stderr)
        return 3 if isinstance(fault, (Cut, Damaged)) else 1
    sys.stdout.write(profile.json())
    return 0 if profile.state == "finished" else 3


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
