/*
 * stream.h - read the sample region of a CPython file, piece by piece.
 *
 * The region is raw, or one or more zstd frames, with skippable frames among
 * them.
 */
#ifndef FORMAT_READ_STREAM_H
#define FORMAT_READ_STREAM_H

#include "format/read/input.h"

#include <stdbool.h>

typedef struct pf_stream pf_stream;

/* Begin at the region [at, end).  PR_NOMEM. */
pr_code pf_stream_new(const pf_input *in, uint64_t at, uint64_t end,
                      bool compressed, pf_stream **ret, pr_err *err);
void pf_stream_free(pf_stream *stream); /* takes NULL */

/* Drop the first `used` bytes of the piece, and read on after its rest.  The
 * new piece has PF_PIECE_SIZE bytes, or PF_PIECE_MAX if the rest has
 * PF_PIECE_SIZE or more.  It is shorter if the region ends with it, with
 * *ret_more false, or before a fault, which the next call returns.  PR_DAMAGED,
 * PR_CUT, PR_IO. */
pr_code pf_stream_next(pf_stream *stream, size_t used, const uint8_t **ret,
                       size_t *ret_n, bool *ret_more, pr_err *err);

/* The bytes dropped so far, which is where the piece begins. */
uint64_t pf_stream_at(const pf_stream *stream);

#endif
