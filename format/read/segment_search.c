/*
 * segment_search.c - find the segments of a file without an index.
 */
#include "format/read/segment_search.h"
#include "format/limits.h"

#include <stdlib.h>

/* ---- the length of a zstd frame (RFC 8878 3.1.1) ---- */

/* The bytes before the first block, from the frame header descriptor. */
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

/* The bytes of a block after its header: one for a run. */
static uint64_t
block_size(uint32_t header)
{
    return (header >> 1 & 3) == 1 ? 1 : header >> 3;
}

/* Walk the blocks from *at on; *at becomes the end of the last one. */
static pr_code
walk_blocks(const pf_input *in, uint64_t *at, uint64_t end, pf_frame_state *ret,
            pr_err *err)
{
    for (bool last = false; !last;) {
        uint8_t p[3];
        if (*at > end || end - *at < sizeof p)
            return PR_OK;
        pr_code code = pf_input_read(in, *at, p, sizeof p, err);
        if (code != PR_OK)
            return code;
        uint32_t header = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
        last = header & 1;
        if ((header >> 1 & 3) == 3 || header >> 3 > PF_ZSTD_BLOCK_MAX) {
            *ret = PF_FRAME_NONE;
            return PR_OK;
        }
        *at += sizeof p + block_size(header);
    }
    *ret = PF_FRAME_WHOLE;
    return PR_OK;
}

pr_code
pf_zstd_frame(const pf_input *in, uint64_t at, uint64_t end,
              pf_frame_state *ret, uint64_t *ret_end, pr_err *err)
{
    static const uint8_t magic[] = {0x28, 0xb5, 0x2f, 0xfd};
    uint8_t p[sizeof magic + 1];
    uint64_t left = at < end ? end - at : 0;
    size_t n = left < sizeof p ? (size_t)left : sizeof p;
    *ret = PF_FRAME_NONE;
    pr_code code = n ? pf_input_read(in, at, p, n, err) : PR_OK;
    size_t same = n < sizeof magic ? n : sizeof magic;
    if (code != PR_OK || n == 0 || memcmp(p, magic, same) != 0)
        return code;
    *ret = PF_FRAME_OPEN;
    if (n < sizeof p)
        return PR_OK;
    uint8_t descriptor = p[sizeof magic];
    at += frame_header_size(descriptor);
    code = walk_blocks(in, &at, end, ret, err);
    if (code != PR_OK || *ret != PF_FRAME_WHOLE)
        return code;
    at += descriptor & 4 ? 4 : 0; /* the content's checksum */
    *ret = at <= end ? PF_FRAME_WHOLE : PF_FRAME_OPEN;
    *ret_end = at;
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

/* The length of the checkpoint that the bytes at `at` begin; 0 if they cannot
 * begin one. */
static pr_code
candidate_size(pf_search *s, uint64_t at, uint64_t *ret_size, pr_err *err)
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

/* Take the checkpoint at `at`; PR_END if it is not whole. */
static pr_code
take(pf_search *s, uint64_t at, pf_found *ret, pr_err *err)
{
    uint64_t size;
    pr_code code = candidate_size(s, at, &size, err);
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
    if (code == PR_NEWER)
        return PR_FAIL_AT(err, code, at, "%s", why.what);
    if (code == PR_OK) {
        *ret = (pf_found){at,          size,
                          c.number,    c.number ? c.first_check : c.check,
                          c.data_size, c.data_check};
        return PR_OK;
    }
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

pr_code
pf_search_next(pf_search *s, uint64_t at, pf_found *ret, pr_err *err)
{
    for (uint64_t from = at;;) {
        uint64_t magic;
        pr_code code = pf_input_find(s->in, from, s->end, PF_CHECKPOINT_MAGIC,
                                     4, &magic, err);
        if (code != PR_OK || magic == s->end)
            return code != PR_OK ? code : PR_END;
        code = magic - at < PF_CHECKPOINT_MAGIC_AT
                   ? PR_END
                   : take(s, magic - PF_CHECKPOINT_MAGIC_AT, ret, err);
        if (code != PR_END || !charge_piece(s, magic))
            return code;
        from = magic + 1;
    }
}

/* ---- the end of an unfinished file ---- */

/* Does the file end in a checkpoint?  The bytes that are the same in all
 * checkpoints must be right, as far as the file has them, and the length must
 * lead beyond the end of the file. */
static pr_code
begins_checkpoint(const pf_input *in, uint64_t at, bool *ret, pr_err *err)
{
    uint8_t want[PF_CHECKPOINT_READ], have[PF_CHECKPOINT_READ] = {0};
    uint64_t left = in->size - at;
    size_t n = left < sizeof have ? (size_t)left : sizeof have;
    pf_put_le32(want, PF_CHECKPOINT_SKIP);
    memcpy(want + PF_CHECKPOINT_MAGIC_AT, PF_CHECKPOINT_MAGIC, 4);
    pr_code code = pf_input_read(in, at, have, n, err);
    if (code != PR_OK)
        return code;
    memcpy(want + PF_CHECKPOINT_LENGTH, have + PF_CHECKPOINT_LENGTH, 4);
    *ret =
        memcmp(have, want, n) == 0 &&
        (n < PF_SKIP_HEADER_SIZE || pf_load_le32(have + PF_CHECKPOINT_LENGTH) >
                                        left - PF_SKIP_HEADER_SIZE);
    return PR_OK;
}

pr_code
pf_begins_segment(const pf_input *in, uint64_t at, bool *ret, pr_err *err)
{
    pf_frame_state state;
    uint64_t end;
    *ret = true;
    if (at == in->size)
        return PR_OK;
    pr_code code = pf_zstd_frame(in, at, in->size, &state, &end, err);
    if (code != PR_OK || state == PF_FRAME_OPEN)
        return code;
    *ret = false;
    if (state == PF_FRAME_NONE)
        return PR_OK;
    return begins_checkpoint(in, end, ret, err);
}
