/*
 * counters.h - the unwinder's counters by the names that CPython 3.15 gives
 * them, for the file and for the summary.
 */
#ifndef RECORDER_COUNTERS_H
#define RECORDER_COUNTERS_H

#include <pyrec/unwinder.h>

/* The part in percent of the whole; 0 if the whole is 0. */
double rec_percent(uint64_t part, uint64_t whole);

/* The name of the i-th counter or rate, and *ret_value, a number as text; NULL
 * past the end. */
const char *rec_counter_get(const rec_stats *stats, size_t i, char *ret_value,
                            size_t size);

/* Add the counters of another process. */
void rec_counters_add(rec_stats *sum, const rec_stats *stats);

#endif
