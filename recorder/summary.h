/*
 * summary.h - the text about a finished recording: its contents, how far to
 * trust it and why, and the next command to type.
 */
#ifndef RECORDER_SUMMARY_H
#define RECORDER_SUMMARY_H

#include "recorder/linux/descendants.h"
#include "recorder/options.h"
#include "recorder/record.h"
#include <stdio.h>

/* One run of pyrec: a process, or the sum over a process tree. */
typedef struct rec_summary {
    const rec_report *report;
    pid_t pid;           /* of the first file */
    uint64_t files;      /* at least 1 */
    const char *output;  /* the first file */
    const char *pattern; /* of the names of the others; NULL: one process */
    uint64_t wall_ns;    /* of the run */
    uint64_t gone;       /* descendants that could not be recorded */
    const rec_descendants_report *children; /* NULL: not watched */
} rec_summary;

/* Over this share of missed ticks, or of lost or unproven samples, a recording
 * is bad, and the first line says so; over this share of the targets' time, its
 * cost is. */
#define REC_SUMMARY_BAD_PERCENT 10

/* Three lines, one more if the recording is bad or cost much, and with --stats
 * everything else. */
void rec_summary_print(FILE *to, const rec_summary *summary,
                       const rec_options *options);

#endif
