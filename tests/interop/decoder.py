#!/usr/bin/env python3
"""A second decoder of profile files, written from spec/format.md alone.

    decoder.py FILE     the profile as canonical JSON lines (canon.py)

Standard library and the zstd program only; clear before fast, whole file in
memory.  Exit status 0 finished, 3 cut or damaged, 1 anything else, with one
line on stderr that names the fault.  Section numbers are the
specification's.
"""

import struct
import subprocess
import sys
import tempfile

from canon import (MODE_UNKNOWN, PROCESS, Process, Profile, Thread,
                   thread_key)
from xxh64 import xxh64

SKIPPABLE = struct.pack("<I", 0x184D2A5B)
MAX_BODY = MAX_RECORDS = 256 << 20
MAX_INDEX = 64 << 20
MAX_DEPTH, MAX_PLAIN_DEPTH = 1 << 24, 1 << 17
LAST_TIME = (1 << 63) - 1
LOST_SAMPLES, LOST_MARK = 13, 4  # 5.4, 5.6
NO_LINE = -1
REPEAT, FULL, SUFFIX, POP_PUSH = range(4)


class Fault(Exception):
    """A fault of a file; the class name is the answer's name."""


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


def zstd_frame(data, at):
    """The zstd data frame at `at`, by its block headers (RFC 8878 3.1.1):
    (where it ends, content size or None); Cut if it has no end, Damaged if
    it is none."""
    cursor = Cursor(memoryview(data)[at:], "<")
    magic = bytes(cursor.data[:4])
    if not magic or magic != b"\x28\xb5\x2f\xfd"[:len(magic)]:
        raise Damaged("no zstd frame here")
    try:
        _, descriptor = cursor.fixed("IB")
        single = descriptor >> 5 & 1
        cursor.bytes((0 if single else 1) + (0, 1, 2, 4)[descriptor & 3])
        width = (single, 2, 4, 8)[descriptor >> 6]
        size = int.from_bytes(cursor.bytes(width), "little") if width else None
        if width == 2:
            size += 256
        last = 0
        while not last:
            header = int.from_bytes(cursor.bytes(3), "little")
            last, kind, length = header & 1, header >> 1 & 3, header >> 3
            if kind == 3 or length > 128 << 10:
                raise ValueError("no block of zstd")
            cursor.bytes(1 if kind == 1 else length)
        cursor.bytes(4 if descriptor & 4 else 0)
    except Damaged:
        raise Cut("a zstd frame has no end") from None
    except ValueError as fault:
        raise Damaged(str(fault)) from None
    return at + cursor.at, size


class Header:
    """4.1: 64 bytes, whether they make sense or not."""

    def __init__(self, data, order):
        (_, self.version, *python, _, self.start, self.interval, self.samples,
         self.threads, self.strings, self.frames, self.compression,
         self.word) = struct.unpack_from(order + "II4B3QI2Q2I", data)
        self.python, self.order, self.raw = python, order, bytes(data[:64])

    def check(self):
        """What no reader of this version reads."""
        if self.version > 1:
            raise Newer(f"version {self.version}")
        if self.version < 1:
            raise Damaged("version 0")
        if self.compression > 1:
            raise Newer(f"compression {self.compression}")

    def emitted(self):
        """The profile's start."""
        mode = self.word & 7
        return {"start_us": self.start, "interval_us": self.interval or 1,
                "python": self.python,
                "mode": mode - 1 if 1 <= mode <= 5 else MODE_UNKNOWN,
                "capture": self.word & ~7}


class State:
    """A thread while records are read: its stack and clock."""

    def __init__(self, base=0):
        self.stack, self.time, self.debt = (), base, 0


class Records:
    """4.2: the effect of records on threads; each run is emitted by itself.
    A fault ends it; the samples before it are emitted."""

    def __init__(self, order, known, emit, states=None):
        self.order, self.known, self.emit = order, known, emit
        self.states, self.plain = states, states is None
        if self.plain:
            self.states = {}
        self.entered = set()  # threads with a record
        self.moved = 0  # samples whose clock stepped back

    def state(self, key):
        if self.plain:
            self.states.setdefault(key, State())
        if key not in self.states:
            raise Damaged("a thread without a base")
        return self.states[key]

    def read(self, data):
        cursor = Cursor(memoryview(data), self.order)
        while cursor.left():
            tid, interp, kind = cursor.fixed("QIB")
            key = tid, interp
            state = self.state(key)
            if kind == REPEAT:
                n = cursor.varint()
                if not n:
                    raise Damaged("a REPEAT of nothing")
                self.entered.add(key)
                self.repeat(key, state, cursor, n)
            elif kind <= POP_PUSH:
                before = state.time, state.debt
                try:
                    sample = self.sample(cursor, state)
                    state.stack = self.stack(cursor, kind, state.stack)
                except Damaged:
                    state.time, state.debt = before
                    raise
                self.entered.add(key)
                self.moved += state.debt > 0
                self.emit(key, state.stack, [sample])
            else:
                raise Damaged(f"record kind {kind}")

    def repeat(self, key, state, cursor, n):
        samples = []
        try:
            while len(samples) < n:
                samples.append(self.sample(cursor, state))
                self.moved += state.debt > 0
        finally:
            if samples:
                self.emit(key, state.stack, samples)

    def sample(self, cursor, state):
        delta = cursor.varint()
        status = cursor.u8()
        time = state.time + delta - state.debt
        if time > LAST_TIME and not self.plain:
            raise Damaged("a time above 63 bits")
        if self.plain:  # a clock that stepped back: modulo 2^64
            signed = delta - (1 << 64) if delta > LAST_TIME else delta
            time = state.time - state.debt + signed
            state.debt = max(state.time - time, 0)
            if time > LAST_TIME or state.debt > LAST_TIME:
                raise Damaged("a time above 63 bits")
        state.time = max(state.time, time)
        return state.time, status

    def stack(self, cursor, kind, old):
        keep = 0
        if kind != FULL:
            keep = cursor.varint(32)
            if keep > len(old):
                raise Damaged(f"{keep} frames of {len(old)}")
            if kind == POP_PUSH:
                keep = len(old) - keep
        n = cursor.varint(32)
        if keep + n > (MAX_PLAIN_DEPTH if self.plain else MAX_DEPTH) or \
                n > cursor.left():
            raise Damaged("a stack that is too deep")
        ids = tuple(cursor.varint(32) for _ in range(n))
        if not all(map(self.known, ids)):
            raise Damaged("a frame that does not exist")
        return ids + old[len(old) - keep:]


def read_frame(cursor):
    """4.4: (file, func, line, end_line, column, end_column, opcode)."""
    file, func = cursor.varint(32), cursor.varint(32)
    line, to_end = cursor.svarint(), cursor.svarint()
    column, to_column = cursor.svarint(), cursor.svarint()
    opcode = cursor.u8()
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

    def from_tables(self, strings, frames, n_strings, n_frames, order):
        """4.3, 4.4: both tables by id; the bytes that the entries leave."""
        cursor = Cursor(memoryview(strings), order)
        if n_strings > cursor.left():
            raise Damaged("more strings than the table can hold")
        self.strings = {i: cursor.string() for i in range(n_strings)}
        cursor = Cursor(memoryview(frames), order)
        if n_frames * 7 > cursor.left():
            raise Damaged("more frames than the table can hold")
        self.frames = {i: read_frame(cursor) for i in range(n_frames)}
        for frame in self.frames.values():
            if max(frame[:2]) >= n_strings:
                raise Damaged("a frame names no string")
        return cursor.left()

    def fill(self, profile):
        """Number all by arrival, in the stacks too; 7.4."""
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
    """5.2: one checkpoint, before its body is read."""

    FIXED = "4s4BQII3Q"  # from offset 8

    def __init__(self, data, at, order):
        if data[at:at + 4] != SKIPPABLE or len(data) - at < 56:
            raise Damaged("no checkpoint here")
        length, = struct.unpack_from("<I", data, at + 4)
        if length < 48 or length > len(data) - at - 8:
            raise Damaged("no checkpoint of this length")
        self.at, self.end, self.order = at, at + 8 + length, order
        frame = bytearray(data[at:self.end])
        (magic, read, _, self.flags, reserved, check, self.number, self.size,
         first, self.data_len, self.data_check) = struct.unpack_from(
             order + self.FIXED, frame, 8)
        self.family = first if self.number else check
        frame[16:24] = bytes(8)
        if magic != b"PRCK":
            raise Damaged("a foreign skippable frame")
        if xxh64(frame) != check:
            raise Damaged("checksum")
        if read > 1 or self.flags & ~1:
            raise Newer(f"checkpoint at byte {at}")
        if reserved:
            raise Damaged("reserved byte")
        self.stored = bytes(frame[56:])
        if not self.flags & 1 and len(self.stored) != self.size:
            raise Damaged("body of another size")

    def body(self):
        stored = self.stored
        if self.flags & 1:
            if self.size > MAX_BODY:
                raise Damaged("body above the limit")
            end, size = zstd_frame(stored, 0)
            if size != self.size or end != len(stored):
                raise Damaged("compressed body of another size")
            stored = unzstd(stored, self.size)
        if len(stored) != self.size:
            raise Damaged("body of another size")
        return Cursor(memoryview(stored), self.order)

    def data_is_whole(self, data):
        return self.data_len <= self.at and \
            xxh64(data[self.at - self.data_len:self.at]) == self.data_check


def process_index(cursor):
    index = cursor.varint(32)
    if index == PROCESS:
        raise Damaged("no index of a process")
    return index


def owner_ref(cursor):
    ref = cursor.varint(), cursor.varint(32)
    if ref[1] == PROCESS and ref[0] >= PROCESS:
        raise Damaged("no index of a process")
    return ref


def thread_ref(cursor):
    ref = owner_ref(cursor)
    if ref[1] == PROCESS:
        raise Damaged("a process where a thread should be")
    return ref


def pair(cursor):
    key, value = cursor.string(), cursor.string()
    if not 1 <= len(key) <= 255 or b"\0" in key:
        raise Damaged("a key of metadata")
    return key, value


class Body:
    """5.3: the typed records of one body, read and checked; `rest` is what
    the checkpoint says beside names and samples, in its order."""

    def __init__(self, checkpoint, exact, strings, frames):
        self.exact, self.ends = exact, [strings, frames]
        self.strings, self.frames, self.bases, self.rest = [], [], [], []
        self.first_string, self.first_frame = strings, frames
        self.span = self.header = None
        cursor, seen = checkpoint.body(), set()
        while cursor.left():
            kind, content = cursor.u8(), cursor.string()
            self.take(kind, Cursor(memoryview(content), checkpoint.order))
            if kind in seen and 0x41 <= kind <= 0x45:
                raise Damaged(f"two records {kind:#x}")
            seen.add(kind)
        if self.span is None:
            raise Damaged("a checkpoint without span")
        if checkpoint.number == 0 and self.header is None:
            raise Damaged("segment 0 has no header")

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

    def ids(self, cursor, which, least):
        """first id and number of entries; ids go on without a gap."""
        first, n = cursor.varint(32), cursor.count(least)
        end = self.ends[which]
        if first + n >= 1 << 32 or \
                (first != end if self.exact else first < end):
            raise Damaged("ids that do not go on")
        self.ends[which] = first + n
        return first, n

    def on_strings(self, cursor):
        self.first_string, n = self.ids(cursor, 0, 1)
        self.strings = [cursor.string() for _ in range(n)]

    def on_frames(self, cursor):
        self.first_frame, n = self.ids(cursor, 1, 8)
        for _ in range(n):
            frame, line = read_frame(cursor), cursor.varint(32)
            if line >= 1 << 31 or \
                    self.exact and max(frame[:2]) >= self.ends[0]:
                raise Damaged("a frame entry")
            self.frames.append((frame, line))

    def on_bases(self, cursor):
        self.bases = [(thread_ref(cursor), cursor.varint())
                      for _ in range(cursor.count(3))]

    def on_span(self, cursor):
        self.span = tuple(cursor.varint() for _ in range(6))
        first, last, samples, _, _, size = self.span
        if size > MAX_RECORDS or samples > size // 2 or \
                not first <= last <= LAST_TIME or (last and not samples):
            raise Damaged("an impossible span")

    def on_header(self, cursor):
        self.header = cursor.bytes(64)

    def on_threads(self, cursor):
        for _ in range(cursor.count(4)):
            ref, flags, name = thread_ref(cursor), cursor.u8(), cursor.string()
            identity = 0, *ref
            if flags & 2:
                identity = (process_index(cursor), cursor.varint(),
                            cursor.varint(32))
            self.rest.append(("thread", ref, identity, flags & 1, name))

    def on_processes(self, cursor):
        for _ in range(cursor.count(12)):
            index = process_index(cursor)
            numbers = [cursor.varint() for _ in range(4)]
            python = cursor.bytes(3)
            texts = [cursor.string() for _ in range(3)]
            pairs = [pair(cursor) for _ in range(cursor.count(2))]
            self.rest.append(("process", index, Process(*numbers, python,
                                                        *texts, pairs)))

    def on_rates(self, cursor):
        for _ in range(cursor.count(3)):
            rate = process_index(cursor), cursor.varint(), cursor.varint()
            if not rate[2]:
                raise Damaged("a rate of nothing")
            self.rest.append(("rate", *rate))

    def on_meta(self, cursor):
        for _ in range(cursor.count(2)):
            self.rest.append(("meta", *pair(cursor)))

    def on_counts(self, cursor):
        time = cursor.varint()
        for _ in range(cursor.count(4)):
            self.rest.append(("count", owner_ref(cursor), cursor.varint(32),
                              time, cursor.varint()))

    def on_gc(self, cursor):
        for _ in range(cursor.count(11)):
            self.rest.append(
                ("gc", process_index(cursor), cursor.varint(32),
                 cursor.varint(32), *(cursor.varint() for _ in range(8))))

    def on_tasks(self, cursor):
        for _ in range(cursor.count(6)):
            key, time = cursor.varint(), cursor.varint()
            ref, name = owner_ref(cursor), cursor.string()
            parents = tuple(cursor.varint() for _ in range(cursor.count(1)))
            self.rest.append(("task", key, time, ref, name, parents))

    def on_marks(self, cursor):
        for _ in range(cursor.count(5)):
            self.rest.append(
                ("mark", process_index(cursor), cursor.varint(32),
                 cursor.varint(), cursor.varint(), cursor.string()))


class Segment:
    """A whole checkpoint that was taken."""

    def __init__(self, checkpoint, body, frame_end):
        self.checkpoint, self.bases, self.rest = \
            checkpoint, body.bases, body.rest
        self.number, self.frame_end = checkpoint.number, frame_end
        (self.first, self.last, self.samples, self.so_far, _,
         self.size) = body.span
        self.whole = False  # are its records?


class Index:
    """6"""

    def __init__(self, data, end, order):
        if end < 120 or data[end - 8:end] != b"PYRECIDX":
            raise Damaged("no index ends here")
        length, = struct.unpack_from(order + "Q", data, end - 16)
        if not 57 <= length <= min(end - 64, MAX_INDEX):
            raise Damaged("no index of this length")
        self.at, self.end = end - length, end
        index = bytearray(data[self.at:end])
        check, = struct.unpack_from(order + "Q", index, 8)
        index[8:16] = bytes(8)
        if index[:4] != b"PRIX" or xxh64(index) != check:
            raise Damaged("no whole index")
        if index[4] > 1:
            raise Newer("the index")
        if any(index[6:8]):
            raise Damaged("reserved bytes of the index")
        cursor = Cursor(memoryview(index)[16:-16], order)
        self.header_check, self.tables_check, self.end_check = \
            cursor.fixed("3Q")
        self.rows, self.region_end = [], 64
        for _ in range(cursor.count(5)):
            frame, skip, first, span, n = (cursor.varint() for _ in range(5))
            self.region_end += frame + skip
            if self.region_end > self.at or (first + span) >> 64:
                raise Damaged("an index that does not fit")
            self.rows.append((frame, skip, first, first + span, n))
        if cursor.left():
            raise Damaged("bytes left in the index")


class Decoder:
    """One try at a file with one byte order."""

    def __init__(self, data, order):
        self.data, self.order = data, order
        self.header = Header(data, order)
        self.profile, self.names = Profile(), Names()
        self.fault = self.index = None
        self.traces = False  # of an index or checkpoint
        self.gaps = []  # (from, to, samples, is that all?)
        self.others = self.repeated = 0
        self.reset()

    def reset(self):
        """Nothing was taken."""
        self.names, self.segments, self.fault = Names(), [], None
        self.described, self.family = {}, None
        self.processes = {0: 0}  # index -> number by arrival
        self.identity, self.meta, self.rates = {}, {}, []
        self.sampled, self.copy = set(), None
        self.next_ids, self.next_number, self.so_far = [0, 0], 0, 0

    def note(self, fault):
        """The first damage is the answer, else the first cut."""
        if self.fault is None or (isinstance(self.fault, Cut) and
                                  isinstance(fault, Damaged)):
            self.fault = fault

    # --- 7: the parts that the file has

    def decode(self):
        """The profile, or None if no checkpoint is whole."""
        self.find_index_at_end()
        if self.is_plain():
            return None
        if not self.index or not self.of_header(self.index):
            self.find_index_elsewhere()
        in_place = bool(self.index) and \
            self.index.region_end == self.header.strings and self.take_rows()
        if not in_place:
            self.reset()
            in_place = self.take_found()
            if not self.segments:
                return None
        else:
            self.end = self.index.region_end
        self.judge()
        self.note_layout(in_place)
        self.separate()
        return self.fill()

    def separate(self):
        """5.3: two threads with one identity."""
        seen = set()
        for identity in self.identity.values():
            while tuple(identity[:3]) in seen:
                identity[1] = identity[1] + (1 << 32) & (1 << 64) - 1
                self.note(Damaged("an identity of two threads"))
            seen.add(tuple(identity[:3]))

    def of_header(self, index):
        return xxh64(self.data[:64]) == index.header_check

    def find_index_at_end(self):
        for after in (88, 32):
            try:
                if not self.index and len(self.data) > after:
                    self.index = Index(self.data, len(self.data) - after,
                                       self.order)
            except (Cut, Damaged):
                pass

    def find_index_elsewhere(self):
        at = 0
        for _ in range(16):
            at = self.data.find(b"PYRECIDX", at)
            if at < 0:
                return
            at += 8
            self.traces = True
            try:
                index = Index(self.data, at, self.order)
            except (Cut, Damaged):
                continue
            if not self.index or self.of_header(index):
                self.index = index
            if self.of_header(index):
                return

    def is_plain(self):
        """A file of CPython as far as its first zstd frame shows."""
        header = self.header
        if not 64 <= header.strings <= header.frames <= len(self.data) or \
                header.version != 1 or self.index:
            return False
        size = len(self.data)
        if size < 96 or size != struct.unpack_from(
                self.order + "Q", self.data, size - 24)[0]:
            return False
        try:
            end, _ = zstd_frame(self.data, 64)
            return header.compression != 0 and end == header.strings
        except Cut:
            return False
        except Damaged:
            return header.compression == 0

    def take_rows(self):
        at = 64
        for number, (frame, skip, *_) in enumerate(self.index.rows):
            try:
                checkpoint = Checkpoint(self.data, at + frame, self.order)
                if checkpoint.end != at + frame + skip or \
                        checkpoint.data_len != frame or \
                        checkpoint.number != number:
                    raise Damaged("a checkpoint of another place")
                if self.family is None:
                    self.family = checkpoint.family
                self.take(checkpoint)
            except (Cut, Damaged):
                return False
            at = checkpoint.end
        return True

    def take_found(self):
        """All whole checkpoints of the first one's file, in order of number;
        are they in place?"""
        found, before = {}, -1
        self.end, in_place = 64, True
        self.repeated = self.others = 0
        for checkpoint in self.search():
            if self.family is None:
                self.family = checkpoint.family
            if checkpoint.family != self.family:
                self.others += 1
                continue
            number = checkpoint.number
            if checkpoint.at != self.end + checkpoint.data_len or \
                    number <= before:
                in_place = False
            self.end, before = checkpoint.end, number
            if number in found:
                self.repeated += 1
                if found[number].data_is_whole(self.data):
                    continue
            found[number] = checkpoint
        for number in sorted(found):
            try:
                self.take(found[number])
            except (Cut, Damaged) as fault:
                self.note(Damaged(*fault.args))
        return in_place

    def search(self):
        at = 0
        while (at := self.data.find(b"PRCK", at)) >= 0:
            begin = at - 8
            at += 1
            if begin < 0:
                continue
            try:
                checkpoint = Checkpoint(self.data, begin, self.order)
            except (Cut, Damaged):
                length, = struct.unpack_from("<I", self.data, begin + 4)
                self.traces |= length >= 48 and \
                    self.data[begin:begin + 4] == SKIPPABLE
                continue
            yield checkpoint
            at = max(checkpoint.end, at)

    # --- 5: one checkpoint

    def take(self, checkpoint):
        if checkpoint.family != self.family:
            raise Damaged("a checkpoint of another file")
        number, names = checkpoint.number, self.names
        exact = number == self.next_number and not names.holes
        body = Body(checkpoint, exact, *self.next_ids)
        names.holes |= number != self.next_number
        names.strings.update(enumerate(body.strings, body.first_string))
        for i, (frame, line) in enumerate(body.frames, body.first_frame):
            names.frames[i], names.first_line[i] = frame, line
        self.take_owners(body)
        segment = Segment(checkpoint, body,
                          1 << 32 if names.holes else body.ends[1])
        if exact and body.span[3:5] != (self.so_far + segment.samples,
                                        len(self.sampled)):
            self.note(Damaged("a checkpoint counts otherwise"))
        if body.header:
            if self.copy and self.copy != body.header:
                self.note(Damaged("two copies of the header"))
            self.copy = self.copy or body.header
        self.segments.append(segment)
        self.next_ids, self.so_far = body.ends, segment.so_far
        self.next_number = number + 1
        return segment

    def number(self, index):
        """A process by arrival."""
        return self.processes.setdefault(index, len(self.processes))

    def take_owners(self, body):
        """The facts about threads and processes before any sample."""
        for ref, _ in body.bases:
            self.sampled.add(ref)
            self.identity.setdefault(ref, [0, *ref, 0, b""])
        for what, *words in body.rest:
            if what == "process":
                index, process = words
                self.number(index)
                self.described[index] = process
            elif what == "thread":
                ref, (process, tid, interp), main, name = words
                self.identity[ref] = [self.number(process), tid, interp, main,
                                      name]
            elif what == "meta":
                self.meta[words[0]] = words[1]
            elif what == "rate":
                self.rates.append((self.number(words[0]), *words[1:]))
            elif what in ("gc", "mark"):
                self.number(words[0])
            else:
                ref = words[0] if what == "count" else words[2]
                if ref[1] == PROCESS:
                    self.number(ref[0])
                else:
                    self.identity.setdefault(ref, [0, *ref, 0, b""])

    # --- 7.6, 7.7: the state, and the losses

    def judge(self):
        last = self.check_segments()
        if self.index:
            self.check_rows()
        self.settle_header()
        index = self.index
        expected = None
        if index:
            expected = sum(row[4] for row in index.rows)
        elif self.header.strings == self.end:
            expected = self.so_far
        if not index:
            self.judge_rest()
        elif self.next_number < len(index.rows):
            self.note(Damaged("the last segments"))
        if expected is None:
            self.gaps.append((last, last, 0, False))
        elif expected > self.so_far:
            self.gaps.append((last, last, expected - self.so_far, True))
        if index:
            self.judge_finished()

    def check_rows(self):
        rows, same = self.index.rows, 0
        for s in self.segments:
            checkpoint = s.checkpoint
            if s.number >= len(rows) or rows[s.number] != (
                    checkpoint.data_len, checkpoint.end - checkpoint.at,
                    s.first, s.last, s.samples):
                self.note(Damaged("index and checkpoint differ"))
            else:
                same += 1
        if not same:
            self.index = None

    def check_segments(self):
        number = so_far = last = 0
        for s in self.segments:
            if s.number != number:
                before = max(s.so_far - s.samples, 0)
                begin = max(s.first, last) if s.samples else last
                self.gaps.append((last, begin, max(before - so_far, 0),
                                  before >= so_far))
                self.note(Damaged(f"segment {number}"))
            s.whole = s.checkpoint.data_is_whole(self.data)
            if not s.whole:
                self.gaps.append((s.first, s.last, s.samples, True))
                self.note(Damaged(f"records of segment {s.number}"))
            number, so_far = s.number + 1, s.so_far
            last = max(last, s.last)
        return last

    def settle_header(self):
        header, copy = self.header, self.copy
        if self.index:
            right = self.of_header(self.index)
        elif copy is None:
            right = header.version == 1 and header.compression == 1
        elif header.strings:  # 28 to 55 were not known at first
            right = header.frames >= header.strings and \
                header.raw[:28] + header.raw[56:] == copy[:28] + copy[56:]
        else:
            right = header.raw == copy
        self.header_known = right or copy is not None
        if right:
            if header.compression == 0:
                self.note(Damaged("compression 0"))
            return
        self.note(Damaged("the header"))
        self.header = Header(copy or bytes(64), self.order)

    def judge_finished(self):
        data, index, end = self.data, self.index, None
        for size in (88, 32):
            if end is None and len(data) >= index.end + size and xxh64(
                    data[index.end:index.end + size]) == index.end_check:
                end = index.end + size
        footer = None
        if end is None:
            self.note(Cut("no footer") if len(data) < index.end + 88
                      else Damaged("statistics or footer"))
        else:
            footer, self.profile.stats, _ = self.ending(end)
            if footer[2] != end:
                self.note(Damaged("another size than the footer says"))
            if len(data) > end:
                self.note(Damaged("bytes after the end"))
        self.check_tables(footer, end)
        header = self.header
        if not self.fault and \
                (header.samples, header.threads, header.strings) != \
                (self.so_far, len(self.sampled), index.region_end):
            self.note(Damaged("other counts than the header's"))

    def check_tables(self, footer, end):
        index, header, tables = self.index, self.header, Names()
        try:
            if not self.header_known or not header.strings:
                raise Damaged("the tables cannot be found")
            size = index.at - index.region_end
            if footer:
                size = max(footer[2] - index.region_end -
                           (end - index.at), 0)
            strings = header.frames - header.strings
            data = self.data[max(index.at - size, 0):index.at]
            if len(data) != size or xxh64(data) != index.tables_check:
                raise Damaged("tables: checksum")
            if not footer:
                return
            if not 0 <= strings <= size:
                raise Damaged("the tables cannot be there")
            tables.from_tables(data[:strings], data[strings:], *footer[:2],
                               self.order)
        except Damaged as fault:
            self.note(fault)
            return
        if self.names.holes:
            tables.first_line = self.names.first_line
            self.names = tables
        elif (tables.strings, tables.frames) != (self.names.strings,
                                                 self.names.frames):
            self.note(Damaged("the tables name others"))

    def judge_rest(self):
        at, tables, size = self.end, self.header.strings, len(self.data)
        if tables == at:
            try:
                footer, stats, _ = self.ending(size)
                there = stats is not None or footer[2] == size
            except Cut:
                there = False
            self.note(Damaged("the index") if there else
                      Cut("the file ends in its tables"))
        elif not self.begins_segment(at) or 0 < tables <= size:
            self.note(Damaged("bytes after the last whole segment"))
        else:
            self.note(Cut("never finished"))

    def begins_segment(self, at):
        data = self.data
        if at == len(data):
            return True
        try:
            end, _ = zstd_frame(data, at)
        except Cut:
            return True
        except Damaged:
            return False
        want, have = SKIPPABLE, data[end:end + 12]
        want += have[4:8] + b"PRCK"
        if have != want[:len(have)]:
            return False
        return len(have) < 8 or \
            int.from_bytes(have[4:8], "little") > len(data) - end - 8

    def note_layout(self, in_place):
        if self.others:
            self.note(Damaged("segments of another file"))
        if self.repeated:
            self.note(Damaged("segments that stand twice"))
        if not in_place:
            self.note(Damaged("segments that moved"))

    # --- the profile

    def fill(self):
        if self.header_known:
            self.header.check()
        profile = self.profile
        profile.start, profile.meta = self.header.emitted(), self.meta
        profile.processes = {
            n: self.described.get(index, Process())
            for index, n in self.processes.items()}
        if 0 not in self.described:
            profile.processes[0] = first_process(self.meta,
                                                 self.header.python)
        profile.rates = self.rates
        self.keys = {}
        for ref, (process, tid, interp, main, name) in self.identity.items():
            self.keys[ref] = thread_key(process, tid, interp)
            profile.threads[self.keys[ref]] = Thread(main, name)
        self.clock = {}
        lost = sum(self.fill_segment(s) for s in self.segments)
        last = max((s.last for s in self.segments if s.whole), default=0)
        emit_losses(profile, self.gaps + [(last, last, lost, True)], last)
        self.names.fill(profile)
        if self.fault:
            profile.state = type(self.fault).__name__.lower()
        return profile

    def fill_segment(self, segment):
        """Its records, then the rest of its checkpoint; how many samples
        a fault in the records cost."""
        lost = 0
        if segment.whole:
            emitted = []
            try:
                self.read_records(segment, emitted)
            except (Cut, Damaged) as fault:
                if not isinstance(self.fault, Damaged):
                    self.fault = Damaged(*fault.args)
                n = sum(len(samples) for _, _, samples in emitted)
                lost = max(segment.samples - n, 0)
            for ref, stack, samples in emitted:
                self.profile.threads[self.keys[ref]].add(stack, samples)
        for what, *words in segment.rest:
            self.fill_event(what, words)
        return lost

    def read_records(self, segment, emitted):
        checkpoint, states = segment.checkpoint, {}
        begin = checkpoint.at - checkpoint.data_len
        frame = self.data[begin:checkpoint.at]
        end, size = zstd_frame(frame, 0)
        if (size or 0) != segment.size or end != len(frame):
            raise Damaged("another data frame")
        data = unzstd(frame, segment.size)
        if len(data) != segment.size:
            raise Damaged("another data frame")
        for ref, base in segment.bases:
            if ref in states or base < self.clock.get(ref, 0):
                raise Damaged("base times")
            states[ref] = State(base)
            self.clock[ref] = base
        frames, holes = self.names.frames, self.names.holes
        records = Records(
            self.order,
            lambda i: i < segment.frame_end and (i in frames or holes),
            lambda *run: emitted.append(run), states)
        try:
            records.read(data)
        finally:
            for ref, state in states.items():
                self.clock[ref] = state.time
        times = [t for _, _, samples in emitted for t, _ in samples]
        if len(records.entered) != len(states):
            raise Damaged("a base without records")
        if len(times) != segment.samples or times and \
                (min(times), max(times)) != (segment.first, segment.last):
            raise Damaged("another span than the checkpoint says")

    def owner(self, ref):
        return (self.number(ref[0]), PROCESS) if ref[1] == PROCESS else \
            self.keys[ref]

    def fill_event(self, what, words):
        profile = self.profile
        if what == "count":
            ref, kind, time, value = words
            profile.counts.setdefault((*self.owner(ref), kind), []).append(
                (time, value))
        elif what == "gc":
            profile.gc.append((self.number(words[0]), *words[1:]))
        elif what == "mark":
            profile.marks.append((self.number(words[0]), *words[1:]))
        elif what == "task":
            key, time, ref, name, parents = words
            profile.tasks.append((key, time, self.owner(ref), name, parents))

    def ending(self, size):
        """4.5, 4.6: (strings, frames, file size said), statistics or None,
        where they begin; of the first `size` bytes."""
        if size < 96:
            raise Cut("no footer")
        footer = struct.unpack_from(self.order + "IIQ", self.data, size - 32)
        begin, stats = size - 32, None
        tag, version, length = struct.unpack_from(
            self.order + "8sII", self.data, begin - 16)
        if tag == b"TACHSTAT" and version == 1 and length in (32, 56):
            begin -= length
            values = struct.unpack_from(
                self.order + ("2d" if length == 32 else "4dII"), self.data,
                begin)
            stats = ((*values[:4], values[4] & 3) if length == 56 else
                     (*values, 0.0, 0.0, 0))
        return footer, stats, begin

    # --- files of CPython: 7.3

    def plain(self):
        header, profile = self.header, self.profile
        self.fault = None
        header.check()
        if not header.compression == 0 and (self.traces or self.index):
            self.note(Damaged("no checkpoint is whole"))
        end = self.plain_end()
        footer, profile.stats, begin = self.ending(end)
        if header.frames > begin:
            raise Damaged("the frame table lies in the statistics")
        data = self.data
        self.names.from_tables(data[header.strings:header.frames],
                               data[header.frames:begin], *footer[:2],
                               self.order)
        profile.start = header.emitted()
        profile.processes = {0: first_process({}, header.python)}
        self.plain_records(data[64:header.strings])
        self.names.fill(profile)
        if self.fault:
            profile.state = type(self.fault).__name__.lower()
        return profile

    def plain_end(self):
        """Where the footer ends, after a check of the header's offsets."""
        header, size = self.header, len(self.data)
        if not 64 <= header.strings <= header.frames <= size:
            early = struct.unpack_from(header.order + "II2QI", header.raw, 28)
            if 64 <= early[2] <= early[3] <= size and early[4] <= 1:
                raise Foreign("an early layout of CPython 3.15")
            if header.strings <= header.frames:
                raise Cut("the file ends before its tables")
            raise Damaged("tables out of order")
        for end in range(size, header.frames + 31, -1):
            said, = struct.unpack_from(self.order + "Q", self.data, end - 24)
            if said == end:
                if end != size:
                    self.note(Damaged("bytes after the end"))
                return end
        raise Cut("no footer")

    def plain_records(self, region):
        header, profile = self.header, self.profile

        def emit(key, stack, samples):
            if key not in profile.threads:
                profile.threads[key] = Thread(samples[0][1] >> 5 & 1)
            profile.threads[key].add(stack, samples)

        records = Records(self.order, self.names.frames.__contains__, emit)
        try:
            records.read(unzstd(region, 1 << 30) if header.compression
                         else region)
            if profile.samples() != header.samples or \
                    len(profile.threads) != header.threads:
                raise Damaged("other counts than the header declares")
            if records.moved:
                self.note(Damaged("the clock steps back"))
        except Damaged as fault:
            self.note(fault)
        lost = max(header.samples - profile.samples(), 0)
        emit_losses(profile, [(0, 0, lost, True)], 0)


def first_process(meta, python):
    """5.5: the process of a file of one."""
    def number(key):
        value = meta.get(key, b"")
        n = int(value) if value.isdigit() else 0
        return 0 if n >> 64 else n

    return Process(number(b"pid"), number(b"process.parent"),
                   number(b"process.start_us"), number(b"process.end_us"),
                   python[:3], meta.get(b"command", b""),
                   meta.get(b"host", b""), meta.get(b"process.scope", b""))


def emit_losses(profile, gaps, last):
    """7.7: a mark for each gap, and the counter."""
    gaps = [gap for gap in gaps if gap[2] or not gap[3]]
    for begin, end, samples, exact in gaps:
        text = b"%s%d samples" % (b"" if exact else b"at least ", samples)
        if not samples:
            text = b"an unknown number of samples"
        profile.marks.append((0, LOST_MARK, begin, end, text))
    lost = sum(gap[2] for gap in gaps)
    if lost:
        values = profile.counts.setdefault((0, PROCESS, LOST_SAMPLES), [])
        before = values[-1][1] if values else 0
        values.append((last, before + lost))


FOREIGN = (b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"PK\3\4", b"\x7fELF",
           b"SQLite format 3", b"PERFILE2", b"\x89PNG")


def is_foreign(data):
    """7.1: a file of a known other kind; the last is pstats."""
    return data.startswith(FOREIGN) or (
        len(data) > 1 and data[0] & 0x7F == 0x7B and
        data[1] & 0x7F in (0x28, 0x29))


def decode(data):
    """The profile in `data`; Foreign and Newer, and a Cut or Damaged file
    without any whole part, raise."""
    order = {b"HCAT": "<", b"TACH": ">"}.get(bytes(data[:4]))
    if order is None:
        if len(data) >= 64 and not is_foreign(data):
            for order in "<>":
                profile = Decoder(data, order).decode()
                if profile:
                    return profile
        raise Foreign("no magic")
    if len(data) < 64:
        raise Cut("the header is not whole")
    decoder = Decoder(data, order)
    return decoder.decode() or decoder.plain()


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
