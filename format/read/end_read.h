/*
 * end_read.h - what stands behind the segments of a finished file, read:
 * tables, index, statistics, footer (spec/format.md 4.3 to 4.6 and 6).
 */
#ifndef FORMAT_READ_END_READ_H
#define FORMAT_READ_END_READ_H

#include "format/bytes.h"
#include "format/read/input.h"

/* One segment, found by the index or by a search. */
typedef struct pf_segment {
    uint64_t data_at, data_size;
    uint64_t checkpoint_size; /* it stands behind the data frame */
    uint64_t first_us, last_us, samples;
    uint64_t record_bytes;
    bool lost; /* its checkpoint is damaged: nothing can be had from it */
} pf_segment;

/* The index: where everything is, and what it must be. */
typedef struct pf_index {
    uint64_t at, end; /* of the index itself */
    uint64_t header_check, tables_check, end_check;
    uint8_t rewrite;     /* version that a rewriter needs */
    pf_segment *segment; /* owned */
    size_t n;
    uint64_t region_end; /* behind the last segment: the string table */
    bool newer_rewriter;
} pf_index;

void pf_index_release(pf_index *index);

/* The index whose last byte is before `end`.  PR_END: there is none, or not a
 * whole one; PR_NEWER; PR_LIMIT; PR_IO, PR_NOMEM. */
pr_code pf_index_read(const pf_input *in, uint64_t end, bool swapped,
                      pf_index *ret, pr_err *err);

/* Statistics and footer, which end at `end`. */
typedef struct pf_footer {
    uint64_t at; /* of the statistics, or of the footer without them */
    pr_stats stats;
    uint32_t strings, frames;
    uint64_t file_size;
} pf_footer;

pr_code pf_footer_read(const pf_input *in, uint64_t end, bool swapped,
                       pf_footer *ret, pr_err *err);

#endif
