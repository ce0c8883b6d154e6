/*
 * segment_search.h - find the segments of a file without an index, or with a
 * damaged part.
 */
#ifndef FORMAT_READ_SEGMENT_SEARCH_H
#define FORMAT_READ_SEGMENT_SEARCH_H

#include "format/read/checkpoint_read.h"
#include "format/read/input.h"

/* A whole checkpoint, as a search found it. */
typedef struct pf_found {
    uint64_t at, size; /* of the skippable frame */
    uint32_t number;
    uint64_t family;                /* checksum of its file's checkpoint 0 */
    uint64_t data_size, data_check; /* of the data frame before it */
} pf_found;

/* A search of one file.  `budget` limits the bytes of false checkpoints that it
 * checks: a file of nothing else must not cost the square of its size. */
typedef struct pf_search {
    const pf_input *in;
    bool swapped;
    uint64_t end; /* no checkpoint ends after it */
    uint64_t budget;
    bool traces;  /* the file holds the first bytes of a checkpoint */
    pf_buf frame; /* of the candidate */
} pf_search;

void pf_search_begin(pf_search *search, const pf_input *in, bool swapped,
                     uint64_t end);
void pf_search_end(pf_search *search);

/* Find the first whole checkpoint whose data frame can begin at or after `at`.
 * PR_END: there is none.  PR_NEWER, PR_IO, PR_NOMEM. */
pr_code pf_search_next(pf_search *search, uint64_t at, pf_found *ret,
                       pr_err *err);

/* The kind of the bytes from `at` on, by the headers of a zstd data frame and
 * its blocks (RFC 8878 3.1.1). */
typedef enum pf_frame_state {
    PF_FRAME_NONE, /* not the beginning of a data frame */
    PF_FRAME_OPEN, /* a data frame that does not end before `end` */
    PF_FRAME_WHOLE /* a data frame that ends at *ret_end */
} pf_frame_state;

pr_code pf_zstd_frame(const pf_input *in, uint64_t at, uint64_t end,
                      pf_frame_state *ret, uint64_t *ret_end, pr_err *err);

/* Are the bytes from `at` to the end of the file none, or the beginning of a
 * segment? */
pr_code pf_begins_segment(const pf_input *in, uint64_t at, bool *ret,
                          pr_err *err);

#endif
