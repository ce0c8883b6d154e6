"""pyconv --to postgres: PostgreSQL's answers are those of pyquery."""

import glob
import os
import random
import signal
import subprocess

import fleet_answers
from fleet_answers import COUNTS, check
from postgres_server import Server

PROFILES, SAMPLES = 120, 90


def convert(output, *paths):
    done = subprocess.run(
        [fleet_answers.PYCONV, *paths, "--to", "postgres", "-q", "-f", "-o",
         output], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    os.chmod(output, 0o644)


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


def hostile(server, rows):
    fleet_answers.write_hostile("hostile.bin")
    convert("hostile.sql", "hostile.bin")
    done = server.load("hostile.sql", "fleet")
    check("hostile names are loaded", done.returncode == 0, done.stderr)
    fleet_answers.hostile_names(
        "hostile.bin", rows,
        "upper(encode(convert_to(%s, 'UTF8'), 'hex'))")


def faults_of_addresses(server):
    for address, name, status, word in (
            (server.address("postgres"), "a database without the tables", 1,
             "pyrec"),
            (server.address("none"), "no such database", 1, "none"),
            ("postgres://test:secret@localhost/fleet", "a password", 2,
             "PGPASSWORD"),
            ("postgres://localhost/fleet?password=secret", "a password", 2,
             "PGPASSWORD"),
            ("postgres://localhost/fleet?nonsense=1", "a wrong option", 2,
             "nonsense"),
            ("postgres://127.0.0.1:1/fleet", "no server", 1, "127.0.0.1")):
        done, rows, said = fleet_answers.said_by(address, "top")
        check("%s is one line" % name, done == status and not rows and
              fleet_answers.is_line(said) and word in said and
              "secret" not in said, said)


def tls():
    """A certificate is checked as libpq does it: sslmode and sslrootcert, in the
    environment or in the address."""
    address = "postgres://test@127.0.0.1/fleet?sslmode=verify-full"
    trusted = os.path.abspath("own.pem")
    question = "top 20 by self"
    here = fleet_answers.said_by("local.db", question)
    for name, there in (
            ("address", fleet_answers.said_by(
                address + "&sslrootcert=" + trusted, question)),
            ("environment", fleet_answers.said_by(
                address, question, PGSSLROOTCERT=trusted))):
        check("a certificate of an authority of the %s is accepted" % name,
              here == there, there)
    fleet_answers.make_certificate("other")
    status, rows, said = fleet_answers.said_by(
        address, question, PGSSLROOTCERT=os.path.abspath("other.pem"))
    check("one of an unknown authority is refused in a line", status == 1 and
          not rows and fleet_answers.is_line(said) and "certificate" in said,
          said)


def interrupted(server):
    """A question that waits for a lock of another session."""
    other = subprocess.Popen(
        [server.bin + "/psql", "-X", "-q", "-A", "-t", "-h", server.root, "-U",
         "test", "-d", "fleet"], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)
    other.stdin.write("BEGIN; LOCK TABLE pyrec.function; SELECT 1;\n")
    other.stdin.flush()
    other.stdout.readline()
    question = subprocess.Popen(
        [fleet_answers.PYQUERY, server.address("fleet"), "top"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    waits = "SELECT count(*) AS n FROM pg_locks WHERE NOT granted"
    while question.poll() is None and \
            server.rows(waits, "fleet")[0]["n"] == "0":
        pass
    question.send_signal(signal.SIGINT)
    rows, said = question.communicate()
    left = server.rows(waits, "fleet")[0]["n"]
    other.communicate()
    check("a question is interrupted, on the server as well",
          question.returncode == 1 and not rows and left == "0" and
          fleet_answers.is_line(said) and "interrupted" in said, said)


def other_version(server):
    server.create("newer")
    server.load("hostile.sql", "newer")
    server.sql("UPDATE pyrec.version SET version = 3", "newer")
    before = server.rows(COUNTS, "newer")
    done = server.load("fleet.sql", "newer")
    check("tables of another version are refused", done.returncode != 0 and
          "another version" in done.stderr and
          server.rows(COUNTS, "newer") == before, done.stderr)
    status, rows, said = fleet_answers.said_by(server.address("newer"), "top")
    check("and not asked", status == 1 and not rows and "version 3" in said and
          fleet_answers.is_line(said), said)


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
    files = fleet_answers.fleet("fleet", PROFILES, SAMPLES, seed)
    convert("fleet.sql", *files)
    schema()
    fleet_answers.make_certificate("own")
    server = Server("own")
    try:
        server.create("fleet")
        done = server.load("fleet.sql", "fleet")
        check("psql loads the script", done.returncode == 0 and
              not done.stderr, done.stderr)

        def rows(sql):
            return server.rows(sql, "fleet")
        fleet_answers.answers(rows, files, files)
        fleet_answers.inner_answers(rows, files)
        subprocess.run([fleet_answers.PYCONV, "-q", "fleet", "-o", "local.db"],
                       check=True)
        fleet_answers.asked(server.address("fleet"), "local.db")
        fleet_answers.same_quality(server.address("fleet"), "local.db")
        fleet_answers.refused(server.address("fleet"))
        faults_of_addresses(server)
        tls()
        interrupted(server)
        repeated(server, files)
        at_once(server, server.rows(COUNTS, "fleet"))
        hostile(server, rows)
        other_version(server)
    finally:
        server.end()
    fleet_answers.RESULTS.exit()


main()
