/*
 * prove.h - one look at one thread: read, prove, walk, tell.
 *
 * Which proof holds when is spec/sampling.md; this is the code of it.
 */
#ifndef RECORDER_SAMPLE_PROVE_H
#define RECORDER_SAMPLE_PROVE_H

#include "recorder/sample/unwinder_internal.h"

/* Our own context switches so far: who did not switch ran all the time. */
uint64_t rec_own_switches(void);

/* Microseconds of the samples' clock. */
uint64_t rec_now_us(const rec_unwinder *unwinder);

/* What became of a look. */
typedef enum rec_sampled {
    REC_SAMPLED,   /* told, or counted as lost */
    REC_ELSEWHERE, /* it is to be looked at from thread->cpu */
    REC_BROKEN     /* we were switched out: what was read is worth nothing */
} rec_sampled;

/* Add what a look at the thread needs, between two reads of `guard` (or none
 * with 0); read with rec_batch_read(), then rec_sample_finish(). */
typedef struct rec_read {
    uint64_t guard;
    size_t before, after; /* pieces of the guard */
    rec_shot shot;
} rec_read;
bool rec_sample_add(rec_unwinder *unwinder, rec_thread *thread, uint64_t guard,
                    rec_read *ret);

/* A thread that was read between two reads of its own rseq.cpu_id. */
pr_code rec_sample_still(rec_unwinder *unwinder, rec_thread *thread,
                         const rec_read *read, rec_sampled *ret, pr_err *err);

/* The same without a guard, of a thread that runs elsewhere. */
pr_code rec_sample_running(rec_unwinder *unwinder, rec_thread *thread,
                           const rec_read *read, rec_sampled *ret, pr_err *err);

/* Look by the best way there is from here. */
pr_code rec_sample(rec_unwinder *unwinder, rec_thread *thread, rec_sampled *ret,
                   pr_err *err);

/* The target is stopped. */
pr_code rec_sample_stopped(rec_unwinder *unwinder, rec_thread *thread,
                           pr_err *err);

/* The CPU on which a thread with an rseq executes or did so last. */
uint32_t rec_sample_cpu(rec_unwinder *unwinder, rec_thread *thread);

/* The thread did not move since it was seen last. */
pr_code rec_sample_unchanged(rec_unwinder *unwinder, rec_thread *thread,
                             bool refresh, pr_err *err);

/* Count a sample that could not be had. */
pr_code rec_sample_lose(rec_unwinder *unwinder, rec_thread *thread,
                        pr_count_kind reason, pr_err *err);

/* Fatal for the recording, not for one sample. */
bool rec_is_fatal(pr_code code);

#endif
