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
#include "converter/compare/eigen.h"
#include "converter/compare/sample_moments.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_FACTORS = 2,
    FACTOR_DF = 2,         /* that a factor costs: itself, and its choice */
    FEWEST_DF = 4,         /* that the factors leave */
    FEWEST_REFERENCES = 6, /* functions that show factors */
    MOST_RUNS = 128,       /* above it the runs are enough without */
    MOST_COUNT = 300 /* samples above which a function has no more weight */
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
    double *deviation; /* [function][run] from the function's mean */
    double *side;      /* [run] 1 for the new one, less the mean */
    double *value;     /* [run] eigenvalues of the references ... */
    double *vector;    /* [run][run] ... and eigenvectors */
    bool *refers;      /* [function] it shows the others factors */
    size_t n_factors;  /* that the runs are enough for */
    double **own;      /* [function] of one that refers: its factors ... */
    double *factors;   /* ... [n_factors][run], one after the other */
    double *room;      /* [run] twice, and [function] */
} work;

static double
product(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void
subtract(double *from, double by, const double *what, size_t n)
{
    for (size_t i = 0; i < n; i++)
        from[i] -= by * what[i];
}

static double
weight(const conv_logs *logs, size_t f)
{
    return fmin(logs->count[f], MOST_COUNT);
}

/* ---- the factors ---- */

/* The reference functions that show factors: a function whose sides differ by
 * itself would pull those of its group towards its own change. */
static size_t
choose_showing(work *w, const conv_fit *without)
{
    const conv_logs *l = w->logs;
    size_t n = 0;
    double far = conv_t_quantile(SUSPECT / 2, without->df);
    memset(w->refers, 0, l->n_functions * sizeof *w->refers);
    for (size_t i = 0; i < l->n_references; i++) {
        size_t f = l->reference[i];
        double error = sqrt(without->variance[f] * without->spread[f]);
        w->refers[f] = fabs(without->difference[f]) <= far * error;
        n += w->refers[f];
    }
    return n;
}

/* The products of the runs, over all functions that show factors. */
static void
add_products(const work *w, double *to)
{
    size_t n = w->n_runs;
    for (size_t i = 0; i < w->logs->n_references; i++) {
        size_t f = w->logs->reference[i];
        const double *d = w->deviation + f * n;
        for (size_t a = 0; w->refers[f] && a < n; a++)
            for (size_t b = 0; b < n; b++)
                to[a * n + b] += weight(w->logs, f) * d[a] * d[b];
    }
}

static pr_code
decompose(work *w, pr_err *err)
{
    double *products = calloc(w->n_runs * w->n_runs, sizeof *products);
    if (!products)
        return pr_no_memory(err);
    add_products(w, products);
    conv_eigen(products, w->n_runs, w->value, w->vector);
    free(products);
    return PR_OK;
}

/* The i-th factor that the functions other than f share. */
static const double *
factor_of(const work *w, size_t f, size_t i)
{
    return (w->refers[f] ? w->own[f] : w->vector) + i * w->n_runs;
}

/* The factors without what function f itself shows. */
static void
find_own(work *w, size_t f)
{
    size_t n = w->n_runs;
    double *q = w->room, *u = w->room + n;
    double root = sqrt(weight(w->logs, f));
    for (size_t j = 0; j < n; j++)
        q[j] = root * product(w->vector + j * n, w->deviation + f * n, n);
    for (size_t i = 0; i < w->n_factors; i++) {
        conv_eigen_without(w->value, q, n, i, u);
        for (size_t j = 0; j < n; j++)
            subtract(w->own[f] + i * n, -u[j], w->vector + j * n, n);
    }
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

static pr_code
find_factors(work *w, size_t n_showing, pr_err *err)
{
    pr_code rc = decompose(w, err);
    if (rc != PR_OK)
        return rc;
    size_t n = w->n_factors * w->n_runs;
    w->own = calloc(w->logs->n_functions, sizeof *w->own);
    w->factors = calloc(n_showing, n * sizeof *w->factors);
    if (!w->own || !w->factors)
        return pr_no_memory(err);
    double *next = w->factors;
    for (size_t f = 0; f < w->logs->n_functions; f++) {
        if (!w->refers[f])
            continue;
        w->own[f] = next;
        next += n;
        find_own(w, f);
    }
    return PR_OK;
}

/* ---- least squares ---- */

static void
fit_one(const work *w, size_t f, size_t n_factors, conv_fit *to)
{
    size_t n = w->n_runs;
    double *y = w->room, *side = w->room + n;
    memcpy(y, w->deviation + f * n, n * sizeof *y);
    memcpy(side, w->side, n * sizeof *side);
    for (size_t i = 0; i < n_factors; i++) { /* they are orthonormal */
        const double *factor = factor_of(w, f, i);
        subtract(y, product(y, factor, n), factor, n);
        subtract(side, product(side, factor, n), factor, n);
    }
    double square = fmax(product(side, side, n), LEAST_SPREAD);
    to->difference[f] = product(y, side, n) / square;
    to->spread[f] = 1 / square;
    subtract(y, to->difference[f], side, n);
    double df = (double)(n - 2 - n_factors);
    to->variance[f] = df > 0 ? product(y, y, n) / df : 0;
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
    size_t n_showing = choose_showing(w, to);
    if (n_showing < FEWEST_REFERENCES)
        return PR_OK;
    pr_code rc = find_factors(w, n_showing, err);
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
           w->logs->n_references >= FEWEST_REFERENCES && w->n_factors > 0 &&
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
take_deviations(work *w)
{
    const conv_logs *l = w->logs;
    size_t n = w->n_runs;
    for (size_t f = 0; f < l->n_functions; f++) {
        const double *y = l->scaled + f * n;
        double mean = conv_mean(y, n);
        for (size_t r = 0; r < n; r++)
            w->deviation[f * n + r] = y[r] - mean;
    }
    double share = (double)w->sides->n_new / (double)n;
    for (size_t r = 0; r < n; r++)
        w->side[r] = (double)(r >= w->sides->n_base) - share;
}

static void
release_work(work *w)
{
    free(w->deviation);
    free(w->side);
    free(w->value);
    free(w->vector);
    free(w->refers);
    free(w->own);
    free(w->factors);
    free(w->room);
}

static bool
make_work(work *w)
{
    size_t n = w->n_runs, functions = w->logs->n_functions + 1;
    size_t square = n <= MOST_RUNS ? n : 1;
    w->deviation = calloc(functions, n * sizeof *w->deviation);
    w->side = calloc(n, sizeof *w->side);
    w->value = calloc(n, sizeof *w->value);
    w->vector = calloc(square, square * sizeof *w->vector);
    w->refers = calloc(functions, sizeof *w->refers);
    w->room = calloc(2 * n + functions, sizeof *w->room);
    return w->deviation && w->side && w->value && w->vector && w->refers &&
           w->room;
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
    pr_code rc;
    if (make_work(&w) && make_fit(logs->n_functions, &fit)) {
        take_deviations(&w);
        rc = fit_all(&w, &fit, err);
    } else
        rc = pr_no_memory(err);
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
