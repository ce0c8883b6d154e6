"""Write a profile again with CPython 3.15's own writer: IN OUT.

Runs under CPython 3.15.  The samples are given to the writer as its recorder
would: all threads of a tick together, tick by tick.
"""

import sys

import _remote_debugging as stock


class Ticks:
    """A collector that orders by time the samples that a replay has by thread."""

    def __init__(self):
        self.threads = {}

    def collect(self, interpreters, times):
        for interpreter in interpreters:
            for thread in interpreter.threads:
                for time in times:
                    self.threads.setdefault(time, []).append(thread)


def main():
    reader = stock.BinaryReader(sys.argv[1])
    info = reader.get_info()
    ticks = Ticks()
    reader.replay(ticks)
    writer = stock.BinaryWriter(
        sys.argv[2], info["sample_interval_us"], info["start_time_us"],
        compression=1, mode=0, capture_features=0)
    for time, threads in sorted(ticks.threads.items()):
        writer.write_sample([stock.InterpreterInfo((0, threads))], time)
    writer.set_stats(1.0, 1000.0, 0.0, 0.0)
    writer.finalize()


main()
