/*
 * duration.h - lengths of time as a person types them.
 */
#ifndef BASE_DURATION_H
#define BASE_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The forms, for a message. */
#define PR_DURATION_FORMS "0.5, 12.5s, 800ms, 2m or 00:01:30"

/* A number of seconds, or one with a unit: ns, us, ms, s or sec, m or min, h, d
 * (upper or lower case); or MM:SS or HH:MM:SS, of which the seconds may have decimals.
 * In nanoseconds, rounded.  False: at[0 .. len-1] is not a
 * duration as a whole, or more than 2^64-1 ns (584 years); *ret_ns is as
 * before. */
bool pr_duration_parse(const char *at, size_t len, uint64_t *ret_ns);

#endif
