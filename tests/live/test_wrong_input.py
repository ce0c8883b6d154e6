"""Wrong input gets the reason in one line and the exit status of the README's
table, and harms no file that existed."""

import os
import re
import resource
import shutil
import subprocess

import live
from live import expect

FAILED, USAGE, PART, NO_PROCESS, NOT_PYTHON, DENIED = 1, 2, 3, 7, 8, 9


def refused(done, status, *words):
    """One line on stderr, and perhaps a hint, with these words; this exit
    status.  Wrong use may point to the help in another line."""
    expect(done.returncode == status, "status %d, not %d: %s",
           done.returncode, status, done.stderr)
    line = re.sub(r"(?m)^(\w+: )?hint: .*\n", "", done.stderr)
    line = re.sub(r"(?m)^try '\w+ --help'\n\Z", "", line)
    expect(live.one_line(line) and re.match(r"\w+: error: ", line),
           "not one line: %r", done.stderr)
    for word in words:
        expect(word in done.stderr, "no %r in: %s", word, done.stderr)
    expect(done.stdout == "", "on stdout: %s", done.stdout)


def ended_pid():
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@live.once
def a_pid_that_does_not_exist_is_status_7():
    pid = ended_pid()
    refused(live.call(live.PYREC, "-p", pid, "-o", "run.bin"), NO_PROCESS,
            str(pid))
    expect(not os.path.exists("run.bin"), "a file is left behind")


@live.once
def a_process_that_ended_and_was_not_waited_for_is_status_7():
    process = subprocess.Popen(["true"])
    with open("/proc/%d/stat" % process.pid) as stat:
        live.wait_until(lambda: stat.seek(0) == 0 and
                        stat.read().rsplit(")", 1)[1].split()[0] == "Z",
                        "true ends")
    refused(live.call(live.PYREC, "-p", process.pid, "-o", "run.bin"),
            NO_PROCESS, str(process.pid))
    process.wait()


@live.once
def a_pid_that_is_no_number_is_a_usage_error():
    for pid in "abc", "0", "-1", "12x", "99999999999", "":
        refused(live.call(live.PYREC, "-p", pid, "-o", "run.bin"), USAGE)


@live.once
def a_process_that_is_no_python_is_named():
    process = subprocess.Popen(["sleep", "600"])
    try:
        refused(live.call(live.PYREC, "-p", process.pid, "-o", "run.bin"),
                NOT_PYTHON, "sleep")
    finally:
        process.kill()
        process.wait()
    expect(not os.path.exists("run.bin"), "a file is left behind")


# Options that read what CPython 3.15 and later keep, and the reason to refuse.
NEWER = ((["--gc-events"], "3.15 is the first that does"),
         (["--cache", "anchor"], "--cache anchor needs CPython 3.15"))


# Lasts until it is known on any machine: it counts its own processor time.
BUSY = "import time\nwhile time.process_time() < 1: pass\n"


@live.once
def an_option_that_needs_a_newer_python_says_so():
    python = live.PYTHONS["3.11"] or live.PYTHONS["3.14"]
    if not python:
        raise live.Skip("no Python before 3.15 here")
    for option, reason in NEWER:
        with live.Target(python, "sleeper.py") as target:
            refused(live.call(live.PYREC, *option, "-p", target.pid, "-o",
                              "run.bin", "-d", 0.5), NOT_PYTHON, reason)
        # pyrec leaves only after the command has ended
        refused(live.call(live.PYREC, *option, "-o", "run.bin", "--", python,
                          "-c", BUSY), 125, reason)
        expect(not os.path.exists("run.bin"), "a file is left behind")


@live.once
def a_command_that_executes_an_older_python_ends_with_the_reason():
    old = live.PYTHONS["3.11"] or live.PYTHONS["3.14"]
    new = live.PYTHONS["3.15"]
    if not old or not new:
        raise live.Skip("no Python 3.15 and one before it here")
    # the processor time of a process goes on after an exec
    program = BUSY + "import os\nos.execve(%r, [%r, '-c', %r], {})" % (
        old, old, BUSY.replace("1", "2"))
    refused(live.call(live.PYREC, "-q", "--gc-events", "-o", "run.bin", "--",
                      new, "-c", program), 125, "3.15 is the first that does")
    expect(live.Database("run.bin").samples() > 0, "no samples")


@live.once
def a_launcher_is_told_apart_from_its_python_child():
    with open("launch", "w") as script:
        script.write('#!/bin/sh\n"%s" "$@"\n:\n' % live.ANY_PYTHON)
    os.chmod("launch", 0o755)
    with live.Target("./launch", "sleeper.py") as target:
        refused(live.call(live.PYREC, "-p", target.process.pid, "-o",
                          "run.bin"), NOT_PYTHON, str(target.pid))


@live.once
def a_process_of_another_user_is_status_9():
    if os.geteuid() != 0:
        raise live.Skip("only root can become another user")
    # where the other user may run the program and write the file
    for folder in "..", ".":
        os.chmod(folder, 0o755)
    os.mkdir("out")
    os.chmod("out", 0o777)
    shutil.copy(live.PYREC, "pyrec")
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        done = live.call("setpriv", "--reuid", 65534, "--regid", 65534,
                         "--clear-groups", "./pyrec", "-p", target.pid, "-o",
                         "out/run.bin")
    refused(done, DENIED, str(target.pid))


def six_descriptors():
    resource.setrlimit(resource.RLIMIT_NOFILE, (6, 6))


@live.once
def too_few_descriptors_are_the_reason_that_is_given():
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        done = live.call(live.PYREC, "-p", target.pid, "-o", "run.bin", "-d",
                         1, preexec_fn=six_descriptors)
    refused(done, FAILED, "open files")


@live.once
def a_proc_that_is_not_mounted_or_hides_is_the_reason_that_is_given():
    hidden = ["unshare", "--mount", "sh", "-c",
              "umount --lazy /proc; exec \"$@\"", "sh"]
    if os.geteuid() != 0 or live.call(*hidden, "true").returncode != 0:
        raise live.Skip("no mount namespace may be made here")
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        refused(live.call(*hidden, live.PYREC, "-p", target.pid, "-o",
                          "run.bin"), FAILED, "/proc is not mounted")
        shutil.copy(live.PYREC, "pyrec")
        for folder in "..", ".":
            os.chmod(folder, 0o755)
        hidden[4] = ("mount -t proc -o hidepid=2 none /proc; exec setpriv "
                     "--reuid 65534 --regid 65534 --clear-groups \"$@\"")
        refused(live.call(*hidden, "./pyrec", "-p", target.pid, "-o",
                          "run.bin"), DENIED, "hidepid")


@live.once
def a_process_outside_of_our_user_namespace_is_denied_with_the_reason():
    inside = ["unshare", "--user", "--map-root-user"]
    if live.call(*inside, "true").returncode != 0:
        raise live.Skip("no user namespace may be made here")
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        refused(live.call(*inside, live.PYREC, "-p", target.pid, "-o",
                          "run.bin"), DENIED, "user namespace",
                "outside of containers")


@live.once
def a_process_with_more_capabilities_is_denied_with_the_reason():
    weaker = ["setpriv", "--bounding-set", "-sys_ptrace", "--inh-caps",
              "-sys_ptrace"]
    if os.geteuid() != 0 or live.call(*weaker, "true").returncode != 0:
        raise live.Skip("no capability can be dropped here")
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        refused(live.call(*weaker, live.PYREC, "-p", target.pid, "-o",
                          "run.bin"), DENIED, "CAP_SYS_PTRACE",
                "--cap-add=SYS_PTRACE")


@live.once
def an_existing_output_is_kept_unless_forced():
    with open("run.bin", "w") as file:
        file.write("precious")
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        command = [live.PYREC, "-p", target.pid, "-o", "run.bin", "-d", "0.5"]
        refused(live.call(*command), FAILED, "run.bin", "-f")
        with open("run.bin") as file:
            expect(file.read() == "precious", "the file was changed")
        live.succeed(*command, "-f")
    expect(live.Database("run.bin").samples() > 0, "no samples")


@live.once
def an_output_that_cannot_be_created_is_told():
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        refused(live.call(live.PYREC, "-p", target.pid, "-o",
                          "no/such/folder/run.bin"), FAILED,
                "no/such/folder/run.bin")


@live.once
def a_command_does_not_begin_when_its_output_cannot_be_created():
    os.mkfifo("pipe")
    open("file", "w").close()
    command = ["--", live.ANY_PYTHON, "-c", "open('begun', 'w')"]
    for path in "no/such/folder/run.bin", "file/run.bin":
        for more in [], ["-f"], ["--children"]:
            refused(live.call(live.PYREC, "-o", path, *more, *command), 125,
                    "cannot create '%s'" % path)
    refused(live.call(live.PYREC, "-o", "pipe", "-f", *command), 125, "pipe")
    expect(not os.path.exists("begun"), "the command ran")


@live.once
def a_command_does_not_begin_in_a_folder_that_may_not_be_written():
    shutil.copy(live.PYREC, "pyrec")
    os.mkdir("closed")
    os.mkdir("out")
    os.chmod("out", 0o777)
    for folder in "..", ".", "closed":
        os.chmod(folder, 0o555 if folder == "closed" else 0o755)
    other = (["setpriv", "--reuid", "65534", "--regid", "65534",
              "--clear-groups"] if os.geteuid() == 0 else [])
    for more in ["-o", "../closed/run.bin"], []:
        done = live.call(*other, "../pyrec", *more, "--", "touch",
                         "../out/begun", cwd="closed")
        refused(done, 125, "Permission denied")
    expect(not os.path.exists("out/begun"), "the command ran")


@live.once
def a_pipe_as_output_is_refused_at_once():
    os.mkfifo("pipe")
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        refused(live.call(live.PYREC, "-p", target.pid, "-o", "pipe", "-f"),
                USAGE, "pipe")
        refused(live.call(live.PYREC, "-p", target.pid, "-o", "/dev/full",
                          "-f"), USAGE, "/dev/full")


@live.once
def what_cannot_be_printed_is_a_failure():
    python = live.PYTHONS["3.15"] or live.ANY_PYTHON
    actions = ["--check"], ["--dump", "-p"], ["--dump", "--json", "-p"]
    if live.PYTHONS["3.15"]:
        actions += ["--tasks", "-p"], ["--gc", "-p"]
    with live.Target(python, "sleeper.py") as target:
        for action in actions:
            for where, why in (("/dev/full", "No space left"),
                               ("&-", "Bad file descriptor")):
                refused(live.call("sh", "-c", '"$@" >' + where, "sh",
                                  live.PYREC, *action, target.pid),
                        FAILED, "cannot write", why)


FILLS_S = 3 * live.PATIENCE  # 250 kB are written in six seconds at rest


def small_files():
    """In the child: no file may grow over a few segments.  Python ignores
    SIGXFSZ, and so does what it starts without restoring signals."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (250000, 250000))


@live.once
def a_file_that_may_not_grow_keeps_what_was_whole():
    with live.Target(live.ANY_PYTHON, "calls.py", "tree",
                     seconds=FILLS_S) as target:
        done = live.call(live.PYREC, "-p", target.pid, "-o", "run.bin", "-r",
                         "5k", "-d", FILLS_S, "-q",
                         preexec_fn=small_files, restore_signals=False)
    refused(done, FAILED, "pyrec: error: cannot write 'run.bin'",
            "whole: File too large")
    database = live.Database("run.bin", status=3)
    expect(database.samples() > 0, "nothing was kept")


# Each sample meets names that the file does not have.
NEW_NAMES = """\
import itertools, time
print(flush=True)
for i in itertools.count():
    names = {}
    exec("def f%d(stop):\\n while time.monotonic() < stop: pass" % i,
         {"time": time}, names)
    names["f%d" % i](time.monotonic() + 2e-4)
"""


@live.once
def a_file_that_may_not_grow_is_named_and_no_thread():
    with subprocess.Popen([live.ANY_PYTHON, "-c", NEW_NAMES],
                          stdout=subprocess.PIPE) as target:
        target.stdout.readline()
        done = live.call(live.PYREC, "-p", target.pid, "-o", "run.bin", "-r",
                         "5k", "-d", FILLS_S, "-q",
                         preexec_fn=small_files, restore_signals=False)
        target.kill()
    refused(done, FAILED, "pyrec: error: cannot write 'run.bin' after")


@live.once
def a_full_disk_keeps_what_was_whole():
    os.mkdir("disk")
    script = ('mount -t tmpfs -o size=256k none disk && exec "$@"')
    inside = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if live.call(*inside, "true").returncode != 0:
        raise live.Skip("no tmpfs may be mounted here")
    keep = '"$1" -p "$2" -o disk/run.bin -r 5k -d "$3" -q; s=$?; ' \
           'cp disk/run.bin run.bin; exit $s'
    with live.Target(live.ANY_PYTHON, "calls.py", "tree",
                     seconds=FILLS_S) as target:
        done = live.call(*inside, "sh", "-c", keep, "sh", live.PYREC,
                         target.pid, FILLS_S)
    refused(done, FAILED, "pyrec: error: cannot write 'disk/run.bin'",
            "whole: No space left")
    database = live.Database("run.bin", status=3)
    expect(database.samples() > 0, "nothing was kept")


@live.once
def a_file_that_is_not_a_profile_is_named():
    contents = {
        "empty.bin": (b"", "empty"),
        "stats.json": (b'{"a": 1}\n', "JSON"),
        "run.gz": (b"\x1f\x8b\x08" + bytes(40), "gzip"),
        "program": (b"\x7fELF" + bytes(100), "ELF"),
        "notes.txt": (b"some words, and then some more of them\n", "text"),
    }
    for name, (content, word) in contents.items():
        with open(name, "wb") as file:
            file.write(content)
        refused(live.call(live.PYCONV, name, "--to", "collapsed", "-o", "-"),
                FAILED, name, word)
    refused(live.call(live.PYCONV, "absent.bin", "--to", "collapsed", "-o",
                      "-"), FAILED, "absent.bin")


@live.once
def the_converter_keeps_an_existing_output_unless_forced():
    with live.Target(live.ANY_PYTHON, "sleeper.py") as target:
        live.record(target, "run.bin", seconds=1)
    for name in "speedscope", "collapsed", "pstats", "sqlite":
        with open("out", "w") as file:
            file.write("precious")
        command = [live.PYCONV, "run.bin", "--to", name, "-o", "out"]
        refused(live.call(*command), FAILED, "out", "-f")
        with open("out") as file:
            expect(file.read() == "precious", "%s changed the file", name)
        live.succeed(*command, "-f")


live.run()
