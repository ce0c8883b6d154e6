/*
 * series.c - spec/compare.md, 7.1: from runs to the series of each function.
 */
#include "converter/compare/factors.h"
#include "converter/compare/logs.h"
#include "converter/compare/sample_moments.h"

#include <math.h>
#include <pyrec/compare.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FACTORS = 4,
    A_FACTOR = 10,    /* builds that each factor needs */
    MOST_BUILDS = 256 /* the time of factors grows with their third power */
};

/* A factor that shows next to nothing is rounding. */
static const double LEAST_PART = 1e-9;

typedef struct work {
    conv_factors factors;
    size_t n;          /* builds */
    conv_point *point; /* [n + 1] of the present function ... */
    size_t n_points;   /* ... and the first of its newest builds that differ */
    double *y;         /* [n] its series without its levels */
    double *factor;    /* [MOST_FACTORS][n], and ... */
    double *flat;      /* ... the same without these levels, orthonormal */
} work;

/* ---- levels ---- */

/* The points of a function by itself, without factors. */
static pr_code
find_points(work *w, size_t f, pr_err *err)
{
    const double *y = w->factors.logs->scaled + f * w->n;
    pr_code rc = conv_change_points(y, w->n, CONV_HISTORY_ALPHA, w->point,
                                    &w->n_points, err);
    size_t level = w->n_points ? w->point[w->n_points - 1].at : 0;
    size_t newest = conv_judge_newest(y + level, w->n - level).n;
    if (newest)
        w->point[w->n_points++].at = w->n - newest;
    return rc;
}

static void
center(double *y, size_t n)
{
    double mean = conv_mean(y, n);
    for (size_t i = 0; i < n; i++)
        y[i] -= mean;
}

static void
take_levels_out(const work *w, double *y)
{
    size_t first = 0;
    for (size_t i = 0; i < w->n_points; i++) {
        center(y + first, w->point[i].at - first);
        first = w->point[i].at;
    }
    center(y + first, w->n - first);
}

/* ---- factors ---- */

/* The references whose level does not change show factors: a change of many
 * functions is not taken for one. */
static pr_code
choose_showing(work *w, size_t *ret_n, pr_err *err)
{
    const conv_logs *l = w->factors.logs;
    pr_code rc = PR_OK;
    *ret_n = 0;
    for (size_t i = 0; rc == PR_OK && i < l->n_references; i++) {
        size_t f = l->reference[i];
        rc = find_points(w, f, err);
        w->factors.shows[f] = w->n_points == 0;
        *ret_n += w->n_points == 0;
    }
    return rc;
}

/* The i-th factor of f, and the same without the levels of f, orthogonal to
 * those before it.  False: the levels explain it. */
static bool
make_factor(work *w, size_t f, size_t i)
{
    size_t n = w->n;
    double *factor = w->factor + i * n, *flat = w->flat + i * n;
    memcpy(factor, conv_factor_of(&w->factors, f, i), n * sizeof *factor);
    memcpy(flat, factor, n * sizeof *flat);
    take_levels_out(w, flat);
    for (size_t j = 0; j < i; j++) {
        double by = conv_product(flat, w->flat + j * n, n);
        conv_subtract(flat, by, w->flat + j * n, n);
        conv_subtract(factor, by, w->factor + j * n, n);
    }
    double length = sqrt(conv_product(flat, flat, n));
    for (size_t b = 0; length > LEAST_PART && b < n; b++) {
        flat[b] /= length;
        factor[b] /= length;
    }
    return length > LEAST_PART;
}

/* Take those of the first factors out of y that leave the least variance
 * around the levels. */
static void
take_factors_out(work *w, size_t f, double *y)
{
    size_t n = w->n, best = 0;
    double by[MOST_FACTORS], df = (double)(n - 1 - w->n_points);
    memcpy(w->y, y, n * sizeof *y);
    take_levels_out(w, w->y);
    double least = conv_product(w->y, w->y, n) / df;
    for (size_t i = 0; i < w->factors.n && make_factor(w, f, i); i++) {
        by[i] = conv_product(w->y, w->flat + i * n, n);
        conv_subtract(w->y, by[i], w->flat + i * n, n);
        double left = df - (double)(i + 1);
        double variance = left > 0 ? conv_product(w->y, w->y, n) / left : least;
        if (variance < least) {
            least = variance;
            best = i + 1;
        }
    }
    for (size_t i = 0; i < best; i++)
        conv_subtract(y, by[i], w->factor + i * n, n);
}

/* How many factors the builds are enough for, and more than rounding shows. */
static size_t
count_factors(const work *w)
{
    size_t n = 0, most = w->n / A_FACTOR;
    const double *value = w->factors.value;
    while (n < MOST_FACTORS && n < most && value[n + 1] > LEAST_PART * value[0])
        n++;
    return n;
}

static pr_code
take_all_out(work *w, double *ret, pr_err *err)
{
    size_t n_showing;
    pr_code rc = choose_showing(w, &n_showing, err);
    if (rc != PR_OK || n_showing < CONV_FEWEST_SHOWING)
        return rc;
    rc = conv_factors_find(&w->factors, MOST_FACTORS, err);
    if (rc == PR_OK)
        w->factors.n = count_factors(w);
    for (size_t f = 0; rc == PR_OK && f < w->factors.logs->n_functions; f++) {
        w->n_points = 0; /* one that shows factors has none */
        if (!w->factors.shows[f])
            rc = find_points(w, f, err);
        if (rc == PR_OK)
            take_factors_out(w, f, ret + f * w->n);
    }
    return rc;
}

/* ---- set-up ---- */

static bool
make_work(work *w)
{
    w->point = calloc(w->n + 1, sizeof *w->point);
    w->y = calloc(w->n, sizeof *w->y);
    w->factor = calloc(MOST_FACTORS, w->n * sizeof *w->factor);
    w->flat = calloc(MOST_FACTORS, w->n * sizeof *w->flat);
    return w->point && w->y && w->factor && w->flat;
}

static void
release_work(work *w)
{
    conv_factors_release(&w->factors);
    free(w->point);
    free(w->y);
    free(w->factor);
    free(w->flat);
}

static pr_code
take_out(const conv_logs *logs, double *ret, pr_err *err)
{
    work w = {.n = logs->n_runs};
    pr_code rc = conv_factors_build(logs, &w.factors, err);
    if (rc == PR_OK && !make_work(&w))
        rc = pr_no_memory(err);
    if (rc == PR_OK)
        rc = take_all_out(&w, ret, err);
    release_work(&w);
    return rc;
}

pr_code
conv_series(const conv_sides *runs, conv_scale scale, double *ret,
            conv_scale *ret_scale, pr_err *err)
{
    conv_logs logs;
    if (!runs->n_base || runs->n_new)
        return PR_FAIL(err, PR_USAGE, "a series has one side of runs");
    pr_code rc = conv_logs_build(runs, scale, &logs, err);
    if (rc != PR_OK)
        return rc;
    if (runs->n_functions)
        memcpy(ret, logs.scaled,
               runs->n_functions * runs->n_base * sizeof *ret);
    if (logs.scale == CONV_SCALE_CENTRED && logs.n_runs >= A_FACTOR &&
        logs.n_runs <= MOST_BUILDS)
        rc = take_out(&logs, ret, err);
    if (ret_scale && rc == PR_OK)
        *ret_scale = logs.scale;
    conv_logs_release(&logs);
    return rc;
}
