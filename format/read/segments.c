/*
 * segments.c - find and take the segments of a file: by its index, if every
 * checkpoint lies where the index says, else by a search.
 */
#include "format/read/segments.h"

#include "format/limits.h"
#include "format/read/segment_search.h"
#include "format/read/segment_take.h"
#include "format/read/verdict.h"

#include <base/hash.h>
#include <inttypes.h>
#include <stdlib.h>

/* Places that may end an index: one in a good file. */
enum { INDEX_CANDIDATES = 16 };

/* ---- which index ---- */

static bool
is_of_header(const pf_reader *r, const pf_index *index)
{
    return pr_hash_bytes(r->header.bytes, PF_HEADER_SIZE) ==
           index->header_check;
}

/* Keep the candidate unless the present one is of this header. */
static void
keep_index(pf_reader *r, pf_index *candidate)
{
    if (r->index_known && !is_of_header(r, candidate)) {
        pf_index_release(candidate);
        return;
    }
    pf_index_release(&r->index);
    r->index = *candidate;
    r->index_known = true;
}

static pr_code
try_index(pf_reader *r, uint64_t end, pr_err *err)
{
    pf_index index;
    pr_code code = pf_index_read(&r->in, end, r->swapped, &index, err);
    if (code == PR_OK)
        keep_index(r, &index);
    return code == PR_END ? PR_OK : code;
}

/* Try the ends of an index before statistics of each size, or none. */
static pr_code
find_index_at_end(pf_reader *r, pr_err *err)
{
    static const uint64_t after[] = {PF_STATS_SIZE + PF_FOOTER_SIZE,
                                     PF_FOOTER_SIZE};
    pr_code code = PR_OK;
    for (size_t i = 0; i < 2 && code == PR_OK && !r->index_known; i++)
        if (r->in.size > after[i])
            code = try_index(r, r->in.size - after[i], err);
    return code;
}

/* Search for the index of a finished file that was cut or appended to. */
static pr_code
find_index_elsewhere(pf_reader *r, pr_err *err)
{
    uint64_t at = 0;
    for (int i = 0; i < INDEX_CANDIDATES; i++) {
        pr_code code = pf_input_find(&r->in, at, r->in.size,
                                     PF_INDEX_TAIL_MAGIC, 8, &at, err);
        if (code != PR_OK || at >= r->in.size)
            return code;
        at += 8;
        r->index_traces = true;
        code = try_index(r, at, err);
        if (code != PR_OK || (r->index_known && is_of_header(r, &r->index)))
            return code;
    }
    return PR_OK;
}

/* ---- by the index ---- */

/* Take one line of the index.  *ret_whole: its checkpoint is whole. */
static pr_code
take_row(pf_taking *t, uint64_t at, size_t i, bool *ret_whole, pr_err *err)
{
    const pf_index_row *row = &t->r->index.row[i];
    pf_segment s = {.data_at = at,
                    .data_size = row->data_size,
                    .checkpoint_size = row->checkpoint_size};
    pf_checkpoint c;
    pr_err why = PR_ERR_INIT;
    pr_code code = pf_taking_load(t, &s, &c, &why);
    *ret_whole = false;
    if (code == PR_OK && s.number != i)
        return PR_OK;
    if (code == PR_OK)
        code = pf_taking_take(t, &s, &c, &why);
    if (pf_is_hard(code))
        return pf_fail_as(err, &why, at);
    *ret_whole = code == PR_OK;
    return PR_OK;
}

static pr_code
take_rows(pf_taking *t, bool *ret_whole, pr_err *err)
{
    const pf_index *index = &t->r->index;
    uint64_t at = PF_HEADER_SIZE;
    *ret_whole = true;
    for (size_t i = 0; i < index->n && *ret_whole; i++) {
        pr_code code = take_row(t, at, i, ret_whole, err);
        if (code != PR_OK)
            return code;
        at += index->row[i].data_size + index->row[i].checkpoint_size;
    }
    return PR_OK;
}

/* ---- by a search ---- */

typedef struct found_list {
    pf_found *at; /* of one family, in order of the file */
    size_t n, cap;
    pf_layout *layout;
    bool family_known;
    uint64_t family;
} found_list;

static pr_code
add_found(found_list *list, pf_reader *r, const pf_found *found, pr_err *err)
{
    if (!list->family_known)
        list->family = found->family;
    list->family_known = true;
    if (found->family != list->family) {
        if (list->layout->others++ == 0)
            list->layout->others_at = found->at;
        return PR_OK;
    }
    pr_code code = pf_budget_grow(&r->budget, &list->at, &list->cap,
                                  list->n + 1, sizeof *list->at, err);
    if (code == PR_OK)
        list->at[list->n++] = *found;
    return code;
}

static pr_code
search(pf_reader *r, found_list *list, bool *ret_traces, pr_err *err)
{
    pf_search search;
    pf_found found;
    uint64_t at = 0; /* the header may be cut off */
    pr_code code;
    pf_search_begin(&search, &r->in, r->swapped, r->in.size);
    while ((code = pf_search_next(&search, at, &found, err)) == PR_OK) {
        at = found.at + found.size;
        code = add_found(list, r, &found, err);
        if (code != PR_OK)
            break;
    }
    *ret_traces = search.traces;
    pf_search_end(&search);
    return code == PR_END ? PR_OK : code;
}

static int
by_number(const void *a, const void *b)
{
    const pf_found *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

static pr_code
is_data_whole(const pf_reader *r, const pf_found *f, bool *ret, pr_err *err)
{
    uint64_t sum;
    *ret = false;
    if (f->data_size > f->at)
        return PR_OK;
    pr_code code =
        pf_input_hash(&r->in, f->at - f->data_size, f->at, &sum, err);
    *ret = code == PR_OK && sum == f->data_check;
    return code;
}

/* Keep the first whole one of the segments with the same number. */
static pr_code
drop_repeated(pf_reader *r, found_list *list, pr_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        bool whole = true;
        if (n == 0 || list->at[n - 1].number != list->at[i].number) {
            list->at[n++] = list->at[i];
            continue;
        }
        list->layout->repeated++;
        pr_code code = is_data_whole(r, &list->at[n - 1], &whole, err);
        if (code != PR_OK)
            return code;
        if (!whole)
            list->at[n - 1] = list->at[i];
    }
    list->n = n;
    return PR_OK;
}

/* Take one checkpoint that the search found; a wrong body is a loss. */
static pr_code
take_found(pf_taking *t, const pf_found *f, pr_err *err)
{
    /* it wraps if the file has lost the start of the data frame */
    pf_segment s = {.data_at = f->at - f->data_size,
                    .data_size = f->data_size,
                    .checkpoint_size = f->size};
    pf_checkpoint c;
    pr_err why = PR_ERR_INIT;
    pr_code code = pf_taking_load(t, &s, &c, &why);
    if (code == PR_OK)
        code = pf_taking_take(t, &s, &c, &why);
    if (pf_is_hard(code))
        return pf_fail_as(err, &why, f->at);
    if (code != PR_OK)
        pf_fault_add(t->r, PR_DAMAGED, f->at, "checkpoint %" PRIu32 ": %s",
                     f->number, why.what);
    return PR_OK;
}

static pr_code
take_list(pf_taking *t, found_list *list, pr_err *err)
{
    pf_layout *layout = list->layout;
    pr_code code = PR_OK;
    layout->in_place = true;
    layout->end = PF_HEADER_SIZE;
    for (size_t i = 0; i < list->n; i++) {
        const pf_found *f = &list->at[i];
        bool in_order = i == 0 || f->number > f[-1].number;
        if (layout->in_place &&
            (!in_order || f->at != layout->end + f->data_size)) {
            layout->in_place = false;
            layout->misplaced_at = layout->end;
        }
        layout->end = f->at + f->size;
    }
    if (list->n)
        qsort(list->at, list->n, sizeof *list->at, by_number);
    code = drop_repeated(t->r, list, err);
    t->family_known = list->family_known;
    t->family = list->family;
    for (size_t i = 0; i < list->n && code == PR_OK; i++)
        code = take_found(t, &list->at[i], err);
    return code;
}

/* Bring the reader back to its state before any segment was taken. */
static pr_code
forget(pf_reader *r, pr_err *err)
{
    pf_names_release(&r->names);
    r->n_segments = 0;
    r->kept.n = 0;
    pr_err_clear(&r->fault);
    r->info.state = PF_FINISHED;
    r->info.newer_rewriter = 0;
    r->budget.memory = r->segment_cap * sizeof *r->segment + r->kept.cap;
    return pf_names_init(&r->names, &r->budget, err);
}

static pr_code
take_by_search(pf_taking *t, pf_layout *layout, pr_err *err)
{
    pf_reader *r = t->r;
    found_list list = {.layout = layout};
    bool traces = false;
    pf_taking_end(t);
    pf_taking_begin(t, r);
    pr_code code = forget(r, err);
    if (code == PR_OK)
        code = search(r, &list, &traces, err);
    if (code == PR_OK)
        code = take_list(t, &list, err);
    free(list.at);
    pf_budget_return(&r->budget, list.cap, sizeof *list.at);
    if (code == PR_OK && r->n_segments == 0) {
        if (traces || r->index_traces || r->index_known)
            pf_fault_add(r, PR_DAMAGED, PF_HEADER_SIZE,
                         "no checkpoint is whole: nothing was checked");
        return PR_END;
    }
    return code;
}

/* ---- which of them ---- */

/* Is it a whole file of CPython, as far as its first zstd frame shows?  A
 * search of such a file finds nothing. */
static pr_code
is_plain(const pf_reader *r, bool *ret, pr_err *err)
{
    uint64_t tables = r->header.string_table, end = 0;
    pf_frame_state state;
    pf_footer footer;
    pr_err why = PR_ERR_INIT;
    *ret = false;
    if (tables < PF_HEADER_SIZE || tables > r->header.frame_table ||
        r->header.frame_table > r->in.size || r->header.version != PF_VERSION ||
        r->index_known)
        return PR_OK;
    pr_code code =
        pf_footer_read(&r->in, r->in.size, r->swapped, &footer, &why);
    if (pf_is_hard(code))
        return pf_fail_as(err, &why, PR_NO_OFFSET);
    if (code != PR_OK || footer.file_size != r->in.size)
        return PR_OK;
    code = pf_zstd_frame(&r->in, PF_HEADER_SIZE, r->in.size, &state, &end, err);
    if (code != PR_OK)
        return code;
    *ret = r->header.compression == 0
               ? state == PF_FRAME_NONE
               : state == PF_FRAME_WHOLE && end == tables;
    return PR_OK;
}

static pr_code
take_all(pf_taking *t, pf_layout *layout, pr_err *err)
{
    pf_reader *r = t->r;
    bool plain, whole = false;
    pr_code code = find_index_at_end(r, err);
    if (code == PR_OK)
        code = is_plain(r, &plain, err);
    if (code != PR_OK || plain)
        return code != PR_OK ? code : PR_END;
    if (!r->index_known || !is_of_header(r, &r->index))
        code = find_index_elsewhere(r, err);
    if (code == PR_OK && r->index_known &&
        r->index.region_end == r->header.string_table)
        code = take_rows(t, &whole, err);
    if (code != PR_OK)
        return code;
    layout->in_place = whole;
    layout->end = r->index.region_end;
    return whole ? PR_OK : take_by_search(t, layout, err);
}

pr_code
pf_open_segments(pf_reader *r, pr_err *err)
{
    pf_taking taking;
    pf_layout layout = {.end = PF_HEADER_SIZE};
    pf_taking_begin(&taking, r);
    pr_code code = take_all(&taking, &layout, err);
    if (code == PR_OK) {
        layout.header = taking.has_header ? taking.header : NULL;
        code = pf_judge(r, &layout, err);
    }
    pf_taking_end(&taking);
    return code;
}
