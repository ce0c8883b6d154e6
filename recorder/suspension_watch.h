/*
 * suspension_watch.h - suspensions of the target and of the machine, as marks
 * of the profile (PR_MARK_SUSPENDED).
 *
 * pyrec asks the kernel every tenth of a second at most: a normal tick costs
 * nothing, and a shorter suspension may go unseen.
 */
#ifndef RECORDER_SUSPENSION_WATCH_H
#define RECORDER_SUSPENSION_WATCH_H

#include "recorder/linux/suspension.h"
#include <pyrec/sink.h>

typedef struct rec_spans {
    uint64_t n, ns;
} rec_spans;

typedef struct rec_suspension {
    pid_t pid;
    rec_clock_gap clocks;
    uint64_t next_us;        /* time of the next check */
    const char *why;         /* the target stands still; NULL: it does not */
    uint64_t from_us, to_us; /* the first and the last check that found it */
    rec_spans spans;         /* emitted */
} rec_suspension;

void rec_suspension_init(rec_suspension *still, pid_t pid);

/* Check, if it is time to; emit a mark of a suspension that is over. */
pr_code rec_suspension_tick(rec_suspension *still, uint64_t now_us,
                            pr_sink *sink, pr_err *err);

/* Emit a mark of a suspension that still lasts. */
pr_code rec_suspension_end(rec_suspension *still, pr_sink *sink, pr_err *err);

#endif
