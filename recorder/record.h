/*
 * record.h - one process recorded into one file: unwinder, sampler, queue and
 * writer put together.
 */
#ifndef RECORDER_RECORD_H
#define RECORDER_RECORD_H

#include "recorder/options.h"
#include "recorder/sampler.h"
#include <pyrec/writer.h>

typedef struct rec_record rec_record; /* opaque */

/* What became of a recording. */
typedef struct rec_report {
    uint64_t proven, sleeping, unproven, stopped, lost;
    uint64_t ticks, missed, missed_queue, late, retries, hops, truncated;
    uint64_t degraded, gc_lost;
    uint64_t wall_ns;
    rec_sampler_report sampler;
    pf_writer_stats written;
    rec_stats stats;
    bool colocated; /* the sampler ran on the CPU of the target */
} rec_report;

uint64_t rec_report_samples(const rec_report *report);
double rec_percent(uint64_t part, uint64_t whole);

/* Attach to pid, create `output`, start sampling until the options' duration
 * is over counted from origin_ns (CLOCK_MONOTONIC). */
pr_code rec_record_start(const rec_options *options, pid_t pid,
                         const char *output, uint64_t origin_ns,
                         rec_record **ret, pr_err *err);

/* A descriptor that becomes readable when the recording ended by itself. */
int rec_record_fd(const rec_record *record);

/* Ask it to end. */
void rec_record_stop(rec_record *record);

/* What is known of its children, for the file: how they were looked for, how
 * many were seen, and how many ended too early.  Before rec_record_finish(). */
void rec_record_note_children(rec_record *record, const char *how,
                              uint64_t seen, uint64_t gone);

/* Wait for its end, complete the file, free.  PR_OK also when the target has
 * ended; PR_NO_PROCESS if it did before the first sample. */
pr_code rec_record_finish(rec_record *record, rec_report *ret, pr_err *err);

/* Counters and rates by the names CPython 3.15 has for them; NULL past the
 * end.  *ret_value is a number as text. */
const char *rec_counter_get(const rec_stats *stats, size_t i, char *ret_value,
                            size_t size);

#endif
