"""Decoding by a sink that only counts: samples a second, and memory."""

import os

import measure
from measure import live

SAMPLES = int(os.environ.get("PYREC_BENCH_SAMPLES", 2000000))
HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = os.path.join(os.environ["BIN"], "bench")
TEN_MILLION = "server", 1000, 1250  # 8 threads


def decode(what, path, jobs=1):
    text = live.succeed(os.path.join(TOOLS, "decode"), path, jobs).stdout
    said = dict(word.split("=") for word in text.split())
    samples = int(said["samples"])
    print("# %s: %d samples in %d deltas, %s s with %d jobs, opened in %s s" %
          (what, samples, int(said["deltas"]), said["seconds"], jobs,
           said["open"]), flush=True)
    return samples / float(said["cpu"]) / 1e6, int(said["peak"]) / 1024


def check(what, path):
    watch = measure.Watch()
    rate, peak = decode(what, path)
    measure.at_least("million samples a second and core, " + what, rate, 60,
                     watch)
    measure.at_most("peak of resident memory, " + what, peak, 64, "MiB")


def main():
    live.succeed(os.path.join(TOOLS, "bench_writer"), *TEN_MILLION, "ours.bin")
    check("our file", "ours.bin")
    decode("our file", "ours.bin", os.cpu_count())
    measure.need_stock()
    live.succeed(live.STOCK, os.path.join(HERE, "large_profile.py"),
                 "stock.bin", SAMPLES)
    check("CPython's file", "stock.bin")


if __name__ == "__main__":
    main()
