/*
 * segment_search.c - find the segments of a file without an index.
 */
#include "format/read/segment_search.h"
#include "format/limits.h"

#include <stdlib.h>

/* ---- the length of a zstd frame (RFC 8878 3.1.1) ---- */

/* Bytes before the first block, by the frame header descriptor. */
static uint64_t
frame_header_size(uint8_t descriptor)
{
    static const uint8_t dictionary[] = {0, 1, 2, 4};
    static const uint8_t content[] = {0, 2, 4, 8};
    bool single = descriptor >> 5 & 1;
    unsigned flag = descriptor >> 6;
    return 5u + (single ? 0u : 1u) + dictionary[descriptor & 3] +
           (flag == 0 && single ? 1u : content[flag]);
}

/* Bytes of a block behind its header; its length for a run is one byte. */
static uint64_t
block_size(uint32_t header)
{
    return (header >> 1 & 3) == 1 ? 1 : header >> 3;
}

pr_code
pf_zstd_frame_end(const pf_input *in, uint64_t at, uint64_t end, uint64_t *ret,
                  pr_err *err)
{
    uint8_t p[5];
    *ret = 0;
    if (at > end || end - at < sizeof p)
        return PR_OK;
    pr_code code = pf_input_read(in, at, p, sizeof p, err);
    if (code != PR_OK || pf_load_le32(p) != PF_ZSTD_MAGIC)
        return code;
    uint8_t descriptor = p[4];
    at += frame_header_size(descriptor);
    for (bool last = false; !last;) {
        if (at > end || end - at < 3)
            return PR_OK;
        code = pf_input_read(in, at, p, 3, err);
        if (code != PR_OK)
            return code;
        uint32_t header = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
        last = header & 1;
        if ((header >> 1 & 3) == 3 || header >> 3 > PF_ZSTD_BLOCK_MAX)
            return PR_OK;
        at += 3 + block_size(header);
    }
    at += descriptor & 4 ? 4 : 0; /* the content's checksum */
    if (at <= end)
        *ret = at;
    return PR_OK;
}

/* ---- checkpoints ---- */

void
pf_search_begin(pf_search *search, const pf_input *in, bool swapped,
                uint64_t end)
{
    *search = (pf_search){.in = in,
                          .swapped = swapped,
                          .end = end,
                          .budget = 16 * in->size + (1u << 20)};
}

void
pf_search_end(pf_search *search)
{
    free(search->frame.p);
    search->frame = (pf_buf){0};
}

/* Is it a checkpoint by what costs nothing to look at?  Its size, or 0. */
static pr_code
look_at(pf_search *s, uint64_t at, uint64_t *ret_size, pr_err *err)
{
    uint8_t start[PF_CHECKPOINT_SIZE];
    *ret_size = 0;
    if (at > s->end || s->end - at < sizeof start)
        return PR_OK;
    pr_code code = pf_input_read(s->in, at, start, sizeof start, err);
    if (code != PR_OK)
        return code;
    uint64_t size = pf_checkpoint_length(start);
    s->traces |= size != 0;
    if (size == 0 || size > s->end - at ||
        size > PF_CHECKPOINT_SIZE + PF_ZSTD_BOUND(PF_CHECKPOINT_BODY_MAX))
        return PR_OK;
    *ret_size = size;
    return PR_OK;
}

/* The checkpoint at `at`, if it is one and fits in: PR_END if not. */
static pr_code
take(pf_search *s, uint64_t at, uint64_t data_from, pf_found *ret, pr_err *err)
{
    uint64_t size;
    pr_code code = look_at(s, at, &size, err);
    if (code != PR_OK || size == 0 || size > s->budget)
        return code != PR_OK ? code : PR_END;
    s->frame.n = 0;
    if (!pf_buf_reserve(&s->frame, (size_t)size))
        return pr_no_memory(err);
    code = pf_input_read(s->in, at, s->frame.p, (size_t)size, err);
    if (code != PR_OK)
        return code;
    pf_checkpoint c;
    pr_err why = PR_ERR_INIT;
    code = pf_checkpoint_check(s->frame.p, (size_t)size, s->swapped, &c, &why);
    if (code == PR_NEWER || code == PR_NOMEM)
        return PR_FAIL_AT(err, code, at, "%s", why.what);
    if (code == PR_OK && at >= data_from && c.data_size <= at - data_from) {
        *ret = (pf_found){at, size, at - c.data_size, c.data_size};
        return PR_OK;
    }
    s->damaged |= code != PR_OK;
    s->budget -= size;
    return PR_END;
}

/* A false magic makes the search read its piece of the file again. */
static bool
charge_piece(pf_search *s, uint64_t at)
{
    uint64_t cost = s->end - at < PF_INPUT_PIECE ? s->end - at : PF_INPUT_PIECE;
    if (cost > s->budget)
        return false;
    s->budget -= cost;
    return true;
}

/* Look at every place where the bytes of a checkpoint's magic stand. */
static pr_code
search_on(pf_search *s, uint64_t at, pf_found *ret, pr_err *err)
{
    for (uint64_t from = at;;) {
        uint64_t magic;
        pr_code code = pf_input_find(s->in, from, s->end, PF_CHECKPOINT_MAGIC,
                                     4, &magic, err);
        if (code != PR_OK || magic == s->end || !charge_piece(s, magic))
            return code != PR_OK ? code : PR_END;
        code = magic - at < PF_CHECKPOINT_MAGIC_AT
                   ? PR_END
                   : take(s, magic - PF_CHECKPOINT_MAGIC_AT, at, ret, err);
        if (code != PR_END)
            return code;
        from = magic + 1;
    }
}

pr_code
pf_search_next(pf_search *s, uint64_t at, pf_found *ret, pr_err *err)
{
    uint64_t data_end;
    pr_code code = pf_zstd_frame_end(s->in, at, s->end, &data_end, err);
    if (code != PR_OK)
        return code;
    if (data_end) {
        code = take(s, data_end, at, ret, err);
        if (code != PR_END)
            return code;
    }
    return search_on(s, at, ret, err);
}
