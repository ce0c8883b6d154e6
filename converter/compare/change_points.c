/*
 * change_points.c - spec/compare.md, 7: divisive search for change points by
 * energy distance (Matteson and James, 2014), judged by Student's test in
 * windows as Hunter does (Fleming et al., 2023).
 */
#include "converter/compare/distribution.h"
#include "converter/compare/logs.h"
#include "converter/compare/sample_moments.h"

#include <math.h>
#include <pyrec/compare.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOW = 50,
    STEP = WINDOW / 2,
    LEAST_LEVEL = 2, /* values of a level */
    WEAK = 10,       /* a point's first p may be this many times alpha */
    BEFORE = 30,     /* values that the newest ones are judged by */
    LEAST_BEFORE = 9
};
static const double NEWEST_ALPHA = 0.001;

/* ---- the test ---- */

/* Two-sided p of equal means of y[0..m) and y[m..n). */
static double
student(const double *y, size_t m, size_t n)
{
    double df = (double)n - 2;
    if (df < 1)
        return 1;
    double d = conv_mean(y + m, n - m) - conv_mean(y, m);
    double variance = (conv_squares(y, m) + conv_squares(y + m, n - m)) / df;
    double error = sqrt(variance * (1 / (double)m + 1 / (double)(n - m)));
    if (error <= 0)
        return fabs(d) > 0 ? 0 : 1;
    return conv_t_two_tails(d / error, df);
}

/* ---- the energy distance ---- */

/* Sums of |a - b| over the pairs within the left part, within the right one,
 * and across. */
typedef struct distances {
    double left, right, across;
} distances;

static double
pairs(size_t n)
{
    return (double)n * (double)(n - 1) / 2;
}

/* mn / (m + n) (2 mean|x - y| - mean|x - x'| - mean|y - y'|) */
static double
energy(const distances *d, size_t m, size_t n)
{
    double product = (double)m * (double)n;
    double left = m > 1 ? d->left / pairs(m) : 0;
    double right = n > 1 ? d->right / pairs(n) : 0;
    return product / (double)(m + n) * (2 * d->across / product - left - right);
}

/* The value at `at` goes from the right part to the left one. */
static void
move(const double *y, size_t n, size_t at, distances *d)
{
    double to_left = 0, to_right = 0;
    for (size_t i = 0; i < at; i++)
        to_left += fabs(y[at] - y[i]);
    for (size_t i = at + 1; i < n; i++)
        to_right += fabs(y[at] - y[i]);
    d->left += to_left;
    d->right -= to_right;
    d->across += to_right - to_left;
}

/* The best split of n values: index of the first on the right; 0: none. */
static size_t
best_split(const double *y, size_t n)
{
    distances d = {0, 0, 0};
    size_t best = 0;
    double most = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++)
            d.right += fabs(y[i] - y[j]);
    for (size_t at = 0; at + 1 < n; at++) {
        move(y, n, at, &d);
        size_t m = at + 1;
        if (m < LEAST_LEVEL || n - m < LEAST_LEVEL)
            continue;
        double q = energy(&d, m, n - m);
        if (q > most) {
            most = q;
            best = m;
        }
    }
    return best;
}

/* ---- the search ---- */

typedef struct search {
    const double *y;
    size_t n;
    double alpha;
    conv_point *point; /* room for n */
    size_t n_points;
} search;

/* Split [first, last) at the first window in which a point shows; then each
 * side is searched by itself.  Each split is inside, so that depth and number
 * are at most n. */
static void
split(search *s, size_t first, size_t last)
{
    for (size_t a = first; a < last; a += STEP) {
        size_t n = last - a < WINDOW ? last - a : WINDOW;
        size_t m = best_split(s->y + a, n);
        if (m && student(s->y + a, m, n) < WEAK * s->alpha) {
            split(s, first, a + m);
            s->point[s->n_points++] = (conv_point){.at = a + m};
            split(s, a + m, last);
            return;
        }
        if (n < WINDOW)
            return;
    }
}

static size_t
begin_of(const search *s, size_t i)
{
    return i ? s->point[i - 1].at : 0;
}

static size_t
end_of(const search *s, size_t i)
{
    return i + 1 < s->n_points ? s->point[i + 1].at : s->n;
}

static void
judge(search *s, size_t i)
{
    conv_point *p = &s->point[i];
    size_t first = begin_of(s, i), last = end_of(s, i);
    p->before = conv_mean(s->y + first, p->at - first);
    p->after = conv_mean(s->y + p->at, last - p->at);
    p->p = student(s->y + first, p->at - first, last - first);
}

/* Points were found in windows; between the levels that remain, the least
 * certain one goes until each is certain. */
static void
prune(search *s)
{
    for (size_t i = 0; i < s->n_points; i++)
        judge(s, i);
    while (s->n_points) {
        size_t worst = 0;
        for (size_t i = 1; i < s->n_points; i++)
            if (s->point[i].p > s->point[worst].p)
                worst = i;
        if (s->point[worst].p <= s->alpha)
            return;
        s->n_points--;
        memmove(s->point + worst, s->point + worst + 1,
                (s->n_points - worst) * sizeof *s->point);
        if (worst > 0)
            judge(s, worst - 1);
        if (worst < s->n_points)
            judge(s, worst);
    }
}

/* Between its neighbours each point goes to where the levels explain most: the
 * energy distance finds changes of any kind, and places those of the mean less
 * exactly. */
static void
place(search *s)
{
    for (size_t i = 0; i < s->n_points; i++) {
        size_t first = begin_of(s, i), n = end_of(s, i) - first;
        const double *y = s->y + first;
        double sum = 0, all = conv_mean(y, n) * (double)n, most = -1;
        for (size_t m = 1; m + LEAST_LEVEL <= n; m++) {
            sum += y[m - 1];
            double d = sum / (double)m - (all - sum) / (double)(n - m);
            double between = d * d * (double)m * (double)(n - m);
            if (m >= LEAST_LEVEL && between > most) {
                most = between;
                s->point[i].at = first + m;
            }
        }
    }
}

pr_code
conv_change_points(const double *y, size_t n, double alpha, conv_point *ret,
                   size_t *ret_n, pr_err *err)
{
    search s = {.y = y, .n = n, .alpha = alpha, .point = ret};
    for (size_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            return PR_FAIL(err, PR_USAGE,
                           "value %zu of a series is not a"
                           " number",
                           i + 1);
    split(&s, 0, n);
    prune(&s);
    place(&s);
    prune(&s);
    *ret_n = s.n_points;
    return PR_OK;
}

/* ---- the newest ---- */

conv_newest
conv_judge_newest(const double *y, size_t n)
{
    static const size_t counts[] = {1, 2, 4, 8};
    size_t tests = sizeof counts / sizeof *counts;
    conv_newest newest = {0, 1, 1};
    for (size_t i = 0; i < tests; i++) {
        size_t m = counts[i];
        if (n < m + LEAST_BEFORE)
            break;
        size_t before = n - m < BEFORE ? n - m : BEFORE;
        const double *first = y + n - m - before;
        double p = student(first, before, before + m);
        if (p >= newest.p)
            continue;
        newest.p = p;
        if (p < NEWEST_ALPHA / (double)tests) {
            newest.n = m;
            newest.ratio =
                exp(conv_mean(first + before, m) - conv_mean(first, before));
        }
    }
    return newest;
}

/* ---- from runs ---- */

pr_code
conv_series(const conv_sides *runs, conv_scale scale, double *ret,
            conv_scale *ret_scale, pr_err *err)
{
    conv_logs logs;
    if (!runs->n_base || runs->n_new)
        return PR_FAIL(err, PR_USAGE, "a series has one side of runs");
    pr_code rc = conv_logs_build(runs, scale, &logs, err);
    if (rc != PR_OK)
        return rc;
    if (runs->n_functions)
        memcpy(ret, logs.scaled,
               runs->n_functions * runs->n_base * sizeof *ret);
    if (ret_scale)
        *ret_scale = logs.scale;
    conv_logs_release(&logs);
    return PR_OK;
}
