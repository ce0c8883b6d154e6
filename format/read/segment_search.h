/*
 * segment_search.h - find the segments of a file that has no index, or of which a
 * part is damaged.
 */
#ifndef FORMAT_READ_SEGMENT_SEARCH_H
#define FORMAT_READ_SEGMENT_SEARCH_H

#include "format/read/checkpoint_read.h"
#include "format/read/input.h"

/* A whole checkpoint, as a search found it. */
typedef struct pf_found {
    uint64_t at, size;           /* of the skippable frame */
    uint64_t data_at, data_size; /* of the data frame before it */
} pf_found;

/* A search of one file.  `budget` is how many bytes of false checkpoints it
 * still may check: a file made of nothing else must not cost its square. */
typedef struct pf_search {
    const pf_input *in;
    bool swapped;
    uint64_t end; /* no checkpoint ends behind it */
    uint64_t budget;
    bool traces;  /* met what begins as one does, whole or not */
    bool damaged; /* met a checkpoint that is whole in length only */
    pf_buf frame; /* of the checkpoint that is looked at */
} pf_search;

void pf_search_begin(pf_search *search, const pf_input *in, bool swapped,
                     uint64_t end);
void pf_search_end(pf_search *search);

/* The first whole checkpoint whose data frame begins at or behind `at`.
 * PR_END: there is none.  PR_NEWER, PR_IO, PR_NOMEM. */
pr_code pf_search_next(pf_search *search, uint64_t at, pf_found *ret,
                       pr_err *err);

/* Where the zstd data frame that begins at `at` ends, by the headers of its
 * blocks; 0: it is no zstd frame or does not end before `end`. */
pr_code pf_zstd_frame_end(const pf_input *in, uint64_t at, uint64_t end,
                          uint64_t *ret, pr_err *err);

#endif
