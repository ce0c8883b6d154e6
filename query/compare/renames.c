/*
 * renames.c - spec/compare.md, 3.6: the pairs of least cost first.
 */
#include "query/compare/renames.h"

#include <base/array.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200 }; /* functions of either kind that are paired */
static const double MOST_COST = 1, OTHER_NAME = 0.3, OTHER_FILE = 0.3;

typedef struct pair {
    double cost;
    size_t gone, now;
} pair;

static bool
equal(pr_bytes a, pr_bytes b)
{
    return a.len == b.len && memcmp(a.at, b.at, a.len) == 0;
}

/* Mean microseconds of the function in a run of that side. */
static double
mean_us(const q_sides *s, unsigned measure, size_t f, bool of_base)
{
    size_t n = s->n_base + s->n_new, first = of_base ? 0 : s->n_base;
    size_t last = of_base ? s->n_base : n;
    double sum = 1; /* its logarithm must be finite */
    for (size_t r = first; r < last; r++)
        sum += (double)s->of[measure][f * n + r].us;
    return sum / (double)(last - first);
}

/* Two functions that share neither name nor file are not one. */
static double
cost_of(const q_sides *s, size_t gone, size_t now)
{
    bool name = equal(q_sides_name(s, gone), q_sides_name(s, now));
    bool file = equal(q_sides_path(s, gone), q_sides_path(s, now));
    double cost = (name ? 0 : OTHER_NAME) + (file ? 0 : OTHER_FILE);
    if (!name && !file)
        return INFINITY;
    for (unsigned m = Q_SELF; m <= Q_TOTAL; m++)
        cost +=
            fabs(log(mean_us(s, m, gone, true) / mean_us(s, m, now, false)));
    return cost;
}

static int
by_cost(const void *x, const void *y)
{
    const pair *a = x, *b = y;
    if (a->cost < b->cost || a->cost > b->cost)
        return a->cost < b->cost ? -1 : 1;
    if (a->gone != b->gone)
        return a->gone < b->gone ? -1 : 1;
    return (a->now > b->now) - (a->now < b->now);
}

static size_t
collect(const q_contrast *c, unsigned measure, conv_verdict verdict,
        size_t *ret)
{
    size_t n = 0;
    for (size_t f = 0; f < c->sides.key.n && n < MOST; f++)
        if (c->change[measure][f].verdict == verdict)
            ret[n++] = f;
    return n;
}

pr_code
q_renames_find(const q_contrast *contrast, unsigned measure, size_t *ret,
               pr_err *err)
{
    size_t gone[MOST], now[MOST], n = 0, cap = 0;
    pair *pairs = NULL;
    size_t n_gone = collect(contrast, measure, CONV_GONE, gone);
    size_t n_now = collect(contrast, measure, CONV_NEW, now);
    for (size_t f = 0; f < contrast->sides.key.n; f++)
        ret[f] = SIZE_MAX;
    for (size_t i = 0; i < n_gone * n_now; i++) {
        pair p = {0, gone[i / n_now], now[i % n_now]};
        p.cost = cost_of(&contrast->sides, p.gone, p.now);
        if (p.cost >= MOST_COST)
            continue;
        if (!pr_grow(&pairs, &cap, n + 1, sizeof *pairs)) {
            free(pairs);
            return pr_no_memory(err);
        }
        pairs[n++] = p;
    }
    if (n)
        qsort(pairs, n, sizeof *pairs, by_cost);
    for (size_t i = 0; i < n; i++)
        if (ret[pairs[i].gone] == SIZE_MAX && ret[pairs[i].now] == SIZE_MAX) {
            ret[pairs[i].gone] = pairs[i].now;
            ret[pairs[i].now] = pairs[i].gone;
        }
    free(pairs);
    return PR_OK;
}
