/*
 * unwinder.h - sample the threads of a running CPython into a sink.
 *
 * The unwinder reads the memory of CPython 3.11 to 3.15, with or without a GIL.
 * It writes nothing into the target and never stops it, unless the options say
 * so.  spec/sampling.md says how a sample is proven and which samples count as
 * lost.
 *
 *     rec_unwinder_open(pid, NULL, sink, &unwinder, &err);
 *     while (...)                                   one call for each tick
 *         rec_unwinder_tick(unwinder, now_us(), &err);
 *     rec_unwinder_emit_counts(unwinder, &err);     and pending samples
 *     rec_unwinder_free(unwinder);
 *
 * Threads    one thread at a time uses an unwinder; different unwinders are
 *            independent.  It may be another thread each time, but with
 *            REC_BLOCKING one thread makes all ticks and frees the unwinder:
 *            ptrace(2) ties a traced thread to the thread that traces it.
 * Ownership  the caller owns the sink and keeps it until rec_unwinder_free();
 *            the unwinder never calls its start(), finish() or abort().
 *            Pointers that a function returns are valid until
 *            rec_unwinder_free().
 * Options    structs that begin with `size` may grow: initialise them with
 *            their _INIT macro.  A library that knows fewer fields refuses a
 *            struct in which one of the others is not zero.
 * Errors     the first failure is recorded in *err (error.h); err may be NULL.
 */
#ifndef PYREC_UNWINDER_H
#define PYREC_UNWINDER_H

#include <pyrec/sink.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rec_unwinder rec_unwinder; /* opaque */

typedef enum rec_strategy {
    REC_AUTO = 0,      /* co-located, with the fallbacks of spec/sampling.md */
    REC_COLOCATED = 1, /* as REC_AUTO, but an unproven sample is lost */
    REC_REMOTE = 2,    /* from another CPU: validated, never proven */
    REC_BLOCKING = 3   /* the target is stopped while it is read */
} rec_strategy;

typedef enum rec_threads {
    REC_THREADS_ALL = 0,
    REC_THREADS_MAIN = 1, /* the main thread of each interpreter */
    REC_THREADS_GIL = 2   /* the holder of each GIL; needs a GIL */
} rec_threads;

typedef enum rec_cache {
    REC_CACHE_READ_ONLY = 0,
    REC_CACHE_ANCHOR = 1 /* CPython 3.15's own protocol: writes 8 bytes */
} rec_cache;

typedef enum rec_async {
    REC_ASYNC_OFF = 0,
    REC_ASYNC_RUNNING = 1, /* tasks that a thread runs */
    REC_ASYNC_ALL = 2      /* waiting tasks too */
} rec_async;

typedef struct rec_unwinder_opts {
    size_t size; /* sizeof(rec_unwinder_opts) */
    rec_strategy strategy;
    rec_threads threads;
    rec_cache cache;
    rec_async async_mode;
    pr_mode mode;       /* the samples that are kept */
    uint32_t max_depth; /* frames of a stack; 0: 4096 */
    uint8_t keep_idle;  /* 1: keep threads that do not match the mode */
    uint8_t native;     /* 1: <native> frames at borders of C code */
    uint8_t gc;         /* 1: <GC> frames while a collection runs */
    uint8_t opcodes;    /* 1: the opcode of each frame */
    uint8_t gc_events;  /* 1: collections as events (3.15) */
    uint64_t start_ns;  /* CLOCK_MONOTONIC at time 0 of the samples; 0: when
                         * rec_unwinder_open() returns */
} rec_unwinder_opts;

#define REC_UNWINDER_OPTS_INIT                                               \
    {                                                                        \
        sizeof(rec_unwinder_opts), REC_AUTO, REC_THREADS_ALL,                \
            REC_CACHE_READ_ONLY, REC_ASYNC_OFF, PR_MODE_WALL, 0, 0, 0, 1, 0, \
            0, 0                                                             \
    }

/* A process that runs CPython. */
typedef struct rec_target {
    pid_t pid;
    uint8_t python[3]; /* major, minor, micro */
    uint8_t free_threaded;
    uint8_t shows_gc;       /* 1: <GC> frames can be recorded (3.15 on) */
    uint64_t runtime;       /* address of _PyRuntime in the target */
    char runtime_path[256]; /* of the file that holds it, as the target sees
                             * it; NUL-terminated, a longer path is cut */
} rec_target;

/* Cumulative; the names are those of CPython 3.15 RemoteUnwinder.get_stats()
 * (Modules/_remote_debugging/module.c). */
typedef struct rec_stats {
    uint64_t total_samples;
    uint64_t frame_cache_hits, frame_cache_misses, frame_cache_partial_hits;
    uint64_t frames_read_from_cache, frames_read_from_memory;
    uint64_t memory_reads, memory_bytes_read; /* system calls, bytes */
    uint64_t code_object_cache_hits, code_object_cache_misses;
    uint64_t stale_cache_invalidations;
    uint64_t batched_read_attempts, batched_read_successes;
    uint64_t batched_read_misses;
    uint64_t batched_read_segments_requested;
    uint64_t batched_read_segments_completed;
} rec_stats;

/* Attach to process `pid`.  `opts` is copied and may be NULL.  The caller frees
 * *ret by rec_unwinder_free(); it is untouched on failure.
 * PR_NO_PROCESS; PR_NOT_PYTHON (the message names the program, and its Python
 * children); PR_DENIED (the message names the check that failed, and a remedy);
 * PR_USAGE (options that exclude each other, that this build of Python does not
 * have, or that this version does not know); PR_UNSUPPORTED (the message names
 * the option, and the first version of Python that has it); PR_NOMEM. */
pr_code rec_unwinder_open(pid_t pid, const rec_unwinder_opts *opts,
                          pr_sink *sink, rec_unwinder **ret, pr_err *err);

/* Detach; the target runs on.  Pending samples are dropped unless
 * rec_unwinder_emit_counts() was called before.  Takes NULL. */
void rec_unwinder_free(rec_unwinder *unwinder);

/* The present program of the process: an exec changes the struct. */
const rec_target *rec_unwinder_target(const rec_unwinder *unwinder);

/* CLOCK_MONOTONIC at time 0 of the samples. */
uint64_t rec_unwinder_start_ns(const rec_unwinder *unwinder);

/* Sample all wanted threads once.  time_us is the time at which the tick was
 * due, and does not go back from call to call.  A sample of a thread that may
 * have run has the time at which it was read; a sample of a thread that
 * provably did not run since the last tick has time_us.  Consecutive equal
 * samples are kept back and emitted as one run.  A sample that cannot be
 * validated counts as lost, and those of other threads are taken all the same.
 *
 * The calling thread moves to the CPU of each thread of the target, as far as
 * it may, to prove there that the thread stands still.  The call restores its
 * affinity before it returns.  REC_REMOTE does not move it.
 *
 * PR_OK; PR_NO_PROCESS when the target has ended; PR_DENIED, PR_NOMEM, PR_IO;
 * or the sink's error.  After a failure only rec_unwinder_free() follows. */
pr_code rec_unwinder_tick(rec_unwinder *unwinder, uint64_t time_us,
                          pr_err *err);

/* Emit the pending samples, then the counters of samples and losses that
 * changed.  PR_OK, PR_NOMEM or the sink's error. */
pr_code rec_unwinder_emit_counts(rec_unwinder *unwinder, pr_err *err);

/* The counters since rec_unwinder_open(). */
void rec_unwinder_get_stats(const rec_unwinder *unwinder, rec_stats *ret);

/* Identify the CPython that process `pid` runs.  PR_OK, or the codes of
 * rec_unwinder_open(); *ret is untouched on failure.  Thread-safe. */
pr_code rec_target_identify(pid_t pid, rec_target *ret, pr_err *err);

/* List the children of `pid`, or all descendants if `recursive` is not 0, by
 * ascending pid.  The caller frees *ret with free(); *ret_n may be 0.
 * PR_NO_PROCESS, PR_NOMEM, PR_IO; *ret and *ret_n are untouched on failure.
 * Thread-safe. */
pr_code rec_target_children(pid_t pid, int recursive, pid_t **ret,
                            size_t *ret_n, pr_err *err);

#ifdef __cplusplus
}
#endif
#endif
