/*
 * teller.h - what the ticks found, told to the sink as runs.
 *
 * Samples of a thread that did not move are not told one by one: the times of
 * the ticks are kept once for all threads, each thread knows from which tick
 * on it owes samples, and one delta tells them all.
 */
#ifndef RECORDER_TELLER_H
#define RECORDER_TELLER_H

#include "recorder/thread.h"

typedef struct rec_teller {
    pr_sink *sink;
    uint64_t *tick_us; /* of the ticks since the last flush */
    size_t n_ticks, cap_ticks;
    uint8_t *status; /* scratch: one status many times */
    size_t cap_status;
    uint32_t *push; /* scratch */
    size_t cap_push;
    uint32_t n_threads; /* told */
    rec_counts counts;  /* of the process */
} rec_teller;

void rec_teller_init(rec_teller *teller, pr_sink *sink);
void rec_teller_release(rec_teller *teller);

/* A tick begins; its samples that need no read carry this time. */
pr_code rec_teller_tick(rec_teller *teller, uint64_t time_us, pr_err *err);

/* One sample of a stack that was read at time_us: thread->stack, of which the
 * sink knows the outermost thread->shared frames. */
pr_code rec_teller_sample(rec_teller *teller, rec_thread *thread, pid_t pid,
                          uint64_t time_us, uint8_t status, pr_err *err);

/* Tell who the thread is, once. */
pr_code rec_teller_introduce(rec_teller *teller, rec_thread *thread, pid_t pid,
                             pr_err *err);

/* Look at its name again and tell a new one: threads name themselves after
 * they started. */
pr_code rec_teller_rename(rec_teller *teller, rec_thread *thread, pid_t pid,
                          pr_err *err);

/* The thread is as it was at the last tick. */
pr_code rec_teller_idle(rec_teller *teller, rec_thread *thread, pid_t pid,
                        pr_err *err);

/* Tell the samples that are owed up to the tick before the present one. */
pr_code rec_teller_settle_before(rec_teller *teller, rec_thread *thread,
                                 pr_err *err);

/* Settle all threads and begin a new list of ticks. */
pr_code rec_teller_flush(rec_teller *teller, rec_threads_table *table,
                         pr_err *err);

/* Tell the counters that changed. */
pr_code rec_teller_counts(rec_teller *teller, rec_threads_table *table,
                          pr_err *err);

#endif
