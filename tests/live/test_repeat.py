"""Runs made to be compared: --repeat and --in-turn."""

import os
import signal
import subprocess

import live
from live import expect

PROGRAM = """\
import sys, time
def busy():
    while time.process_time() < 0.3:
        pass
busy()
sys.exit(int(sys.argv[1]))
"""


def write_program():
    with open("busy.py", "w") as file:
        file.write(PROGRAM)


def facts(path):
    """(label run, when it began)"""
    database = live.Database(path)
    return (database.value("SELECT value FROM label WHERE key = 'run'"),
            database.value("SELECT wall_us FROM profile"))


@live.once
def runs_of_two_commands_are_recorded_in_turn():
    write_program()
    live.succeed(live.PYREC, "-q", "--repeat", 2, "-o", "new", "--in-turn",
                 "old=%s busy.py 0" % live.ANY_PYTHON, "--label", "commit=b2",
                 "--", live.ANY_PYTHON, "busy.py", 0)
    names = ["new/run-001.bin", "old/run-001.bin", "old/run-002.bin",
             "new/run-002.bin"]
    expect(sorted(os.listdir("new") + os.listdir("old")) ==
           sorted(os.path.basename(name) for name in names), "%s %s",
           os.listdir("new"), os.listdir("old"))
    found = [facts(name) for name in names]
    expect([run for run, _ in found] == ["001", "001", "002", "002"], "%s",
           found)
    times = [when for _, when in found]
    expect(times == sorted(times), "the order of the runs is %s", times)
    expect(live.Database("new/run-002.bin").value(
        "SELECT value FROM label WHERE key = 'commit'") == "b2", "no label")
    done = live.succeed(live.PYQUERY, "new", "diff", "old", "as", "json")
    expect("2 runs against 2" in done.stdout and
           "one side was recorded after" not in done.stdout, "%s", done.stdout)


@live.once
def what_follows_from_all_runs_is_printed_once():
    write_program()
    done = live.succeed(live.PYREC, "--repeat", 2, "-o", "new", "--in-turn",
                        "old=%s busy.py 0" % live.ANY_PYTHON, "--",
                        live.ANY_PYTHON, "busy.py", 0)
    lines = done.stderr.splitlines()
    expect(sum(" of process " in line for line in lines) == 4 and
           sum("pyrec: next:" in line for line in lines) == 1 and
           lines[-1] == 'pyrec: next: pyquery new diff old', "%s", lines)
    expect(not any("a bad recording" in line for line in lines) and
           sum("recordings are bad" in line for line in lines) <= 2, "%s",
           lines)
    done = live.succeed(live.PYREC, "--repeat", 2, "-o", "runs", "--",
                        live.ANY_PYTHON, "busy.py", 0)
    expect(done.stderr.endswith(
        'pyrec: next: pyquery runs "top 20 by self"\n'), "%s", done.stderr)


@live.once
def runs_of_a_second_call_follow_those_of_the_first():
    write_program()
    for _ in range(2):
        live.succeed(live.PYREC, "-q", "--repeat", 1, "-o", "runs", "--",
                     live.ANY_PYTHON, "busy.py", 0)
    expect(sorted(os.listdir("runs")) == ["run-001.bin", "run-002.bin"], "%s",
           os.listdir("runs"))


@live.once
def a_run_that_fails_is_the_last():
    write_program()
    done = live.call(live.PYREC, "-q", "--repeat", 3, "-o", "runs", "--",
                     live.ANY_PYTHON, "busy.py", 7)
    expect(done.returncode == 7, "status %d: %s", done.returncode, done.stderr)
    expect(os.listdir("runs") == ["run-001.bin"], "%s", os.listdir("runs"))


@live.once
def a_signal_ends_the_run_and_none_follows():
    pyrec = subprocess.Popen(
        [live.PYREC, "--repeat", "3", "-o", "runs", "--", live.ANY_PYTHON,
         "-c", "import time\nprint('ready', flush=True)\n"
         "end = time.monotonic() + 60\n"
         "while time.monotonic() < end: time.sleep(0.01)"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    pyrec.stdout.readline()
    live.wait_until(lambda: live.size("runs/run-001.bin") > 0,
                    "the recording began")
    pyrec.send_signal(signal.SIGTERM)
    pyrec.communicate(timeout=live.PATIENCE)
    expect(pyrec.returncode != 0, "status %d", pyrec.returncode)
    expect(os.listdir("runs") == ["run-001.bin"], "%s", os.listdir("runs"))


@live.once
def one_folder_for_two_commands_is_refused():
    os.mkdir("old")
    for folder in "new", "./new/", "old":
        done = live.call(live.PYREC, "--repeat", 2, "-o", folder, "--in-turn",
                         os.path.basename(folder.rstrip("/")) + "=true", "--",
                         "true")
        expect(done.returncode == 2 and live.one_line(done.stderr) and
               "is the folder of two commands" in done.stderr, "%d %s",
               done.returncode, done.stderr)
        expect(os.listdir(".") == ["old"] and not os.listdir("old"), "%s",
               os.listdir("."))


@live.once
def a_command_that_cannot_be_run_leaves_no_folder():
    with open("program", "w") as file:
        file.write("words")
    for command, wanted in (("./no-such-program", 127), ("./program", 126)):
        done = live.call(live.PYREC, "--repeat", 2, "-o", "new", "--in-turn",
                         "old=true", "--", command)
        expect(done.returncode == wanted and live.one_line(done.stderr),
               "%d %s", done.returncode, done.stderr)
        expect(os.listdir(".") == ["program"], "%s", os.listdir("."))


@live.once
def a_repetition_without_folder_or_command_is_refused():
    for words in (["--repeat", "2", "--", "true"],
                  ["--repeat", "2", "-o", "runs", "-p", "1"],
                  ["--in-turn", "old=true", "-o", "runs", "--", "true"],
                  ["--repeat", "0", "-o", "runs", "--", "true"],
                  ["--repeat", "2", "-o", "runs", "--in-turn", "old", "--",
                   "true"]):
        done = live.call(live.PYREC, *words)
        expect(done.returncode == 2, "%s: status %d: %s", words,
               done.returncode, done.stderr)
        expect(not os.path.exists("runs/run-001.bin"), "a run was made")


live.run()
