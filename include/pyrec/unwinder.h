/*
 * unwinder.h - look at a running CPython and tell a sink what it does.
 *
 * Reads the memory of CPython 3.11 to 3.15, with a GIL or without; nothing is
 * written into the target and it is never stopped, unless the options say so.
 * How a sample is proven, and what is lost, is spec/sampling.md.
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
    REC_COLOCATED = 1, /* as auto, but what is not proven is lost */
    REC_REMOTE = 2,    /* from another CPU, validated, never proven */
    REC_BLOCKING = 3   /* the target stands still while it is read */
} rec_strategy;

typedef enum rec_threads {
    REC_THREADS_ALL = 0,
    REC_THREADS_MAIN = 1, /* of each interpreter */
    REC_THREADS_GIL = 2   /* the holder of each GIL; needs one */
} rec_threads;

typedef enum rec_cache {
    REC_CACHE_READ_ONLY = 0,
    REC_CACHE_ANCHOR = 1 /* CPython 3.15's own protocol: writes 8 bytes */
} rec_cache;

typedef enum rec_async {
    REC_ASYNC_OFF = 0,
    REC_ASYNC_RUNNING = 1,
    REC_ASYNC_ALL = 2
} rec_async;

typedef struct rec_unwinder_opts {
    size_t size; /* sizeof(rec_unwinder_opts) */
    rec_strategy strategy;
    rec_threads threads;
    rec_cache cache;
    rec_async async_mode;
    pr_mode mode;       /* which threads' samples are kept */
    uint32_t max_depth; /* frames of a stack; 0: 4096 */
    uint8_t keep_idle;  /* 1: keep threads that do not match the mode */
    uint8_t native;     /* 1: <native> frames at C borders */
    uint8_t gc;         /* 1: <GC> frames while a collection runs */
    uint8_t opcodes;    /* 1: the opcode of each frame */
    uint8_t gc_events;  /* 1: collections as events (3.15) */
} rec_unwinder_opts;

#define REC_UNWINDER_OPTS_INIT                                                 \
    {                                                                          \
        sizeof(rec_unwinder_opts), REC_AUTO, REC_THREADS_ALL,                  \
            REC_CACHE_READ_ONLY, REC_ASYNC_OFF, PR_MODE_WALL, 0, 0, 0, 1, 0, 0 \
    }

/* What the target is. */
typedef struct rec_target {
    pid_t pid;
    uint8_t python[3];
    uint8_t free_threaded;
    uint64_t runtime; /* address of _PyRuntime */
    char runtime_path[256];
} rec_target;

/* Names as CPython 3.15 RemoteUnwinder.get_stats(). */
typedef struct rec_stats {
    uint64_t total_samples;
    uint64_t frame_cache_hits, frame_cache_misses, frame_cache_partial_hits;
    uint64_t frames_read_from_cache, frames_read_from_memory;
    uint64_t memory_reads, memory_bytes_read;
    uint64_t code_object_cache_hits, code_object_cache_misses;
    uint64_t stale_cache_invalidations;
    uint64_t batched_read_attempts, batched_read_successes;
    uint64_t batched_read_misses;
    uint64_t batched_read_segments_requested;
    uint64_t batched_read_segments_completed;
} rec_stats;

/* Attach.  PR_NO_PROCESS, PR_NOT_PYTHON (the message names what it is, and
 * its Python children), PR_DENIED (the message names the check that failed).
 * The sink gets strings, frames, threads and deltas from now on; start() and
 * the end of it stay the caller's. */
pr_code rec_unwinder_open(pid_t pid, const rec_unwinder_opts *opts,
                          pr_sink *sink, rec_unwinder **ret, pr_err *err);
void rec_unwinder_free(rec_unwinder *unwinder); /* takes NULL */

const rec_target *rec_unwinder_target(const rec_unwinder *unwinder);

/* Sample all wanted threads once.  time_us: the moment this tick was due
 * (since start); period_us: the distance of ticks.  Samples of threads that
 * ran carry the moment they were read, those of threads that provably did not
 * run since the last tick carry time_us.  A thread that cannot be read
 * truthfully is counted as lost and costs the others nothing.
 * PR_OK; PR_NO_PROCESS when the target has ended; or the sink's error. */
pr_code rec_unwinder_tick(rec_unwinder *unwinder, uint64_t time_us,
                          uint64_t period_us, pr_err *err);

/* Tell the sink the present counters of samples and losses. */
pr_code rec_unwinder_tell_counts(rec_unwinder *unwinder, pr_err *err);

void rec_unwinder_get_stats(const rec_unwinder *unwinder, rec_stats *ret);

/* Is it a CPython this library knows?  PR_OK and *ret, or why not. */
pr_code rec_is_python(pid_t pid, rec_target *ret, pr_err *err);

/* Children of pid, or all descendants, in order of pid.  The caller frees
 * *ret; *ret_n may be 0. */
pr_code rec_child_pids(pid_t pid, int recursive, pid_t **ret, size_t *ret_n,
                       pr_err *err);

#ifdef __cplusplus
}
#endif
#endif
