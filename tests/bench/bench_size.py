"""Size of files against those of CPython 3.15 for the same samples.

bench_writer makes a profile and writes it plain; CPython reads that and writes
it its own way; then whole files are compared.
"""

import os
import struct

import measure
from measure import live

HERE = os.path.dirname(os.path.abspath(__file__))
WRITER = os.path.join(os.environ["BIN"], "bench", "bench_writer")
PLAIN = -1
DEFAULT = 0
ARCHIVE = 19, 8 << 20  # level, bytes of a segment

# profile, rate, seconds, and the most that our file may be of stock's
RECORDINGS = (
    ("busy", 1000, 60, 1.25),
    ("deep", 1000, 60, 1.25),
    ("server", 1000, 60, 1.25),
    ("busy", 10000, 20, 1.05),
    ("deep", 10000, 20, 1.05),
    ("server", 10000, 10, 1.05),
)


def write(profile, rate, seconds, *how):
    """Write a profile; how many bytes are its file and its data frames."""
    text = live.succeed(WRITER, profile, rate, seconds, "ours.bin",
                        *how).stdout
    said = dict(word.split("=") for word in text.split() if "=" in word)
    return int(said["file"]), int(said["compressed"])


def stock_sizes():
    """The bytes of stock's file of the plain one, and of its samples."""
    live.succeed(live.STOCK, os.path.join(HERE, "stock_rewrite.py"),
                 "ours.bin", "stock.bin")
    with open("stock.bin", "rb") as file:
        string_table, = struct.unpack_from("<Q", file.read(64), 40)
    return os.path.getsize("stock.bin"), string_table - 64


def compare(profile, rate, seconds, at_most):
    what = "%s at %d Hz for %d s" % (profile, rate, seconds)
    write(profile, rate, seconds, PLAIN)
    file, region = stock_sizes()
    measure.compare("file of " + what, "bytes",
                    lambda: write(profile, rate, seconds, DEFAULT)[0],
                    lambda: file, at_most, rounds=1)
    measure.compare("archived samples of " + what, "bytes",
                    lambda: write(profile, rate, seconds, *ARCHIVE)[1],
                    lambda: region, 0.90, rounds=1)


def idle():
    """One sleeping thread: what a second more of it costs."""
    short, long = (write("idle", 1000, seconds, DEFAULT)[0]
                   for seconds in (20, 120))
    rate = (long - short) / 100
    measure.at_most("a second of an idle process", rate, 100, "bytes")


def main():
    idle()
    measure.need_stock()
    for recording in RECORDINGS:
        compare(*recording)


main()
