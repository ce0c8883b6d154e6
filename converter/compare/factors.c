/*
 * factors.c - spec/compare.md, 3.3: principal components, of each function by
 * an update of those of all.
 */
#include "converter/compare/factors.h"

#include "converter/compare/eigen.h"
#include "converter/compare/sample_moments.h"

#include <math.h>
#include <stdlib.h>

enum {
    MOST_COUNT = 300 /* samples above which a function has no more weight */
};

double
conv_product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

void
conv_subtract(double *from, double by, const double *what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] -= by * what[i];
}

/* ---- of all that show them ---- */

static double
weight(const conv_logs *logs, size_t f)
{
    return fmin(logs->count[f], MOST_COUNT);
}

/* The products of the runs, over all functions that show factors. */
static void
add_products(const conv_factors *s, double *to)
{
    size_t n = s->logs->n_runs;
    for (size_t i = 0; i < s->logs->n_references; i++) {
        size_t f = s->logs->reference[i];
        const double *d = s->deviation + f * n;
        for (size_t a = 0; s->shows[f] && a < n; a++)
            for (size_t b = 0; b < n; b++)
                to[a * n + b] += weight(s->logs, f) * d[a] * d[b];
    }
}

static pr_code
decompose(conv_factors *s, pr_err *err)
{
    size_t n = s->logs->n_runs;
    double *products = calloc(n * n, sizeof *products);
    s->value = calloc(n, sizeof *s->value);
    s->vector = calloc(n, n * sizeof *s->vector);
    bool has_room = products && s->value && s->vector;
    if (has_room) {
        add_products(s, products);
        conv_eigen(products, n, s->value, s->vector);
    }
    free(products);
    return has_room ? PR_OK : pr_no_memory(err);
}

/* ---- of each function ---- */

/* The factors without what function f itself shows.  room: [run] twice. */
static void
find_own(const conv_factors *s, size_t f, double *room)
{
    size_t n = s->logs->n_runs;
    double *q = room, *u = room + n;
    double root = sqrt(weight(s->logs, f));
    for (size_t j = 0; j < n; j++)
        q[j] = root * conv_product(s->vector + j * n, s->deviation + f * n, n);
    for (size_t i = 0; i < s->n; i++) {
        conv_eigen_without(s->value, q, n, i, u);
        for (size_t j = 0; j < n; j++)
            conv_subtract(s->own[f] + i * n, -u[j], s->vector + j * n, n);
    }
}

static size_t
count_showing(const conv_factors *s)
{
    size_t n = 0;
    for (size_t f = 0; f < s->logs->n_functions; f++)
        n += s->shows[f];
    return n;
}

static void
find_all_own(conv_factors *s, double *room)
{
    double *next = s->all;
    for (size_t f = 0; f < s->logs->n_functions; f++) {
        if (!s->shows[f])
            continue;
        s->own[f] = next;
        next += s->n * s->logs->n_runs;
        find_own(s, f, room);
    }
}

pr_code
conv_factors_find(conv_factors *s, size_t n, pr_err *err)
{
    size_t runs = s->logs->n_runs;
    pr_code rc = decompose(s, err);
    if (rc != PR_OK)
        return rc;
    s->n = n;
    s->own = calloc(s->logs->n_functions + 1, sizeof *s->own);
    s->all = calloc(count_showing(s) + 1, n * runs * sizeof *s->all);
    double *room = calloc(2 * runs, sizeof *room);
    if (s->own && s->all && room)
        find_all_own(s, room);
    else
        rc = pr_no_memory(err);
    free(room);
    return rc;
}

const double *
conv_factor_of(const conv_factors *s, size_t f, size_t i)
{
    return (s->shows[f] ? s->own[f] : s->vector) + i * s->logs->n_runs;
}

/* ---- set-up ---- */

static void
take_deviations(conv_factors *s)
{
    size_t n = s->logs->n_runs;
    for (size_t f = 0; f < s->logs->n_functions; f++) {
        const double *y = s->logs->scaled + f * n;
        double mean = conv_mean(y, n);
        for (size_t r = 0; r < n; r++)
            s->deviation[f * n + r] = y[r] - mean;
    }
}

pr_code
conv_factors_build(const conv_logs *logs, conv_factors *ret, pr_err *err)
{
    size_t functions = logs->n_functions + 1;
    conv_factors s = {.logs = logs};
    s.deviation = calloc(functions, logs->n_runs * sizeof *s.deviation);
    s.shows = calloc(functions, sizeof *s.shows);
    if (!s.deviation || !s.shows) {
        conv_factors_release(&s);
        return pr_no_memory(err);
    }
    take_deviations(&s);
    *ret = s;
    return PR_OK;
}

void
conv_factors_release(conv_factors *factors)
{
    free(factors->deviation);
    free(factors->shows);
    free(factors->value);
    free(factors->vector);
    free(factors->own);
    free(factors->all);
    *factors = (conv_factors){0};
}
