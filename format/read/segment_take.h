/*
 * segment_take.h - take the body of a whole checkpoint into the reader: its
 * segment, its names, and the records that a replay emits later.
 */
#ifndef FORMAT_READ_SEGMENT_TAKE_H
#define FORMAT_READ_SEGMENT_TAKE_H

#include "format/read/reader_internal.h"

/* The state between one checkpoint and the next. */
typedef struct pf_taking {
    pf_reader *r;
    pf_buf frame, body;               /* of the present checkpoint */
    uint32_t next_number;             /* of the next segment */
    uint32_t next_string, next_frame; /* ids, while no checkpoint is lost */
    uint64_t samples;                 /* so far, by the last checkpoint */
    uint64_t unpacked;                /* bytes of all bodies and records */
    uint8_t header[PF_HEADER_SIZE];   /* the first copy in a checkpoint */
    bool has_header;
    bool family_known;
    uint64_t family; /* checksum of checkpoint 0 */
} pf_taking;

void pf_taking_begin(pf_taking *taking, pf_reader *r);
void pf_taking_end(pf_taking *taking);

/* Read and check the checkpoint of the segment at s->data_at, whose two sizes
 * the caller has set, and set s->number and s->data_check.  PR_DAMAGED,
 * PR_FOREIGN or PR_CUT: no whole checkpoint of this file is there; PR_NEWER,
 * PR_IO, PR_NOMEM. */
pr_code pf_taking_load(pf_taking *taking, pf_segment *s, pf_checkpoint *ret,
                       pr_err *err);

/* Take the body of the checkpoint that was loaded last, and add its segment to
 * the reader.  PR_DAMAGED: the body is wrong, and the reader took nothing of
 * it; PR_NEWER, PR_LIMIT, PR_NOMEM. */
pr_code pf_taking_take(pf_taking *taking, pf_segment *s,
                       const pf_checkpoint *checkpoint, pr_err *err);

#endif
