/*
 * prove.h - one sample of one thread: read, prove, walk, emit.
 *
 * spec/sampling.md describes the proofs and their conditions.
 */
#ifndef RECORDER_SAMPLE_PROVE_H
#define RECORDER_SAMPLE_PROVE_H

#include "recorder/sample/unwinder_internal.h"

/* Context switches of the calling thread so far: between two equal counts it
 * ran all the time.  False: the kernel refuses the counts (a seccomp
 * filter). */
bool rec_own_switches(uint64_t *ret);

/* Microseconds of the samples' clock. */
uint64_t rec_now_us(const rec_unwinder *unwinder);

/* The outcome of an attempt to sample. */
typedef enum rec_sampled {
    REC_SAMPLED,   /* emitted, or counted as lost */
    REC_ELSEWHERE, /* it must be sampled from thread->cpu */
    REC_BROKEN     /* the sampler was switched out: the read proves nothing */
} rec_sampled;

/* Add the pieces that a sample of the thread needs to the tick's batch, between
 * two reads of `guard` (0: none); read it with rec_batch_read().  False: out of
 * memory. */
bool rec_sample_add(rec_unwinder *unwinder, rec_thread *thread, uint64_t guard,
                    rec_read *ret);

/* Sample a thread that was read between two reads of its own rseq.cpu_id. */
pr_code rec_sample_still(rec_unwinder *unwinder, rec_thread *thread,
                         const rec_read *read, rec_sampled *ret, pr_err *err);

/* The same without a guard, of a thread that runs elsewhere. */
pr_code rec_sample_running(rec_unwinder *unwinder, rec_thread *thread,
                           const rec_read *read, rec_sampled *ret, pr_err *err);

/* Sample in the best way that this CPU permits. */
pr_code rec_sample(rec_unwinder *unwinder, rec_thread *thread, rec_sampled *ret,
                   pr_err *err);

/* Judge a thread that was read from its own CPU; the tick's batch is that of
 * the capture.  It stays wanted if it is unproven. */
pr_code rec_sample_captured(rec_unwinder *unwinder, const rec_capture *capture,
                            pr_err *err);

/* Sample a thread of a stopped target. */
pr_code rec_sample_stopped(rec_unwinder *unwinder, rec_thread *thread,
                           rec_sampled *ret, pr_err *err);

/* The CPU on which a thread with an rseq executes or did so last. */
uint32_t rec_sample_cpu(rec_unwinder *unwinder, rec_thread *thread);

/* Sample a thread that did not move since its last sample. */
pr_code rec_sample_unchanged(rec_unwinder *unwinder, rec_thread *thread,
                             bool refresh, pr_err *err);

/* Count a lost sample. */
pr_code rec_sample_lose(rec_unwinder *unwinder, rec_thread *thread,
                        pr_count_kind reason, pr_err *err);

/* Does the code end the recording, not only one sample? */
bool rec_is_fatal(pr_code code);

#endif
