"""libpyrec by ctypes: the structs and functions of include/pyrec/error.h,
profile.h, sink.h, reader.h and writer.h that the shims of files use."""

import ctypes as C
import glob
import os
import re

U8, U32, U64, I32, SIZE = C.c_uint8, C.c_uint32, C.c_uint64, C.c_int32, \
    C.c_size_t
ADDRESS, ENUM = C.c_void_p, C.c_int


def struct(**fields):
    """A struct with these members."""
    return type("Struct", (C.Structure,), {"_fields_": list(fields.items())})


def numbers(names, kind=U64):
    """Members of one type."""
    return dict.fromkeys(names.split(), kind)


INTERNAL = -4  # PR_INTERNAL
NO_OPCODE = 255
UNKNOWN_MODE = 255
NO_LOCATION = (-1, -1, -1, -1)
CAPTURE_KNOWN, CAPTURE_SHIFT, CAPTURE_MASK = 8, 4, 31
ERROR_KNOWN, MISSED_KNOWN, STATS_PRESENT = 1, 2, 1 << 31

Error = struct(code=ENUM, sys=C.c_int, offset=U64, what=C.c_char * 256,
               hint=C.c_char * 256)
Start = struct(start_us=U64, wall_us=U64, interval_us=U64, python=U8 * 3,
               mode=ENUM, capture=U32)
Frame = struct(file=U32, func=U32, line=I32, end_line=I32, column=I32,
               end_column=I32, first_line=I32, opcode=U8)
Thread = struct(tid=U64, interp=U32, is_main=U8, name=C.c_char_p,
                name_len=SIZE, process=U32)
Delta = struct(thread=U32, keep=U32, n_push=U32, n=U32, push=C.POINTER(U32),
               time_us=C.POINTER(U64), status=C.POINTER(U8))
Stats = struct(duration_s=C.c_double, rate_hz=C.c_double,
               error_percent=C.c_double, missed_percent=C.c_double, known=U32)

# The parameters of each operation between the sink and the error, in the order
# of PR_SINK_MAP.
PARAMETERS = {
    "start": [C.POINTER(Start)], "meta": [ADDRESS, ADDRESS, SIZE],
    "string": [ADDRESS, SIZE], "frame": [C.POINTER(Frame)],
    "process": [ADDRESS], "thread": [C.POINTER(Thread)],
    "rename": [U32, ADDRESS, SIZE], "leave": [U32], "rate": [ADDRESS],
    "delta": [C.POINTER(Delta)], "count": [ADDRESS], "gc": [ADDRESS],
    "task": [ADDRESS], "mark": [ADDRESS], "total": [ADDRESS],
    "stats": [C.POINTER(Stats)], "finish": [],
}
with open(os.path.join(os.environ["SRC"], "include/pyrec/sink.h"),
          encoding="utf-8") as header:
    declared = re.findall(r"X\((\w+), \(", header.read())
assert [*declared, "finish"] == list(PARAMETERS), "PR_SINK_MAP: %s" % declared
OPERATIONS = {name: C.CFUNCTYPE(ENUM, ADDRESS, *types, C.POINTER(Error))
              for name, types in PARAMETERS.items()}
Operations = struct(**OPERATIONS, abort=C.CFUNCTYPE(None, ADDRESS))
Sink = struct(ops=C.POINTER(Operations), next=ADDRESS)

WriterOptions = struct(size=SIZE, compression=ENUM, level=C.c_int,
                       segment_bytes=U32, checkpoint_us=U32, fsync=C.c_int,
                       force=C.c_int)
WriterStats = struct(**numbers(
    "repeat_records repeat_samples full_records suffix_records "
    "pop_push_records total_samples total_frames_written frames_saved "
    "bytes_written bytes_compressed segments file_bytes"))
Info = struct(start=Start, stats=Stats, state=ENUM, file_bytes=U64,
              good_bytes=U64, samples=U64, threads=U32,
              **numbers("strings frames segments first_us last_us"),
              **numbers("compressed swapped has_checkpoints newer_rewriter",
                        U8),
              **numbers("bytes_compressed bytes_records samples_lost"),
              lost_is_known=U8)

built = glob.glob(os.path.join(os.environ["BIN"], "libpyrec.so.*"))
pyrec = C.CDLL(max(built, key=os.path.getmtime))
pyrec.pf_writer_open.argtypes = [
    C.c_char_p, C.POINTER(WriterOptions), C.POINTER(C.POINTER(Sink)),
    C.POINTER(Error)]
pyrec.pf_writer_get_stats.argtypes = [C.POINTER(Sink), C.POINTER(WriterStats)]
pyrec.pf_reader_open.argtypes = [C.c_char_p, ADDRESS, C.POINTER(ADDRESS),
                                 C.POINTER(Error)]
pyrec.pf_reader_free.argtypes = [ADDRESS]
pyrec.pf_reader_info.argtypes = [ADDRESS]
pyrec.pf_reader_info.restype = C.POINTER(Info)
pyrec.pf_reader_replay.argtypes = [ADDRESS, ADDRESS, C.POINTER(Sink),
                                   C.POINTER(U64), C.POINTER(Error)]


def check(code, error, filename=None):
    """Raise what CPython's classes raise where libpyrec returns an error."""
    if not code:
        return
    if error.sys:
        raise OSError(error.sys, os.strerror(error.sys), filename)
    raise ValueError(error.what.decode(errors="replace"))
