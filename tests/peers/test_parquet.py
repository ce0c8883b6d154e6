"""pyconv --to parquet: DuckDB's answers about the folder are those of
pyquery."""

import fcntl
import os
import random
import re
import signal
import stat
import subprocess
import time

import duckdb_reader
import fleet_answers
from duckdb_reader import DuckDB, LIBRARY
from fleet_answers import COUNTS, PYCONV, TABLES, check

PROFILES, SAMPLES = 120, 90


def start(*words, **options):
    environment = dict(os.environ, LD_LIBRARY_PATH=LIBRARY)
    return subprocess.Popen([PYCONV, *words, "--to", "parquet"],
                            stderr=subprocess.PIPE, text=True,
                            env=environment, **options)


def call(*words, **options):
    """(status, messages)"""
    process = start(*words, **options)
    said = process.communicate()[1]
    return process.returncode, said


def parts(folder):
    return sorted(name for name in os.listdir(folder))


def one_line(said):
    return re.fullmatch(r"pyconv: error: [^\n]+\n(pyconv: hint: [^\n]+\n)?",
                        said)


def repeated(folder, files, rows):
    before, names = rows(COUNTS), parts(folder)
    status, said = call("fleet", "-o", folder)
    check("profiles that are handed over twice are there once",
          status == 0 and rows(COUNTS) == before and parts(folder) == names
          and "%d profiles were" % len(files) in said, said)
    status, said = call(*files[:10], files[3], "-o", "some.parquet")
    check("a profile that is given twice as well", status == 0 and
          "1 profile was" in said, said)
    status, said = call("fleet", "-o", "some.parquet")
    some = DuckDB("some.parquet").rows
    check("a second part has the rest", status == 0 and
          len(parts("some.parquet")) == 2 and
          {row["name"]: row["n"] for row in some(COUNTS)} ==
          {row["name"]: row["n"] for row in before}, said)


def interrupted(files, before):
    """Killed in the middle; the lock shows when it is at work."""
    os.mkdir("cut.parquet")
    for moment in range(6):
        process = start("-q", "fleet", "-o", "cut.parquet")
        while process.poll() is None and not os.path.exists(
                "cut.parquet/.pyconv/part/" +
                ("" if moment < 3 else "meta.parquet")):
            time.sleep(0.001)
        process.kill()
        process.wait()
        process.stderr.close()
    left = [name for name in parts("cut.parquet") if name != ".pyconv"]
    status, said = call("fleet", "-o", "cut.parquet")
    cut = DuckDB("cut.parquet").rows
    check("a hand-over that is killed is finished by repeating it",
          status == 0 and cut(COUNTS) == before and
          len(parts("cut.parquet")) == 1, "%s %s" % (left, said))


def at_once(files, before):
    """Four writers of different and of the same profiles take turns."""
    writers = [start("-q", *(files[i * 30:] + files[:i * 20 + 30]), "-o",
                     "busy.parquet") for i in range(4)]
    said = [writer.communicate()[1] for writer in writers]
    busy = DuckDB("busy.parquet").rows
    check("four writers at once are one", not any(
        writer.returncode for writer in writers) and busy(COUNTS) == before,
        said)


def blocked(pid):
    """Does the process wait for a lock (proc_locks(5))?"""
    with open("/proc/locks", encoding="ascii") as file:
        return any(" -> " in line and line.split()[5] == str(pid)
                   for line in file)


def waits_for_its_turn(files):
    folder = os.open("busy.parquet", os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    writer = start("-q", files[0], "-o", "busy.parquet")
    while writer.poll() is None and not blocked(writer.pid):
        time.sleep(0.001)
    waits = writer.poll() is None
    os.close(folder)
    said = writer.communicate()[1]
    check("a writer waits for the lock", waits and writer.returncode == 0,
          said)


def hostile():
    folder = "it's [a] *.parquet"
    os.mkdir("hostile")
    fleet_answers.write_hostile("hostile/h.bin")
    for _ in range(2):
        status, said = call("hostile", "-o", folder)
        check("hostile names are handed over", status == 0, said)
    os.rename(folder, "wild.parquet")
    check("into a folder with a wild name, once",
          len(parts("wild.parquet")) == 1, parts("wild.parquet"))
    fleet_answers.hostile_names(
        "hostile/h.bin", DuckDB("wild.parquet").rows, "hex(%s)")


def refused(files):
    for words, name in (
            (["-o", "-"], "a stream"), (["-o", files[0]], "an input"),
            (["-f", "-o", "some.parquet"], "-f"),
            (["--follow", "-o", "some.parquet"], "--follow")):
        status, said = call(files[0], *words)
        check("%s is refused" % name, status == 2 and one_line(said), said)
    with open("a-file", "w", encoding="ascii"):
        pass
    status, said = call(files[0], "-o", "a-file")
    check("a file in the place of the folder is named", status == 1 and
          "a-file" in said and one_line(said), said)
    empty = subprocess.run([PYCONV, files[0], "-o", "no.parquet"],
                           capture_output=True, text=True, check=False,
                           env=dict(os.environ, LD_LIBRARY_PATH="/nowhere"))
    check("without DuckDB's library one line says what to install",
          empty.returncode == 1 and one_line(empty.stderr) and
          "install libduckdb.so" in empty.stderr and
          not os.path.exists("no.parquet"), empty.stderr)
    part = os.path.join("some.parquet", parts("some.parquet")[0])
    DuckDB("some.parquet").run(
        "COPY (SELECT * FROM pyrec.profile) TO '%s/profile.parquet' (FORMAT"
        " parquet, KV_METADATA {pyrec: '3'})" % part)
    before = parts("some.parquet")
    status, said = call(files[0], "-o", "some.parquet")
    check("tables of another version are refused", status == 1 and
          "another version" in said and one_line(said) and
          parts("some.parquet") == before, said)


def permissions(files):
    os.chmod(files[0], 0o600)
    status, said = call(files[0], "-o", "own.parquet", umask=0o022)
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (
        "own.parquet", os.path.join("own.parquet", parts("own.parquet")[0]))]
    check("a profile of one user stays his", status == 0 and
          modes == [0o700, 0o700], "%s %s" % (said, list(map(oct, modes))))
    os.chmod(files[0], 0o644)


def ended_by_a_signal(files):
    process = start("fleet", "-o", "signal.parquet")
    while not os.path.exists("signal.parquet/.pyconv/part"):
        time.sleep(0.001)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    status, said = call(files[0], "-o", "signal.parquet")
    check("what a signal left is removed by the next", status == 0 and
          ".pyconv" not in parts("signal.parquet") and
          len(parts("signal.parquet")) == 1, said)


def main():
    seed = random.randrange(1000)
    print("# seed %d" % seed)
    why = duckdb_reader.install()
    if why:
        print("ok DuckDB # SKIP " + why)
        return
    files = fleet_answers.fleet("fleet", PROFILES, SAMPLES, seed)
    subprocess.run([PYCONV, "-q", "fleet", "-o", "local.db"], check=True)
    status, said = call("-q", "fleet", "-o", "all.parquet")
    check("a folder is handed over", status == 0 and not said, said)
    rows = DuckDB("all.parquet").rows
    check("every table has a file", sorted(os.listdir(os.path.join(
        "all.parquet", parts("all.parquet")[0]))) == sorted(
            table + ".parquet" for table in TABLES))
    fleet_answers.answers(rows, files, ["local.db"])
    fleet_answers.inner_answers(rows, ["local.db"])
    before = rows(COUNTS)
    repeated("all.parquet", files, rows)
    interrupted(files, before)
    at_once(files, before)
    waits_for_its_turn(files)
    hostile()
    permissions(files)
    ended_by_a_signal(files)
    refused(files)
    fleet_answers.RESULTS.exit()


main()
