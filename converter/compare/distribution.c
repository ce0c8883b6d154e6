/*
 * distribution.c - the regularised incomplete beta function by its continued
 * fraction (Abramowitz and Stegun, 26.5.8), and what follows from it.
 */
#include "converter/compare/distribution.h"

#include <float.h>
#include <math.h>

enum { MAX_TERMS = 10000, MAX_HALVINGS = 200 };

/* No factor of the fraction may become 0. */
static double
not_zero(double x)
{
    return fabs(x) < DBL_MIN ? DBL_MIN : x;
}

/* Term m of the continued fraction: two steps of Lentz's method. */
static double
beta_fraction(double x, double a, double b)
{
    double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = d;
    for (int m = 1; m <= MAX_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        d = 1 / not_zero(1 + even * d);
        c = not_zero(1 + even / c);
        value *= d * c;
        double odd =
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        d = 1 / not_zero(1 + odd * d);
        c = not_zero(1 + odd / c);
        value *= d * c;
        if (fabs(d * c - 1) < 1e-15)
            break;
    }
    return value;
}

/* lgamma() writes a global. */
static double
log_gamma(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

/* I_x(a, b); y is 1 - x, with its digits. */
static double
incomplete_beta(double x, double y, double a, double b)
{
    if (x <= 0)
        return 0;
    if (y <= 0)
        return 1;
    double front = exp(log_gamma(a + b) - log_gamma(a) - log_gamma(b) +
                       a * log(x) + b * log(y));
    /* the fraction converges fast on this side of the mean */
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(x, a, b) / a;
    return 1 - front * beta_fraction(y, b, a) / b;
}

double
conv_t_two_tails(double t, double df)
{
    if (isnan(t) || isnan(df))
        return NAN;
    if (isinf(df))
        return erfc(fabs(t) / sqrt(2));
    if (isinf(t))
        return 0;
    double whole = df + t * t;
    return incomplete_beta(df / whole, t * t / whole, df / 2, 0.5);
}

double
conv_t_quantile(double above, double df)
{
    double low = 0, high = 1;
    while (conv_t_two_tails(high, df) / 2 > above && high < DBL_MAX / 2)
        high *= 2;
    for (int i = 0; i < MAX_HALVINGS; i++) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high)
            break;
        if (conv_t_two_tails(middle, df) / 2 > above)
            low = middle;
        else
            high = middle;
    }
    return low + (high - low) / 2;
}
