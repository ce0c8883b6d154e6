"""The wall clock of an emulated machine is set while pyrec records there."""

import glob
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "peers"))
import emulated
import live
from live import expect

DAY, HOUR = 86400, 3600
STEPS = [-DAY, DAY + HOUR, -HOUR, 2 * DAY]
PAUSE = 3  # seconds between two steps
SECONDS = PAUSE * (len(STEPS) + 2)
RATE = 50
EVERY, FOR = 4, 1
WINDOWS = 3  # of the schedule that begin after the last step
SCRIPT = """\
step() {{ date -s @$(($(date +%s) + $1)); }}
python3.11 calls.py 600 tree >tree.json & target=$!
until [ -s tree.json ]; do sleep 0.1; done
./pyrec -q -p $target -o run.bin -r {rate} -d {seconds} & recorder=$!
for n in {steps}; do sleep {pause}; step $n; done
wait $recorder; echo "status $?"
mkdir day
./pyrec -q --every {every} --for {duration} -p $target -r {rate} -o day \
    2>day.err & recorder=$!
until ls day/*.bin; do sleep 0.5; done
step -{day}; echo "set back"
n=0
until [ $(find day -name '*.bin' | wc -l) -gt {windows} ] || [ $n -gt 120 ]; do
    n=$((n + 1)); sleep 0.5
done
kill $recorder; wait $recorder; echo "schedule: status $?"
cat day.err
kill $target
""".format(rate=RATE, seconds=SECONDS, steps=" ".join(map(str, STEPS)),
           pause=PAUSE, every=EVERY, duration=FOR, day=DAY, windows=WINDOWS)


class Once:
    folder = None

    @classmethod
    def files(cls):
        cls.folder = cls.folder or emulated.run_job("amd64", 2, SCRIPT)
        return cls.folder


@live.once
def a_recording_measures_time_by_a_clock_that_nobody_sets():
    path = os.path.join(Once.files(), "run.bin")
    live.succeed(live.PYCONV, "--verify", path)
    database = live.Database(path)
    due = int(database.meta("count.ticks")) + int(
        database.meta("count.missed") or 0)
    span = database.value("SELECT max(t1_us) - min(t0_us) FROM run") / 1e6
    print("# %d ticks were due, %.3f s" % (due, span))
    longest = SECONDS + live.PATIENCE
    expect(RATE * SECONDS - 2 <= due <= RATE * longest, "%d ticks were due", due)
    expect(0 < span <= longest, "the samples span %f s", span)


@live.once
def a_schedule_goes_on_after_the_clock_was_set_back():
    recorded = glob.glob(os.path.join(Once.files(), "day", "*.bin"))
    expect(len(recorded) > WINDOWS, "%d recordings", len(recorded))
    for path in recorded:
        live.succeed(live.PYCONV, "--verify", path)


live.run()
