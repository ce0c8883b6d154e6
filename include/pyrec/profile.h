/*
 * profile.h - the vocabulary of a profile: types and numbers, no functions.
 *
 * Units      Times are microseconds since the start of the recording, unless
 *            a name says otherwise (_ns, _hz, wall_us).
 * Ids        A producer numbers strings, frames, processes and threads 0, 1,
 *            2, ... in the order in which it emits them to a sink; an id never
 *            changes its meaning.  Two equal strings may have two ids.
 * Bytes      Names are the target's own bytes: UTF-8 with lone surrogates kept
 *            as three-byte sequences (ED A0..BF xx); NUL is legal, and they are
 *            not terminated.
 * Ownership  A struct owns nothing: what its pointers point to belongs to the
 *            caller and is valid for the call that passes the struct.
 * Growth     Later versions append fields, and 0 means "not known" in each of
 *            them.  Initialise a struct as a whole (= {0} or by field names).
 * Threads    Plain data: two threads may read one struct at the same time.
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
    PR_CPU_UNKNOWN = 4, /* the recorder did not check PR_ON_CPU */
    PR_GIL_REQUESTED = 8,
    PR_HAS_EXCEPTION = 16,
    PR_MAIN_THREAD = 32
};

/* The kind of time that was sampled: CPython 3.15.2 PROFILING_MODE_*. */
typedef enum pr_mode {
    PR_MODE_WALL = 0,
    PR_MODE_CPU = 1,
    PR_MODE_GIL = 2,
    PR_MODE_ALL = 3,
    PR_MODE_EXCEPTION = 4,
    PR_MODE_UNKNOWN = 255
} pr_mode;

/* The frames and threads that were captured: bits of the header's last word
 * (spec/format.md 4.1).  Without PR_CAPTURE_KNOWN the others mean nothing. */
enum {
    PR_CAPTURE_KNOWN = 0x008,
    PR_CAPTURE_ALL_THREADS = 0x010,
    PR_CAPTURE_NATIVE = 0x020,
    PR_CAPTURE_GC = 0x040,
    PR_CAPTURE_OPCODES = 0x080,
    PR_CAPTURE_BLOCKING = 0x100
};

/* The facts that are known when the recording starts. */
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

/* The file of a synthetic frame is PR_SYNTHETIC_FILE, and its function one of
 * the next two; a frame that stands for an asyncio task has PR_TASK_FILE. */
#define PR_SYNTHETIC_FILE "~"
#define PR_NATIVE_FUNC    "<native>"
#define PR_GC_FUNC        "<GC>"
#define PR_TASK_FILE      "<task>"

/* Bytes with their length. */
typedef struct pr_text {
    const char *bytes;
    size_t len;
} pr_text;

/* A key and its value (spec/format.md 5.5). */
typedef struct pr_pair {
    pr_text key, value;
} pr_pair;

/* A process whose threads are in the profile.  Processes have the indices 0,
 * 1, 2, ... in the order of their first emission.  A later emission of an index
 * replaces all that was known of that process: it brings its end, or its
 * command after an exec.  (host, scope, pid, start_us) identify a process: pids
 * alone repeat, over time and in containers. */
typedef struct pr_process {
    uint32_t index;
    uint64_t pid;      /* in its own pid namespace; 0 not known */
    uint64_t parent;   /* pid of its parent, in the same scope; 0 not known */
    uint64_t start_us; /* wall clock, since 1970; 0 not known */
    uint64_t end_us;   /* wall clock, since 1970; 0 not known or it lives on */
    uint8_t python[3]; /* 0 not known */
    pr_text command;   /* command line, arguments separated by spaces */
    pr_text host;
    pr_text scope;       /* boot id and pid namespace: pids of processes with
                          * an equal scope come from one numbering */
    const pr_pair *meta; /* [n_meta] metadata of this process alone, such as
                          * python.build and label.KEY */
    uint32_t n_meta;
} pr_process;

/* A thread.  (process, interp, tid) identify it, since one thread may run in
 * two interpreters: a thread that moves to another interpreter is another
 * pr_thread. */
typedef struct pr_thread {
    uint64_t tid;    /* the kernel's id as the target sees it, as in CPython */
    uint32_t interp; /* 0 is the main interpreter */
    uint8_t is_main; /* 1 yes, 0 no or not known */
    const char *name;
    size_t name_len;  /* 0: no name known */
    uint32_t process; /* index */
} pr_thread;

/* One change of a thread's stack and the samples taken with the new stack:
 * push[0 .. n_push-1], innermost first, on top of the outermost `keep` frames
 * of the thread's last stack (empty before its first).  keep equal to the
 * depth and n_push 0: the stack did not change.  n >= 1. */
typedef struct pr_delta {
    uint32_t thread;
    uint32_t keep;
    uint32_t n_push;
    uint32_t n;              /* samples in this run */
    const uint32_t *push;    /* frame ids */
    const uint64_t *time_us; /* [n], not decreasing within the thread */
    const uint8_t *status;   /* [n] */
} pr_delta;

/* A change of the sampling interval: from time_us on, samples of the process's
 * threads are interval_us apart.  Before its first change a process has
 * pr_start.interval_us. */
typedef struct pr_rate {
    uint32_t process; /* index */
    uint64_t time_us;
    uint64_t interval_us; /* not 0 */
} pr_rate;

/* Counters (spec/format.md 5.4): name, number, spelling in outputs.
 * Every value is cumulative since the start.  A counter that was never emitted
 * is unknown, not 0.
 *   0-3    samples by proof; they add up to the thread's samples
 *   8-13   lost: due samples that could not be taken, or that a damaged part
 *          of the file held
 *   16-26  the recorder's work
 *   27-30  samples and frames that an option leaves out: never part of `lost`
 *   32-36  scheduling of a thread: Linux /proc/PID/task/TID/schedstat fields 1
 *          and 2 (Documentation/scheduler/sched-stats.rst), .../status
 *          voluntary_ctxt_switches; GIL wait: CPython 3.15
 *   40-42  CPU bandwidth of the process's cgroup: cpu.stat nr_periods,
 *          nr_throttled, throttled_usec (Documentation/admin-guide/cgroup-v2)
 */
#define PR_COUNT_MAP(X)                                                        \
    X(PROVEN, 0, "proven")            /* the thread provably stood still */    \
    X(SLEEPING, 1, "sleeping")        /* provably asleep or unchanged */       \
    X(UNPROVEN, 2, "unproven")        /* validated only */                     \
    X(STOPPED, 3, "stopped")          /* the target was stopped */             \
    X(LOST_TORN, 8, "lost_torn")      /* inconsistent after all retries */     \
    X(LOST_MOVED, 9, "lost_moved")    /* the target kept changing CPU */       \
    X(LOST_MEMORY, 10, "lost_memory") /* memory could not be read */           \
    X(LOST_GONE, 11, "lost_gone")     /* the thread ended meanwhile */         \
    X(LOST_OTHER, 12, "lost_other")                                            \
    X(LOST_FILE, 13, "lost_file")       /* in damaged parts of the file */     \
    X(TICKS, 16, "ticks")               /* process: attempted */               \
    X(MISSED, 17, "missed")             /* process: due, not attempted */      \
    X(LATE, 18, "late")                 /* process: half a period late */      \
    X(MISSED_QUEUE, 19, "missed_queue") /* of missed: output too slow */       \
    X(RETRIES, 20, "retries")                                                  \
    X(HOPS, 21, "hops")                   /* changes of the sampling CPU */    \
    X(TRUNCATED, 22, "truncated")         /* samples with a shortened stack */ \
    X(DEGRADED, 23, "degraded")           /* process: frames without name or \
                                         * lines */ \
    X(GC_LOST, 24, "gc_lost")             /* process: overwritten unread */    \
    X(CHILDREN, 25, "children")           /* process: seen, with theirs */     \
    X(CHILDREN_GONE, 26, "children_gone") /* ended before their check */       \
    X(SKIPPED_MODE, 27, "skipped_mode")   /* samples left out by --mode */     \
    X(SKIPPED_THREADS, 28, "skipped_threads") /* ... by --threads */           \
    X(SKIPPED_ASYNC, 29, "skipped_async")     /* ... by --async */             \
    X(SKIPPED_FRAMES, 30, "skipped_frames")   /* frames: by --max-depth */     \
    X(CPU_NS, 32, "cpu_ns")                   /* time on a CPU */              \
    X(CPU_WAIT_NS, 33, "cpu_wait_ns") /* runnable, waiting for a CPU */        \
    X(SWITCHES_VOLUNTARY, 34, "switches_voluntary")                            \
    X(SWITCHES_INVOLUNTARY, 35, "switches_involuntary")                        \
    X(GIL_WAIT_NS, 36, "gil_wait_ns")           /* waiting for the GIL */      \
    X(CGROUP_PERIODS, 40, "cgroup_periods")     /* process */                  \
    X(CGROUP_THROTTLED, 41, "cgroup_throttled") /* process: of periods */      \
    X(CGROUP_THROTTLED_US, 42, "cgroup_throttled_us") /* process */

typedef enum pr_count_kind {
#define PR_COUNT_ENUM(name, value, text) PR_COUNT_##name = value,
    PR_COUNT_MAP(PR_COUNT_ENUM)
#undef PR_COUNT_ENUM
        PR_COUNT_KINDS = 48
} pr_count_kind;

#define PR_NO_THREAD UINT32_MAX

/* A counter's value at a moment.  A recorder emits the counters that changed
 * before each checkpoint, so the values of one (process, thread, kind) are a
 * time series with a step of at most a checkpoint interval. */
typedef struct pr_count {
    uint32_t thread; /* PR_NO_THREAD: the counter of a whole process */
    uint32_t kind;   /* pr_count_kind; a reader passes unknown kinds on */
    uint64_t value;
    uint32_t process; /* if thread is PR_NO_THREAD */
    uint64_t time_us; /* of the value; a file keeps it to its checkpoint's
                       * precision */
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
    uint32_t process;
} pr_gc_event;

/* An asyncio task at its first sample; its parents are the tasks that await it.
 * A key is unique within its process while the task lives. */
typedef struct pr_task {
    uint64_t key; /* address in the target */
    uint64_t time_us;
    uint32_t thread; /* PR_NO_THREAD: its thread has ended */
    const char *name;
    size_t name_len;
    const uint64_t *parent; /* keys, of the same process */
    uint32_t n_parents;
    uint32_t process; /* if thread is PR_NO_THREAD */
} pr_task;

/* Marks (spec/format.md 5.6): name, number, spelling in outputs. */
#define PR_MARK_MAP(X)                                                       \
    X(GAP, 0, "gap")   /* nothing could be sampled from time to end */       \
    X(EXEC, 1, "exec") /* the process became another program */              \
    X(SUSPENDED, 2, "suspended") /* the target or the machine stood still */ \
    X(USER, 3, "user")                                                       \
    X(LOST, 4, "lost") /* samples from time to end were in a damaged part of \
                        * the file */

typedef enum pr_mark_kind {
#define PR_MARK_ENUM(name, value, text) PR_MARK_##name = value,
    PR_MARK_MAP(PR_MARK_ENUM)
#undef PR_MARK_ENUM
} pr_mark_kind;

typedef struct pr_mark {
    uint32_t kind;            /* pr_mark_kind; readers pass unknown ones on */
    uint64_t time_us, end_us; /* equal for a moment */
    const char *text;
    size_t text_len;
    uint32_t process;
} pr_mark;

/* The times and calls of a function, or of its calls by one caller, in a
 * profile that has these in place of stacks (a file of cProfile: CPython 3.15
 * Lib/pstats.py).  In such a file of CPython's sampling profiler, calls counts
 * the samples whose stack holds the function, and primitive_calls those whose
 * innermost frame is in it. */
typedef struct pr_total {
    uint32_t frame;  /* id: the function */
    uint32_t caller; /* id: the calling function; PR_NO_FRAME: any */
    uint64_t calls, primitive_calls; /* primitive: not by recursion */
    double self_s, total_s;          /* seconds, without and with callees */
    uint32_t has_times;              /* 1; 0: the times are not known */
} pr_total;
#define PR_NO_FRAME UINT32_MAX

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
