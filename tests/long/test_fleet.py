"""A thousand profiles of 10,000 samples in ClickHouse, in PostgreSQL and in
Parquet: answers equal the local ones, and the time and the bytes that a profile
takes.

PYREC_TEST_PROFILES (1000) and PYREC_TEST_SAMPLES (10000) are the size; the
arguments name the engines, by default all.
"""

import os
import random
import resource
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "peers"))
import clickhouse
import duckdb_reader
import fleet_answers
from fleet_answers import PYCONV, check
from postgres_server import Server

PROFILES = int(os.environ.get("PYREC_TEST_PROFILES", 1000))
SAMPLES = int(os.environ.get("PYREC_TEST_SAMPLES", 10000))
QUESTIONS = ("top 20 by self", "top 20 by self per label service",
             "callers of Handler1.step_04", "callees of Handler1.step_04",
             "top 20 by self where gil",
             "top 20 by self between 2025-10-09 12:00 and 13:00")


class Costs:
    """Wall time, and the processor time of the children that ended."""

    def __enter__(self):
        self.begin = time.monotonic(), self.children()
        return self

    def __exit__(self, *_):
        self.wall = time.monotonic() - self.begin[0]
        self.cpu = self.children() - self.begin[1]

    @staticmethod
    def children():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def report(self, name, size, server=0.0):
        print("# %s: %d profiles in %.1f s; processor time %.1f s, of the"
              " server %.1f s; %d bytes a profile" %
              (name, PROFILES, self.wall, self.cpu, server,
               size // PROFILES), flush=True)


def cpu_seconds(process):
    """The processor time of a process and of its children that have ended."""
    with open("/proc/%d/stat" % process.pid, encoding="ascii") as file:
        ticks = file.read().rpartition(")")[2].split()[11:15]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def folder_size(path):
    return sum(os.path.getsize(os.path.join(top, name))
               for top, _, names in os.walk(path) for name in names)


def timed(rows):
    """rows(sql), with a line that says how long it took."""
    def run(sql):
        begin = time.monotonic()
        found = rows(sql)
        print("# %.2f s: %s ..." % (time.monotonic() - begin, sql[:60]))
        return found
    return run


def in_clickhouse(_, local):
    why = clickhouse.SERVER.unpack()
    if why:
        print("ok ClickHouse # SKIP " + why)
        return
    server = clickhouse.Server("clickhouse", [clickhouse.free_port()], 0)
    try:
        server.ask("CREATE DATABASE fleet")
        address = server.address("fleet")
        with Costs() as costs:
            done = subprocess.run([PYCONV, "-q", "fleet", "-o", address],
                                  check=False)
        check("a folder is handed over", done.returncode == 0)
        cpu = cpu_seconds(server.process)
        size = server.ask("SELECT sum(bytes_on_disk) FROM system.parts WHERE"
                          " active AND database = 'fleet'")
        costs.report("clickhouse", int(size[0][0]), cpu)
        fleet_answers.asked(address, *local, QUESTIONS)
    finally:
        server.kill()


def in_postgres(files, local):
    server = Server()
    try:
        server.create("fleet")
        with Costs() as costs:
            script = subprocess.Popen(
                [PYCONV, "-q", "fleet", "--to", "postgres", "-o", "-"],
                stdout=subprocess.PIPE)
            done = server.psql(database="fleet", stdin=script.stdout)
            script.stdout.close()
            check("psql loads the script", script.wait() == 0 and
                  done.returncode == 0 and not done.stderr, done.stderr)
        server.sql("VACUUM ANALYZE", "fleet")
        size = server.rows("SELECT pg_database_size('fleet') AS n", "fleet")
        costs.report("postgres", int(size[0]["n"]), cpu_seconds(server.process))
        rows = timed(lambda sql: server.rows(sql, "fleet"))
        fleet_answers.answers(rows, files, local)
        fleet_answers.inner_answers(rows, local)
        fleet_answers.asked(server.address("fleet"), *local, QUESTIONS)
    finally:
        server.end()


def in_parquet(files, local):
    why = duckdb_reader.install()
    if why:
        print("ok Parquet # SKIP " + why)
        return
    environment = dict(os.environ, LD_LIBRARY_PATH=duckdb_reader.LIBRARY)
    with Costs() as costs:
        done = subprocess.run([PYCONV, "-q", "fleet", "-o", "all.parquet"],
                              env=environment, check=False)
    check("a folder is handed over", done.returncode == 0)
    costs.report("parquet", folder_size("all.parquet"))
    rows = timed(duckdb_reader.DuckDB("all.parquet").rows)
    fleet_answers.answers(rows, files, local)
    fleet_answers.inner_answers(rows, local)


ENGINES = {"clickhouse": in_clickhouse, "postgres": in_postgres,
           "parquet": in_parquet}


def main():
    seed = random.randrange(1000)
    print("# seed %d, load %.1f" % (seed, os.getloadavg()[0]))
    files = fleet_answers.fleet("fleet", PROFILES, SAMPLES, seed)
    print("# %d bytes a profile" % (folder_size("fleet") // PROFILES))
    with Costs() as costs:
        subprocess.run([PYCONV, "-q", "fleet", "-o", "local.db"], check=True)
    costs.report("local", os.path.getsize("local.db"))
    for engine in sys.argv[1:] or ENGINES:
        ENGINES[engine](files, ["local.db"])
    fleet_answers.RESULTS.exit()


main()
