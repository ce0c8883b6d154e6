"""A PostgreSQL server of a test's own, in its scratch folder, without a
network."""

import csv
import glob
import os
import pwd
import shutil
import signal
import subprocess
import time
import urllib.parse

import clickhouse


def bin_folder():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    assert found, "postgresql is not installed"
    return os.path.dirname(found[-1])


class Server:
    """PostgreSQL refuses to run as root: it runs as its own user.  With the name
    of a certificate and a key, NAME.pem and NAME.key, it listens at 127.0.0.1
    for TLS as well."""

    def __init__(self, certificate=None):
        self.bin = bin_folder()
        os.environ["PGPORT"] = str(clickhouse.free_port())  # of libpq
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
             self.root, "-c", "fsync=off", *self.tls(certificate)],
            stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            cwd=self.root, **self.user)
        end = time.monotonic() + 120
        while self.sql("SELECT 1", database="postgres").returncode:
            assert time.monotonic() < end, "the server did not start"
            time.sleep(0.05)

    def tls(self, certificate):
        """The options of the server."""
        if not certificate:
            return ["-c", "listen_addresses="]
        for end in (".pem", ".key"):
            path = os.path.join(self.root, "server" + end)
            shutil.copy(certificate + end, path)
            os.chmod(path, 0o600)
            if self.user:
                os.chown(path, self.user["user"], self.user["group"])
        return ["-c", "listen_addresses=127.0.0.1", "-c", "ssl=on",
                "-c", "ssl_cert_file=%s/server.pem" % self.root,
                "-c", "ssl_key_file=%s/server.key" % self.root]

    def address(self, database):
        return "postgres://test@%s/%s" % (
            urllib.parse.quote(self.root, safe=""), database)

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
        shutil.rmtree(self.root, ignore_errors=True)
