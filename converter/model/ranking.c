/*
 * ranking.c - sorted by one weight, then by the other, then by samples and id.
 */
#include "converter/model/ranking.h"

#include <stdlib.h>

/* An item that qsort() compares. */
typedef struct row {
    uint64_t first, second, n;
    uint32_t unit;
} row;

static int
descending(uint64_t a, uint64_t b)
{
    return (a < b) - (a > b);
}

static int
compare_rows(const void *a_row, const void *b_row)
{
    const row *a = a_row, *b = b_row;
    int order = descending(a->first, b->first);
    if (order == 0)
        order = descending(a->second, b->second);
    if (order == 0)
        order = descending(a->n, b->n);
    return order ? order : (a->unit > b->unit) - (a->unit < b->unit);
}

static bool
sort(conv_ranking *r, conv_rank_by by)
{
    row *rows = calloc(r->n + 1, sizeof *rows);
    if (!rows)
        return false;
    for (size_t i = 0; i < r->n; i++) {
        uint32_t unit = r->unit[i];
        uint64_t self = r->totals.self[unit].weight_us;
        uint64_t total = r->totals.total[unit].weight_us;
        rows[i] = (row){by == CONV_BY_SELF ? self : total,
                        by == CONV_BY_SELF ? total : self,
                        r->totals.total[unit].n, unit};
    }
    qsort(rows, r->n, sizeof *rows, compare_rows);
    for (size_t i = 0; i < r->n; i++)
        r->unit[i] = rows[i].unit;
    free(rows);
    return true;
}

pr_code
conv_ranking_sort(conv_ranking *ranking, conv_rank_by by, pr_err *err)
{
    return sort(ranking, by) ? PR_OK : pr_no_memory(err);
}

static pr_code
add_up(const conv_model *model, conv_ranking *r, pr_err *err)
{
    conv_index index;
    pr_code rc = conv_index_order(model, &index, err);
    if (rc != PR_OK)
        return rc;
    rc = conv_totals_build(model, &index, r->kind, &r->totals, err);
    conv_index_release(&index);
    if (rc != PR_OK)
        return rc;
    r->unit = calloc(r->totals.n + 1, sizeof *r->unit);
    if (!r->unit)
        return pr_no_memory(err);
    for (uint32_t i = 0; i < r->totals.n; i++)
        if (r->totals.total[i].n)
            r->unit[r->n++] = i;
    return PR_OK;
}

pr_code
conv_ranking_build(const conv_model *model, conv_unit kind, conv_rank_by by,
                   conv_ranking *ret, pr_err *err)
{
    conv_ranking r = {.kind = kind};
    pr_code rc = add_up(model, &r, err);
    if (rc == PR_OK)
        rc = conv_ranking_sort(&r, by, err);
    if (rc == PR_OK)
        *ret = r;
    else
        conv_ranking_release(&r);
    return rc;
}

void
conv_ranking_release(conv_ranking *ranking)
{
    conv_totals_release(&ranking->totals);
    free(ranking->unit);
    *ranking = (conv_ranking){0};
}

uint32_t
conv_ranking_function(const conv_ranking *ranking, const conv_model *model,
                      uint32_t unit)
{
    return ranking->kind == CONV_UNIT_FUNCTION
               ? unit
               : conv_model_frame(model, unit)->function;
}
