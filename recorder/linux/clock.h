/*
 * clock.h - the kernel's clocks in nanoseconds.
 */
#ifndef RECORDER_LINUX_CLOCK_H
#define RECORDER_LINUX_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t
rec_clock_ns(clockid_t clock)
{
    struct timespec t = {0};
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint64_t
rec_now_ns(void)
{
    return rec_clock_ns(CLOCK_MONOTONIC);
}

#endif
