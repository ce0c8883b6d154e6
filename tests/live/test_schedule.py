"""pyrec --every: recordings on a schedule, in windows of a second or two.

Each test waits for what the recorder does, not for time to pass, and asserts
only what holds at any speed of the machine."""

import os
import signal
import subprocess

import live
from live import expect

EVERY = 1  # seconds; windows begin at whole seconds of the wall clock


def title(number):
    return "t%d-%d" % (os.getpid() % 100000, number)


# as long as a name may be
STATE = "state" + "-" * 245 + ".prom"


def target(name):
    return live.Target(live.ANY_PYTHON, "titled.py", name, seconds=600)


class Recorder:
    """pyrec on a schedule, until it is ended."""

    def __init__(self, *options, folder="day"):
        self.folder = folder
        self.process = subprocess.Popen(
            [live.PYREC, "--every", "%ds" % EVERY, "--for", "200ms", "-o",
             folder, "--metrics", STATE, "--label", "service=shop",
             *map(str, options)], stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(live.PATIENCE)


def profiles(folder="day"):
    return sorted(name for name in os.listdir(folder)
                  if name.endswith(".bin")) if os.path.isdir(folder) else []


def parts(folder="day"):
    return [name for name in os.listdir(folder) if name.endswith(".part")]


def of(pid, folder="day"):
    return [name for name in profiles(folder) if "-%d-" % pid in name]


def metrics():
    values = {}
    with open(STATE, encoding="ascii") as file:
        text = file.read()
    for line in text.splitlines():
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            values[name] = float(value)
    return text, values


def wait_for(number, *pids):
    for pid in pids:
        live.wait_until(lambda: len(of(pid)) >= number,
                        "process %d has %d profiles" % (pid, number))


def all_whole(folder="day"):
    """Every profile is finished, checked and has a sample."""
    found = profiles(folder)
    for name in found:
        path = os.path.join(folder, name)
        live.succeed(live.PYCONV, "--verify", path)
        database = live.Database(path, "-q")
        expect(database.samples() > 0, "%s has no sample", name)
    for name in found:
        os.unlink(os.path.join(folder, name + ".db"))


@live.once
def a_schedule_fills_a_folder_with_labelled_profiles():
    with target(title(1)) as one, target(title(2)) as two:
        with Recorder("--name", title(1)[:-1] + "*") as recorder:
            wait_for(3, one.pid, two.pid)
            expect(recorder.end() == 0, "status %d",
                   recorder.process.returncode)
    expect(not parts(), "left: %s", parts())
    text, values = metrics()
    done = values['pyrec_recordings_total{result="recorded"}']
    expect(done >= 6 and done >= values["pyrec_files"] >= 6, "%s", values)
    expect(text.count("# HELP ") == text.count("# TYPE ") >= 9, "%s", text)
    expect(os.stat("day").st_mode & 0o777 == 0o700, "open to others")
    answer = live.succeed(live.PYQUERY, "--csv", "day",
                          "top 1 by self per label service").stdout
    expect("shop" in answer and "spin" in answer, "%s", answer)
    all_whole()


@live.once
def a_name_that_no_process_has_is_said_once():
    def windows():
        return os.path.exists(STATE)
    for more, lines in ([], 1), (["-q"], 0):
        with Recorder("--name", title(9) + "*", *more) as recorder:
            live.wait_until(windows, "a window began")
            first = os.stat(STATE).st_mtime_ns
            # it is written anew at each window, after the search
            for _ in range(2):
                live.wait_until(
                    lambda: os.stat(STATE).st_mtime_ns != first,
                    "another window began")
                first = os.stat(STATE).st_mtime_ns
            expect(recorder.end() == 0, "status %d",
                   recorder.process.returncode)
            said = recorder.process.stderr.read()
        expect(said.count("pyrec: note: no process matches '%s*'"
                          % title(9)) == lines and
               said.count("\n") == lines, "%r", said)
        os.unlink(STATE)


@live.once
def metrics_that_cannot_be_written_are_said_once_and_fail():
    os.mkdir(STATE)
    with target(title(8)) as one:
        with Recorder("-p", one.pid) as recorder:
            wait_for(2, one.pid)
            recorder.process.send_signal(signal.SIGTERM)
            _, said = recorder.process.communicate(timeout=live.PATIENCE)
    expect(recorder.process.returncode == 1, "status %d",
           recorder.process.returncode)
    # a line has room for a part of the name
    expect(live.one_line(said) and
           said.startswith("pyrec: error: cannot make 'state---") and
           said.endswith(": Is a directory\n"), "%r", said)
    all_whole()


@live.once
def a_target_that_is_started_again_is_recorded_again():
    with Recorder("--name", title(3)) as recorder:
        with target(title(3)) as first:
            wait_for(2, first.pid)
        with target(title(3)) as second:
            wait_for(2, second.pid)
        expect(recorder.end() == 0, "status %d", recorder.process.returncode)
    expect(not parts(), "left: %s", parts())
    all_whole()


@live.once
def a_recorder_that_is_killed_and_started_again_goes_on():
    with target(title(4)) as one:
        for _ in range(3):
            had = len(of(one.pid)) if os.path.isdir("day") else 0
            with Recorder("--name", title(4)) as recorder:
                wait_for(had + 1, one.pid)
                live.wait_until(parts, "a recording runs")
                recorder.process.kill()
                recorder.process.wait()
                # its recording ends by itself, and whole
                live.wait_until(lambda: not parts(), "it has ended")
        wait_for(3, one.pid)
    all_whole()


@live.once
def the_bound_of_size_holds_and_other_files_stay():
    os.mkdir("day")
    with open("day/other.bin", "wb") as file:
        file.write(b"x" * 100000)
    bound = 40 * 1024
    with target(title(5)) as one:
        with Recorder("--name", title(5), "--max-size", "40K"):
            live.wait_until(
                lambda: os.path.exists(STATE) and
                metrics()[1]['pyrec_removed_total{bound="size"}'] >= 3,
                "three recordings were removed")
            values = metrics()[1]
            expect(values["pyrec_bytes"] <= bound, "%s", values)
            expect(len(of(one.pid)) >= 1, "none is left")
    expect(os.path.getsize("day/other.bin") == 100000, "it was touched")
    os.unlink("day/other.bin")
    all_whole()


@live.once
def old_recordings_go():
    os.mkdir("day")
    old = "day/pyrec-old-1-20200101-000000.bin"
    with open(old, "wb"):
        pass
    os.utime(old, (1577836800, 1577836800))
    with target(title(6)) as one:
        with Recorder("--name", title(6), "--keep", "7d"):
            wait_for(1, one.pid)
            live.wait_until(lambda: not os.path.exists(old), "it is removed")
    all_whole()


@live.once
def a_schedule_of_one_process_ends_with_it():
    with target(title(7)) as one:
        with Recorder("-p", one.pid) as recorder:
            wait_for(1, one.pid)
            one.process.kill()
            one.process.wait()
            status = recorder.process.wait(live.PATIENCE)
            expect(status == 0, "status %d", status)
    all_whole()


@live.once
def a_process_that_cannot_be_recorded_is_refused_as_without_a_schedule():
    with target(title(8)) as one:
        other = subprocess.Popen(["sleep", "600"])
        # none is so high; another program, older than one that may become a
        # Python; one that lacks what an option needs
        for wanted, *words in ((7, "-p", 2 ** 22 + 1), (8, "-p", other.pid),
                               (8, "-p", one.pid, "--gc-events")):
            said = [live.call(live.PYREC, *more, *words) for more in
                    (["-o", "run.bin"], ["--every", "1s", "--for", "300ms",
                                         "-o", "day"])]
            expect([done.returncode for done in said] == [wanted] * 2 and
                   said[0].stderr == said[1].stderr and
                   live.one_line(said[1].stderr), "%s: %s", words, said)
            expect(not os.path.exists("day"), "made")
        other.kill()
        other.wait()


@live.once
def a_schedule_that_makes_no_sense_is_refused():
    for options in (["--every", "10s", "--for", "10s", "--name", "x"],
                    ["--every", "10s", "--name", "x"],
                    ["--every", "100ms", "--for", "10ms", "--name", "x"],
                    ["--every", "10s", "--for", "1s"],
                    ["--every", "10s", "--for", "1s", "-p", "1", "--name",
                     "x"],
                    ["--every", "10s", "--for", "1s", "-p", "1", "--top"],
                    ["--name", "x"], ["-p", "1", "--keep", "7d"],
                    ["-p", "1", "--max-size", "1G"],
                    ["--every", "10s", "--for", "1s", "--name", "x",
                     "--max-size", "1Q"],
                    ["-p", "1", "--metrics", "m"]):
        done = live.call(live.PYREC, *options, "-o", "no")
        expect(done.returncode == 2 and live.one_line(done.stderr),
               "%s: %d %s", options, done.returncode, done.stderr)
        expect(not os.path.exists("no"), "made")


live.run()
