/*
 * fit.h - the difference between the sides of each function, and its variance
 * between runs, without the factors that many functions share.
 */
#ifndef CONVERTER_COMPARE_FIT_H
#define CONVERTER_COMPARE_FIT_H

#include "converter/compare/logs.h"

#include <pyrec/compare.h>

/* Degrees of freedom that a variance gains from those of other functions. */
enum { CONV_PRIOR_DF = 4 };

typedef struct conv_fit {
    size_t n_factors;   /* that were taken out: 0 to 2 */
    double df;          /* of `variance`, two less for each factor; 0: one run
                         * a side */
    double *difference; /* [function] new - base, on the scale of logs */
    double *variance;   /* [function] of one run; 0 if df is 0 */
    double *spread;     /* [function] variance of the difference / `variance` */
} conv_fit;

/* Fit each function (spec/compare.md, 3.3).  *ret owns arrays.  PR_NOMEM. */
pr_code conv_fit_build(const conv_sides *sides, const conv_logs *logs,
                       conv_fit *ret, pr_err *err);
void conv_fit_release(conv_fit *fit);

#endif
