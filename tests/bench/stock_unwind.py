"""CPython 3.15's unwinder without a pause: PID SECONDS.

Runs under CPython 3.15.  Prints the microseconds of processor time for each
answer of get_stack_trace(), which is set up as its own profiler does.
"""

import sys
import time

import _remote_debugging as stock

unwinder = stock.RemoteUnwinder(int(sys.argv[1]), all_threads=True,
                                cache_frames=True)
answers = 0
end = time.monotonic() + float(sys.argv[2])
begin = time.process_time()
while time.monotonic() < end:
    try:
        unwinder.get_stack_trace()
        answers += 1
    except (OSError, RuntimeError, UnicodeDecodeError):
        pass  # a torn read has its cost, too
print(1e6 * (time.process_time() - begin) / answers)
