/*
 * sampler.h - the times of samples, their CPUs, and the outcome of each tick.
 *
 * The sampler has one pinned thread for each CPU that it needs.  A thread
 * sleeps until another one hands it the unwinder: exactly one works at a time.
 */
#ifndef RECORDER_SAMPLER_H
#define RECORDER_SAMPLER_H

#include "recorder/suspension_watch.h"
#include <pyrec/unwinder.h>

/* ---- the schedule: pure functions of time ---- */

/* Tick i is due at start + i * period + a random part below half a period, so
 * that ticks do not lock in phase with the target. */
typedef struct rec_schedule {
    uint64_t start_ns, period_ns, seed;
} rec_schedule;

uint64_t rec_schedule_grid(const rec_schedule *schedule, uint64_t tick);
uint64_t rec_schedule_due(const rec_schedule *schedule, uint64_t tick);

/* The last tick whose grid is not later than now_ns. */
uint64_t rec_schedule_present(const rec_schedule *schedule, uint64_t now_ns);

/* The first tick after `tick` that is not overdue at now_ns: no burst makes up
 * for a stall.  The ticks in between are missed. */
uint64_t rec_schedule_next(const rec_schedule *schedule, uint64_t tick,
                           uint64_t now_ns);

/* Ticks that are this late, or this long without one, are a gap: ten periods,
 * and at least a tenth of a second. */
uint64_t rec_schedule_stall_ns(const rec_schedule *schedule);

/* ---- the sampler ---- */

/* Pending samples and the counters are emitted this often. */
enum { REC_FLUSH_US = 450000 };

typedef struct rec_sampler rec_sampler; /* opaque */

typedef struct rec_sampler_opts {
    uint64_t start_ns; /* CLOCK_MONOTONIC, zero of the samples' clock */
    uint64_t period_ns;
    uint64_t duration_ns; /* from the first tick on; 0: until it is stopped or
                           * the target ends */
    uint64_t seed;
    bool pinned;   /* a thread for each CPU of the target; else one thread,
                    * anywhere */
    bool polls;    /* not pinned: sleep through no period that is too short */
    bool realtime; /* SCHED_FIFO */
} rec_sampler_opts;

/* Start, after rec_tick_prepare().  The sink is the queue that the unwinder
 * emits to. */
pr_code rec_sampler_start(rec_unwinder *unwinder, pr_sink *queue,
                          const rec_sampler_opts *opts, rec_sampler **ret,
                          pr_err *err);

/* A descriptor that becomes readable when the sampler has ended by itself. */
int rec_sampler_fd(const rec_sampler *sampler);

/* Ask the sampler to end. */
void rec_sampler_stop(rec_sampler *sampler);

/* Has it ended?  Waits for that at most this long. */
bool rec_sampler_has_ended(const rec_sampler *sampler, int wait_ms);

/* Has a tick been completed? */
bool rec_sampler_has_ticked(const rec_sampler *sampler);

/* Does one of its threads run, or wait for a processor? */
bool rec_sampler_is_runnable(const rec_sampler *sampler);

/* Set another distance of ticks, from the next tick on; the file keeps it. */
void rec_sampler_set_period(rec_sampler *sampler, uint64_t period_ns);

/* CPU time that its threads used so far. */
uint64_t rec_sampler_cpu_ns(const rec_sampler *sampler);

typedef struct rec_sampler_report {
    const char *policy; /* how its threads were scheduled: "nslice", "slice",
                         * "fifo", "other" */
    bool strayed;       /* the sampler may not run on some CPU of the target */
    bool polled;        /* periods were too short to sleep through */
    uint64_t cpu_ns;    /* that they used */
    uint64_t end_ns;    /* CLOCK_MONOTONIC when the last tick was over */
    rec_spans gaps;     /* nothing could be sampled */
    rec_spans stood;    /* the target or the machine stood still */
} rec_sampler_report;

/* Add the report of another sampler: its times, its gaps, and the worse of the
 * two in all that has an order. */
void rec_sampler_report_add(rec_sampler_report *sum,
                            const rec_sampler_report *report);

/* Wait for its end and free it.  PR_OK: the duration is over or it was
 * stopped; PR_NO_PROCESS: the target ended; else why it failed.  *ret is
 * filled in any case. */
pr_code rec_sampler_join(rec_sampler *sampler, rec_sampler_report *ret,
                         pr_err *err);

#endif
