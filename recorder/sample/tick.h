/*
 * tick.h - one tick in passes, each on one CPU (for the sampler).
 *
 * A thread can be proven to stand still by who runs on its CPU, so a tick may
 * have to go on on another one.  One thread at a time works on an unwinder;
 * who hands it over to another thread does so with a semaphore or a lock.
 */
#ifndef RECORDER_SAMPLE_TICK_H
#define RECORDER_SAMPLE_TICK_H

#include "recorder/cpython/layout.h"
#include <pyrec/unwinder.h>

#define REC_NO_CPU (-1)

/* Look at all threads once without telling a sample, so that the first tick
 * finds files open and names known.  The sink has been started. */
pr_code rec_tick_prepare(rec_unwinder *unwinder, pr_err *err);

/* Begin a tick; times as rec_unwinder_tick(). */
void rec_tick_begin(rec_unwinder *unwinder, uint64_t time_us);

/* One pass, from a thread that is pinned to `cpu`, or REC_NO_CPU.  `last` says
 * that no other will follow.  *ret_next is the CPU on which the tick should go
 * on, or REC_NO_CPU when it is complete. */
pr_code rec_tick_pass(rec_unwinder *unwinder, int cpu, bool last, int *ret_next,
                      pr_err *err);

/* Tell the samples that are owed. */
pr_code rec_tick_flush(rec_unwinder *unwinder, pr_err *err);

/* Add to a counter of the process (PR_COUNT_MISSED ...). */
void rec_tick_count(rec_unwinder *unwinder, pr_count_kind kind, uint64_t n);

/* Sum of a counter over the process and all threads. */
uint64_t rec_tick_total(const rec_unwinder *unwinder, pr_count_kind kind);

/* Is the place of a thread's rseq known?  Without, proofs take longer. */
bool rec_tick_has_rseq(const rec_unwinder *unwinder);

/* Zero of the samples' clock, CLOCK_MONOTONIC. */
void rec_tick_set_start(rec_unwinder *unwinder, uint64_t start_ns);

#endif
