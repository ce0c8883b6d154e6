/*
 * run_emitter.h - the samples of the ticks, emitted as runs.
 *
 * Samples of a thread that did not move are not emitted one by one: the times
 * of the ticks are kept once for all threads, each thread keeps the first tick
 * whose sample is pending, and one delta holds all pending ones.
 */
#ifndef RECORDER_SAMPLE_RUN_EMITTER_H
#define RECORDER_SAMPLE_RUN_EMITTER_H

#include "recorder/cpython/thread_list.h"

typedef struct rec_emitter {
    pr_sink *sink;
    rec_threads_table *table; /* where threads get their names */
    uint64_t *tick_us;        /* of the ticks since the last flush */
    size_t n_ticks, cap_ticks;
    uint64_t sampled_us; /* the latest time of a stack that was read */
    uint8_t *status;     /* scratch: one status many times */
    size_t cap_status;
    uint32_t *push; /* scratch */
    size_t cap_push;
    uint32_t n_threads; /* emitted */
    rec_thread *ended;  /* stands for the ended threads of an interpreter */
    size_t n_ended, cap_ended;
    rec_counts counts; /* of the process */
} rec_emitter;

void rec_emitter_init(rec_emitter *emitter, pr_sink *sink,
                      rec_threads_table *table);
void rec_emitter_release(rec_emitter *emitter);

/* Begin a tick; its samples without a read carry this time, or that of the
 * latest read if the tick was due before it: the times of a thread do not go
 * back (sink.h, P3). */
pr_code rec_emitter_tick(rec_emitter *emitter, uint64_t time_us, pr_err *err);

/* One sample of a stack that was read at time_us: thread->stack, of which the
 * sink knows the outermost thread->shared frames. */
pr_code rec_emitter_sample(rec_emitter *emitter, rec_thread *thread,
                           uint64_t time_us, uint8_t status, pr_err *err);

/* Emit the identity of the thread, once. */
pr_code rec_emitter_introduce(rec_emitter *emitter, rec_thread *thread,
                              pr_err *err);

/* Read its name again and emit a new one: threads name themselves after they
 * started. */
pr_code rec_emitter_rename(rec_emitter *emitter, rec_thread *thread,
                           pr_err *err);

/* The thread that stands for all ended threads of an interpreter, whose tasks
 * may still run.  NULL: out of memory.  Valid until the next call. */
rec_thread *rec_emitter_ended_thread(rec_emitter *emitter, uint32_t interp);

/* Sample a thread that is as it was at the last tick. */
pr_code rec_emitter_idle(rec_emitter *emitter, rec_thread *thread, pr_err *err);

/* Emit the pending samples up to the tick before the present one. */
pr_code rec_emitter_settle_before(rec_emitter *emitter, rec_thread *thread,
                                  pr_err *err);

/* Emit all pending samples and begin a new list of ticks. */
pr_code rec_emitter_flush(rec_emitter *emitter, rec_threads_table *table,
                          pr_err *err);

/* From now on the time of the live threads is counted: a thread that is listed
 * later is counted from its first rec_emitter_counts() on. */
void rec_emitter_begin_times(rec_threads_table *table);

/* Emit the counters that changed. */
pr_code rec_emitter_counts(rec_emitter *emitter, rec_threads_table *table,
                           pr_err *err);

#endif
