"""BinaryReader of CPython 3.15's _remote_debugging on libpyrec's reader."""

import ctypes as C
import itertools
import os

import _remote_debugging as rd
import library
from library import pyrec

BATCH = 8192  # samples in one call of collect(), at most, as CPython's


class Replay:
    """A sink that passes each run of samples on to a collector."""

    def __init__(self, start_us, collector):
        self.start_us, self.collector = start_us, collector
        self.strings, self.frames, self.threads, self.stacks = [], [], [], []
        self.failure = None
        self.operations = library.Operations()
        for name in ("string", "frame", "thread", "delta"):
            setattr(self.operations, name, library.OPERATIONS[name](
                self.guarded(getattr(self, name))))
        self.sink = library.Sink(C.pointer(self.operations))

    def guarded(self, operation):
        """An exception of the collector ends the replay."""
        def call(_sink, *arguments):
            try:
                operation(*arguments[:-1])
                return 0
            except BaseException as failure:
                self.failure = failure
                return library.INTERNAL
        return call

    def string(self, address, size):
        self.strings.append(
            C.string_at(address, size).decode("utf-8", "surrogatepass"))

    def frame(self, pointer):
        f = pointer.contents
        location = (f.line, f.end_line, f.column, f.end_column)
        self.frames.append(rd.FrameInfo((
            self.strings[f.file],
            None if f.line == -1 else rd.LocationInfo(location),
            self.strings[f.func],
            None if f.opcode == library.NO_OPCODE else f.opcode)))

    def thread(self, pointer):
        self.threads.append((pointer.contents.interp, pointer.contents.tid))
        self.stacks.append([])

    def delta(self, pointer):
        d = pointer.contents
        old = self.stacks[d.thread]
        stack = d.push[:d.n_push] + old[len(old) - d.keep:]
        self.stacks[d.thread] = stack
        interpreter, tid = self.threads[d.thread]
        frames = [self.frames[i] for i in stack]
        samples = zip(d.status[:d.n], d.time_us[:d.n])
        for status, run in itertools.groupby(samples, lambda s: s[0]):
            sample = [rd.InterpreterInfo((
                interpreter, [rd.ThreadInfo((tid, status, frames))]))]
            for batch in itertools.batched(run, BATCH):
                self.collector.collect(
                    sample, [self.start_us + time for _, time in batch])


class BinaryReader:
    def __init__(self, filename):
        self.reader, error = C.c_void_p(), library.Error()
        code = pyrec.pf_reader_open(os.fsencode(filename), None,
                                    C.byref(self.reader), error)
        library.check(code, error, filename)

    def get_info(self):
        info = pyrec.pf_reader_info(self.reader).contents
        start, stats = info.start, info.stats
        captured = start.capture >> library.CAPTURE_SHIFT & \
            library.CAPTURE_MASK
        return {
            "sample_count": info.samples,
            "sample_interval_us": start.interval_us,
            "start_time_us": start.start_us,
            "string_count": info.strings,
            "frame_count": info.frames,
            "thread_count": info.threads,
            "compression": info.compressed,
            "mode": None if start.mode == library.UNKNOWN_MODE
            else start.mode,
            "capture_features": captured
            if start.capture & library.CAPTURE_KNOWN else None,
            "python_version": tuple(start.python),
            **self.stats_of(stats),
        }

    @staticmethod
    def stats_of(stats):
        def known(bit, value):
            return value if stats.known & bit else None
        return {
            "duration_sec": known(library.STATS_PRESENT, stats.duration_s),
            "sample_rate": known(library.STATS_PRESENT, stats.rate_hz),
            "error_rate": known(library.ERROR_KNOWN, stats.error_percent),
            "missed_samples": known(library.MISSED_KNOWN,
                                    stats.missed_percent),
        }

    def replay(self, collector, _progress=None):
        start_us = pyrec.pf_reader_info(self.reader).contents.start.start_us
        replay = Replay(start_us, collector)
        count, error = library.U64(), library.Error()
        code = pyrec.pf_reader_replay(self.reader, None, replay.sink, count,
                                      error)
        if replay.failure:
            raise replay.failure
        library.check(code, error)
        return count.value

    def close(self):
        pyrec.pf_reader_free(self.reader)
        self.reader = None


def install():
    rd.BinaryReader = BinaryReader
