/*
 * metrics.h - the state of a recorder that runs on a schedule, as a file for a
 * monitoring system.
 *
 * The format is the text format of Prometheus, version 0.0.4, as the textfile
 * collector of its node exporter takes it: files that end in ".prom", renamed
 * into place so that none is read half-written.
 */
#ifndef RECORDER_METRICS_H
#define RECORDER_METRICS_H

#include "recorder/retention.h"

typedef struct rec_metrics {
    uint64_t recorded, failed, missed; /* recordings */
    uint64_t running, targets;         /* at present */
    double last_s, started_s;          /* since 1970; 0: none so far */
    double cpu_s;                      /* of this recorder, all in all */
    rec_folder_state folder;
} rec_metrics;

/* Write `path`, readable by all, and replace it in one step. */
pr_code rec_metrics_write(const rec_metrics *metrics, const char *path,
                          pr_err *err);

#endif
