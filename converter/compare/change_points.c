/*
 * change_points.c - spec/compare.md, 7: the levels of least squares, found by
 * dynamic programming with a cost for each change (optimal partitioning:
 * Jackson et al., 2005), and judged by Student's test.
 */
#include "converter/compare/distribution.h"
#include "converter/compare/sample_moments.h"

#include <math.h>
#include <pyrec/compare.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_LEVEL = 3, /* values of a level: an outlier is not one */
    ROUNDS = 10,     /* of levels and their variance */
    REACH = 3,       /* places around a point that count for it ... */
    NEAR = 12,       /* ... with this weight, less one for each step away */
    BEFORE = 30,     /* values that the newest ones are judged by */
    LEAST_BEFORE = 9
};
static const double NEWEST_ALPHA = 0.001;
static const double LEAST_PART = 1e-12; /* a smaller part of all squares is
                                         * rounding */

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

/* ---- the search ---- */

typedef struct search {
    const double *y;
    size_t n;
    double alpha;
    double *sum, *square; /* [n + 1] of the values before each place */
    double *cost;         /* [n + 1] of the best levels before each place */
    size_t *from;         /* [n + 1] where the last of these levels begins */
    double least;         /* the sum of squares that is 0 but for rounding */
    conv_point *point;    /* room for n */
    size_t n_points;
} search;

/* The sum of squares around the mean of y[first..last). */
static double
squares(const search *s, size_t first, size_t last)
{
    double sum = s->sum[last] - s->sum[first];
    double all = s->square[last] - s->square[first];
    return fmax(all - sum * sum / (double)(last - first), 0);
}

static void
take_sums(search *s)
{
    double mean = conv_mean(s->y, s->n);
    s->sum[0] = s->square[0] = 0;
    for (size_t i = 0; i < s->n; i++) {
        double d = s->y[i] - mean;
        s->sum[i + 1] = s->sum[i] + d;
        s->square[i + 1] = s->square[i] + d * d;
    }
    s->least = LEAST_PART * squares(s, 0, s->n);
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

/* The best way to end a level at `last`. */
static void
end_level(search *s, double variance, double penalty, size_t last)
{
    s->cost[last] = squares(s, 0, last) / variance;
    s->from[last] = 0;
    for (size_t at = LEAST_LEVEL; at + LEAST_LEVEL <= last; at++) {
        double cost = s->cost[at] + penalty + squares(s, at, last) / variance;
        if (cost < s->cost[last]) {
            s->cost[last] = cost;
            s->from[last] = at;
        }
    }
}

/* The levels whose squares, in units of the variance, and whose points, each a
 * penalty, add up to least. */
static void
partition(search *s, double variance, double penalty)
{
    for (size_t last = LEAST_LEVEL; last <= s->n; last++)
        end_level(s, variance, penalty, last);
    s->n_points = 0;
    for (size_t at = s->from[s->n]; at; at = s->from[at])
        s->n_points++;
    size_t i = s->n_points;
    for (size_t at = s->from[s->n]; at; at = s->from[at])
        s->point[--i].at = at;
}

/* Half the mean square of the steps from value to value: levels do not enlarge
 * it much. */
static double
variance_of_neighbours(const search *s)
{
    double sum = 0;
    for (size_t i = 1; i < s->n; i++)
        sum += (s->y[i] - s->y[i - 1]) * (s->y[i] - s->y[i - 1]);
    return fmax(sum / 2, s->least) / (double)(s->n - 1);
}

static double
variance_of_levels(const search *s)
{
    double sum =
        squares(s, s->n_points ? s->point[s->n_points - 1].at : 0, s->n);
    for (size_t i = 0; i < s->n_points; i++)
        sum += squares(s, begin_of(s, i), s->point[i].at);
    return fmax(sum, s->least) / (double)(s->n - 1 - s->n_points);
}

/* A point costs what it explains if its p is alpha.  The variance is that of
 * the levels, and the levels are those of the variance. */
static void
find_levels(search *s)
{
    double t = conv_t_quantile(s->alpha / 2, (double)(s->n - 2));
    double variance = variance_of_neighbours(s);
    size_t before = s->n; /* more points than there can be */
    partition(s, variance, t * t);
    for (int i = 1; i < ROUNDS && s->n_points != before; i++) {
        before = s->n_points;
        partition(s, variance_of_levels(s), t * t);
    }
}

/* ---- the place ---- */

/* chance[m], of a level that begins m values after `first`, but for a common
 * factor, with any means and any variance: L^(2 - n), L the root of the sum of
 * squares. */
static void
find_chances(const search *s, size_t first, size_t n, double *chance)
{
    double most = -INFINITY;
    for (size_t m = LEAST_LEVEL; m + LEAST_LEVEL <= n; m++) {
        double sum =
            squares(s, first, first + m) + squares(s, first + m, first + n);
        chance[m] = (2 - (double)n) / 2 * log(fmax(sum, s->least));
        most = fmax(most, chance[m]);
    }
    for (size_t m = LEAST_LEVEL; m + LEAST_LEVEL <= n; m++)
        chance[m] = exp(chance[m] - most);
}

/* The chance of the places within REACH of m, near ones counting more. */
static double
chance_around(const double *chance, size_t m, size_t n)
{
    double sum = 0;
    for (int j = -REACH; j <= REACH; j++) {
        size_t at = m + (size_t)(j + REACH);
        if (at >= LEAST_LEVEL + REACH && at - REACH + LEAST_LEVEL <= n)
            sum += (NEAR - abs(j)) * chance[at - REACH];
    }
    return sum;
}

/* Between its neighbours each point goes to where a change within REACH builds
 * is most likely: the likeliest build alone is often one by chance. */
static void
place(search *s)
{
    double *chance = s->cost;
    for (size_t i = 0; i < s->n_points; i++) {
        size_t first = begin_of(s, i), n = end_of(s, i) - first;
        double most = 0;
        find_chances(s, first, n, chance);
        for (size_t m = LEAST_LEVEL; m + LEAST_LEVEL <= n; m++) {
            double around = chance_around(chance, m, n);
            if (around > most) {
                most = around;
                s->point[i].at = first + m;
            }
        }
    }
}

/* ---- the judgement ---- */

static void
judge(search *s, size_t i)
{
    conv_point *p = &s->point[i];
    size_t first = begin_of(s, i), last = end_of(s, i);
    p->before = conv_mean(s->y + first, p->at - first);
    p->after = conv_mean(s->y + p->at, last - p->at);
    p->p = student(s->y + first, p->at - first, last - first);
}

/* The variance was that of all levels; by that of the two levels beside each
 * point, the least certain point goes until each is certain. */
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

static bool
allocate(search *s)
{
    s->sum = calloc(s->n + 1, sizeof *s->sum);
    s->square = calloc(s->n + 1, sizeof *s->square);
    s->cost = calloc(s->n + 1, sizeof *s->cost);
    s->from = calloc(s->n + 1, sizeof *s->from);
    return s->sum && s->square && s->cost && s->from;
}

static void
release(search *s)
{
    free(s->sum);
    free(s->square);
    free(s->cost);
    free(s->from);
}

/* A constant has no points. */
static void
search_points(search *s)
{
    take_sums(s);
    if (s->least <= 0)
        return;
    find_levels(s);
    place(s);
    prune(s);
}

pr_code
conv_change_points(const double *y, size_t n, double alpha, conv_point *ret,
                   size_t *ret_n, pr_err *err)
{
    search s = {.y = y, .n = n, .alpha = alpha, .point = ret};
    for (size_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            return PR_FAIL(err, PR_USAGE,
                           "value %zu of a series is not a number", i + 1);
    if (n < 2 * LEAST_LEVEL) {
        *ret_n = 0;
        return PR_OK;
    }
    bool has_room = allocate(&s);
    if (has_room)
        search_points(&s);
    release(&s);
    *ret_n = s.n_points;
    return has_room ? PR_OK : pr_no_memory(err);
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
