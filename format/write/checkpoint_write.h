/*
 * checkpoint_write.h - a segment as it reaches the file: the zstd frame of its
 * records and the skippable frame of its checkpoint (spec/format.md 5).
 */
#ifndef FORMAT_WRITE_CHECKPOINT_WRITE_H
#define FORMAT_WRITE_CHECKPOINT_WRITE_H

#include "format/write/checkpoint_pending.h"
#include "format/write/encoder.h"

/* Makes segments from an encoder and its notes; the next segment reuses the
 * buffers. */
typedef struct pf_packer {
    struct ZSTD_CCtx_s *zstd;
    int level;
    pf_buf body;          /* typed records */
    pf_buf out;           /* data frame, then checkpoint */
    size_t data_bytes;    /* of the data frame in out */
    uint64_t first_check; /* of checkpoint 0, once it is packed */
} pf_packer;

pr_code pf_packer_init(pf_packer *packer, int level, pr_err *err);
void pf_packer_release(pf_packer *packer);

/* Fill packer->out with the next segment.  header: the PF_HEADER_SIZE bytes for
 * a checkpoint that describes the recording (pf_pending_describe()), else
 * NULL.  PR_LIMIT, PR_NOMEM, PR_INTERNAL. */
pr_code pf_packer_pack(pf_packer *packer, const pf_encoder *e,
                       const pf_pending *notes, const uint8_t *header,
                       pr_err *err);

#endif
