"""Nothing that a target does holds pyrec, and pyrec holds no target.

Each recording here ends by -d, by a signal or with its target while the target
is killed, stopped, frozen or on its way out.  The limits are not measurements:
they separate an end from a wait without one.
"""

import os
import random
import signal
import subprocess
import time

import growing
import live
from live import expect

RUNS = int(os.environ.get("PYREC_WAITS", "5"))
LIMIT = live.PATIENCE

# The ways in which a program ends after it was recorded.
ENDS = {
    "its last statement": "",
    "os._exit()": "import os; os._exit(3)",
    "a pool of processes": "from concurrent.futures import "
                           "ProcessPoolExecutor as P\n"
                           "with P(1) as p: p.submit(sum, range(9)).result()",
}

THREADS = """\
import os, sys, threading, time
def work():
    while True:
        sum(range(3000))
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
print("ready", flush=True)
time.sleep(float(sys.argv[1]))
os._exit(0)
"""


def recorder(*words):
    return subprocess.Popen(
        [live.PYREC, "-q", "-f", "-o", "run.bin", *map(str, words)],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ended(process, what):
    """Its status, when it ends within the limit; process.said is its message."""
    try:
        process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise AssertionError("%s does not end" % what) from None
    finally:
        if process.stderr:
            process.said = process.stderr.read()
            process.stderr.close()
    return process.returncode


def threaded(seconds):
    target = subprocess.Popen([live.ANY_PYTHON, "-c", THREADS, str(seconds)],
                              stdout=subprocess.PIPE, text=True)
    target.stdout.readline()
    return target


@live.once
def a_command_that_is_stopped_for_each_sample_ends_with_its_own_status():
    for how, end in ENDS.items():
        for _ in range(RUNS):
            process = recorder("--blocking", "--", live.ANY_PYTHON, "-c",
                               live.UNTIL_RECORDED + end)
            status = ended(process, "a command that ends by " + how)
            # on a busy machine it may have ended before the first tick
            expect(status == (3 if "_exit" in end else 0) or
                   status == 125 and "no sample" in process.said,
                   "status %d after %s: %s", status, how, process.said)
            if os.path.exists("run.bin"):
                os.unlink("run.bin")


STUBBORN = """\
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(os.getpid(), flush=True)
while True:
    sum(range(3000))
"""


@live.once
def a_command_that_ignores_a_signal_does_not_hold_pyrec():
    process = subprocess.Popen(
        [live.PYREC, "-q", "-o", "run.bin", "--", live.ANY_PYTHON, "-c",
         STUBBORN], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    command = int(process.stdout.readline())
    try:
        growing.wait_for_segments("run.bin", 1)
        process.send_signal(signal.SIGTERM)
        status = process.wait(LIMIT)
        expect(state_of(command) in "RS", "the command was ended")
    finally:
        process.kill()
        os.kill(command, signal.SIGKILL)
        said = process.communicate()[1]
    expect(status == 125, "status %d", status)
    expect("process %d runs on" % command in said, "%s", said)
    live.Database("run.bin")  # it is finished


@live.once
def the_duration_counts_from_the_first_sample_and_not_from_the_start():
    duration = 0.2
    target = subprocess.Popen(
        ["sh", "-c", "read line; exec \"$0\" -c 'while True: pass'",
         live.ANY_PYTHON], stdin=subprocess.PIPE)
    process = recorder("--wait", "-p", target.pid, "-d", duration)
    try:
        # the time that is over when the target becomes a Python
        time.sleep(3 * duration)
        expect(process.poll() is None, "it ended with status %s",
               process.returncode)
        target.stdin.write(b"\n")
        target.stdin.flush()
        expect(ended(process, "pyrec") == 0, "status %d", process.returncode)
    finally:
        target.kill()
        target.wait()
        target.stdin.close()


@live.once
def a_target_that_is_killed_between_two_stops_ends_its_recording():
    seed = random.randrange(1 << 32)
    print("# seed %d" % seed)
    chance = random.Random(seed)
    for _ in range(2 * RUNS):
        target = threaded(LIMIT)
        process = recorder("--blocking", "-p", target.pid)
        live.wait_until(lambda: live.size("run.bin") > 0, "it records")
        os.unlink("run.bin")
        try:
            # a moment like any other of a tick
            process.wait(chance.uniform(0, 0.02))
        except subprocess.TimeoutExpired:
            pass
        target.kill()
        expect(ended(process, "pyrec") in (0, 7), "status %d",
               process.returncode)
        # its own parent can wait for it
        expect(ended(target, "the killed target") == -signal.SIGKILL,
               "status %d", target.returncode)
        target.stdout.close()


@live.once
def a_target_that_exits_between_two_stops_ends_its_recording():
    for _ in range(RUNS):
        target = threaded(0.5)
        process = recorder("--blocking", "-p", target.pid)
        expect(ended(target, "the target") == 0, "status %d",
               target.returncode)
        expect(ended(process, "pyrec") in (0, 7), "status %d",
               process.returncode)
        target.stdout.close()


class Freezer:
    """A frozen cgroup of version 1, where a frozen thread is in state D."""

    ROOT = "/sys/fs/cgroup/freezer"

    def __init__(self, pid):
        self.folder = os.path.join(self.ROOT, "pyrec-test-%d" % os.getpid())
        try:
            os.mkdir(self.folder)
            self.write("tasks", pid)
            self.write("freezer.state", "FROZEN")
        except OSError as error:
            raise live.Skip("no cgroup can be frozen here: %s" % error)
        live.wait_until(lambda: "FROZEN" in self.read("freezer.state"),
                        "it is frozen")

    def write(self, name, value):
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(str(value))

    def read(self, name):
        with open(os.path.join(self.folder, name)) as file:
            return file.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.write("freezer.state", "THAWED")
        with open(os.path.join(self.ROOT, "tasks"), "w") as file:
            for tid in self.read("tasks").split():
                file.write(tid)
                file.flush()
        live.wait_until(self.is_empty, "its group is empty")

    def is_empty(self):
        try:
            os.rmdir(self.folder)
        except OSError:
            return False
        return True


def state_of(pid):
    with open("/proc/%d/status" % pid) as file:
        return [line.split()[1] for line in file
                if line.startswith("State:")][0]


@live.once
def a_frozen_target_holds_no_recording():
    for _ in range(RUNS):
        for options in ["--blocking"], []:
            with live.Target(live.ANY_PYTHON, "plain.py") as target:
                with Freezer(target.pid):
                    process = recorder(*options, "-p", target.pid, "-d", 0.3)
                    ended(process, "-d of a frozen target")
                    process = recorder(*options, "-p", target.pid)
                    live.wait_until(lambda: live.size("run.bin") > 0,
                                    "it records")
                    process.send_signal(signal.SIGTERM)
                    ended(process, "SIGTERM to a recorder of a frozen target")
                live.wait_until(lambda: state_of(target.pid) in "RS",
                                "it runs on")


@live.once
def a_stopped_target_holds_no_recording_and_stays_stopped():
    for options in ["--blocking"], []:
        with live.Target(live.ANY_PYTHON, "plain.py") as target:
            os.kill(target.pid, signal.SIGSTOP)
            live.wait_until(lambda: state_of(target.pid) == "T", "it stops")
            ended(recorder(*options, "-p", target.pid, "-d", 0.3), "-d")
            # a file that stood there would not show that signals are taken
            os.unlink("run.bin")
            process = recorder(*options, "-p", target.pid)
            live.wait_until(lambda: live.size("run.bin") > 0, "it records")
            process.send_signal(signal.SIGINT)
            ended(process, "SIGINT")
            live.wait_until(lambda: state_of(target.pid) == "T",
                            "it is stopped as before")
            os.kill(target.pid, signal.SIGCONT)
            live.wait_until(lambda: state_of(target.pid) in "RS",
                            "it runs on")


def resident(pid):
    """Kilobytes of its heap, without what was added to it later."""
    with open("/proc/%d/smaps" % pid) as file:
        for line in file:
            if line.endswith("[heap]\n"):
                break
        return next(int(line.split()[1]) for line in file
                    if line.startswith("Rss:"))


def starve(target):
    """Its heap is gone, and it waits for it."""
    open("starve", "w").close()
    live.wait_until(lambda: resident(target.pid) == 0, "its heap is gone")


def unanswered():
    """A target whose heap is memory that nobody provides, after starve()."""
    return live.Target(live.ANY_PYTHON, "unanswered.py",
                       os.path.abspath("starve"))


def stop_when_it_attaches(process):
    live.wait_until(lambda: len(os.listdir("/proc/%d/task" % process.pid)) > 1,
                    "a thread of it attaches")
    process.send_signal(signal.SIGINT)


@live.once
def memory_that_nobody_provides_holds_no_attach():
    with unanswered() as target:
        starve(target)
        for options, stop in ((["-d", 0.3], lambda _: None),
                              ([], stop_when_it_attaches)):
            process = recorder("-p", target.pid, *options)
            stop(process)
            status = ended(process, "an attach with options %s" % options)
            expect(status == 1 and "does not return" in process.said,
                   "status %d: %s", status, process.said)
            expect(not os.path.exists("run.bin"), "a file without a sample")


@live.once
def memory_that_nobody_provides_any_more_holds_no_recording():
    with unanswered() as target:
        process = recorder("-p", target.pid)
        growing.wait_for_segments("run.bin", 1)
        starve(target)
        process.send_signal(signal.SIGINT)
        status = ended(process, "a recorder of a target without memory")
    expect(status == 0, "status %d: %s", status, process.said)
    expect(live.Database("run.bin").samples() > 0, "no sample is left")


live.run()
