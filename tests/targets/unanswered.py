"""A program whose heap becomes memory that nobody provides: a read of it waits
for a handler of userfaultfd(2) that does not answer.

argv: seconds, the file for which it waits before.  One more thread sleeps, so
that the state of a thread lies in the heap.
"""

import ctypes
import os
import platform
import sys
import threading
import time

import portrait

USERFAULTFD = {"x86_64": 323, "aarch64": 282}  # asm/unistd.h
# linux/userfaultfd.h
UFFD_API, UFFDIO_API, UFFDIO_REGISTER = 0xaa, 0xc018aa3f, 0xc020aa00
REGISTER_MODE_MISSING = 1
MADV_DONTNEED = 4  # asm-generic/mman-common.h

libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    result = function(*arguments)
    if result < 0:
        print(os.strerror(ctypes.get_errno()), file=sys.stderr)
        sys.exit(77)
    return result


def heap():
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.endswith("[heap]\n"):
                begin, end = line.split()[0].split("-")
                return int(begin, 16), int(end, 16)
    sys.exit(77)


threading.Thread(target=time.sleep, args=(float(sys.argv[1]),),
                 daemon=True).start()
fd = call(libc.syscall, USERFAULTFD.get(platform.machine(), -1),
          os.O_CLOEXEC | os.O_NONBLOCK)
call(libc.ioctl, fd, ctypes.c_ulong(UFFDIO_API),
     (ctypes.c_uint64 * 3)(UFFD_API, 0, 0))
begin, end = heap()
call(libc.ioctl, fd, ctypes.c_ulong(UFFDIO_REGISTER),
     (ctypes.c_uint64 * 4)(begin, end - begin, REGISTER_MODE_MISSING, 0))
portrait.publish()
while not os.path.exists(sys.argv[2]) and not portrait.over():
    pass
# its own next access to the heap waits as well
libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin),
             MADV_DONTNEED)
