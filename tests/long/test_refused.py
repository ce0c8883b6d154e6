"""Each system call that pyrec makes, refused by a seccomp filter.

Filters of containers answer EPERM, or ENOSYS to calls that are newer than they.
Under each of them a recording is complete, or its end has one clear message and
a documented status; pyrec never hangs, and the target goes on.
"""

import concurrent.futures
import ctypes
import errno
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["SRC"], "tests", "live"))
import live
from live import expect

LAST = 462  # numbers of system calls; x86-64 leaves 335 to 423 out
# glibc needs these: nothing begins without execve, a thread that cannot exit
# tries for ever, and a futex that fails aborts.
EXECVE, EXIT, FUTEX = 59, 60, 202
NUMBERS = [n for n in range(LAST + 1) if not 335 <= n < 424 and
           n not in (EXECVE, EXIT, FUTEX)]
PATIENCE_S = 120
STATUSES = {1, 2, 7, 8, 9}
ALLOW, ERRNO = 0x7fff0000, 0x00050000
LIBC = ctypes.CDLL(None, use_errno=True)
NO_NEW_PRIVS, SECCOMP, FILTER = 38, 22, 2  # linux/prctl.h, linux/seccomp.h


def refuse(number, error):
    """From now on the call fails, in this process and those it starts:
    linux/filter.h."""
    words = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, ERRNO | error),
             (0x06, 0, 0, ALLOW)]
    program = b"".join(struct.pack("HBBI", *word) for word in words)
    text = ctypes.create_string_buffer(program)
    command = struct.pack("H6xP", len(words), ctypes.addressof(text))
    if LIBC.prctl(NO_NEW_PRIVS, 1, 0, 0, 0) or LIBC.prctl(SECCOMP, FILTER,
                                                          command, 0, 0):
        os._exit(77)


class Recording:
    def __init__(self, target, number, error):
        self.name = "call %d, %s" % (number, errno.errorcode[error])
        self.output = "%d-%d.bin" % (number, error)
        process = subprocess.Popen(
            [live.PYREC, "-p", str(target.pid), "-o", self.output, "-d", "0.3"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: refuse(number, error))
        self.hung = False
        try:
            _, self.said = process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.hung = True
            process.kill()
            _, self.said = process.communicate()
        self.status = process.returncode

    def begins(self):
        """Did pyrec begin at all, and can it speak and exit?"""
        return self.said.startswith("pyrec:")

    def fault(self):
        """Why this is not a good end; None if it is one."""
        if self.hung:
            return "it hangs"
        if self.status == 0:
            read = live.call(live.PYCONV, "--verify", self.output)
            good = read.returncode == 0 and live.header_samples(self.output)
            return None if good else "the profile is not whole"
        if not self.begins():
            return None if not os.path.exists(self.output) else "a file is left"
        if self.status not in STATUSES:
            return "status %d" % self.status
        if not re.match(r"pyrec: error: .*\n(pyrec: hint: .*\n)?\Z", self.said):
            return "the message"
        return self.leftover()

    def leftover(self):
        if not os.path.exists(self.output):
            return None
        read = live.call(live.PYCONV, "--verify", self.output)
        return None if read.returncode in (0, 3) else "half a file is left"


@live.once
def a_refused_system_call_is_survived_or_named():
    if os.uname().machine != "x86_64":
        raise live.Skip("the numbers are those of x86-64")
    ends = {}
    with live.Target(live.ANY_PYTHON, "plain.py", seconds=3600) as target:
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [pool.submit(Recording, target, number, error)
                    for number in NUMBERS
                    for error in (errno.EPERM, errno.ENOSYS)]
        recordings = [job.result() for job in jobs]
        expect(target.process.poll() is None, "the target has ended")
    faults = []
    for one in recordings:
        fault = one.fault()
        ends.setdefault(one.status, []).append(one.name)
        if fault or one.status:
            print("# %s: %s; status %s: %s" % (one.name, fault or "good",
                                               one.status, one.said.strip()))
        if fault:
            faults.append("%s: %s" % (one.name, fault))
    print("# statuses: %s" % {status: len(which)
                              for status, which in ends.items()})
    expect(len(ends.get(0, [])) > len(recordings) * 3 // 4,
           "only %d recordings", len(ends.get(0, [])))
    expect(not faults, "%d faults: %s", len(faults), "; ".join(faults))


live.run()
