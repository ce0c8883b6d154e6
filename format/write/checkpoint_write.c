/*
 * checkpoint_write.c - packing a segment.
 */
#include "format/write/checkpoint_write.h"

#include <base/hash.h>
#include <stdint.h>
#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Below this many bytes a body rarely gets smaller, and a zstd frame of its
 * own costs the reader more than the bytes. */
#define SMALL_BODY 128

pr_code
pf_packer_init(pf_packer *packer, int level, pr_err *err)
{
    ZSTD_CCtx *zstd = ZSTD_createCCtx();
    if (!zstd)
        return pr_no_memory(err);
    *packer = (pf_packer){.zstd = zstd, .level = level};
    return PR_OK;
}

void
pf_packer_release(pf_packer *packer)
{
    ZSTD_freeCCtx(packer->zstd);
    free(packer->body.p);
    free(packer->out.p);
    *packer = (pf_packer){0};
}

/* Parameters for the next frame.  Records are full of matches of three bytes,
 * which most levels do not search: they save 2 % at no cost.  CPython 3.15.2
 * sizes its buffer by the content size of the first frame, and never grows it
 * from 0: a frame without content must not say so (5.1). */
static size_t
prepare(ZSTD_CCtx *zstd, int level, bool checksum, bool has_content)
{
    const struct {
        ZSTD_cParameter parameter;
        int value;
    } set[] = {{ZSTD_c_compressionLevel, level},
               {ZSTD_c_minMatch, 3},
               {ZSTD_c_checksumFlag, checksum},
               {ZSTD_c_contentSizeFlag, has_content}};
    size_t rc = ZSTD_CCtx_reset(zstd, ZSTD_reset_session_and_parameters);
    for (size_t i = 0; i < sizeof set / sizeof *set && !ZSTD_isError(rc); i++)
        rc = ZSTD_CCtx_setParameter(zstd, set[i].parameter, set[i].value);
    return rc;
}

/* Append one zstd frame. */
static pr_code
compress(pf_packer *packer, const pf_buf *from, bool checksum, pr_err *err)
{
    pf_buf *out = &packer->out;
    size_t room = ZSTD_compressBound(from->n);
    if (!pf_buf_reserve(out, room))
        return pr_no_memory(err);
    ZSTD_CCtx *zstd = packer->zstd;
    size_t rc = prepare(zstd, packer->level, checksum, from->n > 0);
    if (!ZSTD_isError(rc))
        rc = ZSTD_compress2(zstd, out->p + out->n, room, from->p, from->n);
    if (ZSTD_isError(rc))
        return PR_FAIL(err,
                       ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation
                           ? PR_NOMEM
                           : PR_INTERNAL,
                       "zstd: %s", ZSTD_getErrorName(rc));
    out->n += rc;
    return PR_OK;
}

static void
put_bases(pf_buf *body, const pf_encoder *e)
{
    pf_list list = {.n = e->n_bases};
    for (size_t i = 0; i < e->n_bases; i++) {
        const pf_lane *lane = &e->lane[e->base[i].lane];
        pf_put_ref(&list.items, lane->ref);
        pf_buf_varint(&list.items, e->base[i].base_us);
    }
    body->failed |= list.items.failed;
    pf_put_list(body, PF_TYPE_BASES, &list);
    free(list.items.p);
}

static void
put_span(pf_buf *body, const pf_encoder *e)
{
    uint8_t span[6 * PF_VARINT_MAX], *p = span;
    p = pf_put_varint(p, e->first_us);
    p = pf_put_varint(p, e->last_us);
    p = pf_put_varint(p, e->samples);
    p = pf_put_varint(p, e->stats.total_samples);
    p = pf_put_varint(p, e->threads);
    p = pf_put_varint(p, e->records.n);
    pf_buf_u8(body, PF_TYPE_SPAN);
    pf_buf_varint(body, (uint64_t)(p - span));
    pf_buf_bytes(body, span, (size_t)(p - span));
}

static pr_code
make_body(pf_packer *packer, const pf_encoder *e, const pf_pending *notes,
          const uint8_t *header, pr_err *err)
{
    pf_buf *body = &packer->body;
    body->n = 0;
    if (header) {
        pf_buf_u8(body, PF_TYPE_HEADER);
        pf_buf_varint(body, PF_HEADER_SIZE);
        pf_buf_bytes(body, header, PF_HEADER_SIZE);
    }
    pf_pending_put_names(notes, body);
    put_bases(body, e);
    put_span(body, e);
    pf_pending_put_rest(notes, header != NULL, body);
    if (body->failed)
        return pr_no_memory(err);
    if (body->n > PF_CHECKPOINT_BODY_MAX)
        return PR_FAIL(err, PR_LIMIT, "checkpoint of %zu bytes is too large",
                       body->n);
    return PR_OK;
}

/* After the frame's head: the body, compressed if that is less. */
static pr_code
put_body(pf_packer *packer, bool *ret_zstd, pr_err *err)
{
    const pf_buf *body = &packer->body;
    pf_buf *out = &packer->out;
    size_t start = out->n;
    if (body->n >= SMALL_BODY) {
        pr_code rc = compress(packer, body, false, err);
        if (rc != PR_OK)
            return rc;
    }
    *ret_zstd = out->n > start && out->n - start < body->n;
    if (*ret_zstd)
        return PR_OK;
    out->n = start;
    pf_buf_bytes(out, body->p, body->n);
    if (out->failed)
        return pr_no_memory(err);
    return PR_OK;
}

/* The head in front of a body that is in place; the checksum comes last,
 * since it covers all of it. */
static void
put_head(pf_packer *packer, const pf_encoder *e, bool zstd)
{
    uint8_t *head = packer->out.p + packer->data_bytes;
    size_t size = packer->out.n - packer->data_bytes;
    memset(head, 0, PF_CHECKPOINT_SIZE);
    pf_put_le32(head, PF_CHECKPOINT_SKIP);
    pf_put_le32(head + PF_CHECKPOINT_LENGTH,
                (uint32_t)(size - PF_SKIP_HEADER_SIZE));
    memcpy(head + PF_CHECKPOINT_MAGIC_AT, PF_CHECKPOINT_MAGIC, 4);
    head[PF_CHECKPOINT_READ] = PF_CHECKPOINT_VERSION;
    head[PF_CHECKPOINT_REWRITE] = PF_CHECKPOINT_VERSION;
    head[PF_CHECKPOINT_FLAGS] = zstd ? PF_CHECKPOINT_ZSTD : 0;
    pf_put_u32(head + PF_CHECKPOINT_NUMBER, (uint32_t)e->number);
    pf_put_u32(head + PF_CHECKPOINT_BODY_SIZE, (uint32_t)packer->body.n);
    pf_put_u64(head + PF_CHECKPOINT_FIRST, packer->first_check);
    pf_put_u64(head + PF_CHECKPOINT_DATA_SIZE, packer->data_bytes);
    pf_put_u64(head + PF_CHECKPOINT_DATA_CHECK,
               pr_hash_bytes(packer->out.p, packer->data_bytes));
    uint64_t check = pr_hash_bytes(head, size);
    pf_put_u64(head + PF_CHECKPOINT_CHECKSUM, check);
    if (e->number == 0)
        packer->first_check = check;
}

pr_code
pf_packer_pack(pf_packer *packer, const pf_encoder *e, const pf_pending *notes,
               const uint8_t *header, pr_err *err)
{
    if (e->number > UINT32_MAX)
        return PR_FAIL(err, PR_LIMIT, "too many segments");
    packer->out.n = 0;
    pr_code rc = compress(packer, &e->records, true, err);
    if (rc != PR_OK)
        return rc;
    packer->data_bytes = packer->out.n;
    if ((rc = make_body(packer, e, notes, header, err)) != PR_OK)
        return rc;
    if (!pf_buf_reserve(&packer->out, PF_CHECKPOINT_SIZE))
        return pr_no_memory(err);
    packer->out.n += PF_CHECKPOINT_SIZE;
    bool zstd;
    if ((rc = put_body(packer, &zstd, err)) != PR_OK)
        return rc;
    put_head(packer, e, zstd);
    return PR_OK;
}
