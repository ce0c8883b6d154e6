"""A recording is of one process: through an exec, to the end of its last
thread, and not beyond it."""

import os
import subprocess

import live
from live import expect

# The first thread leaves by exit(2); another one goes on.  Their times begin when
# a file is there.
LEADERLESS = """\
import ctypes, os, sys, threading, time
def work():
    while not os.path.exists(sys.argv[3]):
        hot()
    end = time.time() + float(sys.argv[2])
    while time.time() < end:
        hot()
    os._exit(0)
def hot():
    sum(range(3000))
threading.Thread(target=work, name="worker").start()
while not os.path.exists(sys.argv[3]):
    pass
end = time.time() + float(sys.argv[1])
while time.time() < end:
    pass
print("leaves", flush=True)
ctypes.CDLL(None).syscall(60, 0)
"""

# In a pid namespace of its own: kills the first program while it is recorded
# and gives its pid to a second one.
REUSE = """\
import os, subprocess, sys, time
pyrec, python = sys.argv[1:3]
def program(name):
    return subprocess.Popen([python, "-c", "import sys\\n"
        "def %s():\\n while 1: pass\\n"
        "print(flush=True)\\n%s()" % (name, name)], stdout=subprocess.PIPE)
first = program("first")
first.stdout.readline()
record = subprocess.Popen([pyrec, "-q", "-p", str(first.pid), "-o", "run.bin",
                           "-r", sys.argv[3]])
while not os.path.exists("run.bin"):
    time.sleep(0.01)
time.sleep(0.5)
first.kill()
first.wait()
with open("/proc/sys/kernel/ns_last_pid", "w") as file:
    file.write(str(first.pid - 1))
second = program("second")
if second.pid != first.pid:
    sys.exit(77)
status = record.wait(60)
second.kill()
sys.exit(status)
"""


def events(profile, kind):
    return live.Database(profile).value(
        "SELECT count(*) FROM event WHERE kind = ?", kind)


@live.each_python
def the_end_of_a_program_is_not_an_exec(python):
    """The time between the end of its memory and its own is not one."""
    for _ in range(5):
        live.succeed(live.PYREC, "-q", "-o", "run.bin", "--", python, "-c",
                     live.UNTIL_RECORDED)
        expect(events("run.bin", "exec") == 0, "an exec that never was")
        os.unlink("run.bin")


def leaderless(python, *seconds, begins="."):
    with open("leaderless.py", "w") as file:
        file.write(LEADERLESS)
    return subprocess.Popen(
        [python, "leaderless.py", *map(str, seconds), begins],
        stdout=subprocess.PIPE, text=True)


@live.each_python
def a_process_whose_first_thread_has_ended_is_recorded(python):
    target = leaderless(python, 0, live.PATIENCE)
    try:
        target.stdout.readline()
        with open("/proc/%d/stat" % target.pid) as stat:
            live.wait_until(lambda: stat.seek(0) == 0 and stat.read().rsplit(
                ")", 1)[1].split()[0] == "Z", "its first thread ends")
        live.succeed(live.PYREC, "-p", target.pid, "-o", "run.bin", "-d", 1)
    finally:
        target.kill()
        target.wait()
        target.stdout.close()
    names = {name for name, in live.Database("run.bin").rows(
        "SELECT qualname FROM function")}
    expect("hot" in names, "functions %s", names)


@live.once
def a_recording_outlives_the_first_thread():
    target = leaderless(live.ANY_PYTHON, 1, 3, begins="run.bin")
    try:
        live.succeed(live.PYREC, "-p", target.pid, "-o", "run.bin")
        expect(target.wait(live.PATIENCE) == 0, "status %d", target.returncode)
    finally:
        target.stdout.close()
    database = live.Database("run.bin")
    expect(events("run.bin", "exec") == 0, "an exec that never was")
    last = database.value("SELECT max(t1_us) FROM run")
    expect(last > 1500000, "it ends at %d us", last)


@live.once
def a_reused_pid_ends_the_recording():
    inside = ["unshare", "--pid", "--mount", "--fork", "--mount-proc"]
    if live.call(*inside, "true").returncode != 0:
        raise live.Skip("no pid namespace may be made here")
    with open("reuse.py", "w") as file:
        file.write(REUSE)
    for rate in "1khz", "10":
        done = live.call(*inside, live.ANY_PYTHON, "reuse.py", live.PYREC,
                         live.ANY_PYTHON, rate)
        if done.returncode == 77:
            raise live.Skip("the pid was not given again")
        expect(done.returncode == 0, "status %d: %s", done.returncode,
               done.stderr)
        names = {name for name, in live.Database("run.bin").rows(
            "SELECT qualname FROM function")}
        expect("first" in names and "second" not in names, "functions %s",
               names)
        os.unlink("run.bin")


live.run()
