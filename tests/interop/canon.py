"""One form for a whole profile, the same for every reader.

Every reader (the library through dump.c, the second decoder, CPython's) ends
in a Profile; two Profiles of the same file are equal, and print as the same
JSON lines.  Names are bytes; in JSON they stand as one character a byte
(Latin-1), so that no name is beyond it.

The sink text is the library's sink.h in words, one call a line: dump.c prints
it and feed.c reads it.
    start START WALL INTERVAL MAJOR MINOR MICRO MODE CAPTURE
    meta KEY VALUE              string BYTES
    frame FILE FUNC LINE END_LINE COLUMN END_COLUMN FIRST_LINE OPCODE
    process INDEX PID PARENT START END MAJOR MINOR MICRO COMMAND HOST SCOPE N
            (KEY VALUE)...      rate PROCESS TIME INTERVAL
    thread TID INTERP MAIN NAME PROCESS
    rename THREAD NAME
    delta THREAD KEEP N_PUSH ids... N (time status)...
    count THREAD KIND VALUE PROCESS TIME
    gc, task and mark as their structs
    stats DURATION RATE ERROR MISSED KNOWN
Bytes are in hexadecimal, "-" when there are none; no thread is "-"; floats
are hexadecimal as C's %a.
"""

import json

PROCESS = 0xFFFFFFFF  # interpreter of a ref whose thread is a process
NO_THREAD = (0, PROCESS)  # the first process, and its tasks of ended threads
MODE_UNKNOWN = 255


def thread_key(process, tid, interp):
    """Threads of process 0 are (tid, interpreter), others have the process
    after that."""
    return (tid, interp, process) if process else (tid, interp)


class Process:
    """The facts about one process; its times are wall clock."""

    def __init__(self, pid=0, parent=0, start=0, end=0, python=(0, 0, 0),
                 command=b"", host=b"", scope=b"", meta=()):
        self.numbers = [pid, parent, start, end]
        self.python = list(python)
        self.texts = [command, host, scope]
        self.meta = list(meta)

    def __eq__(self, other):
        return vars(self) == vars(other)

    def line(self):
        return [*self.numbers, self.python, *map(text, self.texts),
                [[text(k), text(v)] for k, v in self.meta]]


class Thread:
    """One thread of one interpreter: its name and its runs of equal
    stacks."""

    def __init__(self, main=0, name=b""):
        self.main, self.name = main, name
        self.runs = []  # (frame ids innermost first, [(time, status)])

    def add(self, stack, samples):
        if not samples:
            return
        if self.runs and self.runs[-1][0] == stack:
            self.runs[-1][1].extend(samples)
        else:
            self.runs.append((stack, list(samples)))

    def __eq__(self, other):
        return vars(self) == vars(other)


class Profile:
    def __init__(self):
        self.state = "finished"
        self.start = {}
        self.meta = {}
        self.strings, self.frames = [], []
        self.processes = {}  # index -> Process
        self.rates = []  # (process, time, interval)
        self.threads = {}  # thread_key() -> Thread
        self.counts = {}  # (*thread key, kind) -> [(time, value)]
        self.gc, self.tasks, self.marks = [], [], []
        self.stats = None  # five numbers

    def thread(self, *key):
        return self.threads.setdefault(key, Thread())

    def silent(self, index):
        """Process 0 of which only the header speaks."""
        return not index and self.processes[0] == Process(
            python=self.start["python"])

    def samples(self):
        return sum(len(s) for t in self.threads.values() for _, s in t.runs)

    def place(self, frame_id):
        """A frame with its names instead of string ids."""
        frame = self.frames[frame_id]
        return (self.strings[frame[0]], self.strings[frame[1]], *frame[2:])

    def plain_keys(self):
        """The samples as a reader that knows no processes finds them: by the
        numbers that records have, where two processes may not share one."""
        out, taken = Profile(), set()
        out.strings, out.frames = self.strings, self.frames
        out.start, out.stats = self.start, self.stats
        for (tid, interp, *process), thread in self.threads.items():
            key, high = (tid, interp), process[0] if process else 0
            while key in taken:
                high += 1
                key = tid + (high << 32), interp
            taken.add(key)
            out.threads[key] = thread
        return out

    def observed(self, first_line=False):
        """Every sample by its meaning, for profiles with other ids: thread
        -> [(time, status, stack of places)].  Files of CPython do not have
        the first line of functions."""
        places = {}
        out = {}
        for key, thread in self.threads.items():
            mine = out[key] = []
            for stack, samples in thread.runs:
                for i in stack:
                    if i not in places:
                        place = self.place(i)
                        if not first_line:
                            place = place[:6] + place[7:]
                        places[i] = place
                resolved = tuple(places[i] for i in stack)
                mine.extend((t, s, resolved) for t, s in samples)
        return {key: mine for key, mine in out.items() if mine}

    def lines(self):
        """The canonical JSON lines."""
        yield {"state": self.state, "samples": self.samples()}
        yield {"start": self.start}
        for key in sorted(self.meta):
            yield {"meta": [text(key), text(self.meta[key])]}
        for string in self.strings:
            yield {"string": text(string)}
        for frame in self.frames:
            yield {"frame": frame}
        for index in sorted(self.processes):
            if not self.silent(index):
                yield {"process": [index, *self.processes[index].line()]}
        for rate in self.rates:
            yield {"rate": rate}
        for key in sorted(self.threads):
            thread = self.threads[key]
            yield {"thread": key, "main": thread.main,
                   "name": text(thread.name)}
            for stack, samples in thread.runs:
                yield {"stack": stack, "samples": samples}
        for key in sorted(self.counts):
            yield {"count": [*key, self.counts[key]]}
        for event in self.gc:
            yield {"gc": event}
        for key, time, ref, name, parents in self.tasks:
            yield {"task": [key, time, ref, text(name), parents]}
        for process, kind, time, end, note in self.marks:
            yield {"mark": [process, kind, time, end, text(note)]}
        if self.stats:
            yield {"stats": self.stats}

    def json(self):
        return "".join(json.dumps(line) + "\n" for line in self.lines())


def text(data):
    return data.decode("latin-1")


def hexed(data):
    return data.hex() or "-"


def unhex(word):
    return b"" if word == "-" else bytes.fromhex(word)


class _Sink:
    """Rebuilds a Profile from the lines of the sink text."""

    def __init__(self):
        self.profile = Profile()
        self.keys = []  # dense thread id -> thread_key()
        self.stack = {}

    def ref(self, word, process=0):
        return (int(process), PROCESS) if word == "-" else \
            self.keys[int(word)]

    def take(self, line):
        op, *words = line.split()
        getattr(self, "on_" + op)(words)

    def on_start(self, words):
        start, wall, interval, *version, mode, capture = map(int, words)
        self.profile.start = {
            "start_us": start, "interval_us": interval, "python": version,
            "mode": mode, "capture": capture}
        if wall:
            self.profile.meta[b"wall_us"] = b"%d" % wall

    def on_meta(self, words):
        key, value = map(unhex, words)
        self.profile.meta[key] = value

    def on_string(self, words):
        self.profile.strings.append(unhex(words[0]))

    def on_frame(self, words):
        self.profile.frames.append(tuple(map(int, words)))

    def on_process(self, words):
        index, *numbers = map(int, words[:8])
        command, host, scope = map(unhex, words[8:11])
        pairs = list(map(unhex, words[12:]))
        assert len(pairs) == 2 * int(words[11])
        assert index <= len(self.profile.processes), "a gap in the processes"
        self.profile.processes[index] = Process(
            *numbers[:4], numbers[4:], command, host, scope,
            zip(pairs[::2], pairs[1::2]))

    def on_rate(self, words):
        self.profile.rates.append(tuple(map(int, words)))

    def on_thread(self, words):
        tid, interp, main = map(int, words[:3])
        assert int(words[4]) < max(len(self.profile.processes), 1)
        key = thread_key(int(words[4]), tid, interp)
        assert key not in self.profile.threads, "a thread emitted twice"
        self.profile.threads[key] = Thread(main, unhex(words[3]))
        self.keys.append(key)

    def on_rename(self, words):
        self.profile.threads[self.ref(words[0])].name = unhex(words[1])

    def on_delta(self, words):
        thread, keep, push = map(int, words[:3])
        ids = tuple(map(int, words[3:3 + push]))
        n, *pairs = map(int, words[3 + push:])
        old = self.stack.get(thread, ())
        assert keep <= len(old) and n >= 1 and len(pairs) == 2 * n, words
        stack = self.stack[thread] = ids + old[len(old) - keep:]
        self.profile.threads[self.keys[thread]].add(
            stack, list(zip(pairs[::2], pairs[1::2])))

    def on_count(self, words):
        key = *self.ref(words[0], words[3]), int(words[1])
        self.profile.counts.setdefault(key, []).append(
            (int(words[4]), int(words[2])))

    def on_gc(self, words):
        *event, process = map(int, words)
        self.profile.gc.append((process, *event))

    def on_task(self, words):
        key, time, ref, name, process, n, *parents = words
        assert int(n) == len(parents)
        self.profile.tasks.append((int(key), int(time),
                                   self.ref(ref, process),
                                   unhex(name), tuple(map(int, parents))))

    def on_mark(self, words):
        kind, time, end, note, process = words
        self.profile.marks.append((int(process), int(kind), int(time),
                                   int(end), unhex(note)))

    def on_stats(self, words):
        *numbers, known = words
        self.profile.stats = (*map(float.fromhex, numbers), int(known))


def from_sink_text(lines):
    sink = _Sink()
    for line in lines:
        sink.take(line)
    return sink.profile


def to_sink_text(profile):
    """The calls that emit `profile`, threads one after the other; samples of
    a run in one delta, as a producer may."""
    start = profile.start
    meta = dict(profile.meta)
    wall = meta.pop(b"wall_us", b"0").decode()
    yield "start {} {} {} {} {} {} {} {}".format(
        start["start_us"], wall, start["interval_us"], *start["python"],
        start["mode"], start["capture"])
    for key, value in meta.items():
        yield f"meta {hexed(key)} {hexed(value)}"
    for string in profile.strings:
        yield f"string {hexed(string)}"
    for frame in profile.frames:
        yield "frame " + " ".join(map(str, frame))
    number = {key: n for n, key in enumerate(profile.threads)}
    for index, process in profile.processes.items():
        pairs = [word for pair in process.meta for word in pair]
        words = [index, *process.numbers, *process.python,
                 *map(hexed, process.texts), len(process.meta),
                 *map(hexed, pairs)]
        yield "process " + " ".join(map(str, words))
    for rate in profile.rates:
        yield "rate " + " ".join(map(str, rate))
    for (tid, interp, *process), thread in profile.threads.items():
        yield (f"thread {tid} {interp} {thread.main} {hexed(thread.name)} "
               f"{process[0] if process else 0}")
    yield from _deltas(profile)
    yield from _events(profile, number)


def _deltas(profile):
    """All threads' runs in order of the first sample, as a recorder has
    them."""
    runs = sorted((samples[0][0], number, i)
                  for number, thread in enumerate(profile.threads.values())
                  for i, (_, samples) in enumerate(thread.runs))
    threads = list(profile.threads.values())
    last = {}
    for _, number, i in runs:
        stack, samples = threads[number].runs[i]
        old = last.get(number, ())
        keep = 0
        while keep < min(len(old), len(stack)) and \
                old[-1 - keep] == stack[-1 - keep]:
            keep += 1
        last[number] = stack
        push = stack[:len(stack) - keep]
        words = [number, keep, len(push), *push, len(samples)]
        words += [w for pair in samples for w in pair]
        yield "delta " + " ".join(map(str, words))


def _events(profile, number):
    def ref(key):
        return number.get(key, "-")

    def owner(key):
        return key[0] if key[1] == PROCESS else 0

    for (*key, kind), values in profile.counts.items():
        for time, value in values:
            yield (f"count {ref(tuple(key))} {kind} {value} {owner(key)} "
                   f"{time}")
    for process, *event in profile.gc:
        yield "gc " + " ".join(map(str, (*event, process)))
    for key, time, thread, name, parents in profile.tasks:
        words = [key, time, ref(thread), hexed(name), owner(thread),
                 len(parents), *parents]
        yield "task " + " ".join(map(str, words))
    for process, kind, time, end, note in profile.marks:
        yield f"mark {kind} {time} {end} {hexed(note)} {process}"
    if profile.stats:
        *numbers, known = profile.stats
        yield "stats {} {} {} {} {}".format(*map(float.hex, numbers), known)
