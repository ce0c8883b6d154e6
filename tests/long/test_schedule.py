"""pyrec --every for twenty minutes: targets and recorders are killed and started
again, the bounds hold at each moment, and every profile is whole.

PYREC_TEST_MINUTES (20) is the length, PYREC_TEST_SEED the seed of the kills.
"""

import collections
import csv
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

MINUTES = float(os.environ.get("PYREC_TEST_MINUTES", 20))
SEED = int(os.environ.get("PYREC_TEST_SEED", random.randrange(10**6)))
EVERY, FOR = 20, 5  # seconds
TARGETS = 6
KEEP, MAX_SIZE = 180, 40 * 1024
# The oldest recordings go before each recording and once a minute; a recorder
# is down for at most so long.
DOWN, PATIENCE = 15, 90


class Life:
    """When a process was there, by the wall clock."""

    def __init__(self, pid):
        self.pid = pid
        self.begin = time.time()
        self.end = None

    def covers(self, begin, end):
        return self.begin < begin and (self.end or time.time()) > end


class Killed:
    """Something that is started, killed after a random time, and started
    again: `make` returns an object with pid and kill()."""

    def __init__(self, chance, least, most, make):
        self.chance, self.least, self.most = chance, least, most
        self.make = make
        self.process, self.lives, self.kills = None, [], 0
        self.next = 0

    def act(self, last=False):
        if last or (self.process and time.time() > self.next):
            if self.process:
                self.lives[-1].end = time.time()
                self.process.kill()
                self.process = None
                self.kills += not last
            self.next = time.time() + self.chance.uniform(1, DOWN)
        elif not self.process and time.time() > self.next:
            self.process = self.make()
            self.lives.append(Life(self.process.pid))
            self.next = time.time() + self.chance.uniform(self.least, self.most)


class Target:
    def __init__(self, name):
        self.target = live.Target(live.ANY_PYTHON, "titled.py", name, 0.05,
                                  seconds=3 * 3600)
        self.pid = self.target.pid

    def kill(self):
        self.target.end()


class Recorder:
    """pyrec on a schedule; what its metrics said last is added up."""

    def __init__(self, folder, total, *options):
        self.total = total
        self.metrics = folder + ".prom"
        self.folder = folder
        self.process = subprocess.Popen(
            [live.PYREC, "--every", "%ds" % EVERY, "--for", "%ds" % FOR, "-o",
             folder, "--metrics", self.metrics, "-r", "100", "--overhead",
             "1%", "--label", "service=shop", *map(str, options)])
        self.pid = self.process.pid

    def kill(self):
        with open("/proc/%d/status" % self.pid, encoding="ascii") as file:
            peak = next(int(line.split()[1]) for line in file
                        if line.startswith("VmHWM"))
        self.total["peak_kib"] = max(self.total["peak_kib"], peak)
        alive = self.process.poll() is None
        expect(alive, "the recorder of %s has ended", self.folder)
        self.process.kill()
        self.process.wait()
        self.take_metrics()

    def take_metrics(self):
        if not os.path.exists(self.metrics):
            return  # killed before its first window
        with open(self.metrics, encoding="ascii") as file:
            for line in file:
                if not line.startswith("#"):
                    name, _, value = line.rpartition(" ")
                    if "_total" in name:
                        self.total[name] += float(value)
        os.unlink(self.metrics)


class Watch:
    """Checks a folder: its size, its oldest recording, and each new one."""

    def __init__(self, folder, max_size=None, keep=None):
        self.folder, self.max_size, self.keep = folder, max_size, keep
        self.seen = {}  # name: (pid, second in which it began)
        self.most_bytes = self.most_age = self.gone = 0

    def look(self):
        sizes, now = {}, time.time()
        for entry in os.scandir(self.folder):
            try:
                st = entry.stat()
            except FileNotFoundError:
                continue
            sizes[entry.name.removesuffix(".part")] = st.st_size
            if entry.name.endswith(".bin"):
                self.most_age = max(self.most_age, now - st.st_mtime)
                if entry.name not in self.seen:
                    self.read(entry.name)
        self.most_bytes = max(self.most_bytes, sum(sizes.values()))
        expect(not self.max_size or self.most_bytes <= self.max_size,
               "%s has %d bytes", self.folder, self.most_bytes)
        expect(not self.keep or self.most_age <= self.keep + PATIENCE,
               "%s has a recording of %d s", self.folder, self.most_age)

    def read(self, name):
        """A recording that is removed meanwhile is not read."""
        path = os.path.join(self.folder, name)
        checked = live.call(live.PYCONV, "--verify", "-q", path)
        asked = live.call(live.PYQUERY, "--csv", path, "--sql",
                          "SELECT pid, wall_us, samples FROM profile JOIN"
                          " process ON profile_id = profile.id")
        if checked.returncode or asked.returncode:
            self.gone += 1
            expect(not os.path.exists(path), "%s: %s%s", path, checked.stderr,
                   asked.stderr)
            return
        row = next(csv.DictReader(asked.stdout.splitlines()))
        expect(int(row["samples"]) > 0, "%s has no sample", name)
        self.seen[name] = int(row["pid"]), int(row["wall_us"]) / 1e6


def windows_of(seen):
    """{pid: windows}, of which none has two: of two that began in one window
    the first is late, and of the window before."""
    begins = collections.defaultdict(list)
    for pid, begin in sorted(seen.values(), key=lambda item: item[1]):
        begins[pid].append(begin)
    for pid, moments in begins.items():
        window = [int(begin // EVERY) for begin in moments]
        for i in range(len(window) - 1):
            is_late = window[i] == window[i + 1] and moments[i] % EVERY < FOR
            window[i] -= is_late
        expect(len(set(window)) == len(window),
               "process %d has two recordings of one window: %s", pid, moments)
        yield pid, set(window)


def check_windows(name, watch, targets, recorders, total):
    """Each process is recorded once in each window that it and the recorder
    live through, or the recorder says that it was not."""
    found = dict(windows_of(watch.seen))
    due = recorded = 0
    first = int(recorders[0].begin // EVERY)
    for window in range(first, int(time.time() // EVERY) + 1):
        begin, end = window * EVERY, (window + 1) * EVERY
        if not any(life.covers(begin - 5, end + 5) for life in recorders):
            continue
        for life in targets:
            if life.covers(begin - 5, end + 5):
                due += 1
                recorded += window in found.get(life.pid, ())
    excused = (total['pyrec_recordings_total{result="missed"}'] +
               total['pyrec_recordings_total{result="failed"}'] + watch.gone)
    print("# %s: %d recordings; %d due in whole windows, %d recorded, %d"
          " missed or failed; at most %d bytes, oldest %d s; removed %d by age,"
          " %d by size" %
          (name, len(watch.seen), due, recorded, excused, watch.most_bytes,
           watch.most_age, total['pyrec_removed_total{bound="age"}'],
           total['pyrec_removed_total{bound="size"}']))
    done = total['pyrec_recordings_total{result="recorded"}']
    cpu = total["pyrec_cpu_seconds_total"]
    print("# %s: %.2f s of processor time, %.1f ms a recording; a recorder"
          " took %d KiB" % (name, cpu, 1000 * cpu / max(done, 1),
                            total["peak_kib"]))
    expect(due > 0 and due - recorded <= excused, "%d of %d due are missing",
           due - recorded, due)


def run_for(seconds, actors, watches):
    end = time.time() + seconds
    while time.time() < end:
        for actor in actors:
            actor.act()
        for watch in watches:
            if os.path.isdir(watch.folder):
                watch.look()
        time.sleep(0.25)


@live.once
def a_schedule_survives_kills_and_keeps_its_bounds():
    print("# %g minutes, seed %d, load %.1f" %
          (MINUTES, SEED, os.getloadavg()[0]))
    chance = random.Random(SEED)
    title = "q%d" % (os.getpid() % 100000)
    named, alone = collections.Counter(), collections.Counter()
    targets = [Killed(chance, 60, 240, lambda i=i: Target("%s-%d" % (title, i)))
               for i in range(TARGETS)]
    steady = Target("s" + title)
    steady_life = Life(steady.pid)
    recorders = [
        Killed(chance, 60, 200, lambda: Recorder(
            "named", named, "--name", title + "-*", "--keep", "%ds" % KEEP,
            "--max-size", "100M")),
        Killed(chance, 60, 200, lambda: Recorder(
            "alone", alone, "-p", steady.pid, "--max-size", MAX_SIZE))]
    watches = [Watch("named", keep=KEEP), Watch("alone", max_size=MAX_SIZE)]
    try:
        run_for(MINUTES * 60, targets + recorders, watches)
    finally:
        for actor in recorders + targets:
            actor.act(last=True)
        steady.kill()
    live.wait_until(lambda: not any(
        name.endswith(".part") for folder in ("named", "alone")
        for name in os.listdir(folder)), "the last recordings have ended")
    for watch in watches:
        watch.look()
    print("# killed: %d targets, %d recorders" %
          (sum(target.kills for target in targets),
           sum(recorder.kills for recorder in recorders)))
    check_windows("named", watches[0], [life for target in targets
                                        for life in target.lives],
                  recorders[0].lives, named)
    check_windows("alone", watches[1], [steady_life], recorders[1].lives,
                  alone)
    expect(sum(recorder.kills for recorder in recorders) > 0, "no kill")


live.run()
