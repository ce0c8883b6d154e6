/*
 * sink.h - the one interface through which a profile flows.
 *
 * A producer of a profile (the unwinder, the reader) calls a sink; a consumer
 * of one (the writer, the model, a counter) is a sink.  A filter is a sink
 * that implements the operations that it changes and names the next sink for
 * all others.
 *
 * A producer promises
 *  P1 start() comes first and once; exactly one of finish() or abort() last.
 *  P2 strings, frames, processes and threads come, each with the next free id,
 *     before any call that uses the id.
 *  P3 deltas of one thread come in time order; threads interleave freely and
 *     not in global time order.
 *  P4 rate() comes before any delta with a sample at or after its time.
 *  P5 pointers are valid for the call only.
 *  P6 after a call that did not return PR_OK, only abort() follows.
 *  P7 no two threads have the same (process, interp, tid).
 * A sink promises
 *  S1 finish() makes the output whole or fails; abort() leaves nothing
 *     half-written and cannot fail.  Each of them, also a finish() that fails,
 *     frees the sink, and ends the sinks to which it forwards.
 *  S2 a call of an operation that is NULL goes to `next`; without `next` it is
 *     ignored.
 *  S3 a call that fails fills *err (err may be NULL) and returns the cause.
 *
 * Threads  One thread at a time calls a sink.  Two sinks are independent
 *          unless one is the other's `next`.
 */
#ifndef PYREC_SINK_H
#define PYREC_SINK_H

#include <pyrec/error.h>
#include <pyrec/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The operations: name, parameters, arguments.  This list makes the struct of
 * operations, the calls with forwarding, and the sinks that treat all
 * operations alike: a new operation is one line here.
 *
 *   start    facts known at time 0
 *   meta     key (terminated) and value; a later value of a key wins
 *   string   the next string's bytes
 *   frame    the next frame
 *   process  the next process, or news of an earlier one.  Process 0 exists
 *            without it: a producer of one process may leave it out and
 *            describe the process with meta() (spec/format.md 5.5)
 *   thread   the next thread
 *   rename   a thread's name became known or changed
 *   leave    a thread ended; a later delta of it has keep 0
 *   rate     the sampling interval changed
 *   delta    samples
 *   count    a counter's new value
 *   gc, task, mark   events, in any order
 *   total    the sums of a function, in a profile without deltas; those of
 *            one function and caller add up
 *   stats    totals; at most once, after all deltas */
#define PR_SINK_MAP(X)                                              \
    X(start, (const pr_start *start), (start))                      \
    X(meta, (const char *key, const char *value, size_t value_len), \
      (key, value, value_len))                                      \
    X(string, (const char *bytes, size_t len), (bytes, len))        \
    X(frame, (const pr_frame *frame), (frame))                      \
    X(process, (const pr_process *process), (process))              \
    X(thread, (const pr_thread *thread), (thread))                  \
    X(rename, (uint32_t thread, const char *name, size_t len),      \
      (thread, name, len))                                          \
    X(leave, (uint32_t thread), (thread))                           \
    X(rate, (const pr_rate *rate), (rate))                          \
    X(delta, (const pr_delta *delta), (delta))                      \
    X(count, (const pr_count *count), (count))                      \
    X(gc, (const pr_gc_event *event), (event))                      \
    X(task, (const pr_task *task), (task))                          \
    X(mark, (const pr_mark *mark), (mark))                          \
    X(total, (const pr_total *total), (total))                      \
    X(stats, (const pr_stats *stats), (stats))

/* The operations whose only parameter is a struct without pointers: operation,
 * struct. */
#define PR_SINK_FIXED_MAP(X) \
    X(start, pr_start)       \
    X(frame, pr_frame)       \
    X(rate, pr_rate)         \
    X(count, pr_count)       \
    X(gc, pr_gc_event)       \
    X(total, pr_total)       \
    X(stats, pr_stats)

/* The content of a parenthesised list. */
#define PR_SINK_LIST(...) __VA_ARGS__

typedef struct pr_sink pr_sink;

typedef struct pr_sink_ops {
#define PR_SINK_FIELD(op, params, args) \
    pr_code (*op)(pr_sink *, PR_SINK_LIST params, pr_err *);
    PR_SINK_MAP(PR_SINK_FIELD)
#undef PR_SINK_FIELD
    pr_code (*finish)(pr_sink *, pr_err *);
    void (*abort)(pr_sink *);
} pr_sink_ops;

/* First member of every concrete sink. */
struct pr_sink {
    const pr_sink_ops *ops;
    pr_sink *next; /* takes the calls that ops leaves NULL; NULL: dropped */
};

/* pr_sink_start(), pr_sink_meta(), ...: the first sink of the chain that has
 * the operation takes the call. */
#define PR_SINK_FORWARD(op, params, args)                                  \
    static inline pr_code pr_sink_##op(pr_sink *sink, PR_SINK_LIST params, \
                                       pr_err *err)                        \
    {                                                                      \
        while (!sink->ops->op) {                                           \
            if (!sink->next)                                               \
                return PR_OK;                                              \
            sink = sink->next;                                             \
        }                                                                  \
        return sink->ops->op(sink, PR_SINK_LIST args, err);                \
    }
PR_SINK_MAP(PR_SINK_FORWARD)
#undef PR_SINK_FORWARD

/* The same by the name of the operation. */
#define PR_SINK_CALL(sink, op, ...) pr_sink_##op((sink), __VA_ARGS__)

/* The progress of a long input.  report() is called now and then in the
 * caller's thread, and may be NULL; total 0: not known. */
typedef struct pr_progress {
    void (*report)(void *context, uint64_t current, uint64_t total);
    void *context;
} pr_progress;

#ifdef __cplusplus
}
#endif
#endif
