"""However a recording ends, its file is whole up to the last checkpoint."""

import os
import random
import signal
import struct
import subprocess
import time

import live
from live import expect

INTERVAL = 2.0  # seconds: the longest a segment stays open
LATE = 0.5      # a machine under load may write a segment this late
KILLS = 200
AT_A_TIME = 20


def start(target, output, *options):
    """A recording that goes on until it is told to end."""
    return subprocess.Popen(
        [live.PYREC, "-p", str(target.pid), "-o", output, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


def wait_for_segments(path, n):
    """Until the file has grown n times."""
    for i in range(n):
        before = live.size(path)
        live.wait_until(lambda: live.size(path) > before,
                        "%s grows for the %d. time" % (path, i + 1))


def start_us(path):
    with open(path, "rb") as file:
        return struct.unpack("<Q", file.read(20)[12:])[0]


def not_stopped(pid):
    with open("/proc/%d/status" % pid) as file:
        state = [line for line in file if line.startswith("State:")][0]
    return state.split()[1] not in "Tt"


def ends_cleanly(number):
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        recorder = start(target, "run.bin")
        wait_for_segments("run.bin", 2)
        recorder.send_signal(number)
        _, stderr = recorder.communicate(timeout=live.PATIENCE)
        expect(recorder.returncode == 0, "status %d: %s", recorder.returncode,
               stderr)
        expect(not_stopped(target.pid), "the target is stopped")
    database = live.Database("run.bin")
    expect(database.samples() == live.header_samples("run.bin"),
           "the header counts other samples")


@live.once
def sigint_finishes_the_file():
    ends_cleanly(signal.SIGINT)


@live.once
def sigterm_finishes_the_file():
    ends_cleanly(signal.SIGTERM)


@live.once
def sighup_finishes_the_file():
    ends_cleanly(signal.SIGHUP)


@live.each_python
def a_target_that_exits_is_the_normal_end(python):
    with live.Target(python, "plain.py", seconds=2) as target:
        recorder = start(target, "run.bin")
        target.process.wait(live.PATIENCE)
        _, stderr = recorder.communicate(timeout=live.PATIENCE)
    expect(recorder.returncode == 0, "status %d: %s", recorder.returncode,
           stderr)
    expect(live.Database("run.bin").samples() > 500, "too few samples")


@live.each_python
def a_killed_recording_loses_no_more_than_the_last_interval(python):
    with live.Target(python, "plain.py") as target:
        recorder = start(target, "run.bin")
        wait_for_segments("run.bin", 3)
        killed = time.clock_gettime(time.CLOCK_MONOTONIC)
        recorder.kill()
        recorder.communicate()
        expect(not_stopped(target.pid), "the target is stopped")
    database = live.Database("run.bin", status=3)
    expect(live.one_line(database.stderr), "not one line: %s", database.stderr)
    last = database.value("SELECT max(t1_us) FROM run") + start_us("run.bin")
    expect(killed - last / 1e6 <= INTERVAL + LATE, "the last %.2f s are lost",
           killed - last / 1e6)


class Victim:
    """A recording that will be killed at a moment of its own."""

    def __init__(self, target, path, moment):
        self.path = path
        self.recorder = start(target, path, "-r", "200")
        self.moment = time.clock_gettime(time.CLOCK_MONOTONIC) + moment

    def kill(self):
        # a random moment, not one that anything waits for
        time.sleep(max(0, self.moment -
                       time.clock_gettime(time.CLOCK_MONOTONIC)))
        self.recorder.kill()
        self.moment = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.recorder.communicate()

    def seconds_lost(self):
        """None: killed before the header was written."""
        if live.size(self.path) < 64:
            return None
        begin = start_us(self.path) / 1e6
        done = live.call(live.PYCONV, self.path, "--to", "sqlite", "-o",
                         self.path + ".db", "-f")
        expect(live.one_line(done.stderr), "%s: not one line: %s", self.path,
               done.stderr)
        # killed before the first checkpoint there is nothing to be had
        some = os.path.exists(self.path + ".db")
        expect(done.returncode == (3 if some else 1), "%s: status %d: %s",
               self.path, done.returncode, done.stderr)
        last = 0
        if some:
            database = live.Database(self.path, status=3)
            last = database.value("SELECT coalesce(max(t1_us), 0) FROM run")
        return self.moment - begin - last / 1e6


@live.once
def two_hundred_recordings_killed_at_random_moments_are_readable():
    seed = random.randrange(1 << 32)
    print("# seed %d" % seed)
    chance = random.Random(seed)
    worst = 0
    early = 0
    with live.Target(live.ANY_PYTHON, "plain.py", seconds=600) as target:
        for batch in range(KILLS // AT_A_TIME):
            moments = sorted(chance.uniform(0, 5) for _ in range(AT_A_TIME))
            victims = [Victim(target, "run%d-%d.bin" % (batch, i), moment)
                       for i, moment in enumerate(moments)]
            for victim in victims:
                victim.kill()
            expect(not_stopped(target.pid), "the target is stopped")
            for victim in victims:
                lost = victim.seconds_lost()
                early += lost is None
                worst = max(worst, lost or 0)
    print("# %d killed before they wrote anything; at most %.2f s lost"
          % (early, worst))
    expect(worst <= INTERVAL + LATE, "%.2f s are lost", worst)


live.run()
