"""Long recordings, many attaches, and places where no profile can be written.

PYREC_TEST_SECONDS is the length of the long recording (600).
"""

import os
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

SECONDS = int(os.environ.get("PYREC_TEST_SECONDS", 600))
ATTACHES = 50
ALL_THREADS = 2000
QUEUE_KIB = 8 << 10  # its pages are used one after the other, once


def resident_kib(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1))


def descriptors(pid):
    return sorted(os.listdir("/proc/%d/fd" % pid), key=int)


@live.once
def memory_stays_the_same_through_a_long_recording():
    with live.Target(live.ANY_PYTHON, "deep.py", 100,
                     seconds=SECONDS + 120) as target:
        recorder = subprocess.Popen(
            [live.PYREC, "-p", str(target.pid), "-o", "run.bin", "-d",
             str(SECONDS)], stderr=subprocess.PIPE, text=True)
        time.sleep(SECONDS / 6)
        early = resident_kib(recorder.pid)
        time.sleep(SECONDS * 2 / 3)
        late = resident_kib(recorder.pid)
        _, said = recorder.communicate()
    expect(recorder.returncode == 0, "status %d: %s", recorder.returncode, said)
    print("# %d KiB after a sixth, %d KiB after five; %s" %
          (early, late, said.split("\n")[0]))
    expect(late <= early + QUEUE_KIB, "%d KiB, then %d KiB", early, late)
    database = live.Database("run.bin")
    due = int(database.meta("count.ticks")) + int(
        database.meta("count.missed") or 0)
    expect(due >= 0.99 * SECONDS * 1000, "%d ticks were due", due)
    live.succeed(live.PYCONV, "--verify", "run.bin")


@live.once
def fifty_attaches_in_a_row_leave_the_target_as_it_was():
    with live.Target(live.ANY_PYTHON, "plain.py", seconds=600) as target:
        before = descriptors(target.pid)
        for _ in range(ATTACHES):
            live.record(target, "run.bin", "-f", seconds=0.2)
            expect(live.header_samples("run.bin") > 0, "no samples")
        expect(descriptors(target.pid) == before, "other open files")
        expect(target.process.poll() is None, "the target has ended")


@live.once
def two_thousand_threads_are_recorded_at_full_rate():
    with live.Target(live.ANY_PYTHON, "many.py", ALL_THREADS,
                     seconds=300) as target:
        live.record(target, "run.bin", seconds=30)
    database = live.Database("run.bin")
    seen = database.value("SELECT count(*) FROM thread WHERE samples > 0")
    expect(seen >= ALL_THREADS, "%d threads", seen)


def as_root():
    if os.geteuid() != 0:
        raise live.Skip("only root can mount")


def fails_with_one_line(target, path, word):
    done = live.call(live.PYREC, "-p", target.pid, "-o", path, "-d", 5, "-q")
    expect(done.returncode == 1 and word in done.stderr, "status %d: %s",
           done.returncode, done.stderr)
    expect(done.stderr.startswith("pyrec: "), "%s", done.stderr)
    expect(target.process.poll() is None, "the target has ended")


@live.once
def a_full_disk_ends_the_recording_and_keeps_the_written_part():
    as_root()
    os.mkdir("small")
    live.succeed("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "small")
    try:
        with live.Target(live.ANY_PYTHON, "calls.py", "tree") as target:
            done = live.call(live.PYREC, "-p", target.pid, "-o",
                             "small/run.bin", "-d", 60, "-r", "10k", "-q")
        expect(done.returncode == 1 and "No space left" in done.stderr,
               "status %d: %s", done.returncode, done.stderr)
        read = live.call(live.PYCONV, "small/run.bin", "--to", "sqlite", "-o",
                         "run.db")
        expect(read.returncode == 3, "status %d: %s", read.returncode,
               read.stderr)
    finally:
        live.succeed("umount", "small")


@live.once
def a_read_only_file_system_is_named():
    as_root()
    os.mkdir("fixed")
    live.succeed("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", "fixed")
    try:
        with live.Target(live.ANY_PYTHON, "plain.py") as target:
            fails_with_one_line(target, "fixed/run.bin", "Read-only")
    finally:
        live.succeed("umount", "fixed")


@live.once
def a_recorder_that_is_stopped_and_goes_on_is_whole():
    with live.Target(live.ANY_PYTHON, "plain.py", seconds=120) as target:
        recorder = subprocess.Popen(
            [live.PYREC, "-p", str(target.pid), "-o", "run.bin", "-d", "20"],
            stderr=subprocess.PIPE, text=True)
        for _ in range(5):
            time.sleep(1)
            recorder.send_signal(signal.SIGSTOP)
            time.sleep(1)
            recorder.send_signal(signal.SIGCONT)
        _, said = recorder.communicate()
    expect(recorder.returncode == 0, "status %d: %s", recorder.returncode, said)
    gaps = live.Database("run.bin").value(
        "SELECT count(*) FROM event WHERE kind = 'gap'")
    expect(gaps >= 5, "%d gaps", gaps)
    live.succeed(live.PYCONV, "--verify", "run.bin")


live.run()
