/*
 * sink.h - the one interface through which a profile flows.
 *
 * Whatever produces a profile (the unwinder, the reader) calls a sink;
 * whatever consumes one (the writer, the model, a counter) is a sink.
 *
 * What a producer promises
 *  P1 start() comes first and once; exactly one of finish() or abort() last.
 *  P2 strings, frames and threads are told, each with the next free id,
 *     before anything that uses them.
 *  P3 deltas of one thread come in time order; threads interleave freely and
 *     not in global time order.
 *  P4 pointers are valid for the call only.
 *  P5 after a call that returned anything but PR_OK, only abort() follows.
 * What a sink promises
 *  S1 finish() makes the output whole or fails; abort() leaves nothing
 *     half-written and cannot fail.  Either ends the sink: its memory is
 *     freed, the pointer is dead.  finish() that fails has freed it too.
 *  S2 a sink that ignores a kind of call leaves the pointer NULL.
 */
#ifndef PYREC_SINK_H
#define PYREC_SINK_H

#include <pyrec/error.h>
#include <pyrec/profile.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pr_sink pr_sink;

typedef struct pr_sink_ops {
    pr_code (*start)(pr_sink *, const pr_start *, pr_err *);
    pr_code (*meta)(pr_sink *, const char *key, const char *value,
                    size_t value_len, pr_err *); /* a later value wins */
    pr_code (*string)(pr_sink *, const char *bytes, size_t len, pr_err *);
    pr_code (*frame)(pr_sink *, const pr_frame *, pr_err *);
    pr_code (*thread)(pr_sink *, const pr_thread *, pr_err *);
    /* a thread's name became known or changed */
    pr_code (*rename)(pr_sink *, uint32_t thread, const char *name, size_t len,
                      pr_err *);
    /* a thread ended; if a delta of it comes yet, it keeps nothing */
    pr_code (*leave)(pr_sink *, uint32_t thread, pr_err *);
    pr_code (*delta)(pr_sink *, const pr_delta *, pr_err *);
    pr_code (*count)(pr_sink *, const pr_count *, pr_err *);
    pr_code (*gc)(pr_sink *, const pr_gc_event *, pr_err *);
    pr_code (*task)(pr_sink *, const pr_task *, pr_err *);
    pr_code (*mark)(pr_sink *, const pr_mark *, pr_err *);
    pr_code (*stats)(pr_sink *, const pr_stats *, pr_err *);
    pr_code (*finish)(pr_sink *, pr_err *);
    void (*abort)(pr_sink *);
} pr_sink_ops;

/* First member of every concrete sink. */
struct pr_sink {
    const pr_sink_ops *ops;
};

/* Callers use these: they skip what a sink ignores. */
#define PR_SINK_CALL(sink, op, ...) \
    ((sink)->ops->op ? (sink)->ops->op((sink), __VA_ARGS__) : PR_OK)

/* Told now and then by whoever reads a long input; total 0: not known. */
typedef struct pr_progress {
    void (*report)(void *context, uint64_t current, uint64_t total);
    void *context;
} pr_progress;

#ifdef __cplusplus
}
#endif
#endif
