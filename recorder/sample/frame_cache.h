/*
 * frame_cache.h - CPython 3.15's own protocol for caching frames, opt-in: pyrec
 * writes nothing else into a target.
 *
 * The profiler writes the address of the innermost frame into the thread
 * state.  When the target leaves the frame that stands there, it puts the
 * frame's caller in its place and counts (3.15.2, Python/ceval.c and
 * Include/internal/pycore_interpframe.h, last_profiled_frame): so the frame
 * found there at the next read has been on the stack all the time, and its
 * callers did not run meanwhile.
 *
 * pyrec writes only to a thread that is proven still, or stopped: so the
 * address is still true when it arrives.  Another profiler that does the same
 * to the same process breaks this protocol.
 */
#ifndef RECORDER_SAMPLE_FRAME_CACHE_H
#define RECORDER_SAMPLE_FRAME_CACHE_H

#include "recorder/cpython/thread_list.h"

/* The frame that has surely stayed on the stack, or 0. */
uint64_t rec_frame_cache_get(const rec_thread *thread, const rec_layout *layout,
                             const uint8_t *tstate);

/* Write the address of the innermost frame; `tstate` holds the bytes of the
 * thread state that this batch read.  False: it could not be written. */
bool rec_frame_cache_set(rec_thread *thread, const rec_layout *layout,
                         pid_t pid, const uint8_t *tstate);

/* Forget the address that was written: it may be untrue now. */
void rec_frame_cache_drop(rec_thread *thread);

#endif
