/*
 * end_read.c - read index, statistics and footer of a finished file.
 */
#include "format/read/end_read.h"
#include "format/limits.h"

#include <base/hash.h>
#include <stdlib.h>

void
pf_index_release(pf_index *index)
{
    free(index->row);
    *index = (pf_index){0};
}

/* XXH64 with the checksum's own bytes as 0; the bytes are changed. */
static bool
index_is_whole(uint8_t *p, size_t n, bool swapped)
{
    uint64_t sum = pf_load_u64(p + PF_INDEX_CHECKSUM, swapped);
    memset(p + PF_INDEX_CHECKSUM, 0, sizeof sum);
    return pr_hash_bytes(p, n) == sum;
}

static bool
get_row(pf_cur *c, pf_index_row *ret)
{
    pf_index_row row;
    uint64_t span;
    if (!pf_get_varint(c, &row.data_size) ||
        !pf_get_varint(c, &row.checkpoint_size) ||
        !pf_get_varint(c, &row.first_us) || !pf_get_varint(c, &span) ||
        !pf_get_varint(c, &row.samples))
        return false;
    if (span > UINT64_MAX - row.first_us)
        return false;
    row.last_us = row.first_us + span;
    *ret = row;
    return true;
}

/* The segments lie back to back and before `limit`. */
static pr_code
get_rows(pf_cur *c, uint64_t limit, pf_index *index, pr_err *err)
{
    uint64_t n, at = PF_HEADER_SIZE;
    if (!pf_get_count(c, 5, &n))
        return PR_END;
    index->row = calloc((size_t)n + 1, sizeof *index->row);
    if (!index->row)
        return pr_no_memory(err);
    for (size_t i = 0; i < n; i++) {
        pf_index_row *row = &index->row[i];
        if (!get_row(c, row) || row->data_size > limit - at ||
            row->checkpoint_size > limit - at - row->data_size)
            return PR_END;
        at += row->data_size + row->checkpoint_size;
    }
    index->n = (size_t)n;
    index->region_end = at;
    return pf_left(c) == PF_INDEX_TAIL_SIZE ? PR_OK : PR_END;
}

static pr_code
index_parse(uint8_t *p, size_t n, bool swapped, pf_index *index, pr_err *err)
{
    if (memcmp(p, PF_INDEX_MAGIC, 4) != 0 || !index_is_whole(p, n, swapped))
        return PR_END;
    if (p[PF_INDEX_READ] > PF_INDEX_VERSION)
        return PR_FAIL_AT(err, PR_NEWER, index->at,
                          "the index needs a reader of version %u, this is "
                          "version %u",
                          p[PF_INDEX_READ], PF_INDEX_VERSION);
    if (p[PF_INDEX_RESERVED] || p[PF_INDEX_RESERVED + 1])
        return PR_END;
    index->newer_rewriter = p[PF_INDEX_REWRITE] > PF_INDEX_VERSION;
    index->header_check = pf_load_u64(p + PF_INDEX_HEADER_CHECK, swapped);
    index->tables_check = pf_load_u64(p + PF_INDEX_TABLES_CHECK, swapped);
    index->end_check = pf_load_u64(p + PF_INDEX_END_CHECK, swapped);
    pf_cur c = pf_cur_of(p, n, swapped);
    pf_get_bytes(&c, PF_INDEX_SIZE);
    return get_rows(&c, index->at, index, err);
}

/* The length of the index, from its tail; 0: no tail of an index ends there. */
static pr_code
index_length(const pf_input *in, uint64_t end, bool swapped, uint64_t *ret,
             pr_err *err)
{
    uint8_t tail[PF_INDEX_TAIL_SIZE];
    *ret = 0;
    if (end < PF_HEADER_SIZE + PF_INDEX_SIZE + PF_INDEX_TAIL_SIZE)
        return PR_OK;
    pr_code code = pf_input_read(in, end - sizeof tail, tail, sizeof tail, err);
    if (code != PR_OK)
        return code;
    uint64_t n = pf_load_u64(tail + PF_INDEX_TAIL_LENGTH, swapped);
    if (!memcmp(tail + PF_INDEX_TAIL_MAGIC_AT, PF_INDEX_TAIL_MAGIC, 8) &&
        n > PF_INDEX_SIZE + PF_INDEX_TAIL_SIZE && n <= end - PF_HEADER_SIZE)
        *ret = n;
    return PR_OK;
}

pr_code
pf_index_read(const pf_input *in, uint64_t end, bool swapped, pf_index *ret,
              pr_err *err)
{
    uint64_t n;
    pr_code code = index_length(in, end, swapped, &n, err);
    if (code != PR_OK || n == 0)
        return code != PR_OK ? code : PR_END;
    if (n > PF_INDEX_MAX)
        return PR_END;
    uint8_t *p = malloc((size_t)n);
    if (!p)
        return pr_no_memory(err);
    pf_index index = {.at = end - n, .end = end};
    code = pf_input_read(in, end - n, p, (size_t)n, err);
    if (code == PR_OK)
        code = index_parse(p, (size_t)n, swapped, &index, err);
    free(p);
    if (code == PR_OK)
        *ret = index;
    else
        pf_index_release(&index);
    return code;
}

/* ---- statistics and footer ---- */

/* Parse a block with a right tail, which gives its size. */
static void
stats_parse(const uint8_t *p, uint32_t size, bool swapped, pr_stats *ret)
{
    *ret = (pr_stats){
        .duration_s = pf_load_f64(p + PF_STATS_DURATION, swapped),
        .rate_hz = pf_load_f64(p + PF_STATS_RATE, swapped),
        .known = PR_STATS_PRESENT,
    };
    if (size == PF_STATS_SHORT_SIZE)
        return;
    ret->error_percent = pf_load_f64(p + PF_STATS_ERROR, swapped);
    ret->missed_percent = pf_load_f64(p + PF_STATS_MISSED, swapped);
    ret->known |= pf_load_u32(p + PF_STATS_KNOWN, swapped) &
                  (PF_STATS_KNOWN_ERROR | PF_STATS_KNOWN_MISSED);
}

/* The size of the block before the footer; 0 if there is none. */
static uint32_t
stats_size(const uint8_t *footer, bool swapped)
{
    const uint8_t *tail = footer - PF_STATS_TAIL_SIZE;
    uint32_t size = pf_load_u32(tail + PF_STATS_TAIL_LENGTH, swapped);
    if (memcmp(tail, PF_STATS_MAGIC, 8) != 0 ||
        pf_load_u32(tail + PF_STATS_TAIL_VERSION, swapped) !=
            PF_STATS_VERSION ||
        (size != PF_STATS_SIZE && size != PF_STATS_SHORT_SIZE))
        return 0;
    return size;
}

pr_code
pf_footer_read(const pf_input *in, uint64_t end, bool swapped, pf_footer *ret,
               pr_err *err)
{
    uint8_t bytes[PF_STATS_SIZE + PF_FOOTER_SIZE];
    if (end > in->size || end < PF_HEADER_SIZE + sizeof bytes - PF_STATS_SIZE)
        return PR_FAIL_AT(err, PR_CUT, in->size,
                          "the file ends before its footer");
    /* the header is longer than the statistics: the read stays in the file */
    pr_code code =
        pf_input_read(in, end - sizeof bytes, bytes, sizeof bytes, err);
    if (code != PR_OK)
        return code;
    const uint8_t *footer = bytes + PF_STATS_SIZE;
    uint32_t size = stats_size(footer, swapped);
    pf_footer e = {
        .at = end - PF_FOOTER_SIZE - size,
        .strings = pf_load_u32(footer + PF_FOOTER_STRINGS, swapped),
        .frames = pf_load_u32(footer + PF_FOOTER_FRAMES, swapped),
        .file_size = pf_load_u64(footer + PF_FOOTER_FILE_SIZE, swapped),
    };
    if (size)
        stats_parse(footer - size, size, swapped, &e.stats);
    *ret = e;
    return PR_OK;
}
