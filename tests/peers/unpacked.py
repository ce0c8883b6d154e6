"""Programs of another Debian suite, unpacked below a folder with the libraries
that they were linked with, whatever the machine's distribution is."""

import os
import platform
import subprocess

LIBRARIES = "lib/x86_64-linux-gnu"
UNPACK = """set -e
. "$SRC/tests/setup/apt.sh"
apt_state "$1/state" "$2" amd64
apt_unpack "$1/state" "$1/root" "$3"
rm -rf "$1/state"
"""


class Program:
    """A program of a package: its folder, its name below it, the suite."""

    def __init__(self, folder, suite, package, path):
        self.folder, self.suite, self.package = folder, suite, package
        self.root = os.path.join(folder, "root")
        self.path = os.path.join(self.root, path)

    def unpack(self):
        """None, or why it is not on this machine."""
        name = "%s of Debian's %s " % (self.package, self.suite)
        if platform.machine() != "x86_64":
            return name + "is here only for x86_64"
        if os.path.exists(self.path):
            return None
        done = subprocess.run(
            ["sh", "-c", UNPACK, "unpack", self.folder, self.suite,
             self.package], capture_output=True, text=True, check=False)
        if done.returncode == 0 and os.path.exists(self.path):
            return None
        return name + "cannot be unpacked: " + " ".join(
            done.stderr.split())[-200:]

    def command(self, *arguments):
        """The words that run it."""
        lib = os.path.join(self.root, LIBRARIES)
        return [lib + "/ld-linux-x86-64.so.2", "--library-path",
                lib + ":" + os.path.join(self.root, "usr", LIBRARIES),
                self.path, *arguments]
