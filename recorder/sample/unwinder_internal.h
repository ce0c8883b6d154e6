/*
 * unwinder_internal.h - the state of an unwinder, by lifetime, and one tick in
 * passes, for the sampler.
 *
 * Three lifetimes, three structs.  rec_unwinder lasts as long as the recorded
 * process and the data in the sink: ids of strings, frames and threads, and
 * cumulative counts.  rec_program lasts until the process executes another
 * program; then it is released and made anew, whole.  rec_tick lasts for one
 * tick.
 *
 * A thread can be proven to stand still by the thread that runs on its CPU, so
 * a tick may have to continue on another CPU.  One thread at a time uses an
 * unwinder; it hands the unwinder over with a semaphore or a lock.
 */
#ifndef RECORDER_SAMPLE_UNWINDER_INTERNAL_H
#define RECORDER_SAMPLE_UNWINDER_INTERNAL_H

#include "recorder/linux/cgroup.h"
#include "recorder/linux/ptrace_stop.h"
#include "recorder/sample/gc_watch.h"
#include "recorder/sample/run_emitter.h"
#include "recorder/sample/task_emitter.h"
#include <pyrec/unwinder.h>

#define REC_NO_CPU (-1)

/* Passes and rounds of one tick. */
enum { REC_PASSES_MAX = 16 };

/* CPUs, each once. */
typedef struct rec_cpu_list {
    int *v;
    size_t n, cap;
} rec_cpu_list;

/* The pieces of a batch that hold what a sample of a thread needs. */
typedef struct rec_read {
    uint64_t guard;       /* address of its rseq.cpu_id; 0: not read */
    size_t before, after; /* pieces of the guard */
    rec_shot shot;
} rec_read;

/* A thread, read from its own CPU (capture.h). */
typedef struct rec_capture {
    rec_thread *thread;
    int cpu;
    rec_memory memory; /* counts its reads */
    rec_batch batch;
    rec_interp_words words;
    rec_read read;
    pr_code code; /* of the read; PR_TORN: there was none */
    bool still;   /* no word that was read shows a run */
} rec_capture;

/* One program of the process. */
typedef struct rec_program {
    rec_memory memory;
    rec_runtime runtime;
    rec_codes *codes;
    rec_batch batch;
    rec_walker walker;
    rec_stack fresh; /* scratch: the stack being decoded */
    rec_capture **capture;
    size_t n_captures, cap_captures;
    size_t captures_used; /* in the present round */
    uint64_t none; /* address of None, once an exc_value was found to be it */
    rec_task_emitter tasks;
    rec_gc_watch watch;
    uint64_t watched_us; /* when collections were read last */
    uint64_t listed_ms;  /* when threads were listed last; 0: list them now */
    size_t refreshed;    /* the next idle thread whose state is read */
} rec_program;

/* One tick, and the present pass of it. */
typedef struct rec_tick {
    bool silent; /* find all threads, emit no sample */
    uint64_t time_us;
    bool begun;        /* its lists were read and its threads chosen */
    int cpu;           /* of the present pass; REC_NO_CPU: not pinned */
    bool last;         /* no other pass follows */
    bool exhausted;    /* nor another try of this one */
    bool counted;      /* our own context switches are known: */
    uint64_t switches; /* when the pass began */
    rec_batch *batch;  /* that is judged: of the program or of a capture */
    rec_cpu_list next; /* where the tick should continue; its memory is kept */
} rec_tick;

struct rec_unwinder {
    rec_unwinder_opts opts;
    pr_sink *sink;
    uint64_t start_ns; /* zero of the samples' clock, CLOCK_MONOTONIC */
    rec_process process;
    rec_ptrace pause;
    uint64_t held_ns;      /* rec_tick_held_ns() */
    rec_throttle throttle; /* the limit of its cgroup */
    rec_name_table names;  /* strings and frames that the sink has */
    rec_emitter emitter;
    rec_threads_table table; /* threads that the sink has, and others */
    rec_stats stats;         /* without the counts of the program's parts */
    uint64_t ended_degraded, ended_gc_lost; /* counts of earlier programs */
    uint64_t alive_ms;                      /* when the process was checked */
    uint64_t read_ms;                       /* when the last pass began */
    bool detached; /* after an exec, until the new program is a Python */
    uint64_t execed_ms;
    rec_target target;
    rec_program program;
    rec_tick tick;
};

/* The facts about a target, for the public header. */
void rec_target_fill(pid_t pid, const rec_runtime *runtime, rec_target *ret);

/* Find all threads and their names without a sample, so that the first tick
 * finds files open and names known.  The sink has been started. */
pr_code rec_tick_prepare(rec_unwinder *unwinder, pr_err *err);

/* Begin a tick; times as rec_unwinder_tick(). */
void rec_tick_begin(rec_unwinder *unwinder, uint64_t time_us);

/* One pass, from a thread that is pinned to `cpu`, or REC_NO_CPU.  `last`: no
 * other pass follows. rec_tick_next() has the CPUs on which the tick
 * continues. */
pr_code rec_tick_pass(rec_unwinder *unwinder, int cpu, bool last, pr_err *err);

/* The CPUs of threads that are to be read from there, most useful first; valid
 * until the next pass.  None: the tick is complete.  One: make a pass there.
 * Several: rec_tick_scatter(), then rec_captures_read() (capture.h) on each of
 * them at once, then rec_tick_gather(), after which the list is another one. */
const rec_cpu_list *rec_tick_next(const rec_unwinder *unwinder);
pr_code rec_tick_scatter(rec_unwinder *unwinder, pr_err *err);
pr_code rec_tick_gather(rec_unwinder *unwinder, pr_err *err);

/* Between two ticks, at least every tenth of a second: detach from threads that
 * could not be detached at the end of a tick (REC_BLOCKING).  From the thread
 * that ticks, which with REC_BLOCKING is the same one for all ticks:
 * rec_tick_pass() then moves it to other CPUs itself. */
void rec_tick_idle(rec_unwinder *unwinder);

/* Emit the samples that are pending. */
pr_code rec_tick_flush(rec_unwinder *unwinder, pr_err *err);

/* Add to a counter of the process (PR_COUNT_MISSED ...). */
void rec_tick_count(rec_unwinder *unwinder, pr_count_kind kind, uint64_t n);

/* Sum of a counter over the process and all threads. */
uint64_t rec_tick_total(const rec_unwinder *unwinder, pr_count_kind kind);

/* The time for which the target was stopped, less the CPU time that the sampler
 * used meanwhile. */
uint64_t rec_tick_held_ns(const rec_unwinder *unwinder);

/* Is the place of a thread's rseq known?  Without, proofs take longer. */
bool rec_tick_has_rseq(const rec_unwinder *unwinder);

#endif
