"""Commands that pyrec starts itself, and the children of what it records."""

import os
import random
import re
import signal
import subprocess
import time

import live
from live import expect

# A command's program: named, and visible in its profile.
BUSY = """\
import sys, time
def busy():
    while time.process_time() < 1:
        pass
busy()
sys.exit(int(sys.argv[1]))
"""


def functions(profile):
    return {name for name, in live.Database(profile).rows(
        "SELECT qualname FROM function")}


@live.each_python
def a_command_is_recorded_and_its_exit_status_is_passed_on(python):
    with open("busy.py", "w") as file:
        file.write(BUSY)
    done = live.call(live.PYREC, "-o", "run.bin", "--", python, "busy.py", 5)
    expect(done.returncode == 5, "status %d: %s", done.returncode, done.stderr)
    expect("busy" in functions("run.bin"), "busy() was not seen")


def paste(said):
    """Run the command that pyrec names in its last line, as a user would."""
    start, _, command = said.splitlines()[-1].partition("next: ")
    expect(start == "pyrec: " and command.startswith("py"), "%s", said)
    return live.succeed("bash", "-c", "PATH=%s:$PATH; %s" % (
        os.path.dirname(live.PYQUERY), command))


AWKWARD = ["-y", "new\nline", "\x1b[31m", "my 'own'", "back\\nslash", "$x!",
           "\udcff"]


# Its child searches a command in many folders, between vfork and exec.
SEARCHING = """\
import os, subprocess
path = ":".join("/none/%d" % i for i in range(200000))
while True:
    try:
        subprocess.Popen(["no-such-program"], env={"PATH": path})
    except FileNotFoundError:
        pass
"""


def stopped_child(pid):
    """A child of pid that has not executed a program, and does not go on."""
    def stop():
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            for child in file.read().split():
                try:
                    os.kill(int(child), signal.SIGSTOP)
                    with open("/proc/%s/stat" % child) as stat:
                        state = stat.read().rpartition(")")[2].split()[0]
                    if state == "T":
                        found.append(int(child))
                except (ProcessLookupError, FileNotFoundError):
                    pass
        return found
    found = []
    live.wait_until(stop, "a child was stopped")
    return found[0]


@live.each_python
def a_child_in_the_memory_of_its_parent_is_not_a_process_to_record(python):
    with subprocess.Popen([python, "-c", SEARCHING]) as parent:
        child = stopped_child(parent.pid)
        try:
            for words in (["--check", child], ["--dump", "-p", child],
                          ["-o", "no.bin", "-d", "1", "-p", child]):
                done = live.call(live.PYREC, *words)
                expect(done.returncode == 8 and live.one_line(done.stderr) and
                       "shares the memory of its parent %d" % parent.pid in
                       done.stderr, "%s: %d %s", words, done.returncode,
                       done.stderr)
            live.succeed(live.PYREC, "--children", "-o", "run.bin", "-d", "1",
                         "-p", parent.pid)
            expect([name for name in os.listdir(".") if
                    name.endswith(".bin")] == ["run.bin"], "%s",
                   os.listdir("."))
        finally:
            parent.kill()
            os.kill(child, signal.SIGKILL)


@live.once
def the_command_that_comes_next_can_be_pasted_whatever_the_name():
    with open("busy.py", "w") as file:
        file.write(BUSY.replace("< 1", "< 0.2"))
    command = ["--", live.ANY_PYTHON, "busy.py", 0]
    deep = "/".join(["d" * 200] * 12)
    os.makedirs(deep)
    for name in AWKWARD + [deep + "/e"]:
        done = live.succeed(live.PYREC, "-o", name + ".bin", *command)
        expect("busy" in paste(done.stderr).stdout, "%r", name)
    for name in AWKWARD:
        other = name + "2"
        done = live.succeed(
            live.PYREC, "--repeat", 1, "-o", name, "--in-turn",
            "%s=%s busy.py 0" % (other, live.ANY_PYTHON), *command)
        expect("1 run against 1" in paste(done.stderr).stdout, "%r", name)
    parent = ("import os, subprocess, sys\n"
              "subprocess.run([sys.executable, 'busy.py', '0'])\n" + BUSY)
    for name in AWKWARD:
        done = live.succeed(live.PYREC, "--children", "-o", name + "3.bin",
                            "--", live.ANY_PYTHON, "-c", parent, 0)
        paste(done.stderr)
        rows = live.succeed(live.PYQUERY, "--csv", "all.db", "profiles").stdout
        expect(rows.count("\n") == 3, "%r: %s", name, rows)
        os.unlink("all.db")


@live.once
def a_command_ended_by_a_signal_is_status_128_and_its_number():
    done = live.call(live.PYREC, "-o", "run.bin", "--", live.ANY_PYTHON, "-c",
                     "import os, time\n"
                     "while time.process_time() < 1: pass\n"
                     "os.kill(os.getpid(), 9)")
    expect(done.returncode == 128 + 9, "status %d: %s", done.returncode,
           done.stderr)


@live.once
def a_command_that_does_not_exist_is_status_127():
    done = live.call(live.PYREC, "-o", "run.bin", "--", "./no-such-program")
    expect(done.returncode == 127, "status %d: %s", done.returncode,
           done.stderr)


@live.once
def a_command_that_cannot_be_run_is_status_126():
    with open("program", "w") as file:
        file.write("words")
    os.chmod("program", 0o644)
    done = live.call(live.PYREC, "-o", "run.bin", "--", "./program")
    expect(done.returncode == 126, "status %d: %s", done.returncode,
           done.stderr)


@live.once
def a_command_that_is_no_python_when_the_time_is_over_is_said_so():
    done = live.call(live.PYREC, "-o", "run.bin", "-d", "0.2", "--", "sleep",
                     "5")
    expect(done.returncode == 125, "status %d: %s", done.returncode,
           done.stderr)
    expect(live.one_line(done.stderr) and "is sleep" in done.stderr, "%s",
           done.stderr)
    expect(not os.path.exists("run.bin"), "a file is left behind")


@live.once
def a_command_that_ends_at_once_is_named():
    done = live.call(live.PYREC, "-o", "run.bin", "--", "true")
    expect(done.returncode == 125, "status %d: %s", done.returncode,
           done.stderr)
    expect(live.one_line(done.stderr) and
           "true was not a Python" in done.stderr, "%s", done.stderr)


@live.once
def a_python_that_runs_no_interpreter_is_not_called_another_program():
    done = live.call(live.PYREC, "-o", "run.bin", "--", live.ANY_PYTHON,
                     "--version")
    expect(done.returncode == 125, "status %d: %s", done.returncode,
           done.stderr)
    expect("ended before it was a Python" in done.stderr, "%s", done.stderr)


@live.each_python
def each_python_child_has_a_profile_of_its_own(python):
    with live.Target(python, "family.py") as target:
        live.record(target, "run.bin", "--children", seconds=3)
        stated = target.portrait
    made = sorted(name for name in os.listdir(".") if name.endswith(".bin"))
    expect(len(made) == 3, "profiles: %s", made)
    for pid in stated["forked"], stated["spawned"]:
        mine = [name for name in made if str(pid) in name]
        expect(len(mine) == 1, "no profile of %d: %s", pid, made)
        expect("in_child" in functions(mine[0]), "no in_child() in %s: %s",
               mine[0], functions(mine[0]))
    expect("in_parent" in functions("run.bin"), "in_parent() was not seen")


# Children that come and go, then one that is a Python for a while.
SHORT = 30
MANY = """\
import os, subprocess, sys
for _ in range(%d):
    subprocess.run(["true"])
subprocess.run([sys.executable, "busy.py", "0"])
""" % SHORT


# Children that stay until they are recorded.
TWO = """\
import subprocess, sys
children = [subprocess.Popen([sys.executable, "busy.py", "0"])
            for _ in range(2)]
for child in children:
    child.wait()
"""


def record_many(*before):
    with open("busy.py", "w") as file:
        file.write(BUSY)
    with open("many.py", "w") as file:
        file.write(MANY)
    done = live.succeed(*before, live.PYREC, "--children", "--stats", "-o",
                        "run.bin", "--", live.ANY_PYTHON, "many.py")
    # under load a fork may be seen, as the Python it was, before its exec
    made = [name for name in os.listdir(".") if name.endswith(".bin")]
    expect(any("busy" in functions(name) for name in made), "busy() was not "
           "seen in %s", made)
    return done.stderr, live.Database("run.bin")


@live.once
def children_that_came_and_went_are_counted():
    said, database = record_many()
    if database.meta("recorder.children") != "every fork":
        raise live.Skip("the kernel does not report forks here")
    seen, gone = (int(database.meta("count." + name) or 0)
                  for name in ("children", "children_gone"))
    expect(seen == SHORT + 1, "%d seen", seen)
    # on a machine under load some may live long enough to be known, and the
    # last one may be given up after the root's file is complete
    in_all = int(re.search(r"; %d children seen, (\d+) gone" % seen,
                           said).group(1))
    expect(gone <= in_all <= SHORT, "%d gone, %d in all", gone, in_all)
    made = [name for name in os.listdir(".") if name.endswith(".bin")]
    expect("%d processes" % len(made) in said, "%s: %s", made, said)


@live.once
def the_counters_of_the_summary_are_the_sums_of_those_in_the_files():
    # a child that is not a Python may be attached to before its exec: it has
    # counters and no file
    with open("busy.py", "w") as file:
        file.write(BUSY)
    with open("two.py", "w") as file:
        file.write(TWO)
    said = live.succeed(live.PYREC, "--children", "--stats", "-o", "run.bin",
                        "--", live.ANY_PYTHON, "two.py").stderr
    files = [live.Database(name) for name in os.listdir(".")
             if name.endswith(".bin")]
    expect(len(files) == 3, "%d files", len(files))
    shown = dict(re.findall(r"(?m)^  (\w+) +(\d+)$", said))
    expect(int(shown["memory_reads"]) > 0, "%s", shown)
    for name, value in shown.items():
        total = sum(int(file.meta("stats." + name)) for file in files)
        expect(int(value) == total, "%s %s, in the files %d", name, value,
               total)


# No worker begins before both are recorded.
POOL = """\
import concurrent.futures, multiprocessing, os
def hot(n):
    return sum(i * i for i in range(n))
def begin(barrier):
    while not os.path.exists("run.%d.bin" % os.getpid()):
        hot(1000)
    hot(3000000)
    barrier.wait()
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
            2, context, begin, (context.Barrier(2),)) as pool:
        print(sum(pool.map(hot, [100000] * 6)))
"""


@live.once
def the_files_of_one_recording_are_one_profile():
    with open("pool.py", "w") as file:
        file.write(POOL)
    live.succeed(live.PYREC, "--children", "-o", "run.bin", "--",
                 live.ANY_PYTHON, "pool.py")
    made = sorted(name for name in os.listdir(".") if name.endswith(".bin"))
    expect(len(made) >= 3, "profiles: %s", made)
    databases = [live.Database(name) for name in made]
    expect(len({data.meta("recording.id") for data in databases}) == 1,
           "not one recording")
    pids = {data.meta("pid") for data in databases}
    expect(len(pids) == len(made), "pids %s of %s", pids, made)
    root = live.Database("run.bin").meta("pid")
    parents = {data.meta("process.parent") for data in databases}
    expect(root in parents, "no child of %s among %s", root, parents)
    live.succeed(live.PYCONV, *made, "--to", "sqlite", "-o", "all.db")
    # a repeat leaves no file of the recording before
    os.unlink("run.bin")
    live.succeed(live.PYREC, "--children", "-f", "-o", "run.bin", "--",
                 live.ANY_PYTHON, "-c", live.UNTIL_RECORDED)
    made = sorted(name for name in os.listdir(".") if name.endswith(".bin"))
    expect(made == ["run.bin"], "profiles: %s", made)


@live.once
def a_wrapper_that_is_not_a_python_has_its_status_passed_on():
    with open("busy.py", "w") as file:
        file.write(BUSY)
    done = live.call(live.PYREC, "--children", "-o", "run.bin", "--", "sh",
                     "-c", '"$@"; exit 7', "sh", live.ANY_PYTHON, "busy.py", 0)
    expect(done.returncode == 7, "status %d: %s", done.returncode, done.stderr)
    (made,) = [name for name in os.listdir(".") if name.endswith(".bin")]
    expect("busy" in functions(made), "busy() was not seen")


@live.once
def a_master_that_is_not_a_python_has_its_pythons_recorded():
    master = subprocess.Popen(
        ["sh", "-c", '"$@" & echo ready; wait', "sh", live.ANY_PYTHON,
         os.path.join(live.SOURCE, "tests", "targets", "plain.py"), "60"],
        stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        master.stdout.readline()
        live.succeed(live.PYREC, "--children", "-p", master.pid, "-d", 2, "-o",
                     "run.bin")
    finally:
        os.killpg(master.pid, signal.SIGKILL)
        master.wait()
        master.stdout.close()
    (made,) = [name for name in os.listdir(".") if name.endswith(".bin")]
    expect("drive" in functions(made), "functions %s", functions(made))


@live.each_python
def without_a_name_the_file_is_named_after_the_program(python):
    with open("busy.py", "w") as file:
        file.write(BUSY)
    done = live.succeed(live.PYREC, "--no-command-line", "--", python,
                        "busy.py", 0)
    (made,) = [name for name in os.listdir(".") if name.endswith(".bin")]
    expect(re.fullmatch(r"pyrec-busy-\d+-\d{8}-\d{6}\.bin", made), "%s", made)
    expect("pyquery %s " % made in done.stderr, "%s", done.stderr)
    expect(os.stat(made).st_mode & 0o777 == 0o600, "mode %o",
           os.stat(made).st_mode)
    database = live.Database(made)
    expect(database.meta("command") is None and
           database.meta("recorder.options") is None, "a command line is kept")


@live.each_python
def without_a_name_the_file_is_named_after_what_a_wrapper_executes(python):
    with open("busy.py", "w") as file:
        file.write(BUSY)
    with open("python3", "w") as file:
        file.write("#!/bin/sh\n%s -c pass\nexec %s \"$@\"\n"
                   % (python, python))
    os.chmod("python3", 0o755)
    live.succeed(live.PYREC, "--", "./python3", "busy.py", 0)
    live.succeed(live.PYREC, "-q", "--", "env", python, "busy.py", 0)
    made = [name for name in os.listdir(".") if name.endswith(".bin")]
    expect(len(made) == 2 and
           all(re.match(r"pyrec-busy-\d+-\d{8}-", name) for name in made),
           "%s", made)


@live.once
def a_child_that_is_no_python_and_stays_does_not_hold_pyrec():
    with open("leave.py", "w") as file:
        file.write("import subprocess, time\n"
                   "child = subprocess.Popen(['sleep', '600'],\n"
                   "                         stdout=subprocess.DEVNULL,\n"
                   "                         stderr=subprocess.DEVNULL)\n"
                   "while time.process_time() < 0.5: pass\n"
                   "print(child.pid, flush=True)\n")
    done = live.succeed(live.PYREC, "--children", "-o", "run.bin", "--",
                        live.ANY_PYTHON, "leave.py")
    # pyrec ended before the child: it is there to be killed
    os.kill(int(done.stdout), signal.SIGKILL)


@live.once
def children_that_may_be_unseen_are_said_so():
    alone = ["unshare", "--net"]
    if live.call(*alone, "true").returncode != 0:
        raise live.Skip("no network of its own here")
    said, database = record_many(*alone)
    expect(database.meta("recorder.children").startswith("listed every"),
           "%s", database.meta("recorder.children"))
    expect("may be unseen" in said and "root outside of containers" in said,
           "%s", said)


def state_of(pid):
    with open("/proc/%d/status" % pid) as file:
        return [line.split()[1] for line in file
                if line.startswith("State:")][0]


KILLS = int(os.environ.get("PYREC_TEST_KILLS", 40))  # over all Pythons


@live.each_python
def a_target_is_never_left_stopped_by_a_killed_blocking_recorder(python):
    seed = random.randrange(1 << 32)
    print("# seed %d" % seed)
    chance = random.Random(seed)
    pythons = sum(1 for here in live.PYTHONS.values() if here)
    with live.Target(python, "plain.py", seconds=600) as target:
        for _ in range(KILLS // pythons + 1):
            recorder = subprocess.Popen(
                [live.PYREC, "-p", str(target.pid), "-o", "run.bin", "-f",
                 "--blocking"], stderr=subprocess.DEVNULL)
            live.wait_until(lambda: live.size("run.bin") > 0, "it begins")
            time.sleep(chance.uniform(0, 0.3))  # a moment like any other
            recorder.send_signal(signal.SIGKILL)
            recorder.wait()
            live.wait_until(lambda: state_of(target.pid) not in "tT",
                            "the target runs on")
            os.unlink("run.bin")


live.run()
