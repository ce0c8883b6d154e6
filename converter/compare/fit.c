/*
 * fit.c - spec/compare.md, 3.3: the differences by least squares.
 *
 * The centre takes out what all functions of a run share.  What some share, as
 * those of one phase of a program do, is left: the principal components of the
 * other functions show it, and become covariates of each function (as in
 * "surrogate variable analysis": Leek and Storey, 2007).
 */
#include "converter/compare/fit.h"

#include "converter/compare/distribution.h"
#include "converter/compare/factors.h"
#include "converter/compare/sample_moments.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FACTORS = 2,
    FACTOR_DF = 2,  /* that a factor costs: itself, and its choice */
    FEWEST_DF = 4,  /* that the factors leave */
    MOST_RUNS = 128 /* above it the runs are enough without */
};

static const double PENALTY = 0.2;  /* a factor lowers variances by so much */
static const double TAIL = 0.001;   /* of t, where factors are compared */
static const double SUSPECT = 0.01; /* p of a function that shows no factor */
static const double TINY = 1e-99;   /* has a logarithm */
static const double LEAST_SPREAD =
    1e-9; /* the sides differ in a factor alone */

typedef struct work {
    const conv_sides *sides;
    const conv_logs *logs;
    size_t n_runs;
    size_t n_factors; /* that the runs are enough for */
    conv_factors factors;
    double *side; /* [run] 1 for the new one, less the mean */
    double *room; /* [run] twice, and [function] */
} work;

/* ---- the factors ---- */

/* The reference functions that show factors: a function whose sides differ by
 * itself would pull those of its group towards its own change. */
static size_t
choose_showing(work *w, const conv_fit *without)
{
    const conv_logs *l = w->logs;
    size_t n = 0;
    double far = conv_t_quantile(SUSPECT / 2, without->df);
    for (size_t i = 0; i < l->n_references; i++) {
        size_t f = l->reference[i];
        double error = sqrt(without->variance[f] * without->spread[f]);
        w->factors.shows[f] = fabs(without->difference[f]) <= far * error;
        n += w->factors.shows[f];
    }
    return n;
}

/* How many factors the runs are enough for. */
static size_t
most_factors(size_t n_runs)
{
    size_t n = 0;
    while (n < MOST_FACTORS && n_runs >= 2 + FACTOR_DF * (n + 1) + FEWEST_DF)
        n++;
    return n;
}

/* ---- least squares ---- */

static void
fit_one(const work *w, size_t f, size_t n_factors, conv_fit *to)
{
    size_t n = w->n_runs;
    double *y = w->room, *side = w->room + n;
    memcpy(y, w->factors.deviation + f * n, n * sizeof *y);
    memcpy(side, w->side, n * sizeof *side);
    for (size_t i = 0; i < n_factors; i++) { /* they are orthonormal */
        const double *factor = conv_factor_of(&w->factors, f, i);
        conv_subtract(y, conv_product(y, factor, n), factor, n);
        conv_subtract(side, conv_product(side, factor, n), factor, n);
    }
    double square = fmax(conv_product(side, side, n), LEAST_SPREAD);
    to->difference[f] = conv_product(y, side, n) / square;
    to->spread[f] = 1 / square;
    conv_subtract(y, to->difference[f], side, n);
    double df = (double)(n - 2 - n_factors);
    to->variance[f] = df > 0 ? conv_product(y, y, n) / df : 0;
}

static void
set_factors(const work *w, size_t n_factors, conv_fit *to)
{
    to->n_factors = n_factors;
    to->df = (double)(w->n_runs - 2) - FACTOR_DF * (double)n_factors;
}

/* How far from 0 the median reference function has to be, as a logarithm of its
 * square. */
static double
judge_factors(const work *w, size_t n_factors, conv_fit *to)
{
    const conv_logs *l = w->logs;
    double *room = w->room + 2 * w->n_runs;
    set_factors(w, n_factors, to);
    double t = conv_t_quantile(TAIL, to->df + CONV_PRIOR_DF);
    for (size_t i = 0; i < l->n_references; i++) {
        size_t f = l->reference[i];
        fit_one(w, f, n_factors, to);
        room[i] = log(fmax(to->variance[f] * to->spread[f] * t * t, TINY));
    }
    return conv_median(room, l->n_references) + PENALTY * (double)n_factors;
}

static pr_code
choose_factors(work *w, conv_fit *to, size_t *ret, pr_err *err)
{
    double least = judge_factors(w, 0, to);
    *ret = 0;
    if (choose_showing(w, to) < CONV_FEWEST_SHOWING)
        return PR_OK;
    pr_code rc = conv_factors_find(&w->factors, w->n_factors, err);
    for (size_t n = 1; rc == PR_OK && n <= w->n_factors; n++) {
        double reach = judge_factors(w, n, to);
        if (reach < least) {
            least = reach;
            *ret = n;
        }
    }
    return rc;
}

static bool
may_have_factors(const work *w)
{
    return w->logs->scale == CONV_SCALE_CENTRED &&
           w->logs->n_references >= CONV_FEWEST_SHOWING && w->n_factors > 0 &&
           w->n_runs <= MOST_RUNS;
}

static pr_code
fit_all(work *w, conv_fit *to, pr_err *err)
{
    size_t n_factors = 0;
    if (may_have_factors(w)) {
        pr_code rc = choose_factors(w, to, &n_factors, err);
        if (rc != PR_OK)
            return rc;
    }
    set_factors(w, n_factors, to);
    for (size_t f = 0; f < w->logs->n_functions; f++)
        fit_one(w, f, n_factors, to);
    return PR_OK;
}

/* ---- set-up ---- */

static void
take_sides(work *w)
{
    double share = (double)w->sides->n_new / (double)w->n_runs;
    for (size_t r = 0; r < w->n_runs; r++)
        w->side[r] = (double)(r >= w->sides->n_base) - share;
}

static bool
make_work(work *w)
{
    size_t n = w->n_runs;
    w->side = calloc(n, sizeof *w->side);
    w->room = calloc(2 * n + w->logs->n_functions + 1, sizeof *w->room);
    return w->side && w->room;
}

static void
release_work(work *w)
{
    conv_factors_release(&w->factors);
    free(w->side);
    free(w->room);
}

static bool
make_fit(size_t n_functions, conv_fit *fit)
{
    fit->difference = calloc(n_functions + 1, sizeof *fit->difference);
    fit->variance = calloc(n_functions + 1, sizeof *fit->variance);
    fit->spread = calloc(n_functions + 1, sizeof *fit->spread);
    return fit->difference && fit->variance && fit->spread;
}

pr_code
conv_fit_build(const conv_sides *sides, const conv_logs *logs, conv_fit *ret,
               pr_err *err)
{
    work w = {.sides = sides,
              .logs = logs,
              .n_runs = logs->n_runs,
              .n_factors = most_factors(logs->n_runs)};
    conv_fit fit = {0};
    pr_code rc = conv_factors_build(logs, &w.factors, err);
    if (rc == PR_OK && !(make_work(&w) && make_fit(logs->n_functions, &fit)))
        rc = pr_no_memory(err);
    if (rc == PR_OK) {
        take_sides(&w);
        rc = fit_all(&w, &fit, err);
    }
    release_work(&w);
    if (rc == PR_OK)
        *ret = fit;
    else
        conv_fit_release(&fit);
    return rc;
}

void
conv_fit_release(conv_fit *fit)
{
    free(fit->difference);
    free(fit->variance);
    free(fit->spread);
    *fit = (conv_fit){0};
}
