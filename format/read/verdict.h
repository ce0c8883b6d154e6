/*
 * verdict.h - the state of a file with checkpoints: its faults, and the samples
 * that are lost (spec/format.md 7.5 to 7.7).
 */
#ifndef FORMAT_READ_VERDICT_H
#define FORMAT_READ_VERDICT_H

#include "format/read/reader_internal.h"

/* The places of the segments, after all whole ones were taken. */
typedef struct pf_layout {
    bool in_place;         /* they lie back to back from byte 64 on, in order */
    uint64_t misplaced_at; /* where the first one of the others should be */
    uint64_t end;          /* of the last segment in the file */
    uint64_t others;       /* whole checkpoints of another file */
    uint64_t others_at;    /* the first of them */
    uint64_t repeated;     /* whole segments that stand twice */
    const uint8_t *header; /* HEADER; NULL: no whole checkpoint has it */
} pf_layout;

/* Compare header, tables, statistics and footer with the segments and with each
 * other, check the data frames, and note faults and losses.  PR_LIMIT, PR_IO,
 * PR_NOMEM. */
pr_code pf_judge(pf_reader *r, const pf_layout *layout, pr_err *err);

#endif
