#!/usr/bin/env python3
"""pyquery on a folder: a database in the cache follows the folder's files.

    pyquery_archive.py [SEED]
"""

import csv
import ctypes
import marshal
import os
import random
import resource
import shutil
import signal
import sqlite3
import stat
import struct
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402

PYQUERY = os.path.join(harness.BIN, "pyquery")
QUESTIONS = ("top 20 by self", "top 5 by total per label service", "lines 10",
             "tree above 2%", "threads", "callers 999 of Handler1.step_04",
             "top 5 where gil and label region = region1", "profiles",
             "top 3 per profile", "top 9 between 20% and 60%", "losses")
SAMPLES = 60
IN_OPEN = 0x20
WALL = 1760000000
RESULTS = harness.Results()
check = RESULTS.check


def fleet(folder, count, seed, wall=WALL):
    os.makedirs(folder, exist_ok=True)
    subprocess.run([harness.tool("fleet"), folder, str(count), str(SAMPLES),
                    str(seed), str(wall)], check=True)


def run(*arguments, cwd=None, cache="cache", **environment):
    env = dict(os.environ, XDG_CACHE_HOME=os.path.abspath(cache),
               **environment)
    return subprocess.run([PYQUERY, "--csv", *arguments], env=env, cwd=cwd,
                          capture_output=True, text=True, check=False)


def names(folder):
    return sorted(n for n in os.listdir(folder) if n.endswith(".bin"))


def database(cache="cache"):
    folder = os.path.join(cache, "pyrec")
    found = [n for n in os.listdir(folder) if n.endswith(".db")]
    assert len(found) == 1, found
    return os.path.join(folder, found[0])


def lines(answer, question):
    """Without the ids of profiles, and rows that are equal in any order."""
    printed = answer.splitlines()
    if question == "profiles":
        printed = [line.partition(",")[2] for line in printed]
    return sorted(printed)


def same_answers(folder, what, cache="cache"):
    """The archive answers as the files do that are converted into memory."""
    for question in QUESTIONS:
        kept = run(folder, question, cache=cache)
        made = run(*names(folder), question, cwd=folder)
        check("%s: '%s'" % (what, question),
              kept.returncode == 0 and not kept.stderr and
              kept.stdout.count("\n") > (question != "losses") and
              lines(kept.stdout, question) == lines(made.stdout, question),
              "%d %s\n%s\n%s" % (kept.returncode, kept.stderr,
                                 kept.stdout[:700], made.stdout[:700]))


def content(path):
    """What the database says, without the ids of rows."""
    connection = sqlite3.connect(path)
    queries = (
        "SELECT hash, source, samples, weight_us FROM profile ORDER BY 1",
        "SELECT p.hash, f.hash, self_n, total_n, total_us FROM function_total"
        " JOIN profile p ON p.id = profile_id JOIN function f ON f.id ="
        " function_id ORDER BY 1, 2",
        "SELECT p.hash, a.hash, b.hash, e.total_n FROM edge_total e JOIN"
        " profile p ON p.id = profile_id JOIN function a ON a.id = callee_id"
        " LEFT JOIN function b ON b.id = caller_id ORDER BY 1, 2, 3",
        "SELECT p.hash, t.tid, r.t0_us, r.n, r.status FROM run r JOIN thread t"
        " ON r.id BETWEEN first_run AND last_run JOIN process ON process.id ="
        " process_id JOIN profile p ON p.id = profile_id ORDER BY 1, 2, 3",
        "SELECT p.hash, count(*), sum(is_first_fn), sum(depth) FROM node n JOIN"
        " profile p ON n.id BETWEEN first_node AND last_node GROUP BY 1"
        " ORDER BY 1",
        "SELECT sum(n), sum(weight_us), count(DISTINCT thread_id) FROM"
        " node_self",
        "SELECT count(*), count(DISTINCT process_id) FROM thread",
        "SELECT DISTINCT f.hash, file.hash, n.line, fr.col FROM node n JOIN"
        " frame fr ON fr.id = frame_id JOIN function f ON f.id ="
        " fr.function_id JOIN file ON file.id = file_id ORDER BY 1, 2, 3, 4",
        "SELECT key, value, count(*) FROM label GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT f.hash, self_n, total_n, total_us, self_ran_us FROM"
        " function_sum JOIN function f ON f.id = function_id ORDER BY 1",
        "SELECT p.hash, f.hash, t.self_n, t.total_n, t.parent_id, t.id FROM"
        " tree_total t JOIN profile p ON p.id = t.profile_id JOIN function f"
        " ON f.id = t.function_id ORDER BY 1, 2, 3, 4, 5, 6",
        "SELECT count(*) FROM meta", "SELECT count(*) FROM process",
        "SELECT name, problem FROM archive_file ORDER BY 1")
    found = [connection.execute(query).fetchall() for query in queries]
    connection.close()
    return found


def as_fresh(folder, what):
    """The database that followed is the one that is made now."""
    shutil.rmtree("fresh", ignore_errors=True)
    run(folder, "summary")
    run(folder, "summary", cache="fresh")
    check(what + ": as a database made anew",
          content(database()) == content(database("fresh")))


class Watch:
    """The names of files that are opened in a folder (inotify(7))."""

    def __init__(self, folder):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.fd = self.libc.inotify_init1(os.O_NONBLOCK)
        self.libc.inotify_add_watch(self.fd, folder.encode(), IN_OPEN)

    def opened(self):
        try:
            data = os.read(self.fd, 1 << 20)
        except BlockingIOError:
            return set()
        found, at = set(), 0
        while at < len(data):
            length = struct.unpack_from("iIII", data, at)[3]
            found.add(data[at + 16:at + 16 + length].rstrip(b"\0").decode())
            at += 16 + length
        return found - {""}


def age(folder):
    """Files that changed just now are converted again; these have not."""
    old = WALL * 10 ** 9
    for name in names(folder):
        os.utime(os.path.join(folder, name), ns=(old, old))
    # a change of mode or times stamps ctime with the present
    waited = os.path.join(folder, "clock")
    last = max(os.stat(os.path.join(folder, name)).st_ctime_ns
               for name in names(folder))
    while True:
        with open(waited, "w", encoding="ascii"):
            pass
        if os.stat(waited).st_ctime_ns - last > 50 * 10 ** 6:
            break
        os.unlink(waited)
    os.unlink(waited)


def follow(rnd):
    fleet("day", 40, rnd.randrange(1000))
    fleet("more", 8, 7000 + rnd.randrange(1000))
    age("day")
    before = (names("day"), os.stat("day").st_mtime_ns)
    same_answers("day", "a first question")
    check("nothing is written into the folder",
          (names("day"), os.stat("day").st_mtime_ns) == before and
          sorted(os.listdir("day")) == names("day"))
    watch = Watch("day")
    run("day", "top")
    check("a second question opens no profile", watch.opened() == set())
    shutil.copy("more/p0000001.bin", "day/new.bin")
    run("day", "top")
    check("a new profile alone is opened", watch.opened() == {"new.bin"})
    same_answers("day", "a new profile")
    os.unlink("day/p0000003.bin")
    os.replace("day/p0000004.bin", "day/renamed.bin")
    same_answers("day", "a profile that is gone, and a renamed one")
    as_fresh("day", "a profile that is gone, and a renamed one")
    os.replace("more/p0000002.bin", "day/p0000005.bin")
    with open("day/p0000006.bin", "wb") as to:
        with open("more/p0000003.bin", "rb") as source:
            to.write(source.read())
    same_answers("day", "changed profiles")
    as_fresh("day", "changed profiles")


def amounts(answer):
    """Counts and names of each row, without shares."""
    rows = list(csv.DictReader(answer.splitlines()))
    return [[row.get(key) for key in ("label", "self_samples", "self_s",
                                      "total_samples", "self_ran_s",
                                      "function", "file")] for row in rows]


def on_days(rnd):
    """A range of the calendar is that of the profiles that began in it."""
    zone = rnd.choice(("UTC", "XST-5:30", "WST+8"))
    offset = {"UTC": 0, "XST-5:30": 19800, "WST+8": -28800}[zone]
    env = {"TZ": zone, "cache": "calendar"}
    midnight = ((WALL + offset) // 86400 * 86400) - offset
    fleet("days", 48, rnd.randrange(1000), midnight)
    day = time.strftime("%Y-%m-%d", time.gmtime(midnight + offset))
    wanted = run(*names("days")[12:24], "top 30 by self per label service",
                 cwd="days", TZ=zone).stdout
    for words in ("%s 06:00 and 12:00" % day, "%s 6:00 and %s 12:00" % (day,
                                                                        day)):
        done = run("days", "top 30 by self per label service between " + words,
                   **env)
        check("between %s in zone %s" % (words, zone),
              amounts(done.stdout) == amounts(wanted) and
              wanted.count("\n") > 100, done.stdout[:500] + done.stderr)
    now = int(time.time())
    today = (now + offset) // 86400 * 86400 - offset
    fleet("days", 48, 5, today - 86400)
    wanted = run(*names("days")[:2], "top 30", cwd="days", TZ=zone).stdout
    done = run("days", "top 30 between yesterday and 1:00", **env)
    # at midnight the day before yesterday may have been meant
    check("between yesterday and 1:00 in zone %s" % zone,
          amounts(done.stdout) == amounts(wanted) or
          (int(time.time()) + offset) // 86400 != (now + offset) // 86400,
          done.stdout[:500] + done.stderr)
    for words in ("2026-02-30 and 2026-03-01", "2026-13-01 and 12:00",
                  "yesterday and 5s", "12:00 and yesterday 13:00",
                  "yesterday 13:00 and 12:00", "tomorrow and 12:00",
                  "1969-12-31 and today"):
        done = run("days", "top between " + words, **env)
        check("between %s is refused" % words, done.returncode == 2 and
              not done.stdout, done.stdout)


def copies():
    """One profile under two names is one; it stays as long as one does."""
    shutil.copy("day/p0000010.bin", "day/again.bin")
    first = run("day", "profiles").stdout
    check("a copy is one profile more under no name",
          first.count("\n") == len(names("day")), first)
    os.unlink("day/p0000010.bin")
    second = run("day", "profiles").stdout
    check("the copy keeps the profile under its own name",
          second.count("\n") == len(names("day")) + 1 and
          "again.bin" in second and "p0000010" not in second, second)
    as_fresh("day", "a copy")


def damage():
    with open("day/p0000011.bin", "rb") as file:
        whole = file.read()
    with open("day/p0000011.bin", "wb") as file:
        file.write(whole[:len(whole) // 3])
    with open("day/text.bin", "w", encoding="ascii") as file:
        file.write("text, not a profile\n" * 9)
    with open("day/totals.bin", "wb") as file:
        marshal.dump({("a.py", 1, "f"): (1, 1, 0.5, 0.5, {})}, file)
    with open("day/empty.bin", "wb"):
        pass
    os.symlink("nothing", "day/link.bin")
    os.symlink("loop.bin", "day/loop.bin")
    done = run("day", "summary")
    check("damaged files are reported once, the others answered",
          done.returncode == 3 and done.stderr.count("pyquery: ") == 1 and
          "5 files" in done.stderr and "profiles," in done.stdout,
          done.stderr)
    again = run("day", "summary")
    check("and again, without reading them", again.stdout == done.stdout and
          again.stderr == done.stderr and again.returncode == 3, again.stderr)
    with open("day/p0000011.bin", "wb") as file:
        file.write(whole)
    for name in ("text", "empty", "link", "loop"):
        os.unlink("day/%s.bin" % name)
    os.unlink("day/totals.bin")
    same_answers("day", "files that are whole again")


def privacy():
    mask = os.umask(0)
    run("day", "top", cache="open")
    os.umask(mask)
    modes = [stat.S_IMODE(os.stat(path).st_mode)
             for path in ("open", "open/pyrec", database("open"))]
    check("only the owner may read the cache", modes == [0o700, 0o700, 0o600],
          [oct(mode) for mode in modes])
    left = [n for n in os.listdir("open/pyrec") if not n.endswith(".db")]
    check("no log is left beside the database", not left, left)


def no_cache():
    """Without a cache the answer is the same."""
    wanted = run("day", "top").stdout
    env = {"HOME": "/nonexistent"}
    for cache, name in (("/proc/nothing", "that cannot be made"),
                        ("/dev/null/x", "below a file")):
        done = run("day", "top", cache=cache, **env)
        check("a cache %s: the answer is made in memory" % name,
              done.returncode == 0 and done.stdout == wanted, done.stderr)
    os.makedirs("shared/pyrec")
    os.chmod("shared/pyrec", 0o777)
    done = run("day", "top", cache="shared")
    check("a cache that others may write is not used",
          done.stdout == wanted and not os.listdir("shared/pyrec"),
          done.stderr)


def full_disk():
    """No file of this process may have more than 512 bytes."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def no_room():
    wanted = run("day", "top").stdout
    with open("day/text.bin", "w", encoding="ascii") as file:
        file.write("text, not a profile")
    for cache, environment in (
            ("full", {"XDG_CACHE_HOME": os.path.abspath("full")}),
            ("none", {"XDG_CACHE_HOME": "/proc/nothing", "HOME": "/none"})):
        done = subprocess.run([PYQUERY, "--csv", "day", "top"],
                              env=dict(os.environ, **environment),
                              preexec_fn=full_disk if cache == "full" else None,
                              capture_output=True, text=True, check=False)
        check("a cache '%s': the answer is made in memory, and a bad file is "
              "named" % cache, done.returncode == 3 and done.stdout == wanted
              and "'day/text.bin'" in done.stderr and
              done.stderr.count("pyquery: ") == 1, done.stderr)
    os.unlink("day/text.bin")
    done = run("day", "top", cache="full")
    check("with room again, the cache is used", done.stdout == wanted and
          done.returncode == 0 and os.path.getsize(database("full")) > 9999,
          done.stderr)


def hostile_cache():
    path = database("open")
    os.unlink(path)
    with open("victim", "w", encoding="ascii") as file:
        file.write("precious")
    os.symlink(os.path.abspath("victim"), path)
    done = run("day", "top", cache="open")
    with open("victim", encoding="ascii") as file:
        kept = file.read() == "precious"
    check("a link in place of the database is refused",
          done.returncode == 1 and kept and "hint: " in done.stderr,
          done.stderr)
    os.unlink(path)
    with open(path, "w", encoding="ascii") as file:
        file.write("not a database " * 99)
    done = run("day", "top", cache="open")
    check("a text in place of the database is refused, with a remedy",
          done.returncode == 1 and "may be removed" in done.stderr,
          done.stderr)


def at_once(rnd):
    """Programs that index one folder at once share the work."""
    shutil.rmtree("cache")
    fleet("busy", 300, rnd.randrange(1000))
    env = dict(os.environ, XDG_CACHE_HOME=os.path.abspath("cache"))
    asked = [subprocess.Popen([PYQUERY, "--csv", "busy", "top 5"], env=env,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) for _ in range(5)]
    answers = [process.communicate() for process in asked]
    check("five first questions at once have one answer",
          {p.returncode for p in asked} == {0} and
          len(set(answers)) == 1 and not answers[0][1], answers)
    same_answers("busy", "after five at once")


BALANCE = ("SELECT (SELECT count(*) FROM profile) AS profiles,"
           " (SELECT sum(n) FROM run) AS runs,"
           " (SELECT sum(n) FROM node_self) AS selves,"
           " (SELECT sum(self_n) FROM function_total) AS totals,"
           " (SELECT count(*) FROM thread) AS threads")


def changing():
    """Each answer is about one state, while files come and go."""
    env = dict(os.environ, XDG_CACHE_HOME=os.path.abspath("cache"))
    asked, files = [], names("busy")
    for round_ in range(12):
        for name in files[round_ * 10:round_ * 10 + 10]:
            os.replace("busy/" + name, "busy/%s.away" % name)
        asked += [subprocess.Popen([PYQUERY, "--csv", "busy", "--sql", BALANCE],
                                   env=env, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
                  for _ in range(2)]
        for name in files[round_ * 10:round_ * 10 + 10:2]:
            os.replace("busy/%s.away" % name, "busy/" + name)
    wrong = []
    for process in asked:
        printed, error = process.communicate()
        row = printed.splitlines()[-1].split(",") if printed else ["0"] * 5
        profiles, *sums, threads = map(int, row)
        if (process.returncode or error or profiles == 0 or
                set(sums) != {profiles * SAMPLES} or threads != 3 * profiles):
            wrong.append((process.returncode, printed, error))
    check("24 answers while files come and go are each of one state",
          not wrong, wrong)
    same_answers("busy", "after files came and went")
    as_fresh("busy", "after files came and went")


def killed():
    """A program that is killed while it indexes leaves what it had done."""
    shutil.rmtree("cache")
    env = dict(os.environ, XDG_CACHE_HOME=os.path.abspath("cache"))
    process = subprocess.Popen([PYQUERY, "busy", "top"], env=env,
                               stdout=subprocess.DEVNULL)
    while process.poll() is None and not (
            os.path.isdir("cache/pyrec") and
            any(n.endswith("-wal") and
                os.path.getsize(os.path.join("cache/pyrec", n)) > 0
                for n in os.listdir("cache/pyrec"))):
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    same_answers("busy", "after a kill")
    as_fresh("busy", "after a kill")


def emptied():
    for name in names("busy"):
        os.unlink("busy/" + name)
    done = run("busy", "top")
    check("a folder without a profile, status 4", done.returncode == 4 and
          "has no profile" in done.stderr, done.stderr)
    connection = sqlite3.connect(database())
    left = {table: connection.execute(
        "SELECT count(*) FROM %s" % table).fetchone()[0]
            for table, in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table'"
                " AND name <> 'opcode'")}
    check("and its database has no row left", not any(left.values()), left)


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.randrange(1 << 30)
    print("# seed %d" % seed)
    rnd = random.Random(seed)
    follow(rnd)
    on_days(rnd)
    copies()
    damage()
    privacy()
    no_cache()
    no_room()
    hostile_cache()
    at_once(rnd)
    changing()
    killed()
    emptied()
    RESULTS.exit()


main()
