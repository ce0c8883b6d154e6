/*
 * eigen.c - Jacobi's method, and the update of Golub, "Some modified matrix
 * eigenvalue problems" (SIAM Review 15, 1973).
 */
#include "converter/compare/eigen.h"

#include <float.h>
#include <math.h>

enum { SWEEPS = 60, HALVINGS = 100 };

/* ---- Jacobi ---- */

static double
off_diagonal(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            sum += a[i * n + j] * a[i * n + j];
    return sum;
}

static double
square_norm(const double *a, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n * n; i++)
        sum += a[i] * a[i];
    return sum;
}

static void
rotate_pair(double *x, double *y, double c, double s)
{
    double old = *x;
    *x = c * old - s * *y;
    *y = s * old + c * *y;
}

/* Make a[p][q] 0. */
static void
rotate(double *a, size_t n, size_t p, size_t q, double *vector)
{
    double off = a[p * n + q];
    if (off == 0)
        return;
    double theta = (a[q * n + q] - a[p * n + p]) / (2 * off);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t i = 0; i < n; i++)
        rotate_pair(&a[i * n + p], &a[i * n + q], c, s);
    for (size_t i = 0; i < n; i++)
        rotate_pair(&a[p * n + i], &a[q * n + i], c, s);
    for (size_t i = 0; i < n; i++)
        rotate_pair(&vector[p * n + i], &vector[q * n + i], c, s);
}

static void
swap_rows(double *vector, size_t n, size_t i, size_t j)
{
    for (size_t r = 0; r < n; r++) {
        double swap = vector[i * n + r];
        vector[i * n + r] = vector[j * n + r];
        vector[j * n + r] = swap;
    }
}

static void
sort_descending(double *value, double *vector, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t most = i;
        for (size_t j = i + 1; j < n; j++)
            if (value[j] > value[most])
                most = j;
        if (most == i)
            continue;
        double swap = value[i];
        value[i] = value[most];
        value[most] = swap;
        swap_rows(vector, n, i, most);
    }
}

void
conv_eigen(double *a, size_t n, double *value, double *vector)
{
    for (size_t i = 0; i < n * n; i++)
        vector[i] = i % (n + 1) == 0;
    double enough = square_norm(a, n) * DBL_EPSILON * DBL_EPSILON;
    for (int sweep = 0; sweep < SWEEPS && off_diagonal(a, n) > enough; sweep++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = p + 1; q < n; q++)
                rotate(a, n, p, q, vector);
    for (size_t i = 0; i < n; i++)
        value[i] = a[i * n + i];
    sort_descending(value, vector, n);
}

/* ---- the update ---- */

/* 1 - sum of q[j]^2 / (value[j] - x), with x = value[i] - below: it falls as x
 * grows, and is 0 at the eigenvalue between value[i + 1] and value[i]. */
static double
secular(const double *value, const double *q, size_t n, size_t i, double below)
{
    double sum = 1;
    for (size_t j = 0; j < n; j++)
        sum -= q[j] * q[j] / (value[j] - value[i] + below);
    return sum;
}

void
conv_eigen_without(const double *value, const double *q, size_t n, size_t i,
                   double *ret)
{
    double gap = value[i] - value[i + 1], least = value[0] * DBL_EPSILON;
    if (gap <= least || q[i] * q[i] <= least * DBL_EPSILON) {
        for (size_t j = 0; j < n; j++) /* it stays as it is */
            ret[j] = j == i;
        return;
    }
    double low = 0, high = gap;
    for (int k = 0; k < HALVINGS; k++) {
        double middle = (low + high) / 2;
        if (middle <= low || middle >= high)
            break;
        if (secular(value, q, n, i, middle) < 0)
            low = middle;
        else
            high = middle;
    }
    double below = (low + high) / 2, sum = 0;
    for (size_t j = 0; j < n; j++) {
        ret[j] = q[j] / (value[j] - value[i] + below);
        sum += ret[j] * ret[j];
    }
    for (size_t j = 0; j < n; j++)
        ret[j] /= sqrt(sum);
}
