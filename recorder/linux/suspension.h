/*
 * suspension.h - is the target stopped or frozen, was the machine suspended?
 */
#ifndef RECORDER_LINUX_SUSPENSION_H
#define RECORDER_LINUX_SUSPENSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- the machine ---- */

/* Bounds of the lead of CLOCK_BOOTTIME over CLOCK_MONOTONIC, which stops while
 * the machine is suspended; ns. */
typedef struct rec_clock_gap {
    uint64_t least, most;
} rec_clock_gap;

/* From one clock read between two reads of the other. */
rec_clock_gap rec_clock_gap_of(uint64_t monotonic, uint64_t boot,
                               uint64_t monotonic_again);

rec_clock_gap rec_clock_gap_read(void);

/* The time for which the machine was surely suspended between the two, ns; 0
 * for a time too short to be a suspension. */
uint64_t rec_clock_suspended(const rec_clock_gap *then,
                             const rec_clock_gap *now);

/* ---- the target ---- */

/* The reason why the process stands still ("stopped by a signal"): all its
 * threads are stopped, or its cgroup is frozen.  NULL: it does not. */
const char *rec_is_suspended(pid_t pid);

#endif
