"""pyconv --to clickhouse and pyquery clickhouse://: a server's answers are
those of the profiles.

Two servers of ClickHouse 18.16 of this test's own, in its scratch folder."""

import csv
import glob
import http.server
import os
import random
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from urllib.parse import unquote

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import clickhouse  # noqa: E402
import fleet_answers  # noqa: E402
import harness  # noqa: E402
import profiles as made  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
PYQUERY = os.path.join(harness.BIN, "pyquery")
PROFILES, SAMPLES, WALL = 120, 90, 1760000000
RESULTS = harness.Results()
check = RESULTS.check
ENV = dict(os.environ, no_proxy="127.0.0.1", HOME=os.getcwd(), TZ="UTC")
ENV.pop("CLICKHOUSE_USER", None)
ENV.pop("CLICKHOUSE_PASSWORD", None)


def run(*command, **env):
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env=dict(ENV, **env))


def hand_over(address, *paths, **env):
    return run(PYCONV, *paths, "--to", "clickhouse", "-o", address, **env)


def ask(source, question, **env):
    return run(PYQUERY, "--csv", source, question, **env)


# Each is answered by the server as by the folder, byte by byte.
QUESTIONS = [
    "top 20 by self", "top 100000 by total", "top 100000", "top 7 by name",
    "top 100000 by ran in app/m1.py", "top 100000 by self per label service",
    "top 3 by total per label region", "callers 100000 of Handler1.step_04",
    "callees 100000 of Handler2.step_07", "callers of step_12 by self",
    "callers 3 of Handler1.step_04 per label service",
    "callees of Handler1.step_04 where label service = service03",
    "top 20 by self where label service != service03",
    "top where label nothing = here", "top 20 where host = host1",
    "top 20 where gil", "top 20 where cpu and label region = eu",
    "top 20 where idle", "top where exception",
    "callers of Handler1.step_04 where gil", "top 100000 where pid = {pid}",
    "top 20 where pid != {pid}", "top 20 by self first 300ms",
    "top 100000 by total between 100ms and 350ms",
    "callees of Handler2.step_07 between 100ms and 350ms",
    "top 100000 by self between {day} 06:00 and 12:00",
    "top 5 by total per label service between {day} 06:00 and {day} 15:30",
    "callers of Handler1.step_04 between {day} 06:00 and 12:00 where cpu",
    "top between 2001-01-01 and 2001-01-02",
    "callers of Handler1.step_4", "callers of step_0", "top in nowhere.py",
    "top per label nothing", "top 20 where waiting",
    *fleet_answers.LISTINGS,
]
# Each is refused with one line and a remedy, and so are the other verbs.
REFUSED = ["top per thread", "explain top", "top focus step_12",
           "top where file = m1.py", "top where label service like 's*'",
           "top last 10%", "top hide step_12", "top thread MainThread",
           "top where main", "threads between 0s and 1s"]


def words(folder):
    """The values of {day} and {pid}."""
    row = next(csv.DictReader(run(
        PYQUERY, "--csv", folder, "processes").stdout.splitlines()))
    return {"day": time.strftime("%Y-%m-%d", time.gmtime(WALL + 43200)),
            "pid": row["pid"]}


def same_answers(address, folder, questions=QUESTIONS, note=""):
    known = words(folder)
    for question in questions:
        question = question.format(**known)
        local, remote = ask(folder, question), ask(address, question)
        # a server has the paths as they were handed over
        remote.stdout = remote.stdout.replace(folder + "/", "")
        rows = len(local.stdout.splitlines())
        check("'%s'%s: %d lines and status %d are equal" % (
            question, note, rows, local.returncode),
              (local.stdout, local.stderr, local.returncode) ==
              (remote.stdout, remote.stderr, remote.returncode),
              [local.stderr, remote.stderr, remote.stdout[:300]])


def other_verbs(folder):
    """Questions with the verbs that spec/fleet.md and pyquery(1) do not name."""
    verbs = {row["verb"]: row["example"] for row in csv.DictReader(
        ask(folder, "help").stdout.splitlines()) if row["verb"] != "help"}
    answered = []
    for path, line in (("fleet.md", r"^\| verbs \| (.*) \|$"),
                       ("man/pyquery.1.scd", r"^It answers (.*?) each with")):
        with open(os.path.join(os.environ["SRC"], "spec", path)) as file:
            text = re.search(line, file.read(), re.M | re.S).group(1)
        answered.append({word for word in re.findall(r"\w+", text.replace(
            "_", " ")) if word in verbs})
    check("two pages name the same verbs of a server, some of all",
          answered[0] == answered[1] and "top" in answered[0] and
          answered[0] < set(verbs), answered)
    return [verbs[verb] for verb in sorted(set(verbs) - answered[0])]


def refusals(address, folder):
    for question in REFUSED + other_verbs(folder):
        done = ask(address, question)
        check("'%s' is refused with a remedy" % question,
              done.returncode == 2 and not done.stdout and
              "pyquery: error: a server" in done.stderr and
              "pyquery: hint: " in done.stderr, done.stderr)
    for arguments in (["--sql", "SELECT 1"], ["top as collapsed"],
                      ["check x.bin"], []):
        done = run(PYQUERY, address, *arguments)
        check("%s is refused" % (arguments or "no query"),
              done.returncode == 2 and "a server" in done.stderr, done.stderr)
    done = run(PYQUERY, address, glob.glob(folder + "/*.bin")[0], "top")
    check("a server and a file are refused", done.returncode == 2 and
          "server" in done.stderr, done.stderr)


TABLES = ("profile", "label", "meta", "process", "thread", "node", "run",
          "node_self", "function_total", "edge_total", "event", "loss")


def counts(server, database):
    """Rows that count, by table."""
    found = {table: server.ask(
        "SELECT count() FROM %s WHERE load IN (SELECT max(load) FROM profile"
        " GROUP BY profile)" % table, database)[0][0] for table in TABLES}
    for table in ("file", "function"):
        found[table] = server.ask("SELECT uniqExact(%s) FROM %s" % (
            table, table), database)[0][0]
    return found


def repeated(server, folder, files):
    before = counts(server, "fleet")
    check("each profile is there", before["profile"] == str(len(files)), before)
    done = hand_over(server.address("fleet"), folder)
    check("profiles that are handed over twice are there once",
          done.returncode == 0 and counts(server, "fleet") == before and
          "%d profiles were in" % len(files) in done.stderr, done.stderr)
    shutil.copy(files[0], "copy.bin")
    server.ask("CREATE DATABASE twice")
    done = hand_over(server.address("twice"), files[0], "copy.bin", files[1])
    check("and so is one that comes twice in one hand-over",
          done.returncode == 0 and counts(server, "twice")["profile"] == "2",
          done.stderr)


def all_rows(server, database):
    return sum(int(server.ask("SELECT count() FROM " + table, database)[0][0])
               for table in TABLES)


def left_rows(server, database):
    """Rows of an interrupted hand-over stay until the statement of
    spec/fleet.md 7.1 removes them."""
    counted = sum(int(n) for table, n in counts(server, database).items()
                  if table in TABLES)
    check("its rows stay and count for nothing",
          all_rows(server, database) > counted)
    for table in TABLES[1:]:
        server.ask("ALTER TABLE %s DELETE WHERE load NOT IN (SELECT max(load)"
                   " FROM profile GROUP BY profile)" % table, database)
    while server.ask("SELECT count() FROM system.mutations WHERE database ="
                     " '%s' AND is_done = 0" % database) != [["0"]]:
        pass
    check("until they are removed", all_rows(server, database) == counted)


def interrupted(server, folder):
    """A hand-over is killed before the table of profiles, whose rows are the
    last: the server has rows that count for nothing."""
    server.ask("CREATE DATABASE cut")
    relay = Relay(server, stop_at=b"`profile`")
    done = hand_over("clickhouse://127.0.0.1:%d/cut" % relay.port, folder)
    relay.close()
    check("a hand-over that loses its server fails", done.returncode == 1 and
          "pyconv: error: " in done.stderr, done.stderr)
    check("rows are there", server.ask("SELECT count() FROM run", "cut") !=
          [["0"]] and server.ask("SELECT count() FROM profile", "cut") ==
          [["0"]])
    done = ask(server.address("cut"), "top")
    check("but no profile", done.returncode == 4 and "no profile" in
          done.stderr, done.stderr)
    done = hand_over(server.address("cut"), folder)
    check("repeating it finishes it", done.returncode == 0 and
          counts(server, "cut") == counts(server, "fleet"), done.stderr)
    left_rows(server, "cut")
    same_answers(server.address("cut"), folder,
                 QUESTIONS[:3] + ["callers of Handler1.step_04",
                                  "top 20 where gil"],
                 " after a hand-over that was interrupted")


class Relay:
    """HTTP in front of a server, which stops at a request with these bytes:
    the client is killed there, from the server's view."""

    def __init__(self, server, stop_at=None, certificate=None):
        relay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = unquote(self.path).encode()
                relay.seen.append(request + b"\n" + body)
                if stop_at and stop_at in request:
                    self.close_connection = True
                    return
                status, answer = server.post(self.path, body,
                                             self.headers.get("Authorization"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.seen = []
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate + ".pem",
                                    certificate + ".key")
            self.http.socket = context.wrap_socket(self.http.socket,
                                                   server_side=True)
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()


def at_once(server, folder, files):
    """Four hand-overs of the same profiles."""
    server.ask("CREATE DATABASE busy")
    running = [subprocess.Popen(
        [PYCONV, *(files[n * 30:] + files[:n * 30]), "--to", "clickhouse",
         "-o", server.address("busy")], stderr=subprocess.PIPE, text=True,
        env=ENV) for n in range(4)]
    errors = [one.communicate()[1] for one in running]
    check("four hand-overs at once are one", not any(
        one.returncode for one in running) and counts(server, "busy") ==
          counts(server, "fleet"), errors)
    same_answers(server.address("busy"), folder, QUESTIONS[:6],
                 " after four hand-overs at once")


def hostile(server):
    names = (b"'; DROP TABLE profile; --", b"\\.", b"\\N", b"a\tb\nc\rd",
             b"\\'); DROP TABLE run; --", b"\\\\", b"\\", b"\x01\x7f", b"",
             b"\0", "\u017curek \U0001f40d".encode(), *made.WILD_NAMES)
    maker = made.Maker(random.Random(5), names)
    maker.thread((1234, 0), 400)
    profile = maker.profile
    profile.meta = {b"label." + names[0]: names[0], b"label.x": b"\\.",
                    b"label.q": b"a'b\\c", b"host": b"h'\\"}
    os.mkdir("hostile")
    harness.feed(profile, "hostile/hostile.bin")
    server.ask("CREATE DATABASE hostile")
    done = hand_over(server.address("hostile"), "hostile")
    check("hostile names are handed over", done.returncode == 0, done.stderr)
    same_answers(server.address("hostile"), "hostile", [
        "top 100000 by total", "top per label \"%s\"" % names[0].decode(),
        "top where label q = \"a'b\\c\"", "top where label q != \"') OR 1\"",
        "top where host = \"h'\\\"", "top where host = \"'; DROP TABLE run\"",
        "top per label x", "callers of \"'; DROP TABLE profile; --\"",
        *fleet_answers.LISTINGS],
                 " of hostile names")
    check("and the tables are there", server.ask("SHOW TABLES", "hostile") ==
          server.ask("SHOW TABLES", "fleet"))


def passwords(server):
    address = server.address("fleet")
    done = ask(address, "top", CLICKHOUSE_USER="keeper",
               CLICKHOUSE_PASSWORD="s3cret")
    check("user and password of the environment", done.returncode == 0,
          done.stderr)
    done = ask(address, "top", CLICKHOUSE_USER="keeper",
               CLICKHOUSE_PASSWORD="wrong")
    check("a wrong password fails", done.returncode == 1 and not done.stdout
          and "keeper" in done.stderr and "wrong" not in done.stderr,
          done.stderr)
    with open(".netrc", "w", encoding="utf-8") as file:
        file.write("machine 127.0.0.1 login keeper password s3cret\n")
    relay = Relay(server)
    done = ask("clickhouse://127.0.0.1:%d/fleet" % relay.port, "top")
    relay.close()
    check("and those of ~/.netrc", done.returncode == 0, done.stderr)
    os.remove(".netrc")


def tls(server):
    fleet_answers.make_certificate("own")
    relay = Relay(server, certificate="own")
    address = "clickhouses://127.0.0.1:%d/fleet" % relay.port
    done = ask(address, "top")
    check("a certificate of an unknown authority is refused",
          done.returncode == 1 and "certificate" in done.stderr and
          not relay.seen, done.stderr)
    done = hand_over(address, "copy.bin")
    check("by pyconv as well", done.returncode == 1 and "certificate" in
          done.stderr and not relay.seen, done.stderr)
    done = ask(address, "top 20 by self",
               CURL_CA_BUNDLE=os.path.abspath("own.pem"))
    check("one of a trusted authority is not", done.returncode == 0 and
          done.stdout == ask(server.address("fleet"), "top 20 by self").stdout,
          done.stderr)
    relay.close()


def schema(server):
    """spec/clickhouse.sql makes the tables that pyconv makes."""
    server.ask("CREATE DATABASE spec")
    for statement in clickhouse.schema():
        server.ask(statement, "spec")
    shape = ("SELECT table, name, type FROM system.columns WHERE database ="
             " '%s' ORDER BY table, name")
    engines = ("SELECT name, engine_full FROM system.tables WHERE database ="
               " '%s' ORDER BY name")
    wanted, found = ([server.ask(text % database) for text in (shape, engines)]
                     for database in ("spec", "fleet"))
    check("spec/clickhouse.sql makes the tables that pyconv makes",
          wanted == found, [pair for pair in zip(sum(wanted, []),
                                                 sum(found, []))
                            if pair[0] != pair[1]])
    server.ask("DROP TABLE version", "spec")
    server.ask("CREATE VIEW version AS SELECT toInt32(3) AS version", "spec")
    for done in (hand_over(server.address("spec"), "copy.bin"),
                 ask(server.address("spec"), "top")):
        check("tables of another version are refused", done.returncode == 1 and
              "version 3" in done.stderr, done.stderr)
    check("nothing came into them", server.ask("SELECT count() FROM run",
                                               "spec") == [["0"]])


def spread(servers, folder, files):
    """One database over both servers."""
    for server in servers:
        server.ask("CREATE DATABASE shard")
        server.ask("CREATE DATABASE both")
        for statement in clickhouse.schema():
            server.ask(statement, "shard")
            table = statement.partition("EXISTS ")[2].partition("(")[0]
            if statement.startswith("CREATE TABLE"):
                key = table if table in ("file", "function") else "profile"
                server.ask("CREATE TABLE `%s` AS shard.`%s` ENGINE ="
                           " Distributed(two, shard, `%s`, %s)" % (
                               table, table, table, key), "both")
            else:
                server.ask(statement, "both")
    first, second = servers
    half = len(files) // 2
    done = hand_over(first.address("both"), *files[:half])
    check("a hand-over to two servers", done.returncode == 0, done.stderr)
    parts = [int(server.ask("SELECT count() FROM profile", "shard")[0][0])
             for server in servers]
    check("each has a part of the profiles", sum(parts) == half and
          min(parts) > 0, parts)
    second.kill()
    done = ask(first.address("both"), "top 20 by self")
    check("without one of them a question is refused", done.returncode == 1 and
          not done.stdout and "pyquery: error: the server" in done.stderr,
          done.stderr)
    done = hand_over(first.address("both"), *files)
    check("and a hand-over fails", done.returncode == 1 and
          "pyconv: error: " in done.stderr, done.stderr)
    second.start()
    done = hand_over(first.address("both"), folder)
    check("after its return the hand-over is finished by repeating it",
          done.returncode == 0 and counts(first, "both") ==
          counts(first, "fleet"), done.stderr)
    same_answers(first.address("both"), folder, note=" by two servers")
    same_answers(second.address("both"), folder, QUESTIONS[:2],
                 " by the other server")


def main():
    seed = random.randrange(1000)
    print("# seed %d" % seed)
    why = clickhouse.SERVER.unpack()
    if why:
        print("ok ClickHouse # SKIP " + why)
        return
    os.mkdir("day")
    subprocess.run([harness.tool("fleet"), "day", str(PROFILES),
                    str(SAMPLES), str(seed), str(WALL)], check=True)
    files = sorted(glob.glob("day/*.bin"))
    tcp = [clickhouse.free_port(), clickhouse.free_port()]
    servers = []
    try:
        servers += [clickhouse.Server("n1", tcp, 0)]
        servers += [clickhouse.Server("n2", tcp, 1)]
        server = servers[0]
        server.ask("CREATE DATABASE fleet")
        done = hand_over(server.address("fleet"), "day")
        check("a folder is handed over", done.returncode == 0, done.stderr)
        same_answers(server.address("fleet"), "day")
        fleet_answers.same_quality(server.address("fleet"), "day")
        refusals(server.address("fleet"), "day")
        repeated(server, "day", files)
        schema(server)
        interrupted(server, "day")
        at_once(server, "day", files)
        hostile(server)
        passwords(server)
        tls(server)
        spread(servers, "day", files)
    finally:
        for server in servers:
            server.kill()
    RESULTS.exit()


main()
