/*
 * stream.h - the sample region of a CPython file, piece by piece: raw, or as
 * one or more zstd frames among which skippable ones may stand.
 */
#ifndef FORMAT_READ_STREAM_H
#define FORMAT_READ_STREAM_H

#include "format/read/input.h"

#include <stdbool.h>

typedef struct pf_stream pf_stream;

pr_code pf_stream_new(const pf_input *in, uint64_t at, uint64_t end,
                      bool compressed, pf_stream **ret, pr_err *err);
void pf_stream_free(pf_stream *stream); /* takes NULL */

/* Drop the first `used` bytes of the piece and read on after the rest.
 * The piece is PF_PIECE_SIZE bytes, PF_PIECE_MAX if so many were left, unless
 * the region ends with it (*ret_more is false then). */
pr_code pf_stream_next(pf_stream *stream, size_t used, const uint8_t **ret,
                       size_t *ret_n, bool *ret_more, pr_err *err);

/* Bytes handed out and dropped so far: where the piece begins. */
uint64_t pf_stream_at(const pf_stream *stream);

#endif
