/*
 * thread_status.h - the activity of a thread: the status bits of a sample.
 */
#ifndef RECORDER_SAMPLE_THREAD_STATUS_H
#define RECORDER_SAMPLE_THREAD_STATUS_H

#include "recorder/sample/prove.h"

/* Does it hold its GIL (free-threaded: is it attached)? */
bool rec_status_holds(const rec_unwinder *unwinder, const rec_thread *thread,
                      const uint8_t *tstate);

/* HAS_GIL, GIL_REQUESTED, HAS_EXCEPTION and MAIN_THREAD.  May read in the
 * unwinder's batch, so pointers into it end here. */
uint8_t rec_status_of(rec_unwinder *unwinder, rec_thread *thread,
                      size_t tstate_piece);

/* The present status of a thread, its state on a CPU included, for a sample
 * without a read of its stack.  PR_CPU_UNKNOWN, and PR_MAIN_THREAD of a main
 * thread, if it has ended. */
uint8_t rec_status_now(rec_unwinder *unwinder, rec_thread *thread);

/* The status of a thread whose stack did not change, after its letter was read.
 * ran: it may have requested the GIL since its last sample. */
uint8_t rec_status_again(rec_unwinder *unwinder, const rec_thread *thread,
                         bool ran);

/* Are samples with this status wanted? */
bool rec_status_matches(const rec_unwinder_opts *opts, uint8_t status);

#endif
