/*
 * sample_moments.h - mean, spread and median of a few numbers.
 */
#ifndef CONVERTER_COMPARE_SAMPLE_MOMENTS_H
#define CONVERTER_COMPARE_SAMPLE_MOMENTS_H

#include <stddef.h>

double conv_mean(const double *x, size_t n); /* n > 0 */

/* Sum of the squared distances from the mean. */
double conv_squares(const double *x, size_t n);

/* Sorts x; n > 0.  If n is even: the mean of the two in the middle. */
double conv_median(double *x, size_t n);
void conv_sort(double *x, size_t n);

#endif
