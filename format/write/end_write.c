/*
 * end_write.c - the end of a file.
 */
#include "format/write/end_write.h"

#include <base/hash.h>
#include <pyrec/error.h>
#include <stdint.h>

static void
complete_header(const pf_ending *ending, const pf_pending *notes,
                uint8_t header[PF_HEADER_SIZE])
{
    pf_put_u64(header + PF_HEADER_SAMPLES, ending->samples);
    pf_put_u32(header + PF_HEADER_THREADS, ending->threads);
    pf_put_u64(header + PF_HEADER_STRINGS, ending->at);
    pf_put_u64(header + PF_HEADER_FRAMES,
               ending->at + notes->strings.all.items.n);
}

/* The checksums of the index are filled in when all else stands. */
static void
put_index(pf_buf *tail, const pf_list *segments)
{
    size_t start = tail->n;
    uint8_t head[PF_INDEX_SIZE] = PF_INDEX_MAGIC;
    head[PF_INDEX_READ] = PF_INDEX_VERSION;
    head[PF_INDEX_REWRITE] = PF_INDEX_VERSION;
    pf_buf_bytes(tail, head, sizeof head);
    pf_buf_varint(tail, segments->n);
    pf_buf_bytes(tail, segments->items.p, segments->items.n);
    uint8_t end[PF_INDEX_TAIL_SIZE];
    pf_put_u64(end, tail->n - start + sizeof end);
    memcpy(end + PF_INDEX_TAIL_MAGIC_AT, PF_INDEX_TAIL_MAGIC,
           sizeof PF_INDEX_TAIL_MAGIC - 1);
    pf_buf_bytes(tail, end, sizeof end);
}

static void
put_stats(pf_buf *tail, const pr_stats *stats)
{
    if (!(stats->known & PR_STATS_PRESENT))
        return;
    uint8_t block[PF_STATS_SIZE] = {0};
    pf_put_f64(block + PF_STATS_DURATION, stats->duration_s);
    pf_put_f64(block + PF_STATS_RATE, stats->rate_hz);
    pf_put_f64(block + PF_STATS_ERROR, stats->error_percent);
    pf_put_f64(block + PF_STATS_MISSED, stats->missed_percent);
    pf_put_u32(block + PF_STATS_KNOWN,
               stats->known & (PF_STATS_KNOWN_ERROR | PF_STATS_KNOWN_MISSED));
    uint8_t *end = block + PF_STATS_SIZE - PF_STATS_TAIL_SIZE;
    memcpy(end, PF_STATS_MAGIC, sizeof PF_STATS_MAGIC - 1);
    pf_put_u32(end + PF_STATS_TAIL_VERSION, PF_STATS_VERSION);
    pf_put_u32(end + PF_STATS_TAIL_LENGTH, PF_STATS_SIZE);
    pf_buf_bytes(tail, block, sizeof block);
}

static void
put_footer(pf_buf *tail, const pf_pending *notes, uint64_t at)
{
    uint8_t footer[PF_FOOTER_SIZE] = {0};
    pf_put_u32(footer + PF_FOOTER_STRINGS, (uint32_t)notes->strings.all.n);
    pf_put_u32(footer + PF_FOOTER_FRAMES, (uint32_t)notes->frames.n);
    pf_put_u64(footer + PF_FOOTER_FILE_SIZE, at + tail->n + sizeof footer);
    pf_buf_bytes(tail, footer, sizeof footer);
}

/* tables [0, index), index [index, end), statistics and footer [end, n) */
static void
fill_checksums(pf_buf *tail, size_t index, size_t end, const uint8_t *header)
{
    uint8_t *p = tail->p + index;
    pf_put_u64(p + PF_INDEX_HEADER_CHECK,
               pr_hash_bytes(header, PF_HEADER_SIZE));
    pf_put_u64(p + PF_INDEX_TABLES_CHECK, pr_hash_bytes(tail->p, index));
    pf_put_u64(p + PF_INDEX_END_CHECK,
               pr_hash_bytes(tail->p + end, tail->n - end));
    pf_put_u64(p + PF_INDEX_CHECKSUM, pr_hash_bytes(p, end - index));
}

pr_code
pf_end_make(const pf_ending *ending, pf_pending *notes,
            uint8_t header[PF_HEADER_SIZE], pf_buf *ret, pr_err *err)
{
    complete_header(ending, notes, header);
    pf_buf tail = notes->strings.all.items;
    notes->strings.all.items = (pf_buf){0};
    pf_buf_bytes(&tail, notes->frames.items.p, notes->frames.items.n);
    size_t index = tail.n;
    if (ending->index)
        put_index(&tail, ending->index);
    size_t end = tail.n;
    put_stats(&tail, ending->stats);
    put_footer(&tail, notes, ending->at);
    *ret = tail; /* the caller frees it in any case */
    if (tail.failed)
        return pr_no_memory(err);
    if (ending->index)
        fill_checksums(&tail, index, end, header);
    return PR_OK;
}
