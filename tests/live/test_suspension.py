"""Times in which nothing could be sampled, or nothing moved, are marked."""

import glob
import os
import signal
import subprocess
import time

import growing
import live
from live import expect

CHECKED_EVERY = 0.1  # seconds, at the first tick after them
STOPPED = 0.5        # seconds, in which many ticks were due


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Recording:
    """One that has begun; the test ends it."""

    def __init__(self, target):
        self.process = subprocess.Popen(
            [live.PYREC, "-p", str(target.pid), "-o", "run.bin"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        growing.wait_for_segments("run.bin", 1)

    def naps(self):
        """How often the threads of the recorder have slept, taken together."""
        total = 0
        for path in glob.glob("/proc/%d/task/*/status" % self.process.pid):
            with open(path) as file:
                total += sum(int(line.split()[1]) for line in file
                             if line.startswith("voluntary_ctxt"))
        return total

    def wait_for_check(self):
        """Until the recorder has checked the target once more: at a tick that
        begins when the time between two checks is over."""
        end = now() + CHECKED_EVERY
        live.wait_until(lambda: now() > end, "it is time for a check")
        # A nap is a tick, or one of the encoder's, which are ten a second.
        before = self.naps()
        live.wait_until(lambda: self.naps() - before >= 50, "it has ticked")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.said = self.process.communicate()[1]
        expect(self.process.returncode == 0, "status %d: %s",
               self.process.returncode, self.said)
        self.database = live.Database("run.bin")
        self.start = self.database.value(
            "SELECT start_us FROM profile") / 1e6

    def marks(self, kind):
        """(begin, end, text) of each, by the machine's clock."""
        return [(self.start + begin / 1e6, self.start + end / 1e6, text)
                for begin, end, text in self.database.rows(
                    "SELECT t0_us, t1_us, detail FROM event WHERE kind = ?",
                    kind)]


class Suspension:
    """A target is suspended, from before the first moment to after the last
    one; the recorder has seen it at least twice."""

    def __init__(self, recording, suspend, is_suspended):
        self.begin = now()
        suspend()
        # on a busy machine a thread that is to stop may wait for a CPU first
        live.wait_until(is_suspended, "the target is suspended")
        recording.wait_for_check()
        self.seen = now()
        recording.wait_for_check()
        self.seen_again = now()
        recording.wait_for_check()
        self.recording = recording

    def over(self, resume):
        resume()
        self.end = now()
        self.recording.wait_for_check()

    def expect_mark(self, text):
        (mark,) = self.recording.marks("suspended") or [None]
        expect(mark and mark[2] == text, "%s", mark)
        expect(self.begin <= mark[0] <= self.seen, "%s begins beyond %s",
               mark, (self.begin, self.seen))
        expect(self.seen_again <= mark[1] <= self.end, "%s ends beyond %s",
               mark, (self.seen_again, self.end))
        expect("stopped, frozen or suspended" in self.recording.said, "%s", self.recording.said)


def is_stopped(pid):
    return all(read(path).rsplit(")", 1)[1].split()[0] == "T"
               for path in glob.glob("/proc/%d/task/*/stat" % pid))


@live.each_python
def a_target_that_is_stopped_is_marked(python):
    with live.Target(python, "plain.py") as target:
        recording = Recording(target)
        stop = Suspension(recording,
                          lambda: os.kill(target.pid, signal.SIGSTOP),
                          lambda: is_stopped(target.pid))
        stop.over(lambda: os.kill(target.pid, signal.SIGCONT))
        recording.end()
    stop.expect_mark("stopped by a signal")


@live.once
def a_target_that_stays_stopped_is_marked_to_the_end():
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        recording = Recording(target)
        stop = Suspension(recording,
                          lambda: os.kill(target.pid, signal.SIGSTOP),
                          lambda: is_stopped(target.pid))
        recording.end()
        stop.end = now()
        stop.expect_mark("stopped by a signal")
        with open("/proc/%d/stat" % target.pid) as stat:
            expect(stat.read().rsplit(")", 1)[1].split()[0] == "T",
                   "pyrec let it go on")


def make_freezer():
    """A cgroup of version 2 that can be frozen."""
    for root in "/sys/fs/cgroup", "/sys/fs/cgroup/unified":
        path = os.path.join(root, "pyrec-test-%d" % os.getpid())
        try:
            os.mkdir(path)
        except OSError:
            continue
        if os.path.exists(path + "/cgroup.freeze"):
            return path
        os.rmdir(path)
    raise live.Skip("no cgroup may be frozen here")


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


@live.once
def a_target_whose_cgroup_is_frozen_is_marked():
    freezer = make_freezer()
    try:
        with live.Target(live.ANY_PYTHON, "plain.py") as target:
            write(freezer + "/cgroup.procs", str(target.pid))
            recording = Recording(target)
            frost = Suspension(
                recording, lambda: write(freezer + "/cgroup.freeze", "1"),
                lambda: "frozen 1" in read(freezer + "/cgroup.events"))
            frost.over(lambda: write(freezer + "/cgroup.freeze", "0"))
            recording.end()
    finally:
        live.wait_until(lambda: not open(freezer + "/cgroup.procs").read(),
                        "the cgroup is empty")
        os.rmdir(freezer)
    frost.expect_mark("frozen")


@live.once
def a_recorder_that_was_stopped_leaves_a_gap_without_samples():
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        recording = Recording(target)
        recording.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, recording.process.pid, os.WSTOPPED)
        begin = now()
        time.sleep(STOPPED)
        end = now()
        recording.process.send_signal(signal.SIGCONT)
        recording.wait_for_check()
        again = now()
        recording.end()
    gaps = [gap for gap in recording.marks("gap") if gap[1] > begin]
    expect(gaps and gaps[0][0] <= begin and end - 0.001 <= gaps[0][1] <= again,
           "gaps %s, stopped %s", gaps, (begin, end, again))
    first, last = [int((at - recording.start) * 1e6) for at in gaps[0][:2]]
    # the tick that was held up may have read a thread already, once each
    within = recording.database.rows(
        "SELECT thread_id, count(*) FROM"
        " (SELECT thread_id, t0_us AS t FROM run"
        "  UNION SELECT thread_id, t1_us FROM run)"
        " WHERE t > ? + 1 AND t < ? - 1 GROUP BY thread_id", first, last)
    expect(all(n <= 1 for _, n in within), "samples in the gap: %s", within)
    expect("nothing could be sampled" in recording.said, "%s", recording.said)


class Limited:
    """A process in a cgroup, of version 1, that may use a tenth of a CPU."""

    ROOT = "/sys/fs/cgroup/cpu"

    def __init__(self, pid):
        self.folder = os.path.join(self.ROOT, "pyrec-test-%d" % os.getpid())
        try:
            os.mkdir(self.folder)
            self.write(self.folder, "cpu.cfs_period_us", 10000)
            self.write(self.folder, "cpu.cfs_quota_us", 1000)
            self.write(self.folder, "cgroup.procs", pid)
        except OSError as error:
            raise live.Skip("no CPU time can be limited here: %s" % error)

    @staticmethod
    def write(folder, name, value):
        with open(os.path.join(folder, name), "w") as file:
            file.write(str(value))

    def counts(self):
        with open(os.path.join(self.folder, "cpu.stat")) as file:
            count = dict(line.split() for line in file)
        return [int(count["nr_periods"]), int(count["nr_throttled"]),
                int(count["throttled_time"]) // 1000]

    def end(self, pid):
        self.write(self.ROOT, "cgroup.procs", pid)
        os.rmdir(self.folder)


@live.once
def the_time_for_which_a_limit_held_the_target_is_counted():
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        limit = Limited(target.pid)
        try:
            before = limit.counts()
            live.record(target, "run.bin", seconds=1)
            after = limit.counts()
        finally:
            limit.end(target.pid)
    database = live.Database("run.bin")
    for i, name in enumerate(("periods", "throttled", "throttled_us")):
        value = int(database.meta("count.cgroup_" + name))
        most = after[i] - before[i]
        # a machine that is busy enough never lets it come to its limit
        expect(value <= most and (value > 0 or most < 10), "%s: %d of %d",
               name, value, most)


live.run()
