"""CPython's own writer and reader of profiles, run under CPython 3.15.

    python3.15 stock.py < JOBS > RESULTS    both one JSON list

A job is {"op": "write", "path", "compression", "start", "stats", "strings",
"frames", "samples": [[tid, interpreter, time, status, frame ids]]} with names
as Latin-1 text of their UTF-8, or {"op": "read", "path"}; a result is null,
the profile that was read, or {"error": text}.
"""

import json
import sys

import _remote_debugging as rd


def location(frame):
    line, end_line, column, end_column = frame[2:6]
    if line == -1:
        return None
    return rd.LocationInfo((line, end_line, column, end_column))


def write(job):
    strings = [s.encode("latin-1").decode() for s in job["strings"]]
    frames = [rd.FrameInfo((strings[f[0]], location(f), strings[f[1]],
                            None if f[7] == 255 else f[7]))
              for f in job["frames"]]
    start = job["start"]
    capture = start["capture"]
    writer = rd.BinaryWriter(
        job["path"], start["interval_us"], start["start_us"],
        compression=job["compression"],
        mode=-1 if start["mode"] == 255 else start["mode"],
        capture_features=capture >> 4 if capture & 8 else -1)
    for tid, interp, time, status, ids in job["samples"]:
        thread = rd.ThreadInfo((tid, status, [frames[i] for i in ids]))
        writer.write_sample([rd.InterpreterInfo((interp, [thread]))],
                            start["start_us"] + time)
    if job["stats"]:
        writer.set_stats(*job["stats"][:4])
    writer.finalize()


class Collector:
    """Samples with frames as numbers of places, each place given once."""

    def __init__(self, start):
        self.start, self.samples, self.places = start, [], {}

    def collect(self, interpreters, times):
        for interp in interpreters:
            for thread in interp.threads:
                stack = [self.place(f) for f in thread.frame_info]
                for time in times:
                    self.samples.append([
                        thread.thread_id, interp.interpreter_id,
                        time - self.start, thread.status, stack])

    def place(self, frame):
        location = tuple(frame.location or (-1, -1, -1, -1))
        opcode = 255 if frame.opcode is None else frame.opcode
        place = (frame.filename, frame.funcname, *location, opcode)
        return self.places.setdefault(place, len(self.places))


def read(job):
    reader = rd.BinaryReader(job["path"])
    info = reader.get_info()
    collector = Collector(info["start_time_us"])
    reader.replay(collector)
    reader.close()
    info["python_version"] = list(info["python_version"])
    return {"info": info, "places": list(collector.places),
            "samples": collector.samples}


def run(job):
    try:
        return {"write": write, "read": read}[job["op"]](job)
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    json.dump([run(job) for job in json.load(sys.stdin)], sys.stdout)
