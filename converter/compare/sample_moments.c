/*
 * sample_moments.c - two passes, so that large means cost no digits.
 */
#include "converter/compare/sample_moments.h"

#include <stdlib.h>

double
conv_mean(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    return sum / (double)n;
}

double
conv_squares(const double *x, size_t n)
{
    double sum = 0, mean = n ? conv_mean(x, n) : 0;
    for (size_t i = 0; i < n; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

static int
ascending(const void *x, const void *y)
{
    const double *p = x, *q = y;
    return (*p > *q) - (*p < *q);
}

void
conv_sort(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
}

double
conv_median(double *x, size_t n)
{
    conv_sort(x, n);
    return n % 2 ? x[n / 2] : (x[n / 2 - 1] + x[n / 2]) / 2;
}
