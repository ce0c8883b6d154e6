"""pyconv --to postgres: PostgreSQL's answers are those of pyquery."""

import glob
import os
import random
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
    files = fleet_answers.fleet("fleet", PROFILES, SAMPLES, seed)
    convert("fleet.sql", *files)
    schema()
    server = Server()
    try:
        server.create("fleet")
        done = server.load("fleet.sql", "fleet")
        check("psql loads the script", done.returncode == 0 and
              not done.stderr, done.stderr)

        def rows(sql):
            return server.rows(sql, "fleet")
        fleet_answers.answers(rows, files, files)
        fleet_answers.inner_answers(rows, files)
        repeated(server, files)
        at_once(server, server.rows(COUNTS, "fleet"))
        hostile(server, rows)
        other_version(server)
    finally:
        server.end()
    fleet_answers.RESULTS.exit()


main()
