"""The statements of pyconv and pyquery for ClickHouse in today's engine: that of
npm's chdb, in this process, with HTTP in front of it.

Debian's server is of 2018; this shows that its statements mean the same today.
Settings in addresses are not passed on, and RowBinary is read from a file."""

import ctypes
import glob
import http.server
import os
import platform
import subprocess
import sys
import tarfile
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "../interop"))

import harness  # noqa: E402
import npm  # noqa: E402

PYCONV = os.path.join(harness.BIN, "pyconv")
PYQUERY = os.path.join(harness.BIN, "pyquery")
PROFILES, SAMPLES, WALL, SEED = 100, 90, 1760000000, 7
PACKAGE = "@chdb/lib-linux-x64-gnu@26.5.3"
LIBRARY = "package/libchdb.so"
RESULTS = harness.Results()
check = RESULTS.check
DAY = time.strftime("%Y-%m-%d", time.gmtime(WALL + 43200))
QUESTIONS = [
    "top 100000 by self", "top 7 by total", "top 5 by self per label service",
    "top 100000 by total per label region",
    "callers 100000 of Handler1.step_04",
    "callers of Handler1.step_04 per label service",
    "callees of Handler2.step_07 between %s 06:00 and 12:00" % DAY,
    "top 100000 by self between %s 06:00 and 12:00" % DAY,
    "top 3 per label service between %s 06:00 and 15:30 where gil" % DAY,
    "top 20 where label service = service03", "top 20 where idle",
    "top 20 where label service != service03", "top where host = host1",
    "callees of Handler1.step_04 where label region != eu", "top where pid = 1",
    "threads where gil", "processes", "profiles", "losses", "events",
]


class Engine:
    """One session of the engine; its answers are (status, bytes)."""

    def __init__(self, library, folder):
        call = ctypes.CDLL(library)
        call.chdb_connect.restype = ctypes.POINTER(ctypes.c_void_p)
        call.chdb_query.restype = ctypes.c_void_p
        call.chdb_query.argtypes = [ctypes.c_void_p, ctypes.c_char_p,
                                    ctypes.c_char_p]
        for name, kind in (("buffer", ctypes.c_void_p),
                           ("length", ctypes.c_size_t),
                           ("error", ctypes.c_char_p)):
            function = getattr(call, "chdb_result_" + name)
            function.restype = kind
            function.argtypes = [ctypes.c_void_p]
        words = (ctypes.c_char_p * 2)(b"clickhouse",
                                      ("--path=" + folder).encode())
        self.call = call
        self.session = call.chdb_connect(2, words)[0]
        self.folder = folder
        self.lock = threading.Lock()

    def ask(self, sql):
        with self.lock:
            result = self.call.chdb_query(self.session, sql, b"TabSeparated")
            error = self.call.chdb_result_error(result)
            if error:
                return 500, error
            n = self.call.chdb_result_length(result)
            return 200, ctypes.string_at(
                self.call.chdb_result_buffer(result), n) if n else b""

    def insert(self, table, rows):
        path = os.path.join(self.folder, "rows")
        with open(path, "wb") as file:
            file.write(rows)
        _, columns = self.ask((
            "SELECT arrayStringConcat(groupArray(name || ' ' || type), ', ')"
            " FROM (SELECT * FROM system.columns WHERE database = 'fleet' AND"
            " table = '%s' ORDER BY position)" % table).encode())
        return self.ask(("INSERT INTO `%s` SELECT * FROM file('%s',"
                         " 'RowBinary', '%s')" % (
                             table, path, columns.decode().strip())).encode())


def serve(engine):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            query = urllib.parse.parse_qs(
                urllib.parse.urlsplit(self.path).query).get("query")
            status, answer = engine.insert(query[0].split("`")[1], body) \
                if query else engine.ask(body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return "clickhouse://127.0.0.1:%d/fleet" % server.server_port


def unpack():
    """None, or the reason why the library is missing."""
    if platform.machine() != "x86_64":
        return "npm has no chdb for this machine"
    why = npm.run("pack", PACKAGE)
    if why:
        return "npm cannot fetch chdb: " + why
    archive, = glob.glob("*.tgz")
    with tarfile.open(archive) as packed:
        packed.extract(LIBRARY)
    os.remove(archive)
    return None


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          env=dict(os.environ, no_proxy="127.0.0.1",
                                   TZ="UTC"))


def main():
    why = unpack()
    if why:
        print("ok today's ClickHouse # SKIP " + why)
        return
    os.mkdir("day")
    os.mkdir("data")
    subprocess.run([harness.tool("fleet"), "day", str(PROFILES),
                    str(SAMPLES), str(SEED), str(WALL)], check=True)
    engine = Engine(os.path.abspath(LIBRARY), os.path.abspath("data"))
    print("# ClickHouse " + engine.ask(b"SELECT version()")[1].decode().strip())
    for sql in (b"CREATE DATABASE fleet", b"USE fleet"):
        status, answer = engine.ask(sql)
        assert status == 200, answer
    status, answer = engine.ask(
        b"SELECT 1 SETTINGS distributed_product_mode = 'local',"
        b" insert_distributed_sync = 1, skip_unavailable_shards = 0")
    check("the settings of requests are there", status == 200, answer)
    address = serve(engine)
    for _ in range(2):
        done = run(PYCONV, "day", "-o", address)
        check("profiles are handed over", done.returncode == 0, done.stderr)
    check("once", engine.ask(b"SELECT count() FROM profile")[1] ==
          b"%d\n" % PROFILES)
    for question in QUESTIONS:
        local = run(PYQUERY, "--csv", "day", question)
        remote = run(PYQUERY, "--csv", address, question)
        remote.stdout = remote.stdout.replace("day/", "")
        check("'%s': %d lines are equal" % (
            question, len(local.stdout.splitlines())),
              (local.stdout, local.returncode) ==
              (remote.stdout, remote.returncode), remote.stderr)


main()
sys.stdout.flush()
os._exit(RESULTS.failed != 0)  # the engine's threads do not end
