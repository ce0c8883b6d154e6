/*
 * profile.h - the words of a profile.  Types and numbers only.
 *
 * Units   times are microseconds since the start of the recording, unless a
 *         name says otherwise (_ns, _hz).
 * Ids     strings, frames and threads are numbered 0, 1, 2, ... in the order
 *         in which they are told to a sink; an id never changes its meaning.
 *         Equal strings or frames usually share an id, but nobody may rely
 *         on it.
 * Bytes   names are the target's own: UTF-8 with lone surrogates kept as
 *         three-byte sequences (ED A0..BF xx), NUL allowed, not terminated.
 */
#ifndef PYREC_PROFILE_H
#define PYREC_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Status of a thread at a sample: CPython 3.15.2 Modules/_remote_debugging/
 * _remote_debugging.h THREAD_STATUS_*.  Bits 6 and 7 are free. */
enum {
    PR_HAS_GIL = 1,
    PR_ON_CPU = 2,
    PR_CPU_UNKNOWN = 4, /* whether it is on a CPU was not looked at */
    PR_GIL_REQUESTED = 8,
    PR_HAS_EXCEPTION = 16,
    PR_MAIN_THREAD = 32
};

/* What was sampled: CPython 3.15.2 PROFILING_MODE_* */
typedef enum pr_mode {
    PR_MODE_WALL = 0,
    PR_MODE_CPU = 1,
    PR_MODE_GIL = 2,
    PR_MODE_ALL = 3,
    PR_MODE_EXCEPTION = 4,
    PR_MODE_UNKNOWN = 255
} pr_mode;

/* What was captured; the bits of the header word at byte 60 (spec/format.md
 * 4.1): bit 3 says that the others are known. */
enum {
    PR_CAPTURE_KNOWN = 0x008,
    PR_CAPTURE_ALL_THREADS = 0x010,
    PR_CAPTURE_NATIVE = 0x020,
    PR_CAPTURE_GC = 0x040,
    PR_CAPTURE_OPCODES = 0x080,
    PR_CAPTURE_BLOCKING = 0x100
};

/* Known when the recording starts. */
typedef struct pr_start {
    uint64_t start_us;    /* CLOCK_MONOTONIC at time 0 */
    uint64_t wall_us;     /* CLOCK_REALTIME at time 0, since 1970; 0 unknown */
    uint64_t interval_us; /* nominal, never 0 */
    uint8_t python[3];    /* major, minor, micro of the target; 0 unknown */
    pr_mode mode;
    uint32_t capture; /* PR_CAPTURE_* */
} pr_start;

#define PR_NO_LINE   (-1)
#define PR_NO_OPCODE 255

/* One line of one function, as seen on a stack. */
typedef struct pr_frame {
    uint32_t file; /* string id */
    uint32_t func; /* string id: the qualified name */
    int32_t line;  /* PR_NO_LINE: a synthetic frame (<native>, <GC>) */
    int32_t end_line;
    int32_t column; /* bytes into the line, PR_NO_LINE: not known */
    int32_t end_column;
    int32_t first_line; /* of the function; 0 not known (files of 3.15) */
    uint8_t opcode;     /* PR_NO_OPCODE: not captured */
} pr_frame;

/* Synthetic frames have the file name PR_SYNTHETIC_FILE; tasks PR_TASK_FILE. */
#define PR_SYNTHETIC_FILE "~"
#define PR_NATIVE_FUNC    "<native>"
#define PR_GC_FUNC        "<GC>"
#define PR_TASK_FILE      "<task>"

/* A thread is keyed by (interp, tid): one thread may run two interpreters. */
typedef struct pr_thread {
    uint64_t tid;    /* the kernel's id as the target sees it, as 3.15 */
    uint32_t interp; /* 0 is the main interpreter */
    uint8_t is_main; /* 1 yes, 0 no or not known */
    const char *name;
    size_t name_len; /* 0: no name known */
} pr_thread;

/* One change of one thread's stack and the samples taken with it.
 * The new stack is push[0 .. n_push-1], innermost first, on top of the
 * outermost `keep` frames of the thread's last stack (empty before its first).
 * keep == depth and n_push == 0: the stack did not change.  n >= 1. */
typedef struct pr_delta {
    uint32_t thread;
    uint32_t keep;
    uint32_t n_push;
    uint32_t n;              /* samples in this run */
    const uint32_t *push;    /* frame ids */
    const uint64_t *time_us; /* [n], not decreasing within the thread */
    const uint8_t *status;   /* [n] */
} pr_delta;

/* How a sample came about, or why it is missing (spec/format.md 5.4).
 * Counters are cumulative from the start; thread PR_NO_THREAD: the process. */
typedef enum pr_count_kind {
    PR_COUNT_PROVEN = 0,    /* co-located, proven still */
    PR_COUNT_SLEEPING = 1,  /* proven asleep or unchanged since the last look */
    PR_COUNT_UNPROVEN = 2,  /* read across CPUs, validated, not proven */
    PR_COUNT_STOPPED = 3,   /* read while the target was stopped */
    PR_COUNT_LOST_TORN = 8, /* inconsistent after all retries */
    PR_COUNT_LOST_MOVED = 9,   /* the target kept changing CPU */
    PR_COUNT_LOST_MEMORY = 10, /* memory could not be read */
    PR_COUNT_LOST_GONE = 11,   /* the thread ended meanwhile */
    PR_COUNT_LOST_OTHER = 12,
    PR_COUNT_TICKS = 16,        /* process only: ticks attempted */
    PR_COUNT_MISSED = 17,       /* process only: due and not attempted */
    PR_COUNT_LATE = 18,         /* process only: later than half a period */
    PR_COUNT_MISSED_QUEUE = 19, /* of the missed: encoder or disk too slow */
    PR_COUNT_RETRIES = 20,
    PR_COUNT_HOPS = 21,      /* changes of the sampling CPU */
    PR_COUNT_TRUNCATED = 22, /* samples whose stack was cut at the limit */
    PR_COUNT_DEGRADED = 23,  /* process only: frames without name or lines */
    PR_COUNT_GC_LOST = 24,   /* process only: collections, overwritten unread */
    PR_COUNT_CHILDREN = 25,  /* process only: seen, descendants included */
    PR_COUNT_CHILDREN_GONE = 26, /* of them: ended before they were looked at */
    PR_COUNT_KINDS = 32
} pr_count_kind;

#define PR_NO_THREAD UINT32_MAX

typedef struct pr_count {
    uint32_t thread;
    uint32_t kind; /* pr_count_kind; a reader passes unknown kinds on */
    uint64_t value;
} pr_count;

/* One garbage collection (CPython 3.15 struct gc_generation_stats). */
typedef struct pr_gc_event {
    uint32_t interp;
    uint32_t generation;
    uint64_t start_us, stop_us;
    uint64_t collections; /* cumulative, of this generation */
    uint64_t collected, uncollectable, candidates;
    uint64_t heap_size;
    uint64_t duration_ns; /* cumulative */
} pr_gc_event;

/* An asyncio task as first seen; parents are the tasks that await it. */
typedef struct pr_task {
    uint64_t key; /* address in the target */
    uint64_t time_us;
    uint32_t thread; /* PR_NO_THREAD: of an ended thread */
    const char *name;
    size_t name_len;
    const uint64_t *parent; /* keys */
    uint32_t n_parents;
} pr_task;

typedef enum pr_mark_kind {
    PR_MARK_GAP = 0,       /* nothing could be sampled from time to end_us */
    PR_MARK_EXEC = 1,      /* the process became another program */
    PR_MARK_SUSPENDED = 2, /* the target or the machine stood still */
    PR_MARK_USER = 3
} pr_mark_kind;

typedef struct pr_mark {
    uint32_t kind;            /* pr_mark_kind; unknown kinds are passed on */
    uint64_t time_us, end_us; /* equal for a moment */
    const char *text;
    size_t text_len;
} pr_mark;

/* The statistics block of CPython 3.15 (TACHSTAT). */
typedef struct pr_stats {
    double duration_s, rate_hz, error_percent, missed_percent;
    uint32_t known; /* bit 0 error_percent, bit 1 missed_percent are known;
                     * bit 31 the block itself is present */
} pr_stats;
#define PR_STATS_PRESENT 0x80000000u

#ifdef __cplusplus
}
#endif
#endif
