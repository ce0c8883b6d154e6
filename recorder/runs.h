/*
 * runs.h - what the kernel says of one thread: did it run, does it sleep, on
 * which CPU is it?
 */
#ifndef RECORDER_RUNS_H
#define RECORDER_RUNS_H

#include "recorder/thread.h"

/* Look at its schedstat: *ret_ran says whether it may have run since the last
 * call.  False: the thread is gone. */
bool rec_thread_ran(rec_thread *thread, pid_t pid, bool *ret_ran);

/* Look at the letter of its state and at its CPU.  Between two calls of
 * rec_thread_ran() that say it did not run, what this says holds.  False: the
 * thread is gone. */
bool rec_thread_state(rec_thread *thread, pid_t pid);

#endif
