"""However a recording ends, its file is whole up to the last checkpoint."""

import os
import random
import signal
import subprocess
import time

import live
from growing import decoder, opened, wait_for_segments
from live import expect

INTERVAL_US = 2000000  # by the samples' clock: the longest span of a segment
KILLS = int(os.environ.get("PYREC_TEST_KILLS", 40))
AT_A_TIME = 20


def start(target, output, *options):
    """A recording that goes on until a signal ends it."""
    return subprocess.Popen(
        [live.PYREC, "-p", str(target.pid), "-o", output, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)


def not_stopped(pid):
    with open("/proc/%d/status" % pid) as file:
        state = [line for line in file if line.startswith("State:")][0]
    return state.split()[1] not in "Tt"


def ends_cleanly(number):
    with live.Target(live.ANY_PYTHON, "plain.py") as target:
        recorder = start(target, "run.bin")
        wait_for_segments("run.bin", 1)
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
    samples = live.Database("run.bin").samples()
    expect(samples == live.header_samples("run.bin") > 0, "%d samples", samples)


def spans_of(path):
    """First and last time of each whole segment, by the second decoder."""
    reader = opened(path)
    reader.decode()
    return [(segment.first, segment.last) for segment in reader.segments]


def expect_all_that_was_written(path):
    """A killed recording has lost the segment that was open, which spans the
    interval at most; a second decoder finds as many samples as pyconv.
    Returns the count of segments."""
    with open(path, "rb") as file:
        data = file.read()
    done = live.call(live.PYCONV, path, "--to", "sqlite", "-o", path + ".db",
                     "-f")
    expect(live.one_line(done.stderr), "%s: not one line: %s", path,
           done.stderr)
    spans = spans_of(path)
    if not spans:
        expect(done.returncode == 1 and not os.path.exists(path + ".db"),
               "%s: status %d: %s", path, done.returncode, done.stderr)
        return 0
    expect(done.returncode == 3, "%s: status %d: %s", path, done.returncode,
           done.stderr)
    longest = max(last - first for first, last in spans)
    expect(longest <= INTERVAL_US, "%s: a segment of %d us", path, longest)
    samples = live.Database(path, status=3).samples()
    expect(samples == decoder.decode(data).samples(), "%s: %d samples", path,
           samples)
    return len(spans)


@live.each_python
def a_killed_recording_loses_only_its_open_segment(python):
    with live.Target(python, "plain.py") as target:
        recorder = start(target, "run.bin")
        wait_for_segments("run.bin", 2)
        recorder.kill()
        recorder.communicate()
        expect(not_stopped(target.pid), "the target is stopped")
    found = expect_all_that_was_written("run.bin")
    expect(found >= 2, "%d segments after two whole ones", found)


class Victim:
    """A recording that will be killed at a moment of its own."""

    def __init__(self, target, path, moment):
        self.path = path
        self.recorder = start(target, path, "-r", "200")
        self.moment = time.monotonic() + moment

    def kill(self):
        # a random moment, not one that anything waits for
        time.sleep(max(0, self.moment - time.monotonic()))
        self.recorder.kill()
        self.recorder.communicate()

    def segments(self):
        """None: killed before the header was written."""
        if live.size(self.path) < 64:
            return None
        return expect_all_that_was_written(self.path)


@live.once
def recordings_killed_at_random_moments_are_readable():
    seed = random.randrange(1 << 32)
    print("# seed %d, %d recordings" % (seed, KILLS))
    chance = random.Random(seed)
    found = []
    with live.Target(live.ANY_PYTHON, "plain.py", seconds=600) as target:
        for batch in range(KILLS // AT_A_TIME):
            moments = sorted(chance.uniform(0, 5) for _ in range(AT_A_TIME))
            victims = [Victim(target, "run%d-%d.bin" % (batch, i), moment)
                       for i, moment in enumerate(moments)]
            for victim in victims:
                victim.kill()
            expect(not_stopped(target.pid), "the target is stopped")
            found += [victim.segments() for victim in victims]
    print("# segments read of each:", *found)
    expect(any(found), "none had a whole segment")


live.run()
