/*
 * factors.h - what groups of functions share beside the centre, as the others
 * of each function show it.
 */
#ifndef CONVERTER_COMPARE_FACTORS_H
#define CONVERTER_COMPARE_FACTORS_H

#include "converter/compare/logs.h"

#include <pyrec/compare.h>
#include <stdbool.h>

/* Functions of fewer show no factors. */
enum { CONV_FEWEST_SHOWING = 6 };

typedef struct conv_factors {
    const conv_logs *logs; /* the caller's */
    double *deviation;     /* [function][run] from the function's mean */
    bool *shows;           /* [function] it shows the others factors; the
                            * caller chooses them among the references */
    size_t n;              /* factors of each function */
    double *value;         /* [run] eigenvalues of those that show ... */
    double *vector;        /* [run][run] ... and eigenvectors */
    double **own;          /* [function] of one that shows: its factors ... */
    double *all;           /* ... [n][run], one after the other */
} conv_factors;

/* Take the deviations; no function shows factors.  PR_NOMEM. */
pr_code conv_factors_build(const conv_logs *logs, conv_factors *ret,
                           pr_err *err);

/* Find n factors of each function, n < runs, once some show them.  The time
 * grows with the third power of runs: 0.3 s for 200.  PR_NOMEM. */
pr_code conv_factors_find(conv_factors *factors, size_t n, pr_err *err);

/* The i-th factor, from 0, that the functions other than f share: [run], of
 * length 1, orthogonal to the others of f. */
const double *conv_factor_of(const conv_factors *factors, size_t f, size_t i);

void conv_factors_release(conv_factors *factors);

/* ---- vectors of n numbers ---- */

double conv_product(const double *a, const double *b, size_t n);

/* from -= by * what */
void conv_subtract(double *from, double by, const double *what, size_t n);

#endif
