"""What the tests on emulated machines share.

The machines are those of tests/setup/machine.sh.  pyrec is compiled for them as
one static file.  On a machine it records programs whose every stack follows a
rule (tests/targets/calls.py); the profiles come back over the console and are
judged here.
"""

import base64
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
import rules
from live import expect

SETUP = os.path.join(live.SOURCE, "tests", "setup", "machine.sh")
CACHE = os.environ.get("PYREC_CACHE") or os.path.expanduser("~/.cache/pyrec")
EMULATORS = {"arm64": "qemu-system-aarch64", "amd64": "qemu-system-x86_64"}
VERSIONS = ["3.11", "3.15"]
RATE = 50  # an emulated machine is some twenty times slower
SECONDS = 20
BEGIN, END = "=== files", "=== end"

# Each program is published in its own file and recorded into another.
SCRIPT = """\
uname -m
nproc
for version in {versions}; do
    for kind in {kinds}; do
        name=$version-$kind
        python$version calls.py 600 $kind >$name.json &
        target=$!
        until [ -s $name.json ]; do sleep 0.1; done
        ./pyrec -q -p $target -o $name.bin -r {rate} -d {seconds}
        echo "$name: status $?"
        kill $target
    done
done
"""
# The files of a job come back over the console.
SEND = """\
echo "{begin}"
tar -cz $(find . -name '*.json' -o -name '*.bin') | base64
echo "{end}"
"""


def part(name, emulator):
    """A folder that `machine.sh all` has made."""
    if not shutil.which(emulator):
        raise live.Skip("%s is not installed" % emulator)
    folder = os.path.join(CACHE, "machine", name)
    if not os.path.exists(os.path.join(folder, "complete")):
        raise live.Skip("machine.sh could not make %s" % folder)
    return folder


def run(*command):
    """Without a limit of its own: it computes all the time."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    expect(done.returncode == 0, "%s: %s", " ".join(command), done.stderr)
    return done.stdout


def static_pyrec(arch):
    folder, words = os.environ["BIN"], []
    if arch == "arm64":
        folder = os.path.abspath("b")
        compiler = "aarch64-linux-gnu-gcc"
        root = part("libraries-arm64", compiler)
        words = ["ROOMS=format recorder", "AR=aarch64-linux-gnu-ar",
                 "CC=%s --sysroot=%s/root" % (compiler, root)]
    run("make", "-s", "-C", live.SOURCE, "WERROR=1", "B=" + folder, *words,
        folder + "/static/pyrec")
    return folder + "/static/pyrec"


def make_job(arch, script):
    os.mkdir("job")
    shutil.copy(static_pyrec(arch), "job")
    for name in ("calls.py", "portrait.py"):
        shutil.copy(os.path.join(live.SOURCE, "tests", "targets", name), "job")
    with open("job/run", "w") as file:
        file.write(script + SEND.format(begin=BEGIN, end=END))


def run_job(arch, cpus, script):
    """The folder with the .json and .bin files that the script made."""
    machine = part("machine-" + arch, EMULATORS[arch])
    make_job(arch, script)
    console = run("sh", SETUP, "run", arch, str(cpus), machine, "job")
    expect(BEGIN in console and END in console, "it did not finish: %s",
           console[-1000:])
    said, _, rest = console.partition(BEGIN)
    print("".join("# %s\n" % line for line in said.splitlines()), end="")
    data = base64.b64decode(rest.partition(END)[0])
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        archive.extractall("files")
    return os.path.abspath("files")


def record_all(arch, cpus, kinds):
    """The folder of a profile of each kind on each version."""
    return run_job(arch, cpus, SCRIPT.format(
        versions=" ".join(VERSIONS), kinds=" ".join(kinds), rate=RATE,
        seconds=SECONDS))


class Machine:
    """One run, or one failure, for all tests."""

    def __init__(self, arch, cpus, kinds):
        self.options = arch, cpus, kinds
        self.folder = self.failure = None

    def profile(self, version, kind):
        if self.failure:
            raise self.failure
        if not self.folder:
            try:
                self.folder = record_all(*self.options)
            except Exception as error:
                self.failure = error
                raise
        return Judged(self.folder, version, kind)


class Judged:
    """A profile of calls.py that was recorded elsewhere."""

    def __init__(self, folder, version, kind):
        name = os.path.join(folder, "%s-%s" % (version, kind))
        expect(os.path.exists(name + ".bin"), "no profile of %s", name)
        self.database = live.Database(name + ".bin")
        self.samples, self.lost, self.unproven = self.database.rows(
            "SELECT sum(samples), coalesce(sum(lost), 0),"
            " coalesce(sum(unproven), 0) FROM thread")[0]
        with open(name + ".json") as file:
            rule = rules.Rule(json.loads(file.readline()))
        self.impossible, self.examples = rule.impossible(self.database)
        print("# %s %s: %d samples, %d lost, %d not proven" %
              (version, kind, self.samples, self.lost, self.unproven))


    def expect_possible(self):
        rules.expect_possible(self)
        expect(self.samples - self.unproven > 10, "only %d proven samples",
               self.samples - self.unproven)
