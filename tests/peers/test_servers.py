"""Servers of Debian's packages with two busy workers each: every worker's
functions are found, in the proportion that its own clock says."""

import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
import shares
from live import expect

PYTHON = "/usr/bin/python3"
TARGETS = os.path.join(os.environ["SRC"], "tests", "targets")
WORKERS = 2
RECORDED_S = 3
BLOCK_US = 250000
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
    """A server may listen before its workers do: until then it says 503."""
    def answered():
        try:
            with urllib.request.urlopen("http://127.0.0.1:%d/" % port,
                                        timeout=4 * live.PATIENCE) as answer:
                answers.append(json.loads(answer.read()))
        except urllib.error.HTTPError as error:
            expect(error.code == 503, "%s", error)
            return False
        return True

    live.wait_until(answered, "the server has an answer")


class Server:
    """A command that serves `port`, with its workers under it."""

    def __init__(self, *command, port=None, **environment):
        if not shutil.which(command[0]):
            raise live.Skip("%s is not installed" % command[0])
        # for any user
        self.at_work = tempfile.TemporaryDirectory(dir="/tmp")
        os.chmod(self.at_work.name, 0o777)
        self.log = open("server.log", "w")
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=self.log, text=True,
            start_new_session=True,
            env=dict(os.environ, PYTHONPATH=TARGETS, SERVED_SECONDS=WORK_S,
                     SERVED_AT_WORK=self.at_work.name, **environment))
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
        self.at_work.cleanup()

    def record(self):
        """As soon as all workers are at work; one may have all requests."""
        begun = []

        def at_work():
            pids = os.listdir(self.at_work.name)
            if pids and not begun:
                begun.append(time.monotonic())
            return pids and (len(pids) == WORKERS or
                             time.monotonic() > begun[0] + 1)
        live.wait_until(at_work, "a worker is at work")
        self.workers = set(map(int, os.listdir(self.at_work.name)))
        live.succeed(live.PYREC, "--children", "-p", self.process.pid, "-o",
                     "run.bin", "-d", RECORDED_S, "-r", 500)

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


def counted(status=1):
    """{pid: {block of time: [samples in heavy(), in light()]}} of all files, of
    threads with this status bit: one that waits for the GIL stands still."""
    found = {}
    for path in glob.glob("**/*.bin", recursive=True):
        profile = live.Database(path)
        for pid, name, block, n in profile.rows(
                "SELECT pid, qualname, (run.t0_us + run.t1_us) / 2 / ?, run.n"
                " FROM run JOIN thread ON thread.id = run.thread_id"
                " JOIN process ON process.id = thread.process_id"
                " JOIN node ON node.id = run.node_id"
                " JOIN function ON function.id = node.function_id"
                " WHERE status & ? = ?", BLOCK_US, status, status):
            last = name.rsplit(".", 1)[-1]
            if last in ("heavy", "light"):
                pair = found.setdefault(pid, {}).setdefault(block, [0, 0])
                pair[last == "light"] += n
    return found


def deviation(server, answers, found):
    """{"heavy()": standard errors by which it has too many samples}."""
    for pid in server.workers:
        expect(pid in found, "worker %d was not found: %s", pid, found)
    busy = [answer for answer in answers if answer["pid"] in found]
    expect(server.workers <= {answer["pid"] for answer in busy},
           "of %s only %s answered", server.workers, busy)
    heavy = sum(answer["heavy"] for answer in busy)
    share = heavy / (heavy + sum(answer["light"] for answer in busy))
    blocks = [(heavy, heavy + light, share)
              for pid in {answer["pid"] for answer in busy}
              for heavy, light in found[pid].values()]
    off = shares.deviation(blocks)
    print("# %d workers, %d samples, share %.4f by the clock, %+.1f standard "
          "errors" % (len(server.workers), sum(n for _, n, _ in blocks), share,
                      off))
    return {"heavy()": off}


def measured(test):
    """Chance takes a share beyond one side with p < 3e-4 in 24 blocks of time,
    and with p < 1.1e-3 in the 12 of one worker: of these eight tests one fails
    by chance in 250,000 runs."""
    def run():
        live.expect_within(shares.STANDARD_ERRORS, test)
    run.__name__ = test.__name__
    return live.once(run)


def check(*command, requests=WORKERS, **options):
    port = free_port()
    with Server(*(word.replace("PORT", str(port)) for word in command),
                port=port, **options) as server:
        server.load(requests)
        server.record()
        return deviation(server, server.join(), counted())


@measured
def uwsgi_forks_its_workers_in_c():
    return check("uwsgi_python3" if shutil.which("uwsgi_python3") else "uwsgi",
          "--plugin", "python3", "--http-socket", "127.0.0.1:PORT", "--master",
          "--processes", str(WORKERS), "--module", "served", "--die-on-term")


@measured
def gunicorn_runs_threads():
    return check("gunicorn", "served:application", "--bind", "127.0.0.1:PORT",
          "--workers", str(WORKERS), "--threads", "2", "--worker-class",
          "gthread", "--timeout", "120", requests=2 * WORKERS)


@measured
def gunicorn_runs_greenlets():
    return check("gunicorn", "served:application", "--bind", "127.0.0.1:PORT",
          "--workers", str(WORKERS), "--worker-class", "gevent", "--timeout",
          "120")


@measured
def uvicorn_spawns_its_workers():
    return check("uvicorn", "served:asgi", "--port", "PORT", "--workers",
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
WSGISocketPrefix {sockets}/wsgi
WSGIDaemonProcess served processes=2 threads=1 python-path={targets}
WSGIProcessGroup served
WSGIApplicationGroup %{{GLOBAL}}
WSGIScriptAlias / {targets}/served.py
<Directory {targets}>
Require all granted
</Directory>
"""


@measured
def apache_embeds_python():
    if not os.path.exists("/usr/lib/apache2/modules/mod_wsgi.so"):
        raise live.Skip("mod_wsgi is not installed")
    port = free_port()
    folder = os.getcwd()
    # a socket's path has 107 bytes, and /run/apache2 may not be there
    with tempfile.TemporaryDirectory(dir="/tmp") as sockets:
        os.chmod(sockets, 0o777)
        with open("apache.conf", "w") as file:
            file.write(APACHE.format(folder=folder, port=port,
                                     targets=TARGETS, sockets=sockets))
        os.chmod(folder, 0o777)
        return served_by_apache(folder, port)


def served_by_apache(folder, port):
    with Server("/usr/sbin/apache2", "-DFOREGROUND", "-f",
                folder + "/apache.conf", port=port) as server:
        server.load()
        server.record()
        return deviation(server, server.join(), counted())


@measured
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
        server.record()
        live.wait_until(lambda: len(glob.glob("broker/*.answer")) == WORKERS,
                        "the tasks are done")
    return deviation(server, [json.load(open(path)) for path in
                              glob.glob("broker/*.answer")], counted())


def started_alone(*arguments, answers, status=1):
    with Server(PYTHON, os.path.join(TARGETS, "served.py"),
                *arguments) as server:
        server.record()
        return deviation(server, [
            json.loads(server.process.stdout.readline())
            for _ in range(answers)], counted(status))


@measured
def a_pool_spawns_its_workers():
    return started_alone("pool", answers=WORKERS)


@measured
def numpy_works_in_c():
    return started_alone("arrays", answers=1, status=0)  # numpy lets go of the GIL


live.run()
