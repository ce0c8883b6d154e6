/*
 * prove.h - one look at one thread: read, prove, walk, tell.
 *
 * Which proof holds when is spec/sampling.md; this is the code of it.
 */
#ifndef RECORDER_SAMPLE_PROVE_H
#define RECORDER_SAMPLE_PROVE_H

#include "recorder/linux/ptrace_stop.h"
#include "recorder/sample/gc_watch.h"
#include "recorder/sample/run_emitter.h"
#include "recorder/sample/task_emitter.h"
#include <pyrec/unwinder.h>

#define REC_NO_CPU (-1)

/* What the parts of the unwinder share. */
struct rec_unwinder {
    rec_unwinder_opts opts;
    pr_sink *sink;
    rec_process process;
    rec_memory memory;
    rec_runtime runtime;
    rec_codes *codes;
    rec_threads_table table;
    rec_emitter emitter;
    rec_batch batch;
    rec_walker walker;
    rec_stack fresh;     /* scratch: the stack being decoded */
    uint64_t generation; /* of code objects, over all interpreters */
    uint64_t epoch;      /* changes when code objects may have gone */
    uint64_t start_ns;   /* zero of the samples' clock */
    uint64_t listed_ms, alive_ms;
    uint64_t none; /* address of None, once an exc_value was found to be it */
    rec_ptrace pause;
    rec_task_emitter tasks;
    rec_gc_watch watch;
    uint64_t watched_us;
    bool detached; /* after an exec, until the new program is a Python */
    uint64_t execed_ms;

    /* the present tick */
    bool silent; /* get to know all, tell no sample */
    uint64_t time_us;
    bool begun;        /* its lists were read and its threads chosen */
    int cpu;           /* of the present pass; REC_NO_CPU: not pinned */
    bool last;         /* no other pass will follow */
    bool exhausted;    /* nor another try of this one */
    uint64_t switches; /* our own, when the pass began */
    size_t refreshed;  /* where the round of idle threads stands */

    rec_target target;
    rec_stats stats;
};

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
