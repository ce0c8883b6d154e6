/*
 * distribution.h - Student's t: its two tails and its quantiles.
 */
#ifndef CONVERTER_COMPARE_DISTRIBUTION_H
#define CONVERTER_COMPARE_DISTRIBUTION_H

/* The chance of a |t| that is at least this large; df > 0, INFINITY: normal.
 * NAN for a t that is NAN.  Relative error at most 1e-10 down to 1e-300. */
double conv_t_two_tails(double t, double df);

/* The quantile t of p, 0.5 <= p < 1: the chance of a smaller t is p.  `above`
 * is 1 - p, which keeps its digits where p is near 1. */
double conv_t_quantile(double above, double df);

#endif
