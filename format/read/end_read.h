/*
 * end_read.h - read index, statistics and footer of a finished file
 * (spec/format.md 4.5, 4.6 and 6).
 */
#ifndef FORMAT_READ_END_READ_H
#define FORMAT_READ_END_READ_H

#include "format/bytes.h"
#include "format/read/input.h"

/* A line of the index. */
typedef struct pf_index_row {
    uint64_t data_size, checkpoint_size;
    uint64_t first_us, last_us, samples;
} pf_index_row;

/* The index: the places of all parts, and their checksums. */
typedef struct pf_index {
    uint64_t at, end; /* of the index itself */
    uint64_t header_check, tables_check, end_check;
    pf_index_row *row; /* owned */
    size_t n;
    uint64_t region_end; /* after the last segment: the string table */
    bool newer_rewriter;
} pf_index;

void pf_index_release(pf_index *index);

/* Read the index whose last byte is before `end`.  PR_END: there is none, or it
 * is not whole; PR_NEWER; PR_IO, PR_NOMEM. */
pr_code pf_index_read(const pf_input *in, uint64_t end, bool swapped,
                      pf_index *ret, pr_err *err);

/* Statistics and footer. */
typedef struct pf_footer {
    uint64_t at;    /* of the statistics; without them, of the footer */
    pr_stats stats; /* without PR_STATS_PRESENT: none */
    uint32_t strings, frames;
    uint64_t file_size;
} pf_footer;

/* Read statistics and footer, which end at `end`.  PR_CUT, PR_IO. */
pr_code pf_footer_read(const pf_input *in, uint64_t end, bool swapped,
                       pf_footer *ret, pr_err *err);

#endif
