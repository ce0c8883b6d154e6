/*
 * factors.h - the factors that groups of functions share beside the centre; the
 * factors of a function come from the other functions.
 */
#ifndef CONVERTER_COMPARE_FACTORS_H
#define CONVERTER_COMPARE_FACTORS_H

#include "converter/compare/logs.h"

#include <pyrec/compare.h>
#include <stdbool.h>

/* The fewest functions that show factors. */
enum { CONV_FEWEST_SHOWING = 6 };

typedef struct conv_factors {
    const conv_logs *logs; /* the caller's */
    double *deviation;     /* [function][run] from the function's mean */
    bool *shows;           /* [function] the factors of others come from it; the
                            * caller chooses such functions */
    size_t n;              /* factors of each function */
    double *value;         /* [run] eigenvalues of the functions that show */
    double *vector;        /* [run][run] eigenvectors of these values */
    double **own;          /* [function] the factors of one that shows, ... */
    double *all;           /* ... [n][run], one after the other */
} conv_factors;

/* Take the deviations; no function shows factors at first.  PR_NOMEM. */
pr_code conv_factors_build(const conv_logs *logs, conv_factors *ret,
                           pr_err *err);

/* Find n factors of each function, n < runs, after the caller has set `shows`.
 * The time grows with the third power of runs: 0.3 s for 200.  PR_NOMEM. */
pr_code conv_factors_find(conv_factors *factors, size_t n, pr_err *err);

/* The i-th factor, from 0, that the functions other than f share: [run], of
 * length 1, orthogonal to the others of f. */
const double *conv_factor_of(const conv_factors *factors, size_t f, size_t i);

void conv_factors_release(conv_factors *factors);

/* ---- vectors of n numbers ---- */

double conv_product(const double *a, const double *b, size_t n);

/* from -= by * what, element by element */
void conv_subtract(double *from, double by, const double *what, size_t n);

#endif
