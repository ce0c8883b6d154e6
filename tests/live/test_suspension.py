"""Times in which nothing could be sampled, or nothing moved, are marked."""

import os
import signal
import subprocess
import time

import live
from live import expect

LASTS = 1.0  # seconds
LOOKS = 0.1  # a standstill is looked for this often
LATE = 0.5   # and a machine under load may look this late


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class Recording:
    """Begun, and ended by the test."""

    def __init__(self, target):
        self.process = subprocess.Popen(
            [live.PYREC, "-p", str(target.pid), "-o", "run.bin"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        before = live.size("run.bin")
        live.wait_until(lambda: live.size("run.bin") > before, "it begins")
        size = live.size("run.bin")
        live.wait_until(lambda: live.size("run.bin") > size, "it has samples")

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.said = self.process.communicate()[1]
        expect(self.process.returncode == 0, "status %d: %s",
               self.process.returncode, self.said)
        self.database = live.Database("run.bin")
        self.start = int(self.database.meta("start_us")) / 1e6

    def marks(self, kind):
        """(begin, end, text) of each, by the machine's clock."""
        return [(self.start + begin / 1e6, self.start + end / 1e6, text)
                for begin, end, text in self.database.rows(
                    "SELECT t0_us, t1_us, detail FROM event WHERE kind = ?",
                    kind)]


def expect_still(recording, begin, end, text):
    (mark,) = recording.marks("suspended") or [None]
    expect(mark and mark[2] == text, "%s", mark)
    expect(begin <= mark[0] <= mark[1] <= end + LATE, "%s beyond %s", mark,
           (begin, end))
    expect(mark[1] - mark[0] >= end - begin - 2 * LOOKS - LATE,
           "%s is less than %s", mark, (begin, end))
    expect("stood still" in recording.said, "%s", recording.said)


@live.each_python
def a_target_that_is_stopped_is_marked(python):
    with live.Target(python, "plain.py") as target:
        recording = Recording(target)
        begin = now()
        os.kill(target.pid, signal.SIGSTOP)
        time.sleep(LASTS)
        os.kill(target.pid, signal.SIGCONT)
        end = now()
        time.sleep(2 * LOOKS)
        recording.end()
    expect_still(recording, begin, end, "stopped by a signal")


@live.once
def a_target_that_stays_stopped_is_marked_to_the_end():
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        recording = Recording(target)
        begin = now()
        os.kill(target.pid, signal.SIGSTOP)
        time.sleep(LASTS)
        recording.end()
        expect_still(recording, begin, begin + LASTS, "stopped by a signal")
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
            begin = now()
            write(freezer + "/cgroup.freeze", "1")
            time.sleep(LASTS)
            write(freezer + "/cgroup.freeze", "0")
            end = now()
            time.sleep(2 * LOOKS)
            recording.end()
    finally:
        live.wait_until(lambda: not open(freezer + "/cgroup.procs").read(),
                        "the cgroup is empty")
        os.rmdir(freezer)
    expect_still(recording, begin, end, "frozen")


@live.once
def a_recorder_that_was_stopped_leaves_a_gap_without_samples():
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        recording = Recording(target)
        recording.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, recording.process.pid, os.WSTOPPED)
        begin = now()
        time.sleep(LASTS)
        end = now()
        recording.process.send_signal(signal.SIGCONT)
        time.sleep(2 * LOOKS)
        recording.end()
    gaps = [gap for gap in recording.marks("gap") if gap[1] > begin]
    expect(gaps and gaps[0][0] <= begin and gaps[0][1] >= end - 0.001,
           "gaps %s, stopped %s", gaps, (begin, end))
    expect(gaps[0][1] - gaps[0][0] <= end - begin + LATE, "too long: %s", gaps)
    first, last = [int((at - recording.start) * 1e6) for at in gaps[0][:2]]
    # the tick that was held up may have read a thread already, once each
    within = recording.database.rows(
        "SELECT thread_id, count(*) FROM"
        " (SELECT thread_id, t0_us AS t FROM run"
        "  UNION SELECT thread_id, t1_us FROM run)"
        " WHERE t > ? + 1 AND t < ? - 1 GROUP BY thread_id", first, last)
    expect(all(n <= 1 for _, n in within), "samples in the gap: %s", within)
    expect("nothing could be sampled" in recording.said, "%s", recording.said)


live.run()
