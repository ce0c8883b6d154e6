/*
 * standstill.h - times in which the target or the machine stood still, as
 * marks (PR_MARK_SUSPENDED).
 *
 * The kernel is asked every tenth of a second at most: a normal tick costs
 * nothing, and what is shorter may go unseen.
 */
#ifndef RECORDER_STANDSTILL_H
#define RECORDER_STANDSTILL_H

#include <pyrec/sink.h>
#include <stdbool.h>
#include <sys/types.h>

/* ---- the machine ---- */

/* Bounds of what CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, which stops while
 * the machine is suspended; ns. */
typedef struct rec_clock_gap {
    uint64_t least, most;
} rec_clock_gap;

/* From one clock read between two reads of the other. */
rec_clock_gap rec_clock_gap_of(uint64_t monotonic, uint64_t boot,
                               uint64_t monotonic_again);

/* How long the machine surely was suspended between the two, ns; 0 for what is
 * too short to be a suspension. */
uint64_t rec_clock_suspended(const rec_clock_gap *then,
                             const rec_clock_gap *now);

/* ---- the target ---- */

/* Why the process stands still ("stopped by a signal"), or NULL if it does
 * not: all its threads are stopped, or its cgroup is frozen. */
const char *rec_stands_still(pid_t pid);

/* ---- both, watched ---- */

typedef struct rec_spans {
    uint64_t n, ns;
} rec_spans;

typedef struct rec_standstill {
    pid_t pid;
    rec_clock_gap clocks;
    uint64_t next_us;        /* when to look again */
    const char *why;         /* the target stands still; NULL: it does not */
    uint64_t from_us, to_us; /* when it was seen so first and last */
    rec_spans spans;         /* told */
} rec_standstill;

void rec_standstill_init(rec_standstill *still, pid_t pid);

/* Look, if it is time to; tell what is over. */
pr_code rec_standstill_tick(rec_standstill *still, uint64_t now_us,
                            pr_sink *sink, pr_err *err);

/* Tell what still lasts. */
pr_code rec_standstill_end(rec_standstill *still, pr_sink *sink, pr_err *err);

#endif
