/*
 * end_write.h - the parts that complete a file: tables, index, statistics,
 * footer and the final header (spec/format.md 4.1, 4.3 to 4.6, 6).
 */
#ifndef FORMAT_WRITE_END_WRITE_H
#define FORMAT_WRITE_END_WRITE_H

#include "format/write/checkpoint_pending.h"
#include <pyrec/error.h>
#include <pyrec/profile.h>

/* The facts about the whole profile, at its end. */
typedef struct pf_ending {
    uint64_t at; /* where the tail begins in the file */
    uint64_t samples;
    uint32_t threads;
    const pr_stats *stats;
    const pf_list *index; /* a line for each segment (6); NULL: a plain file */
} pf_ending;

/* Complete the header and make the tail, in the buffer of notes->strings, which
 * becomes empty.  The caller frees ret->p, also on failure.  PR_NOMEM. */
pr_code pf_end_make(const pf_ending *ending, pf_pending *notes,
                    uint8_t header[PF_HEADER_SIZE], pf_buf *ret, pr_err *err);

#endif
