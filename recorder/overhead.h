/*
 * overhead.h - the rate at which all recordings together cost no more than a
 * share of time (--overhead).
 *
 * The cost is the CPU time of the samplers: the targets lose no more than that.
 * It is measured over a quarter of a second or more, and sets the distance of
 * ticks.  The functions are pure arithmetic, so that tests can call them.
 */
#ifndef RECORDER_OVERHEAD_H
#define RECORDER_OVERHEAD_H

#include <stdint.h>

typedef struct rec_overhead {
    double bound;           /* a share of time */
    uint64_t nominal_ns;    /* never shorter than this */
    uint64_t period_ns;     /* the present distance of ticks */
    uint64_t at_ns, cpu_ns; /* the end of the last window, and its cost */
} rec_overhead;

/* Begins at a rate that is low enough if a sample costs 100 us. */
rec_overhead rec_overhead_begin(double bound, uint64_t nominal_ns,
                                uint64_t now_ns);

/* cpu_ns: of all samplers that run now.  Updates period_ns once per window. */
void rec_overhead_update(rec_overhead *overhead, uint64_t now_ns,
                         uint64_t cpu_ns);

#endif
