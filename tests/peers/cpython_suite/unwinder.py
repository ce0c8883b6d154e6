"""The classes of CPython 3.15's _remote_debugging that read a process, on
pyrec: RemoteUnwinder by --dump and --tasks, GCMonitor by --gc.

Run under CPython 3.15, whose result types they return."""

import json
import os
import subprocess

import _remote_debugging as rd

PYREC = os.path.join(os.environ["BIN"], "pyrec")
MODES = ["wall", "cpu", "gil", "all", "exception"]
NO_PROCESS, DENIED = 7, 9
STATUS_BITS = [("has_gil", 1), ("on_cpu", 2), ("gil_requested", 8),
               ("has_exception", 16), ("main_thread", 32)]


def pyrec(*arguments):
    done = subprocess.run([PYREC, *map(str, arguments)], capture_output=True)
    text = done.stderr.decode(errors="replace")
    if done.returncode == NO_PROCESS:
        raise ProcessLookupError(3, text)
    if done.returncode == DENIED:
        raise PermissionError(1, text)
    if done.returncode:
        raise RuntimeError("pyrec: status %d: %s" % (done.returncode, text))
    return done.stdout.decode("utf-8", "surrogatepass")


known_frames = {}


def frame_of(answer):
    """CPython's unwinder hands out equal frames of its cache as one object."""
    frame = new_frame(answer)
    return known_frames.setdefault(tuple(map(repr, frame)), frame)


def new_frame(answer):
    location = None
    if "line" in answer:
        location = rd.LocationInfo((
            answer["line"], answer["end_line"], answer.get("column", -1),
            answer.get("end_column", -1)))
    return rd.FrameInfo((answer["file"], location, answer["function"],
                         answer.get("opcode")))


def status_of(thread):
    return sum(bit for word, bit in STATUS_BITS if thread[word])


class RemoteUnwinder:
    def __init__(self, pid, *, all_threads=False, only_active_thread=False,
                 mode=0, debug=False, skip_non_matching_threads=True,
                 native=False, gc=False, opcodes=False, cache_frames=False,
                 stats=False):
        if all_threads and only_active_thread:
            raise ValueError(
                "all_threads and only_active_thread cannot both be true")
        self.pid = pid
        threads = "all" if all_threads else "gil" if only_active_thread \
            else "main"
        self.options = ["--threads", threads, "--mode", MODES[mode]]
        self.options += ["--keep-idle"] * (not skip_non_matching_threads)
        self.options += ["--native"] * bool(native)
        self.options += ["--no-gc"] * (not gc)
        self.options += ["--opcodes"] * bool(opcodes)
        pyrec("--check", pid)

    def hide_itself(self, frames):
        """A test that reads its own process finds this file at work."""
        if self.pid != os.getpid():
            return frames
        own = [i for i, frame in enumerate(frames)
               if frame.filename == __file__]
        return frames[own[-1] + 1:] if own else frames

    def get_stack_trace(self):
        answer = json.loads(pyrec("--dump", "--json", "-p", self.pid,
                                  *self.options), strict=False)
        threads = {}
        for thread in answer["threads"]:
            if thread["sampled"]:
                frames = self.hide_itself(list(map(frame_of,
                                                   thread["frames"])))
                threads.setdefault(thread["interpreter"], []).append(
                    rd.ThreadInfo((thread["tid"], status_of(thread), frames)))
        return [rd.InterpreterInfo(pair) for pair in threads.items()]

    # ---- tasks ----

    def tasks(self):
        answer = json.loads(pyrec("--tasks", "--json", "-p", self.pid),
                            strict=False)
        for task in answer["tasks"]:
            task["stack"] = list(map(frame_of, task["frames"]))
        return {task["id"]: task for task in answer["tasks"]}

    @staticmethod
    def task_info(task, tasks):
        return rd.TaskInfo((
            task["id"], task["name"],
            [rd.CoroInfo((task["stack"], task["id"]))],
            [rd.CoroInfo((tasks[parent]["stack"], parent))
             for parent in task["awaited_by"]]))

    def get_all_awaited_by(self):
        tasks = self.tasks()
        threads = {}
        for task in tasks.values():
            threads.setdefault(task["tid"], []).append(
                self.task_info(task, tasks))
        ended = threads.pop(0, [])
        return [rd.AwaitedInfo(pair) for pair in [*threads.items(),
                                                  (0, ended)]]

    def add_running_frames(self, running):
        """The stack of a running task goes on to its thread's own frames."""
        answer = json.loads(pyrec("--dump", "--json", "-p", self.pid, "--async",
                                  "running"), strict=False)
        for thread in answer["threads"]:
            frames = []
            for frame in thread["frames"]:
                if frame["file"] == "<task>":
                    break
                frames.append(frame_of(frame))
            for task in running:
                if task["tid"] == thread["tid"] and frames:
                    task["stack"] = self.hide_itself(frames)

    def get_async_stack_trace(self):
        tasks = self.tasks()
        running = [task for task in tasks.values() if task["running"]]
        if not running:
            raise RuntimeError("No running task found")
        self.add_running_frames(running)
        answer = []
        for task in running:
            chain, known = [task["id"]], set()
            for key in chain:
                if key not in known:
                    known.add(key)
                    chain += tasks[key]["awaited_by"]
            infos = [self.task_info(tasks[key], tasks)
                     for key in dict.fromkeys(chain)]
            answer.append(rd.AwaitedInfo((task["tid"], infos)))
        return answer


class GCMonitor:
    def __init__(self, pid, *, debug=False):
        self.pid = pid

    def get_gc_stats(self, all_interpreters=False):
        events = [json.loads(line) for line in pyrec(
            "--gc", "--json", "-p", self.pid).splitlines()]
        return [rd.GCStatsInfo((
            event["generation"], event["interpreter"], event["start_us"],
            event["stop_us"], event["collections"], event["collected"],
            event["uncollectable"], event["candidates"], event["heap_size"],
            event["duration_ns"])) for event in events
            if "generation" in event and
            (all_interpreters or event["interpreter"] == 0)]


def is_python_process(pid):
    return subprocess.run([PYREC, "--check", str(pid)],
                          capture_output=True).returncode == 0


def install():
    rd.RemoteUnwinder = RemoteUnwinder
    rd.GCMonitor = GCMonitor
    rd.get_gc_stats = lambda pid, *, all_interpreters=False: \
        GCMonitor(pid).get_gc_stats(all_interpreters)
    rd.is_python_process = is_python_process
