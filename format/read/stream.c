/*
 * stream.c - read the sample region of a CPython file, piece by piece.
 */
#include "format/read/stream.h"
#include "format/limits.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct pf_stream {
    const pf_input *in;
    uint64_t at, end; /* the bytes still to read */
    ZSTD_DCtx *zstd;  /* NULL: raw */
    size_t pending;   /* zstd's last answer: 0 at the end of a frame */
    ZSTD_inBuffer read;
    uint8_t *read_bytes;
    uint8_t *piece;
    size_t have, wanted;
    uint64_t dropped;
    pr_err failed; /* returned after all bytes that were read before it */
};

pr_code
pf_stream_new(const pf_input *in, uint64_t at, uint64_t end, bool compressed,
              pf_stream **ret, pr_err *err)
{
    pf_stream *s = calloc(1, sizeof *s);
    if (s) {
        *s = (pf_stream){.in = in, .at = at, .end = end, .failed = PR_ERR_INIT};
        s->piece = malloc(PF_PIECE_MAX);
        s->read_bytes = malloc(PF_INPUT_PIECE);
        s->zstd = compressed ? ZSTD_createDCtx() : NULL;
    }
    if (!s || !s->piece || !s->read_bytes || (compressed && !s->zstd)) {
        pf_stream_free(s);
        return pr_no_memory(err);
    }
    if (s->zstd)
        ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, PF_WINDOW_LOG_MAX);
    *ret = s;
    return PR_OK;
}

void
pf_stream_free(pf_stream *s)
{
    if (!s)
        return;
    ZSTD_freeDCtx(s->zstd);
    free(s->read_bytes);
    free(s->piece);
    free(s);
}

uint64_t
pf_stream_at(const pf_stream *s)
{
    return s->dropped;
}

static pr_code
fill_raw(pf_stream *s, pr_err *err)
{
    uint64_t left = s->end - s->at;
    size_t room = s->wanted - s->have;
    size_t n = left < room ? (size_t)left : room;
    pr_code code = pf_input_read(s->in, s->at, s->piece + s->have, n, err);
    if (code != PR_OK)
        return code;
    s->at += n;
    s->have += n;
    return PR_OK;
}

static pr_code
read_on(pf_stream *s, pr_err *err)
{
    uint64_t left = s->end - s->at;
    size_t n = left < PF_INPUT_PIECE ? (size_t)left : PF_INPUT_PIECE;
    pr_code code = pf_input_read(s->in, s->at, s->read_bytes, n, err);
    if (code != PR_OK)
        return code;
    s->at += n;
    s->read = (ZSTD_inBuffer){s->read_bytes, n, 0};
    return PR_OK;
}

/* zstd may hold output back although it has taken all input. */
static bool
zstd_is_done(const pf_stream *s)
{
    return s->read.pos == s->read.size && s->at == s->end;
}

static pr_code
fill_zstd(pf_stream *s, pr_err *err)
{
    while (s->have < s->wanted) {
        if (s->read.pos == s->read.size && s->at < s->end) {
            pr_code code = read_on(s, err);
            if (code != PR_OK)
                return code;
        }
        if (zstd_is_done(s) && s->pending == 0)
            return PR_OK;
        ZSTD_outBuffer out = {s->piece, s->wanted, s->have};
        size_t before = s->have, taken = s->read.pos;
        s->pending = ZSTD_decompressStream(s->zstd, &out, &s->read);
        uint64_t place = s->at - (s->read.size - s->read.pos);
        if (ZSTD_isError(s->pending))
            return PR_FAIL_AT(err, PR_DAMAGED, place,
                              "the samples do not decompress: %s",
                              ZSTD_getErrorName(s->pending));
        s->have = out.pos;
        if (s->have == before && s->read.pos == taken && zstd_is_done(s))
            return PR_FAIL_AT(err, PR_DAMAGED, place,
                              "the compressed samples end too early");
    }
    return PR_OK;
}

pr_code
pf_stream_next(pf_stream *s, size_t used, const uint8_t **ret, size_t *ret_n,
               bool *ret_more, pr_err *err)
{
    s->have -= used;
    s->dropped += used;
    memmove(s->piece, s->piece + used, s->have);
    size_t before = s->have;
    s->wanted = before < PF_PIECE_SIZE ? PF_PIECE_SIZE : PF_PIECE_MAX;
    if (s->failed.code == PR_OK) {
        if (s->zstd)
            fill_zstd(s, &s->failed);
        else
            fill_raw(s, &s->failed);
    }
    if (s->failed.code != PR_OK && s->have == before)
        return PR_FAIL_SYS_AT(err, s->failed.code, s->failed.sys,
                              s->failed.offset, "%s", s->failed.what);
    *ret = s->piece;
    *ret_n = s->have;
    *ret_more = s->have == s->wanted || s->failed.code != PR_OK;
    return PR_OK;
}
