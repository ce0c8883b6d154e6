/*
 * noise.c - spec/compare.md, 3.3: a variance from few runs is itself
 * uncertain, so each function's own is mixed with what functions of its number
 * of samples have (Smyth, 2004, "Linear models and empirical Bayes methods").
 */
#include "converter/compare/noise.h"

#include "converter/compare/sample_moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MANY = 50, /* samples of a function whose variance shows that of runs */
    SOME = 20  /* samples of a function whose variance is worth counting */
};

static const double LEAST_BETWEEN = 1e-4; /* sd of 1 % between runs */
static const double ASSUMED_BETWEEN = CONV_ONE_RUN_SD * CONV_ONE_RUN_SD;

/* The variance that the count of samples alone makes. */
static double
counting(const conv_logs *logs, size_t f)
{
    return 1 / fmax(logs->count[f], 1);
}

/* The variance between runs beyond that of counting: the median function's. */
static double
between_runs(const conv_logs *logs, const double *own, double *room)
{
    size_t n = 0;
    for (size_t f = 0; f < logs->n_functions; f++)
        if (logs->count[f] >= MANY)
            room[n++] = own[f] - counting(logs, f);
    return n ? fmax(conv_median(room, n), LEAST_BETWEEN) : ASSUMED_BETWEEN;
}

/* How much larger than expected the variances are in fact.  The median of
 * chi-squared is near df (1 - 2 / (9 df))^3 (Wilson and Hilferty, 1931). */
static double
excess(const conv_logs *logs, const double *own, double between, double df,
       double *room)
{
    size_t n = 0;
    for (size_t f = 0; f < logs->n_functions; f++)
        if (logs->count[f] >= SOME)
            room[n++] = own[f] / (counting(logs, f) + between);
    if (!n)
        return 1;
    double median = conv_median(room, n);
    return median > 0 ? median / pow(1 - 2 / (9 * df), 3) : 1;
}

static void
moderate(const conv_logs *logs, double df, double *variance, double *room)
{
    double between = between_runs(logs, variance, room);
    double u0 = excess(logs, variance, between, df, room);
    for (size_t f = 0; f < logs->n_functions; f++) {
        double own = variance[f];
        double prior = u0 * (counting(logs, f) + between);
        variance[f] = fmax(own, (CONV_PRIOR_DF * prior + df * own) /
                                    (CONV_PRIOR_DF + df));
    }
}

/* ---- one run a side ---- */

/* The variance of one of two runs: that of counting, and that of usual runs. */
static double
assumed(const conv_sides *sides, const conv_logs *logs, size_t f)
{
    double now = fmax((double)sides->function[2 * f + 1].n, 1);
    return ASSUMED_BETWEEN + (counting(logs, f) + 1 / now) / 2;
}

/* The variance, of one of two runs, of the median over n functions of unequal
 * variances v: that of a median is 1 / (4 n g^2), g the mean of the densities
 * 1 / sqrt(2 pi v) at the middle. */
static double
of_centre(const conv_sides *sides, const conv_logs *logs)
{
    static const double HALF_PI = 1.57079632679489662;
    double n = (double)logs->n_references, sum = 0;
    for (size_t i = 0; i < logs->n_references; i++)
        sum += 1 / sqrt(assumed(sides, logs, logs->reference[i]));
    return HALF_PI * n / (sum * sum);
}

/* The variance that the scale adds to each function: the uncertainty of the
 * centre, or, in seconds, the factor of the runs, which is not taken out. */
static double
of_scale(conv_scale scale, double centre)
{
    if (scale == CONV_SCALE_CENTRED)
        return centre;
    return scale == CONV_SCALE_SECONDS ? ASSUMED_BETWEEN : 0;
}

static void
assume(const conv_sides *sides, const conv_logs *logs, conv_noise *noise)
{
    if (logs->n_references)
        noise->centre = of_centre(sides, logs);
    noise->common = of_scale(logs->scale, noise->centre);
    for (size_t f = 0; f < logs->n_functions; f++)
        noise->variance[f] = assumed(sides, logs, f) + noise->common;
}

/* ---- interface ---- */

pr_code
conv_noise_estimate(const conv_sides *sides, const conv_logs *logs,
                    const conv_fit *fit, conv_noise *ret, pr_err *err)
{
    conv_noise noise = {.df = INFINITY, .centre = NAN};
    double *room = calloc(logs->n_functions + 1, sizeof *room);
    noise.variance = calloc(logs->n_functions + 1, sizeof *noise.variance);
    if (!noise.variance || !room) {
        free(room);
        conv_noise_release(&noise);
        return pr_no_memory(err);
    }
    if (fit->df > 0) {
        memcpy(noise.variance, fit->variance,
               logs->n_functions * sizeof *noise.variance);
        moderate(logs, fit->df, noise.variance, room);
        noise.df = fit->df + CONV_PRIOR_DF;
    } else
        assume(sides, logs, &noise);
    free(room);
    *ret = noise;
    return PR_OK;
}

void
conv_noise_release(conv_noise *noise)
{
    free(noise->variance);
    *noise = (conv_noise){0};
}
