"""pyconv --to postgres: PostgreSQL's answers are those of pyquery.

A server of this test's own, in its scratch folder, without a network."""

import csv
import glob
import os
import pwd
import random
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402
import profiles as made  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
PYQUERY = os.path.join(harness.BIN, "pyquery")
PROFILES, SAMPLES, WALL = 120, 90, 1760000000
RESULTS = harness.Results()
check = RESULTS.check


def bin_folder():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    assert found, "postgresql is not installed"
    return os.path.dirname(found[-1])


class Server:
    """PostgreSQL refuses to run as root: it runs as its own user."""

    def __init__(self):
        self.bin = bin_folder()
        self.root = os.path.abspath("server")
        os.mkdir(self.root)
        self.user = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            os.chown(self.root, entry.pw_uid, entry.pw_gid)
            os.chmod(".", 0o711)
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid}
        subprocess.run([self.bin + "/initdb", "-D", self.root + "/data", "-A",
                        "trust", "-U", "test", "-E", "UTF8", "--no-locale",
                        "-N"], check=True, stdout=subprocess.DEVNULL,
                       cwd=self.root, **self.user)
        self.process = subprocess.Popen(
            [self.bin + "/postgres", "-D", self.root + "/data", "-k",
             self.root, "-c", "listen_addresses=", "-c", "fsync=off"],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            cwd=self.root, **self.user)
        end = time.monotonic() + 120
        while self.sql("SELECT 1", database="postgres").returncode:
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.05)

    def psql(self, *arguments, database, **options):
        return subprocess.run(
            [self.bin + "/psql", "-X", "-q", "-h", self.root, "-U", "test",
             "-d", database, *arguments], capture_output=True, text=True,
            check=False, **options)

    def sql(self, text, database):
        return self.psql("--csv", "-c", text, database=database)

    def create(self, database):
        done = self.sql("CREATE DATABASE " + database, "postgres")
        assert done.returncode == 0, done.stderr

    def load(self, script, database):
        return self.psql("-f", script, database=database)

    def rows(self, text, database):
        done = self.sql(text, database)
        assert done.returncode == 0, done.stderr
        return list(csv.DictReader(done.stdout.splitlines()))

    def end(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(120)


def convert(output, *paths):
    done = subprocess.run([PYCONV, *paths, "--to", "postgres", "-q", "-f",
                           "-o", output], capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stderr
    os.chmod(output, 0o644)


def ask(question, *paths):
    done = subprocess.run([PYQUERY, "--csv", *paths, question],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return list(csv.DictReader(done.stdout.splitlines()))


def key_of(row, names):
    return tuple(str(row[name] or "") for name in names)


def same(name, local, remote, keys, numbers, floats=("self_s", "total_s")):
    """Row by row: counts are equal, seconds to the microsecond."""
    def table(rows):
        found = {}
        for row in rows:
            key = key_of(row, keys)
            entry = found.setdefault(key, [0] * (len(numbers) + len(floats)))
            for i, column in enumerate(numbers):
                entry[i] += int(row[column])
            for i, column in enumerate(floats):
                entry[len(numbers) + i] += round(float(row[column]) * 1e6)
        return found
    a, b = table(local), table(remote)
    wrong = [(key, a.get(key), b.get(key)) for key in a.keys() | b.keys()
             if a.get(key) != b.get(key)]
    check("%s: %d rows are equal" % (name, len(a)), a and not wrong,
          wrong[:5])


FUNCTIONS = ("SELECT %s function, file, line, sum(self_samples) AS"
             " self_samples, sum(total_samples) AS total_samples, sum(self_s)"
             " AS self_s, sum(total_s) AS total_s FROM pyrec.functions %s"
             " GROUP BY %s function, file, line")
NUMBERS = ("self_samples", "total_samples")
NAMES = ("function", "file", "line")


def answers(server, files):
    same("top", ask("top 100000 by self", *files),
         server.rows(FUNCTIONS % ("", "", ""), "fleet"), NAMES, NUMBERS)
    same("top per label",
         ask("top 100000 by self per label service", *files),
         server.rows(FUNCTIONS % (
             "value AS label,", "JOIN pyrec.label USING (profile)"
             " WHERE key = 'service'", "value,"), "fleet"),
         ("label", *NAMES), NUMBERS)
    for function in ("Handler1.step_04", "Handler2.step_07"):
        same("callers of " + function,
             ask("callers 100000 of " + function, *files),
             server.rows("SELECT coalesce(caller, '(root)') AS caller, file,"
                         " sum(self_samples) AS self_samples,"
                         " sum(total_samples) AS total_samples, sum(total_s)"
                         " AS total_s FROM pyrec.callers WHERE function = '%s'"
                         " GROUP BY 1, 2" % function, "fleet"),
             ("caller", "file"), NUMBERS, ("total_s",))
    day = 86400 * 1000000
    start, end = PROFILES // 4, PROFILES // 2
    same("top between two moments", ask("top 100000 by self",
                                        *files[start:end]),
         server.rows(FUNCTIONS % (
             "", "JOIN pyrec.profile USING (profile) WHERE wall_us >= %d AND"
             " wall_us < %d" % (WALL * 1000000 + start * day // PROFILES,
                                WALL * 1000000 + end * day // PROFILES), ""),
                     "fleet"), NAMES, NUMBERS)
    same("threads by their samples", [
        {"tid": row["tid"], "n": row["samples"]}
        for row in ask("threads", *files)],
         server.rows("SELECT tid, sum(n) AS n FROM pyrec.run JOIN pyrec.thread"
                     " USING (profile, thread) GROUP BY profile, thread, tid",
                     "fleet"), ("tid",), ("n",), ())
    same("states of the samples", [
        {"status": row["status"], "n": row["n"]} for row in csv.DictReader(
            subprocess.run([PYQUERY, "--csv", *files, "--sql",
                            "SELECT status, sum(n) AS n FROM node_self GROUP"
                            " BY 1"], capture_output=True, text=True,
                           check=True).stdout.splitlines())],
         server.rows("SELECT status, sum(n) AS n FROM pyrec.node_self GROUP BY"
                     " 1", "fleet"), ("status",), ("n",), ())


COUNTS = " UNION ALL ".join(
    "SELECT '%s' AS name, count(*) AS n FROM pyrec.%s" % (table, table)
    for table in ("profile", "label", "meta", "process", "thread", "file",
                  "function", "node", "run", "node_self", "function_total",
                  "edge_total", "event", "loss"))


def repeated(server, files):
    before = server.rows(COUNTS, "fleet")
    done = server.load("fleet.sql", "fleet")
    check("a profile that is loaded twice is there once",
          done.returncode == 0 and server.rows(COUNTS, "fleet") == before,
          done.stderr)
    server.create("cut")
    with open("fleet.sql", "rb") as file:
        script = file.read()
    with open("cut.sql", "wb") as file:
        file.write(script[:len(script) // 2])
    server.load("cut.sql", "cut")
    part = server.rows(COUNTS, "cut")[0]
    check("a load that is interrupted keeps whole profiles",
          0 < int(part["n"]) < len(files), part)
    done = server.load("fleet.sql", "cut")
    check("and is finished by repeating it", done.returncode == 0 and
          server.rows(COUNTS, "cut") == before, done.stderr)


def at_once(server, before):
    """Four loads of the same and of different profiles."""
    server.create("busy")
    scripts = []
    for number in range(4):
        scripts.append("busy%d.sql" % number)
        files = sorted(glob.glob("fleet/*.bin"))
        convert(scripts[-1], *(files[number * 30:] + files[:number * 30]))
    loads = [subprocess.Popen(
        [server.bin + "/psql", "-X", "-q", "-h", server.root, "-U", "test",
         "-d", "busy", "-f", script], stderr=subprocess.PIPE, text=True)
             for script in scripts]
    errors = [load.communicate()[1] for load in loads]
    check("four loads at once are one", not any(load.returncode
                                                for load in loads) and
          server.rows(COUNTS, "busy") == before, errors)


def hostile(server):
    names = (b"'; DROP TABLE pyrec.profile; --", b"\\.", b"\\N", b"a\tb\nc\rd",
             b"$$; DROP SCHEMA pyrec CASCADE; $$", b"\\\\", b"\\", b"\x01\x7f",
             b"", b"\0", "\u017curek \U0001f40d".encode(),
             *made.WILD_NAMES)
    maker = made.Maker(random.Random(5), names)
    maker.thread((1234, 0), 400)
    profile = maker.profile
    profile.meta = {b"label." + names[0]: names[0], b"label.x": b"\\.",
                    b"host": names[3]}
    harness.feed(profile, "hostile.bin")
    convert("hostile.sql", "hostile.bin")
    done = server.load("hostile.sql", "fleet")
    check("hostile names are loaded", done.returncode == 0, done.stderr)
    local = {row["h"] for row in csv.DictReader(subprocess.run(
        [PYQUERY, "--csv", "hostile.bin", "--sql", "SELECT hex(qualname) AS h"
         " FROM function UNION SELECT hex(value) FROM label"],
        capture_output=True, text=True, check=True).stdout.splitlines())}
    remote = {row["h"] for row in server.rows(
        "SELECT upper(encode(convert_to(qualname, 'UTF8'), 'hex')) AS h FROM"
        " pyrec.function UNION SELECT upper(encode(convert_to(value, 'UTF8'),"
        " 'hex')) FROM pyrec.label", "fleet")}
    check("hostile names come back byte by byte", len(local) > 10 and
          local <= remote, local - remote)
    check("and the tables are there", len(server.rows(COUNTS, "fleet")) == 14)


def other_version(server):
    server.create("newer")
    server.load("hostile.sql", "newer")
    server.sql("UPDATE pyrec.version SET version = 2", "newer")
    before = server.rows(COUNTS, "newer")
    done = server.load("fleet.sql", "newer")
    check("tables of another version are refused", done.returncode != 0 and
          "another version" in done.stderr and
          server.rows(COUNTS, "newer") == before, done.stderr)


def schema():
    """spec/postgres.sql is the text that the script begins with."""
    with open(os.path.join(os.environ["SRC"], "spec/postgres.sql"),
              encoding="utf-8") as file:
        wanted = [line for line in file.read().splitlines()
                  if not line.startswith("--")]
    with open("fleet.sql", encoding="utf-8") as file:
        script = file.read().splitlines()
    check("spec/postgres.sql has the statements of the script",
          script[:len(wanted)] == wanted)


def main():
    seed = random.randrange(1000)
    print("# seed %d" % seed)
    os.mkdir("fleet")
    subprocess.run([harness.tool("fleet"), "fleet", str(PROFILES),
                    str(SAMPLES), str(seed), str(WALL)], check=True)
    files = sorted(glob.glob("fleet/*.bin"))
    convert("fleet.sql", *files)
    schema()
    server = Server()
    try:
        server.create("fleet")
        begin = time.monotonic()
        done = server.load("fleet.sql", "fleet")
        seconds = time.monotonic() - begin
        check("psql loads the script", done.returncode == 0 and
              not done.stderr, done.stderr)
        print("# %.1f profiles a second, %d bytes a profile in the script" % (
            len(files) / seconds,
            os.path.getsize("fleet.sql") // len(files)))
        answers(server, files)
        repeated(server, files)
        at_once(server, server.rows(COUNTS, "fleet"))
        hostile(server)
        other_version(server)
    finally:
        server.end()
        shutil.rmtree("server", ignore_errors=True)
    RESULTS.exit()


main()
