"""BinaryReader of CPython 3.15 on a file that went through pyconv --to bin
twice: to a plain file of CPython's form, and from there to pyrec's own."""

import os
import subprocess
import tempfile

import _remote_debugging as rd

PYCONV = os.path.join(os.environ["BIN"], "pyconv")
StockReader = rd.BinaryReader


def convert(path, output, compression):
    done = subprocess.run([PYCONV, "-q", path, "--to", "bin", "--compression",
                           compression, "-o", output],
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise ValueError(done.stderr)


def read_converted(filename):
    with tempfile.TemporaryDirectory() as folder:
        plain, own = (os.path.join(folder, name)
                      for name in ("plain.bin", "own.bin"))
        convert(filename, plain, "none")
        convert(plain, own, "zstd")
        return StockReader(own)


def install():
    rd.BinaryReader = read_converted
