/*
 * record.h - record one process into one file, by unwinder, sampler, queue and
 * writer.
 */
#ifndef RECORDER_RECORD_H
#define RECORDER_RECORD_H

#include "recorder/bounded_call.h"
#include "recorder/metadata.h"
#include "recorder/sampler.h"
#include <pyrec/writer.h>

typedef struct rec_record rec_record; /* opaque */

/* Texts and labels must outlive the recording. */
typedef struct rec_record_opts {
    rec_unwinder_opts unwinder;
    rec_metadata metadata;
    uint64_t period_ns;
    uint64_t duration_ns; /* 0: until rec_record_stop() */
    bool force, fsync, realtime;
} rec_record_opts;

/* The result of a recording, or the sum of several. */
typedef struct rec_report {
    uint64_t proven, sleeping, unproven, stopped, lost;
    uint64_t ticks, missed, missed_queue, truncated, degraded, gc_lost;
    uint64_t wall_ns; /* of a sum: the longest */
    uint64_t held_ns; /* it was stopped while its sampler waited */
    rec_sampler_report sampler;
    pf_writer_stats written;
    rec_stats stats;
    bool colocated; /* the sampler ran on the CPU of the target */
    bool hung;      /* the kernel held the sampler: the end is missing */
} rec_report;

uint64_t rec_report_samples(const rec_report *report);

/* Add the report of another process. */
void rec_report_add(rec_report *sum, const rec_report *report);

/* Attach to pid. *ret_held: the kernel holds a read of its memory, and the time
 * of the bound is over; PR_IO.  Without a bound (NULL) this waits.  Other codes
 * as rec_unwinder_open().  With err NULL the reason costs no time. */
pr_code rec_record_attach(const rec_record_opts *opts, pid_t pid,
                          const rec_bound *bound, rec_record **ret,
                          bool *ret_held, pr_err *err);

/* Set *err to the reason of a held attach; PR_IO. */
pr_code rec_record_explain_held(pid_t pid, pr_err *err);

/* Create `output`, find the threads, start sampling.  On failure the record is
 * gone, and `output` too.  *ret_held as above. */
pr_code rec_record_begin(rec_record *record, const char *output,
                         const rec_bound *bound, bool *ret_held, pr_err *err);

/* Free a record that did not begin.  Takes NULL. */
void rec_record_free(rec_record *record);

/* A descriptor that becomes readable when the recording ended by itself. */
int rec_record_fd(const rec_record *record);

/* Ask the recording to end. */
void rec_record_stop(rec_record *record);

/* Did it fail to end within REC_RECORD_END_MS after it was asked to, although
 * its sampler does not wait for a processor?  rec_record_finish() ends it
 * without its sampler then. */
enum { REC_RECORD_END_MS = 700 };
bool rec_record_is_overdue(const rec_record *record);

/* Set another distance of ticks. */
void rec_record_set_period(rec_record *record, uint64_t period_ns);

/* CPU time of its sampler so far. */
uint64_t rec_record_cpu_ns(const rec_record *record);

/* Note for the file how children were watched, and the numbers of those that
 * were seen and that ended too early.  Before rec_record_finish(). */
void rec_record_note_children(rec_record *record, const char *how,
                              uint64_t seen, uint64_t gone);

/* Wait for its end, at most REC_RECORD_END_MS after it was asked to; complete
 * the file; free.  A sampler that waits for a processor has ten seconds.  PR_OK
 * also when the target has ended.  Without a sample: PR_NO_PROCESS if the
 * target ended before the first one, PR_IO if the kernel holds the read of its
 * memory, or PR_TORN, with the reason. */
pr_code rec_record_finish(rec_record *record, rec_report *ret, pr_err *err);

#endif
