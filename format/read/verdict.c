/*
 * verdict.c - the state of a file with checkpoints.
 *
 * Losses come first: the first damage that costs samples is the one that the
 * message names.
 */
#include "format/read/verdict.h"

#include "format/read/segment_search.h"

#include <base/hash.h>
#include <inttypes.h>
#include <stdlib.h>

/* ---- the index ---- */

static bool
is_of_row(const pf_segment *s, const pf_index_row *row)
{
    return s->data_size == row->data_size &&
           s->checkpoint_size == row->checkpoint_size &&
           s->samples == row->samples && s->first_us == row->first_us &&
           s->last_us == row->last_us;
}

/* Compare each segment with its line of the index.  An index that has none of
 * them is that of another file, whose tables name other frames. */
static void
check_rows(pf_reader *r)
{
    size_t same = 0;
    for (size_t i = 0; r->index_known && i < r->n_segments; i++) {
        const pf_segment *s = &r->segment[i];
        if (s->number < r->index.n && is_of_row(s, &r->index.row[s->number]))
            same++;
        else
            pf_fault_add(r, PR_DAMAGED, r->index.at,
                         "index and checkpoint %" PRIu32 " do not agree",
                         s->number);
    }
    if (same == 0)
        r->index_known = false;
}

/* ---- the header ---- */

/* Compare the bytes that are the same in a finished and an unfinished file. */
static bool
same_fixed_fields(const uint8_t *a, const uint8_t *b)
{
    return !memcmp(a, b, PF_HEADER_SAMPLES) &&
           !memcmp(a + PF_HEADER_COMPRESSION, b + PF_HEADER_COMPRESSION,
                   PF_HEADER_SIZE - PF_HEADER_COMPRESSION);
}

static bool
header_is_right(const pf_reader *r, const uint8_t *copy)
{
    if (r->index_known)
        return pr_hash_bytes(r->header.bytes, PF_HEADER_SIZE) ==
               r->index.header_check;
    if (!copy) /* nothing to compare it with: it has the right form at least */
        return r->header.version == PF_VERSION && r->header.compression == 1;
    return r->header.string_table
               ? same_fixed_fields(r->header.bytes, copy) &&
                     r->header.frame_table >= r->header.string_table
               : !memcmp(r->header.bytes, copy, PF_HEADER_SIZE);
}

/* A wrong header gives way to its copy in a checkpoint; without one, nothing is
 * known of the start. */
static void
settle_header(pf_reader *r, const uint8_t *copy)
{
    static const uint8_t unknown[PF_HEADER_SIZE];
    r->header_known = true;
    if (header_is_right(r, copy)) {
        if (r->header.compression == 0)
            pf_fault_add(r, PR_DAMAGED, PF_HEADER_COMPRESSION,
                         "the header says that nothing is compressed");
        return;
    }
    pf_fault_add(r, PR_DAMAGED, 0, "the header is damaged");
    pf_header_parse(r, copy ? copy : unknown);
    r->header_known = copy != NULL;
}

/* ---- losses ---- */

/* The samples of the whole file, by the index.  Without an index nothing proves
 * the header's count, but segments that end at the tables are all. */
static uint64_t
expected_samples(const pf_reader *r, uint64_t end, uint64_t so_far)
{
    uint64_t sum = 0;
    if (!r->index_known)
        return r->header.string_table == end ? so_far : UINT64_MAX;
    for (size_t i = 0; i < r->index.n; i++)
        sum += r->index.row[i].samples;
    return sum;
}

static pr_code
check_data(pf_reader *r, pf_segment *s, pr_err *err)
{
    uint64_t sum, end = s->data_at + s->data_size;
    s->lost = true;
    if (s->data_size <= end) {
        pr_code code = pf_input_hash(&r->in, s->data_at, end, &sum, err);
        if (code != PR_OK)
            return code;
        s->lost = sum != s->data_check;
    }
    if (!s->lost)
        return PR_OK;
    pf_fault_add(r, PR_DAMAGED, s->data_size <= end ? s->data_at : 0,
                 "the records of segment %" PRIu32 " are damaged", s->number);
    return pf_gap_add(r, &(pf_gap){s->first_us, s->last_us, s->samples, true},
                      err);
}

/* Note the segments that are missing before s, by the counts of checkpoints. */
static pr_code
note_missing(pf_reader *r, const pf_segment *s, uint32_t next, uint64_t so_far,
             uint64_t last_us, pr_err *err)
{
    uint64_t before =
        s->samples_so_far > s->samples ? s->samples_so_far - s->samples : 0;
    bool counted = before >= so_far;
    r->missing += s->number - next;
    pf_gap gap = {last_us, s->samples ? s->first_us : last_us,
                  counted ? before - so_far : 0, counted};
    if (gap.to_us < gap.from_us)
        gap.to_us = gap.from_us;
    pf_fault_add(r, PR_DAMAGED, s->data_at,
                 s->number - next == 1 ? "segment %" PRIu32 " is damaged"
                                       : "segments %" PRIu32 " to %" PRIu32
                                         " are damaged",
                 next, s->number - 1);
    return pf_gap_add(r, &gap, err);
}

typedef struct tail {
    uint32_t next;   /* number of the segment after the last whole one */
    uint64_t so_far; /* samples */
    uint64_t last_us;
} tail;

static pr_code
check_segments(pf_reader *r, tail *ret, pr_err *err)
{
    tail t = {0};
    pr_code code = PR_OK;
    for (size_t i = 0; i < r->n_segments && code == PR_OK; i++) {
        pf_segment *s = &r->segment[i];
        if (s->number != t.next)
            code = note_missing(r, s, t.next, t.so_far, t.last_us, err);
        if (code == PR_OK)
            code = check_data(r, s, err);
        t.next = s->number + 1;
        t.so_far = s->samples_so_far;
        if (s->samples && s->last_us > t.last_us)
            t.last_us = s->last_us;
    }
    *ret = t;
    return code;
}

/* Note the samples that are missing after the last whole segment. */
static pr_code
note_tail(pf_reader *r, const tail *t, pr_err *err)
{
    uint64_t expected = r->expected_samples;
    if (expected != UINT64_MAX && expected <= t->so_far)
        return PR_OK;
    bool counted = expected != UINT64_MAX;
    pf_gap gap = {t->last_us, t->last_us, counted ? expected - t->so_far : 0,
                  counted};
    return pf_gap_add(r, &gap, err);
}

/* ---- the parts after the segments of a finished file ---- */

/* Find statistics and footer, in the size that fits the index's checksum. */
static pr_code
find_ending(pf_reader *r, uint64_t *ret_end, pr_err *err)
{
    static const uint64_t sizes[] = {PF_STATS_SIZE + PF_FOOTER_SIZE,
                                     PF_FOOTER_SIZE};
    uint64_t at = r->index.end, sum;
    *ret_end = 0;
    for (size_t i = 0; i < 2 && *ret_end == 0; i++) {
        if (r->in.size - at < sizes[i])
            continue;
        pr_code code = pf_input_hash(&r->in, at, at + sizes[i], &sum, err);
        if (code != PR_OK)
            return code;
        if (sum == r->index.end_check)
            *ret_end = at + sizes[i];
    }
    return PR_OK;
}

static pr_code
note_appended(pf_reader *r, uint64_t end, pr_err *err)
{
    uint32_t magic = 0;
    if (r->in.size - end >= sizeof magic) {
        pr_code code = pf_input_read(&r->in, end, &magic, sizeof magic, err);
        if (code != PR_OK)
            return code;
    }
    bool profile = magic == PF_MAGIC || magic == PF_HCAM;
    pf_fault_add(
        r, PR_DAMAGED, end, "%" PRIu64 " bytes follow the end of the profile%s",
        r->in.size - end, profile ? ": another profile begins there" : "");
    return PR_OK;
}

static pr_code
check_ending(pf_reader *r, const pf_layout *layout, uint64_t *ret_end,
             pr_err *err)
{
    uint64_t end;
    uint64_t full = r->index.end + PF_STATS_SIZE + PF_FOOTER_SIZE;
    pr_code code = find_ending(r, &end, err);
    *ret_end = end;
    if (code != PR_OK)
        return code;
    if (end == 0) {
        pf_fault_add(r, r->in.size < full ? PR_CUT : PR_DAMAGED, r->index.end,
                     r->in.size < full ? "the file ends before its footer"
                                       : "statistics or footer are damaged");
        return PR_OK;
    }
    code = pf_footer_read(&r->in, end, r->swapped, &r->footer, err);
    if (code == PR_OK && r->footer.file_size != end)
        pf_fault_add(r, PR_DAMAGED, layout->end,
                     "the file has %" PRIu64 " bytes, its footer says %" PRIu64,
                     end, r->footer.file_size);
    if (code == PR_OK && r->in.size > end)
        code = note_appended(r, end, err);
    return code;
}

/* The bytes of both tables: by the file size in the footer, or if the footer is
 * cut off, by their place. */
static uint64_t
tables_size(const pf_reader *r, uint64_t end)
{
    const pf_index *index = &r->index;
    uint64_t others =
        index->region_end + (index->end - index->at) + (end - index->end);
    if (r->footer.file_size == 0)
        return index->at - index->region_end;
    return r->footer.file_size < others ? 0 : r->footer.file_size - others;
}

/* Parse both tables into `tables`, if the footer gives the number of names. */
static pr_code
parse_tables(pf_reader *r, const uint8_t *p, size_t size, pf_symbols *tables,
             pr_err *err)
{
    uint64_t strings = r->header.frame_table - r->header.string_table;
    if (r->footer.file_size == 0)
        return PR_OK;
    if (r->header.frame_table < r->header.string_table || strings > size)
        return PR_FAIL(err, PR_DAMAGED, "tables out of place");
    return pf_symbols_from_tables(
        tables, pf_cur_of(p, (size_t)strings, r->swapped), r->footer.strings,
        pf_cur_of(p + strings, size - (size_t)strings, r->swapped),
        r->footer.frames, err);
}

/* *ret_whole: the tables have the right checksum and form. */
static pr_code
read_tables(pf_reader *r, uint64_t end, pf_symbols *tables, bool *ret_whole,
            pr_err *err)
{
    uint64_t size = tables_size(r, end);
    *ret_whole = false;
    if (size > r->index.at)
        return PR_OK;
    pr_code code = pf_budget_check(&r->budget, size, err);
    if (code != PR_OK)
        return code;
    uint8_t *p = malloc((size_t)size + 1);
    if (!p)
        return pr_no_memory(err);
    pr_err why = PR_ERR_INIT;
    code = pf_input_read(&r->in, r->index.at - size, p, (size_t)size, &why);
    if (code == PR_OK &&
        pr_hash_bytes(p, (size_t)size) == r->index.tables_check) {
        code = parse_tables(r, p, (size_t)size, tables, &why);
        *ret_whole = code == PR_OK;
    }
    free(p);
    return pf_is_hard(code) ? pf_fail_as(err, &why, PR_NO_OFFSET) : PR_OK;
}

/* Names come from the checkpoints; names that are lost with a checkpoint come
 * from whole tables. */
static pr_code
check_tables(pf_reader *r, uint64_t end, pr_err *err)
{
    pf_symbols tables = {.budget = &r->budget};
    bool whole = false;
    pr_code code = PR_OK;
    if (r->header_known && r->header.string_table)
        code = read_tables(r, end, &tables, &whole, err);
    if (code == PR_OK && !whole)
        pf_fault_add(r, PR_DAMAGED, r->index.region_end,
                     "the tables of names are damaged");
    else if (code != PR_OK || r->footer.file_size == 0)
        ; /* only their checksum can be compared */
    else if (r->names.symbols.holes)
        pf_symbols_take_tables(&r->names.symbols, &tables);
    else if (!pf_symbols_equal(&tables, &r->names.symbols))
        pf_fault_add(r, PR_DAMAGED, r->index.region_end,
                     "the tables do not name what the checkpoints name");
    pf_symbols_release(&tables);
    return code;
}

/* Compare the header's counts with the samples and threads of the segments. */
static void
check_totals(pf_reader *r, const tail *t)
{
    if (r->fault.code != PR_OK)
        return;
    if (t->so_far != r->header.samples ||
        r->names.n_sampled != r->header.threads ||
        r->header.string_table != r->index.region_end)
        pf_fault_add(r, PR_DAMAGED, PF_HEADER_SAMPLES,
                     "the header counts %" PRIu64 " samples of %" PRIu32
                     " threads, the segments %" PRIu64 " of %zu",
                     r->header.samples, r->header.threads, t->so_far,
                     r->names.n_sampled);
}

static pr_code
judge_finished(pf_reader *r, const pf_layout *layout, const tail *t,
               pr_err *err)
{
    r->missing += t->next < r->index.n ? r->index.n - t->next : 0;
    if (t->next < r->index.n)
        pf_fault_add(r, PR_DAMAGED, layout->end,
                     "segments from %" PRIu32 " on are damaged", t->next);
    uint64_t end = 0;
    pr_code code = note_tail(r, t, err);
    if (code == PR_OK)
        code = check_ending(r, layout, &end, err);
    if (code == PR_OK)
        code = check_tables(r, end, err);
    check_totals(r, t);
    return code;
}

/* ---- a file without its index ---- */

/* Does the file end as a finished one, with a footer (4.5, 4.6)? */
static pr_code
has_ending(const pf_reader *r, bool *ret, pr_err *err)
{
    pf_footer footer;
    pr_code code =
        pf_footer_read(&r->in, r->in.size, r->swapped, &footer, NULL);
    *ret = code == PR_OK && (footer.file_size == r->in.size ||
                             footer.stats.known & PR_STATS_PRESENT);
    return pf_is_hard(code) ? PR_FAIL(err, code, "cannot read the footer")
                            : PR_OK;
}

/* The meaning of the bytes after the last whole segment. */
static pr_code
judge_rest(pf_reader *r, const pf_layout *layout, pr_err *err)
{
    uint64_t at = layout->end, tables = r->header.string_table;
    bool good;
    pr_code code;
    if (tables == at) {
        code = has_ending(r, &good, err);
        pf_fault_add(r, good ? PR_DAMAGED : PR_CUT, at,
                     good ? "the index is damaged"
                          : "the file ends in its tables of names");
        return code;
    }
    code = pf_begins_segment(&r->in, at, &good, err);
    if (!good || (tables && tables <= r->in.size))
        pf_fault_add(r, PR_DAMAGED, at,
                     "%" PRIu64 " bytes after the last whole segment are "
                     "damaged",
                     r->in.size - at);
    else if (tables)
        pf_fault_add(r, PR_CUT, r->in.size,
                     "the file ends before its tables of names at %" PRIu64,
                     tables);
    else
        pf_fault_add(r, PR_CUT, at, "the recording is not finished");
    return code;
}

static pr_code
judge_unfinished(pf_reader *r, const pf_layout *layout, const tail *t,
                 pr_err *err)
{
    pr_code code = judge_rest(r, layout, err);
    return code == PR_OK ? note_tail(r, t, err) : code;
}

/* ---- all ---- */

static void
note_layout(pf_reader *r, const pf_layout *layout)
{
    if (layout->others)
        pf_fault_add(r, PR_DAMAGED, layout->others_at,
                     "%" PRIu64 " segments of another profile are mixed in",
                     layout->others);
    if (layout->repeated)
        pf_fault_add(r, PR_DAMAGED, layout->end,
                     "%" PRIu64 " segments stand twice", layout->repeated);
    if (!layout->in_place)
        pf_fault_add(r, PR_DAMAGED, layout->misplaced_at,
                     "bytes were inserted, removed or moved");
}

static pr_code
check_identities(pf_reader *r, pr_err *err)
{
    size_t n;
    pr_code code = pf_names_separate(&r->names, &n, err);
    if (code == PR_OK && n)
        pf_fault_add(r, PR_DAMAGED, PF_HEADER_SIZE,
                     "%zu threads have the identity of another", n);
    return code;
}

pr_code
pf_judge(pf_reader *r, const pf_layout *layout, pr_err *err)
{
    tail t;
    pr_code code = check_segments(r, &t, err);
    if (code != PR_OK)
        return code;
    check_rows(r);
    settle_header(r, layout->header);
    r->info.newer_rewriter |= r->index_known && r->index.newer_rewriter;
    r->expected_samples = expected_samples(r, layout->end, t.so_far);
    code = r->index_known ? judge_finished(r, layout, &t, err)
                          : judge_unfinished(r, layout, &t, err);
    note_layout(r, layout);
    return code == PR_OK ? check_identities(r, err) : code;
}
