/*
 * summary.h - the text about a finished recording: its contents, its flaws, and
 * the next command to type.
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

/* The warnings of several runs, which follow the last one; see
 * rec_options.tally. */
enum { REC_FLAW_MISSED, REC_FLAW_BIASED, REC_FLAW_COST, REC_FLAWS };
typedef struct rec_tally {
    unsigned runs; /* with a summary */
    struct {
        unsigned runs;   /* of them, with this flaw */
        double percent;  /* the largest */
        const char *why; /* of the largest; static */
    } flaw[REC_FLAWS];
} rec_tally;

/* Over this share of missed ticks, or of lost or unproven samples, a recording
 * is bad, and the first line says so; over this share of the targets' time, its
 * cost is. */
#define REC_SUMMARY_BAD_PERCENT 10

/* Three lines, one more if the recording is bad or cost much, and with --stats
 * everything else.  With options->tally it has neither the warnings, which the
 * tally then counts, nor the next command. */
void rec_summary_print(FILE *to, const rec_summary *summary,
                       const rec_options *options);

/* One line for each flaw that a run had. */
void rec_tally_print(FILE *to, const rec_tally *tally);

#endif
