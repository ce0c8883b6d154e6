"""DuckDB by its C library, which npm's package holds, and the views of
spec/parquet.sql in it."""

import csv
import ctypes
import os

import npm

SOURCE = os.environ["SRC"]
# The package of this machine alone, without the interface for node.
PACKAGE = "@duckdb/node-bindings-linux-%s" % {
    "x86_64": "x64", "aarch64": "arm64"}[os.uname().machine]
LIBRARY = os.path.join(npm.CACHE, "npm-duckdb", "node_modules", PACKAGE)


def install():
    """None, or the reason why the library is missing."""
    try:
        npm.install("npm-duckdb", PACKAGE + "@1.5.6-r.1")
    except npm.live.Skip as reason:
        return str(reason)
    return None


class Result(ctypes.Structure):
    """duckdb_result of duckdb.h."""
    _fields_ = [("counts", ctypes.c_uint64 * 3), ("columns", ctypes.c_void_p),
                ("message", ctypes.c_char_p), ("data", ctypes.c_void_p)]


class DuckDB:
    """A database in memory with the views of spec/parquet.sql over a folder."""

    def __init__(self, folder):
        self.call = ctypes.CDLL(LIBRARY + "/libduckdb.so")
        self.call.duckdb_result_error.restype = ctypes.c_char_p
        database, self.connection = ctypes.c_void_p(), ctypes.c_void_p()
        assert not self.call.duckdb_open(None, ctypes.byref(database))
        assert not self.call.duckdb_connect(database,
                                            ctypes.byref(self.connection))
        with open(os.path.join(SOURCE, "spec/parquet.sql"),
                  encoding="utf-8") as file:
            text = file.read()
        self.run(text.replace("'*/", "'%s/*/" % folder.replace("'", "''")))

    def run(self, sql):
        result = Result()
        failed = self.call.duckdb_query(self.connection, sql.encode(),
                                        ctypes.byref(result))
        error = self.call.duckdb_result_error(ctypes.byref(result))
        self.call.duckdb_destroy_result(ctypes.byref(result))
        assert not failed, error.decode()

    def rows(self, sql):
        self.run("COPY (%s) TO 'answer.csv' (HEADER)" % sql)
        with open("answer.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
