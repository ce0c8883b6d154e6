/*
 * segments.c - open a file with checkpoints: by its index if it has a whole
 * one, by a search for checkpoints if not.
 */
#include "format/read/segments.h"

#include "format/limits.h"
#include "format/read/checkpoint_read.h"
#include "format/read/segment_search.h"

#include <base/hash.h>
#include <inttypes.h>
#include <stdlib.h>

/* Bytes behind the index of a finished file. */
#define ENDING_SIZE (PF_STATS_SIZE + PF_FOOTER_SIZE)

/* Places that are looked at for an index of a file that was cut or appended
 * to: there is one at most, unless the file is made to cost time. */
enum { INDEX_CANDIDATES = 16 };

/* ---- one checkpoint ---- */

/* What a checkpoint says of its segment. */
typedef struct summary {
    pf_span span;
    bool has_span;
    uint8_t header[PF_HEADER_SIZE];
    bool has_header;
} summary;

static pr_code
see_span(void *context, const pf_span *span, pr_err *err)
{
    summary *s = context;
    /* a sample takes at least two bytes */
    if (span->record_bytes > PF_RECORDS_MAX ||
        span->samples > span->record_bytes / 2 ||
        span->first_us > span->last_us)
        return PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint's numbers of samples are impossible");
    s->span = *span;
    s->has_span = true;
    return PR_OK;
}

static pr_code
see_header(void *context, const uint8_t *bytes, pr_err *err)
{
    (void)err;
    summary *s = context;
    memcpy(s->header, bytes, PF_HEADER_SIZE);
    s->has_header = true;
    return PR_OK;
}

static const pf_checkpoint_ops summary_ops = {
    .span = see_span,
    .header = see_header,
};

/* Every process that a record names is emitted before the samples. */
static pr_code
see_process(pf_names *names, uint32_t file_index, pr_err *err)
{
    uint32_t process;
    return pf_processes_add(&names->processes, file_index, &process, err);
}

static pr_code
see_gc(void *names, const pr_gc_event *event, pr_err *err)
{
    return see_process(names, event->process, err);
}

static pr_code
see_mark(void *names, const pr_mark *mark, pr_err *err)
{
    return see_process(names, mark->process, err);
}

static const pf_checkpoint_ops names_ops = {
    .string = pf_names_string,
    .frame = pf_names_frame,
    .base = pf_names_base,
    .process = pf_names_process,
    .thread = pf_names_thread,
    .rate = pf_names_rate,
    .gc = see_gc,
    .mark = see_mark,
    .meta = pf_names_meta,
    .count = pf_names_count,
};

/* The body first tells of the segment, and names only if all of it is right:
 * a damaged one leaves nothing behind. */
static pr_code
read_body(pf_reader *r, const pf_checkpoint *c, pf_buf *scratch, summary *ret,
          pr_err *err)
{
    pf_cur body;
    pr_code code = pf_checkpoint_body(c, r->swapped, scratch, &body, err);
    if (code == PR_OK)
        code = pf_checkpoint_walk(body, &summary_ops, ret, err);
    if (code != PR_OK)
        return code;
    if (!ret->has_span || (c->number == 0 && !ret->has_header))
        return PR_FAIL(err, PR_DAMAGED, "the checkpoint has no %s",
                       ret->has_span ? "HEADER" : "SPAN");
    return pf_checkpoint_walk(body, &names_ops, &r->names, err);
}

/* All checkpoints of a file know the first one's checksum. */
static bool
is_family(pf_reader *r, const pf_checkpoint *c)
{
    uint64_t family = c->number == 0 ? c->check : c->first_check;
    if (!r->family_known)
        r->family = family;
    r->family_known = true;
    return r->family == family && (c->number != 0 || c->first_check == 0);
}

/* The checkpoint of a segment whose place is known. */
static pr_code
read_checkpoint(pf_reader *r, const pf_segment *s, uint32_t *ret_number,
                summary *ret, pr_err *err)
{
    if (s->checkpoint_size < PF_CHECKPOINT_SIZE ||
        s->checkpoint_size >
            PF_CHECKPOINT_SIZE + PF_ZSTD_BOUND(PF_CHECKPOINT_BODY_MAX))
        return PR_FAIL(err, PR_DAMAGED,
                       "a checkpoint cannot have %" PRIu64 " bytes",
                       s->checkpoint_size);
    size_t size = (size_t)s->checkpoint_size;
    pf_buf scratch = {0};
    pf_checkpoint c;
    uint8_t *frame = malloc(size);
    if (!frame)
        return pr_no_memory(err);
    pr_code code =
        pf_input_read(&r->in, s->data_at + s->data_size, frame, size, err);
    if (code == PR_OK)
        code = pf_checkpoint_check(frame, size, r->swapped, &c, err);
    if (code == PR_OK && (c.data_size != s->data_size || !is_family(r, &c)))
        code = PR_FAIL(err, PR_DAMAGED,
                       "the checkpoint belongs to another segment");
    if (code == PR_OK)
        code = read_body(r, &c, &scratch, ret, err);
    if (code == PR_OK) {
        *ret_number = c.number;
        r->info.newer_rewriter |= c.newer_rewriter;
    }
    free(scratch.p);
    free(frame);
    return code;
}

/* ---- the header ---- */

/* Bytes that are the same in a finished file and one that is not. */
static bool
same_fixed_fields(const uint8_t *a, const uint8_t *b)
{
    return !memcmp(a, b, PF_HEADER_SAMPLES) &&
           !memcmp(a + PF_HEADER_COMPRESSION, b + PF_HEADER_COMPRESSION,
                   PF_HEADER_SIZE - PF_HEADER_COMPRESSION);
}

/* HEADER, once seen, is what the file's own header must agree with. */
static void
settle_header(pf_reader *r, const uint8_t *written)
{
    bool same = r->header.string_table
                    ? same_fixed_fields(r->header.bytes, written)
                    : !memcmp(r->header.bytes, written, PF_HEADER_SIZE);
    if (r->header_known || same) {
        r->header_known = true;
        return;
    }
    pf_fault_add(r, PR_DAMAGED, 0, "the header is damaged");
    pf_header_parse(r, written);
    r->header_known = true;
}

/* ---- by the index ---- */

static bool
is_hard(pr_code code)
{
    return code != PR_OK && code != PR_DAMAGED && code != PR_FOREIGN &&
           code != PR_CUT && code != PR_LIMIT;
}

static void
lose_segment(pf_reader *r, size_t i, const pr_err *why)
{
    pf_segment *s = &r->segment[i];
    s->lost = true;
    r->names.symbols.holes = true;
    pf_fault_add(r, PR_DAMAGED, s->data_at + s->data_size,
                 "segment %zu is lost with %" PRIu64 " samples: %s", i,
                 s->samples, why->what);
}

static pr_code
take_indexed(pf_reader *r, size_t i, pr_err *err)
{
    pf_segment *s = &r->segment[i];
    summary sum = {.has_span = false};
    uint32_t number;
    pr_err why = PR_ERR_INIT;
    pr_code code = read_checkpoint(r, s, &number, &sum, &why);
    if (code == PR_OK &&
        (number != i || sum.span.samples != s->samples ||
         sum.span.first_us != s->first_us || sum.span.last_us != s->last_us))
        code = PR_FAIL(&why, PR_DAMAGED, "index and checkpoint do not agree");
    if (is_hard(code))
        return PR_FAIL_SYS_AT(err, code, why.sys, s->data_at, "%s", why.what);
    if (code != PR_OK) {
        lose_segment(r, i, &why);
        return PR_OK;
    }
    s->record_bytes = sum.span.record_bytes;
    if (i == 0)
        settle_header(r, sum.header);
    return PR_OK;
}

/* Names of lost segments are in the tables too, if those are whole. */
static pr_code
read_tables(pf_reader *r, pf_symbols *into, pr_err *err)
{
    uint64_t at = r->index.region_end;
    uint64_t frames = r->header.frame_table;
    if (frames < at || frames > r->index.at)
        return PR_FAIL_AT(err, PR_DAMAGED, PF_HEADER_FRAMES,
                          "the frame table lies outside the tables");
    size_t n = (size_t)(r->index.at - at);
    uint8_t *p = malloc(n + 1);
    if (!p)
        return pr_no_memory(err);
    pr_code code = pf_input_read(&r->in, at, p, n, err);
    size_t n_strings = (size_t)(frames - at);
    if (code == PR_OK)
        code = pf_symbols_from_tables(
            into, pf_cur_of(p, n_strings, r->swapped), r->footer.strings,
            pf_cur_of(p + n_strings, n - n_strings, r->swapped),
            r->footer.frames, err);
    free(p);
    return code;
}

pr_code
pf_check_tables(pf_reader *r, pr_err *err)
{
    if (!r->info.has_checkpoints || r->info.state != PF_FINISHED)
        return PR_OK;
    pf_symbols tables = {0};
    pr_err why = PR_ERR_INIT;
    pr_code code = read_tables(r, &tables, &why);
    if (is_hard(code)) {
        pf_symbols_release(&tables);
        return PR_FAIL_SYS_AT(err, code, why.sys, why.offset, "%s", why.what);
    }
    if (code != PR_OK || !pf_symbols_equal(&tables, &r->names.symbols))
        pf_fault_add(r, PR_DAMAGED, r->index.region_end,
                     "the tables do not name what the checkpoints name");
    pf_symbols_release(&tables);
    return PR_OK;
}

/* Statistics and footer behind the index, or what became of them. */
static pr_code
check_ending(pf_reader *r, pr_err *err)
{
    uint64_t at = r->index.end, end = at + ENDING_SIZE, sum;
    if (r->in.size < end) {
        pf_fault_add(r, PR_CUT, r->in.size,
                     "the last %" PRIu64 " bytes are missing, but no sample",
                     end - r->in.size);
        return PR_OK;
    }
    if (r->in.size > end)
        pf_fault_add(r, PR_DAMAGED, end,
                     "%" PRIu64 " bytes follow the end of the profile",
                     r->in.size - end);
    pr_code code = pf_input_hash(&r->in, at, end, &sum, err);
    if (code != PR_OK)
        return code;
    if (sum != r->index.end_check) {
        pf_fault_add(r, PR_DAMAGED, at,
                     "statistics or footer are damaged, but no sample");
        return PR_OK;
    }
    return pf_footer_read(&r->in, end, r->swapped, &r->footer, err);
}

/* Whether the tables can be used is in *ret_tables. */
static pr_code
check_parts(pf_reader *r, bool *ret_tables, pr_err *err)
{
    uint64_t sum;
    r->header_known = pr_hash_bytes(r->header.bytes, PF_HEADER_SIZE) ==
                          r->index.header_check &&
                      r->header.string_table == r->index.region_end;
    if (!r->header_known)
        pf_fault_add(r, PR_DAMAGED, 0, "the header is damaged, but no sample");
    pr_code code = check_ending(r, err);
    if (code == PR_OK)
        code =
            pf_input_hash(&r->in, r->index.region_end, r->index.at, &sum, err);
    if (code != PR_OK)
        return code;
    if (sum != r->index.tables_check)
        pf_fault_add(r, PR_DAMAGED, r->index.region_end,
                     "the tables of names are damaged, but no sample");
    *ret_tables = r->header_known && sum == r->index.tables_check &&
                  r->footer.file_size != 0;
    return PR_OK;
}

/* What the header counts is what the segments hold. */
static void
check_totals(pf_reader *r)
{
    uint64_t samples = 0, threads = 0;
    for (size_t i = 0; i < r->n_segments; i++)
        samples += r->segment[i].samples;
    for (size_t i = 0; i < r->names.n_threads; i++)
        threads += r->names.thread[i].sampled;
    if (r->fault.code != PR_OK)
        return;
    if (samples != r->header.samples || threads != r->header.threads)
        pf_fault_add(r, PR_DAMAGED, PF_HEADER_SAMPLES,
                     "the header counts %" PRIu64 " samples of %" PRIu32
                     " threads, the segments %" PRIu64 " of %" PRIu64,
                     r->header.samples, r->header.threads, samples, threads);
}

static pr_code
open_by_index(pf_reader *r, pr_err *err)
{
    bool tables;
    r->segment = r->index.segment;
    r->n_segments = r->segment_cap = r->index.n;
    r->index.segment = NULL;
    r->info.newer_rewriter |= r->index.newer_rewriter;
    pr_code code = check_parts(r, &tables, err);
    for (size_t i = 0; i < r->n_segments && code == PR_OK; i++)
        code = take_indexed(r, i, err);
    if (code != PR_OK)
        return code;
    if (r->names.symbols.holes && tables) {
        code = read_tables(r, &r->names.symbols, NULL);
        r->names.symbols.holes = code != PR_OK;
        if (is_hard(code))
            return PR_FAIL_AT(err, code, r->index.region_end,
                              "cannot read the tables of names");
    }
    check_totals(r);
    return PR_OK;
}

/* ---- by a search ---- */

static pr_code
add_segment(pf_reader *r, const pf_found *found, uint32_t *ret_number,
            pr_err *err)
{
    summary sum = {.has_span = false};
    pf_segment s = {.data_at = found->data_at,
                    .data_size = found->data_size,
                    .checkpoint_size = found->size};
    pr_err why = PR_ERR_INIT;
    if (!pr_grow(&r->segment, &r->segment_cap, r->n_segments + 1,
                 sizeof *r->segment))
        return pr_no_memory(err);
    pr_code code = read_checkpoint(r, &s, ret_number, &sum, &why);
    if (is_hard(code))
        return PR_FAIL_SYS_AT(err, code, why.sys, s.data_at, "%s", why.what);
    s.first_us = sum.span.first_us;
    s.last_us = sum.span.last_us;
    s.samples = sum.span.samples;
    s.record_bytes = sum.span.record_bytes;
    r->segment[r->n_segments++] = s;
    if (code != PR_OK)
        lose_segment(r, r->n_segments - 1, &why);
    else if (*ret_number == 0)
        settle_header(r, sum.header);
    return PR_OK;
}

/* Bytes between two whole segments that belong to neither. */
static void
note_gap(pf_reader *r, uint64_t at, uint64_t end, uint64_t segments)
{
    r->names.symbols.holes = true;
    pf_fault_add(r, PR_DAMAGED, at,
                 "%" PRIu64 " segments are lost in %" PRIu64 " damaged bytes",
                 segments, end - at);
}

/* What the bytes behind the last whole segment mean. */
static void
judge_end(pf_reader *r, const pf_search *search, uint64_t at)
{
    uint64_t tables = r->header.string_table;
    if (tables == 0 && !search->damaged && at == r->in.size)
        pf_fault_add(r, PR_CUT, at,
                     "the recording is not finished; all is there up to its "
                     "last checkpoint");
    else if (tables == 0 && !search->damaged)
        pf_fault_add(r, PR_CUT, at,
                     "the recording is not finished: %" PRIu64
                     " bytes behind the last checkpoint are of no use",
                     r->in.size - at);
    else if (tables == 0)
        pf_fault_add(r, PR_DAMAGED, at,
                     "the last %" PRIu64 " bytes are damaged", r->in.size - at);
    else if (tables > r->in.size)
        pf_fault_add(r, PR_CUT, r->in.size,
                     "the file ends before its tables at %" PRIu64, tables);
    else if (tables != at)
        pf_fault_add(r, PR_DAMAGED, at,
                     "%" PRIu64 " bytes before the tables are damaged",
                     tables > at ? tables - at : at - tables);
    else if (r->footer.file_size == r->in.size)
        pf_fault_add(r, PR_DAMAGED, at,
                     "the index of the file is damaged, but no sample");
    else
        pf_fault_add(r, PR_CUT, r->in.size,
                     "the file ends in its tables; no sample is missing");
}

static pr_code
search_segments(pf_reader *r, pf_search *search, uint64_t *ret_end, pr_err *err)
{
    uint64_t at = PF_HEADER_SIZE;
    uint32_t next = 0, number = 0;
    pf_found found;
    pr_code code;
    while ((code = pf_search_next(search, at, &found, err)) == PR_OK) {
        number = next;
        code = add_segment(r, &found, &number, err);
        if (code != PR_OK)
            return code;
        if (number < next)
            pf_fault_add(r, PR_DAMAGED, found.at,
                         "segment %" PRIu32 " stands where %" PRIu32 " is due",
                         number, next);
        else if (found.data_at > at || number > next)
            note_gap(r, at, found.data_at, number - next);
        at = found.at + found.size;
        next = number + 1;
    }
    *ret_end = at;
    return code == PR_END ? PR_OK : code;
}

static pr_code
open_by_search(pf_reader *r, pr_err *err)
{
    pf_search search;
    uint64_t at;
    pf_search_begin(&search, &r->in, r->swapped, r->in.size);
    pr_code code = search_segments(r, &search, &at, err);
    pf_search_end(&search);
    if (code != PR_OK)
        return code;
    if (r->n_segments == 0) {
        if (search.traces || r->index_traces)
            pf_fault_add(r, PR_DAMAGED, PF_HEADER_SIZE,
                         "no checkpoint is whole: nothing was checked");
        return PR_END;
    }
    judge_end(r, &search, at);
    check_totals(r);
    return PR_OK;
}

/* ---- which of them ---- */

/* A finished file that was cut or appended to has its index elsewhere. */
static pr_code
find_index_elsewhere(pf_reader *r, pr_err *err)
{
    uint64_t at = r->header.string_table;
    if (at < PF_HEADER_SIZE)
        return PR_END;
    for (int i = 0; i < INDEX_CANDIDATES && at < r->in.size; i++) {
        pr_code code = pf_input_find(&r->in, at, r->in.size,
                                     PF_INDEX_TAIL_MAGIC, 8, &at, err);
        if (code != PR_OK || at >= r->in.size)
            return code != PR_OK ? code : PR_END;
        at += 8;
        r->index_traces = true;
        code = pf_index_read(&r->in, at, r->swapped, &r->index, err);
        if (code != PR_END)
            return code;
    }
    return PR_END;
}

/* A whole file of CPython, as far as its first zstd frame tells: nothing in
 * it is worth a search. */
static pr_code
is_plain(pf_reader *r, bool *ret, pr_err *err)
{
    uint64_t tables = r->header.string_table, end = 0;
    *ret = true;
    if (tables == 0 || r->header.version != PF_VERSION) {
        *ret = false;
        return PR_OK;
    }
    if (r->header.compression == 0)
        return PR_OK;
    pr_code code =
        pf_zstd_frame_end(&r->in, PF_HEADER_SIZE, r->in.size, &end, err);
    *ret = end == tables;
    return code;
}

pr_code
pf_open_segments(pf_reader *r, pr_err *err)
{
    pr_code code = PR_END;
    if (r->in.size > ENDING_SIZE)
        code = pf_index_read(&r->in, r->in.size - ENDING_SIZE, r->swapped,
                             &r->index, err);
    if (code == PR_OK)
        return open_by_index(r, err);
    bool plain;
    if (code == PR_END)
        code = is_plain(r, &plain, err);
    if (code != PR_OK)
        return code;
    if (plain)
        return PR_END;
    code = find_index_elsewhere(r, err);
    if (code == PR_OK)
        return open_by_index(r, err);
    if (code != PR_END)
        return code;
    code = pf_footer_read(&r->in, r->in.size, r->swapped, &r->footer, NULL);
    return is_hard(code) ? code : open_by_search(r, err);
}
