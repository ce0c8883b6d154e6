"""Servers of ClickHouse 18.16 for a test, in its scratch folder.

Debian 12 has the packages; they are unpacked below the build folder."""

import http.client
import os
import socket
import subprocess
import time

import unpacked

SERVER = unpacked.Program(os.path.join(os.environ["BIN"], "clickhouse"),
                          "bookworm", "clickhouse-server",
                          "usr/sbin/clickhouse-server")

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
        with open(self.folder + "/output", "ab") as output:
            self.process = subprocess.Popen(
                SERVER.command("--config-file=" + self.folder +
                               "/config.xml"),
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
