"""Servers of ClickHouse 18.16 for a test, in its scratch folder.

Debian 12 has the packages; they are unpacked below the build folder, with the
libraries that they were linked with, whatever the machine's distribution is."""

import http.client
import os
import platform
import socket
import subprocess
import time
from urllib.parse import unquote  # noqa: F401

BUILD = os.environ["BIN"]
ROOT = os.path.join(BUILD, "clickhouse", "root")
LIBRARIES = "lib/x86_64-linux-gnu"
UNPACK = """set -e
. "$SRC/tests/setup/apt.sh"
apt_state "$1/state" bookworm amd64
apt_unpack "$1/state" "$1/root" clickhouse-server
rm -rf "$1/state"
"""

CONFIG = """<yandex>
<logger><level>warning</level><log>{folder}/log</log>
 <errorlog>{folder}/errors</errorlog></logger>
<listen_host>127.0.0.1</listen_host>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port>
<path>{folder}/data/</path><tmp_path>{folder}/tmp/</tmp_path>
<users_config>{folder}/users.xml</users_config>
<default_profile>default</default_profile>
<default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size>
<uncompressed_cache_size>0</uncompressed_cache_size>
<max_concurrent_queries>40</max_concurrent_queries>
<remote_servers><two>{shards}</two></remote_servers>
</yandex>
"""
SHARD = """<shard><internal_replication>false</internal_replication><replica>
<host>127.0.0.1</host><port>%d</port></replica></shard>"""
USERS = """<yandex>
<profiles><default><max_memory_usage>2000000000</max_memory_usage></default>
</profiles>
<users>
<default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default>
<keeper><password>s3cret</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></keeper>
</users>
<quotas><default/></quotas>
</yandex>
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def schema():
    """The statements of spec/clickhouse.sql."""
    with open(os.path.join(os.environ["SRC"], "spec/clickhouse.sql"),
              encoding="utf-8") as file:
        lines = [line for line in file if not line.startswith("--")]
    return [text.strip() for text in "".join(lines).split(";") if text.strip()]


def unpack():
    """None, or why there is no server on this machine."""
    if platform.machine() != "x86_64":
        return "clickhouse-server of Debian 12 is here only for x86_64"
    program = os.path.join(ROOT, "usr/sbin/clickhouse-server")
    if os.path.exists(program):
        return None
    folder = os.path.dirname(ROOT)
    done = subprocess.run(["sh", "-c", UNPACK, "unpack", folder],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0 and os.path.exists(program):
        return None
    return "clickhouse-server of Debian 12 cannot be unpacked: " + \
        " ".join(done.stderr.split())[-200:]


class Server:
    """One server; `tcp` are the ports of all servers of its cluster "two"."""

    def __init__(self, folder, tcp, number):
        self.folder = os.path.abspath(folder)
        self.http = free_port()
        os.makedirs(self.folder)
        with open(self.folder + "/users.xml", "w", encoding="utf-8") as file:
            file.write(USERS)
        with open(self.folder + "/config.xml", "w", encoding="utf-8") as file:
            file.write(CONFIG.format(
                folder=self.folder, http=self.http, tcp=tcp[number],
                shards="".join(SHARD % port for port in tcp)))
        self.process = None
        self.start()

    def start(self):
        lib = os.path.join(ROOT, LIBRARIES)
        with open(self.folder + "/output", "ab") as output:
            self.process = subprocess.Popen(
                [lib + "/ld-linux-x86-64.so.2", "--library-path",
                 lib + ":" + os.path.join(ROOT, "usr", LIBRARIES),
                 os.path.join(ROOT, "usr/sbin/clickhouse-server"),
                 "--config-file=" + self.folder + "/config.xml"],
                cwd=self.folder, stdout=output, stderr=output,
                env=dict(os.environ, TZ="UTC"))
        end = time.monotonic() + 300
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < end, \
                "the server did not start: " + self.folder
            time.sleep(0.05)

    def answers(self):
        try:
            return self.ask("SELECT 1") == [["1"]]
        except OSError:
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def post(self, path, body, authorization=None):
        """The status and the content of an answer."""
        headers = {"Authorization": authorization} if authorization else {}
        connection = http.client.HTTPConnection("127.0.0.1", self.http,
                                                timeout=300)
        try:
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def ask(self, sql, database="default"):
        """The rows of a statement; OSError with the server's words."""
        status, answer = self.post(
            "/?distributed_product_mode=local&database=" + database,
            sql.encode())
        text = answer.decode("utf-8", "surrogateescape")
        if status != 200:
            raise OSError(text)
        return [line.split("\t") for line in text.splitlines()]

    def address(self, database):
        return "clickhouse://127.0.0.1:%d/%s" % (self.http, database)
