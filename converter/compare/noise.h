/*
 * noise.h - the variance between runs of each function, moderated by that of
 * the others.
 */
#ifndef CONVERTER_COMPARE_NOISE_H
#define CONVERTER_COMPARE_NOISE_H

#include "converter/compare/fit.h"
#include "converter/compare/logs.h"

#include <pyrec/compare.h>

typedef struct conv_noise {
    double *variance; /* [function] of one run */
    double df;        /* of the t-test; INFINITY: one run a side, where the
                       * variance is assumed */
    double centre;    /* variance of one run's centre, with one run a side; NAN
                       * with more runs, or without a centre */
    double common;    /* the part of `variance` that all functions share, with
                       * one run a side; else 0 */
} conv_noise;

pr_code conv_noise_estimate(const conv_sides *sides, const conv_logs *logs,
                            const conv_fit *fit, conv_noise *ret, pr_err *err);
void conv_noise_release(conv_noise *noise);

#endif
