"""Servers of Debian's packages with two busy workers each: every worker's
functions are found, in the proportion that its own clock says."""

import glob
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import urllib.request

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

PYTHON = "/usr/bin/python3"
TARGETS = os.path.join(os.environ["SRC"], "tests", "targets")
WORKERS = 2
RECORDED_S = 3
# a worker works for as long as a slow machine needs to record it
WORK_S = "12"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers_at(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def ask(port, answers):
    with urllib.request.urlopen("http://127.0.0.1:%d/" % port,
                                timeout=4 * live.PATIENCE) as answer:
        answers.append(json.loads(answer.read()))


class Server:
    """A command that serves `port`, with its workers under it."""

    def __init__(self, *command, port=None, **environment):
        if not shutil.which(command[0]):
            raise live.Skip("%s is not installed" % command[0])
        self.log = open("server.log", "w")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True,
            start_new_session=True,
            env=dict(os.environ, PYTHONPATH=TARGETS, SERVED_SECONDS=WORK_S,
                     **environment))
        self.port = port

    def __enter__(self):
        if self.port:
            live.wait_until(lambda: answers_at(self.port) or
                            self.process.poll() is not None,
                            "the server listens")
        expect(self.process.poll() is None, "it ended: %s",
               open("server.log").read())
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(10)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdout.close()
        self.log.close()

    def load(self, requests=WORKERS):
        """Ask in the background; the answers come with join()."""
        self.answers = []
        self.clients = [threading.Thread(target=ask, args=(
            self.port, self.answers)) for _ in range(requests)]
        for client in self.clients:
            client.start()

    def join(self):
        for client in self.clients:
            client.join()
        return self.answers


def record(pid):
    live.succeed(live.PYREC, "--children", "-p", pid, "-o", "run.bin", "-d",
                 RECORDED_S, "-r", 500)


def counted(status=1):
    """{pid: {second tenth: [samples in heavy(), in light()]}} of all files, of
    threads with this status bit: one that waits for the GIL stands still."""
    found = {}
    for path in glob.glob("**/*.bin", recursive=True):
        profile = live.Database(path)
        for pid, name, tenth, n in profile.rows(
                "SELECT pid, qualname, (run.t0_us + run.t1_us) / 200000, run.n"
                " FROM run JOIN thread ON thread.id = run.thread_id"
                " JOIN process ON process.id = thread.process_id"
                " JOIN node ON node.id = run.node_id"
                " JOIN function ON function.id = node.function_id"
                " WHERE status & ? = ?", status, status):
            last = name.rsplit(".", 1)[-1]
            if last in ("heavy", "light"):
                pair = found.setdefault(pid, {}).setdefault(tenth, [0, 0])
                pair[last == "light"] += n
    return found


def standard_error(blocks, share):
    """The standard error of a share, by the variance between blocks of time:
    on a busy machine a thread stands still for many samples, so they are not
    independent."""
    total = sum(map(sum, blocks))
    between = math.sqrt(sum((heavy - share * (heavy + light)) ** 2
                            for heavy, light in blocks)
                        * len(blocks) / max(1, len(blocks) - 1)) / total
    return max(between, math.sqrt(share * (1 - share) / total))


def compare(answers, found):
    busy = {}
    for answer in answers:
        pair = busy.setdefault(answer["pid"], [0.0, 0.0])
        pair[0] += answer["heavy"]
        pair[1] += answer["light"]
    expect(busy, "no worker answered")
    for pid in busy:
        expect(pid in found, "worker %d was not found: %s", pid, found)
    share = sum(heavy for heavy, _ in busy.values()) / sum(map(
        sum, busy.values()))
    blocks = [pair for pid in busy for pair in found[pid].values()]
    total = sum(map(sum, blocks))
    seen = sum(heavy for heavy, _ in blocks) / total
    error = standard_error(blocks, share)
    print("# %d workers, %d samples: heavy() %.4f, by its clock %.4f, "
          "standard error %.4f" % (len(busy), total, seen, share, error))
    # of eight such tests, one in fifty runs would fail at 3 by chance
    expect(abs(seen - share) < 4 * error, "share %.4f, by its clock %.4f, "
           "standard error %.4f", seen, share, error)


def check(*command, requests=WORKERS, **options):
    port = free_port()
    with Server(*(word.replace("PORT", str(port)) for word in command),
                port=port, **options) as server:
        server.load(requests)
        record(server.process.pid)
        compare(server.join(), counted())


@live.once
def uwsgi_forks_its_workers_in_c():
    check("uwsgi_python3" if shutil.which("uwsgi_python3") else "uwsgi",
          "--plugin", "python3", "--http-socket", "127.0.0.1:PORT", "--master",
          "--processes", str(WORKERS), "--module", "served", "--die-on-term")


@live.once
def gunicorn_runs_threads():
    check("gunicorn", "served:application", "--bind", "127.0.0.1:PORT",
          "--workers", str(WORKERS), "--threads", "2", "--worker-class",
          "gthread", "--timeout", "120", requests=2 * WORKERS)


@live.once
def gunicorn_runs_greenlets():
    check("gunicorn", "served:application", "--bind", "127.0.0.1:PORT",
          "--workers", str(WORKERS), "--worker-class", "gevent", "--timeout",
          "120")


@live.once
def uvicorn_spawns_its_workers():
    check("uvicorn", "served:asgi", "--port", "PORT", "--workers",
          str(WORKERS))


APACHE = """\
ServerRoot "{folder}"
PidFile "{folder}/pid"
Mutex file:{folder}
ErrorLog "{folder}/error.log"
Listen 127.0.0.1:{port}
ServerName localhost
LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule wsgi_module /usr/lib/apache2/modules/mod_wsgi.so
User www-data
Group www-data
WSGIDaemonProcess served processes=2 threads=1 python-path={targets}
WSGIProcessGroup served
WSGIApplicationGroup %{{GLOBAL}}
WSGIScriptAlias / {targets}/served.py
<Directory {targets}>
Require all granted
</Directory>
"""


@live.once
def apache_embeds_python():
    if not os.path.exists("/usr/lib/apache2/modules/mod_wsgi.so"):
        raise live.Skip("mod_wsgi is not installed")
    port = free_port()
    folder = os.getcwd()
    with open("apache.conf", "w") as file:
        file.write(APACHE.format(folder=folder, port=port, targets=TARGETS))
    os.chmod(folder, 0o777)
    with Server("/usr/sbin/apache2", "-DFOREGROUND", "-f",
                folder + "/apache.conf", port=port) as server:
        server.load()
        record(server.process.pid)
        compare(server.join(), counted())


@live.once
def celery_forks_its_workers():
    os.mkdir("broker")
    broker = os.path.abspath("broker")
    environment = dict(os.environ, PYTHONPATH=TARGETS, SERVED_BROKER=broker)
    with Server(PYTHON, "-m", "celery", "-A", "served", "worker", "--pool",
                "prefork", "-c", str(WORKERS), "--without-gossip",
                "--without-mingle", SERVED_BROKER=broker) as server:
        live.succeed(PYTHON, "-c", "import served\nfor _ in range(%d): "
                     "served.app.send_task('served.burn')" % WORKERS,
                     env=environment)
        live.wait_until(lambda: not glob.glob("broker/*.msg"),
                        "the tasks are at work")
        record(server.process.pid)
        live.wait_until(lambda: len(glob.glob("broker/*.answer")) == WORKERS,
                        "the tasks are done")
    compare([json.load(open(path)) for path in glob.glob("broker/*.answer")],
            counted())


def started_alone(*arguments, answers, status=1):
    with Server(PYTHON, os.path.join(TARGETS, "served.py"),
                *arguments) as server:
        record(server.process.pid)
        compare([json.loads(server.process.stdout.readline())
                 for _ in range(answers)], counted(status))


@live.once
def a_pool_spawns_its_workers():
    started_alone("pool", answers=WORKERS)


@live.once
def numpy_works_in_c():
    started_alone("arrays", answers=1, status=0)  # numpy lets go of the GIL


live.run()
