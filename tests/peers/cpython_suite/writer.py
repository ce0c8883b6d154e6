"""BinaryWriter of CPython 3.15's _remote_debugging on libpyrec's writer."""

import ctypes as C
import operator
import os
import sys

import _remote_debugging as rd
import library
from library import pyrec


def kept_frames(old, new):
    """The number of outermost frames that two stacks share."""
    return len(os.path.commonprefix([old[::-1], new[::-1]]))


class BinaryWriter:
    def __init__(self, filename, sample_interval_us, start_time_us, *,
                 compression=0, mode=-1, capture_features=-1):
        options = library.WriterOptions(
            size=C.sizeof(library.WriterOptions), compression=compression,
            force=1)
        self.sink, error = C.POINTER(library.Sink)(), library.Error()
        code = pyrec.pf_writer_open(os.fsencode(filename), options,
                                    C.byref(self.sink), error)
        library.check(code, error, filename)
        self.open, self.broken, self.limit_reached = True, False, False
        self.total_samples, self.start_us = 0, start_time_us
        self.strings, self.frames, self.threads = {}, {}, {}
        self.stacks, self.stats = {}, None
        self.call("start", library.Start(
            start_us=start_time_us, interval_us=sample_interval_us,
            python=sys.version_info[:3],
            mode=library.UNKNOWN_MODE if mode == -1 else mode,
            capture=0 if capture_features == -1 else library.CAPTURE_KNOWN |
            capture_features << library.CAPTURE_SHIFT))

    def call(self, name, *arguments):
        """After a failed operation the writer takes no other one."""
        error = library.Error()
        operation = getattr(self.sink.contents.ops.contents, name)
        code = operation(self.sink, *arguments, error)
        self.broken = self.broken or bool(code)
        library.check(code, error)

    # ---- ids, in the order of the first use ----

    def string(self, text):
        if text not in self.strings:
            data = text.encode("utf-8", "surrogatepass")
            self.call("string", data, len(data))
            self.strings[text] = len(self.strings)
        return self.strings[text]

    def frame(self, frame):
        location = frame.location or library.NO_LOCATION
        key = (frame.filename, frame.funcname, *location, frame.opcode)
        if key not in self.frames:
            opcode = library.NO_OPCODE if frame.opcode is None \
                else frame.opcode
            self.call("frame", library.Frame(
                self.string(frame.filename), self.string(frame.funcname),
                *location, 0, opcode))
            self.frames[key] = len(self.frames)
        return self.frames[key]

    def thread(self, interpreter, tid, status):
        key = (interpreter, tid)
        if key not in self.threads:
            main = bool(status & rd.THREAD_STATUS_MAIN_THREAD)
            self.call("thread", library.Thread(tid=tid, interp=interpreter,
                                               is_main=main))
            self.threads[key] = len(self.threads)
        return self.threads[key]

    # ---- samples ----

    def write_sample(self, interpreters, time_us):
        self.check_open()
        for info in interpreters:
            if not 0 <= info.interpreter_id < 2 ** 32:
                self.limit_reached = True
                raise OverflowError("interpreter_id does not fit")
            for thread in info.threads:
                self.write_thread(info.interpreter_id, thread, time_us)

    def write_thread(self, interpreter, info, time_us):
        try:
            status = operator.index(info.status)
        except BaseException:
            self.broken = True
            raise
        thread = self.thread(interpreter, info.thread_id, status)
        stack = list(map(self.frame, info.frame_info))
        old = self.stacks.get(thread, [])
        keep = kept_frames(old, stack)
        push = stack[:len(stack) - keep]
        self.call("delta", library.Delta(
            thread, keep, len(push), 1, (library.U32 * len(push))(*push),
            C.pointer(library.U64(time_us - self.start_us)),
            C.pointer(library.U8(status))))
        self.stacks[thread] = stack
        self.total_samples += 1

    def set_stats(self, duration, rate, error=None, missed=None):
        self.stats = library.Stats(
            duration, rate, error or 0, missed or 0,
            library.STATS_PRESENT |
            (library.ERROR_KNOWN if error is not None else 0) |
            (library.MISSED_KNOWN if missed is not None else 0))

    def get_stats(self):
        stats = library.WriterStats()
        pyrec.pf_writer_get_stats(self.sink, stats)
        return {name: getattr(stats, name) for name, _ in stats._fields_}

    # ---- the end ----

    def check_open(self):
        if self.broken or not self.open:
            raise ValueError("the writer is %s" %
                             ("broken" if self.broken else "closed"))

    def finalize(self):
        self.check_open()
        if self.stats:
            self.call("stats", self.stats)
        self.open = False
        self.call("finish")

    def close(self):
        if self.open:
            self.open = False
            self.total_samples = 0
            self.sink.contents.ops.contents.abort(self.sink)

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        if self.broken:
            self.close()
        elif self.open:
            self.finalize()
        return False


def install():
    rd.BinaryWriter = BinaryWriter
