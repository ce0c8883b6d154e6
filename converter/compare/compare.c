/*
 * compare.c - spec/compare.md, 3.4 to 3.7: the test of each function, Holm's
 * correction, verdicts, and the comparison as a whole.
 */
#include <pyrec/compare.h>

#include "converter/compare/distribution.h"
#include "converter/compare/fit.h"
#include "converter/compare/logs.h"
#include "converter/compare/noise.h"
#include "converter/compare/sample_moments.h"

#include <base/opts.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENOUGH_NEW = 10,   /* samples of a function that is new, not only rare */
    FEWEST_RUNS = 3,   /* of a side, of a mark that is more than a hint */
    FEWEST_OF_MODE = 2 /* runs of one of two modes */
};

static const double MODE_GAP = 1.2;   /* modes differ by 20 % at least ... */
static const double MODE_SHARE = 0.5; /* ... and by half of the whole range */
static const double POWER = 0.8;      /* of a detectable change */
static const double INTERVAL = 0.95;

typedef struct comparison {
    const conv_sides *sides;
    const conv_compare_opts *opts;
    conv_logs logs;
    conv_fit fit;
    conv_noise noise;
    double half;  /* quantile of t for an interval */
    double reach; /* of t for a detectable change; needs n_tested */
    conv_change *change;
    conv_comparison *head;
} comparison;

/* ---- facts of one function ---- */

static conv_measure
add_up(const conv_measure *run, size_t n)
{
    conv_measure sum = {0, 0};
    for (size_t r = 0; r < n; r++) {
        sum.n += run[r].n;
        sum.us += run[r].us;
    }
    return sum;
}

static double
mean_us(const conv_measure *run, const double *work, size_t n)
{
    double sum = 0;
    for (size_t r = 0; r < n; r++)
        sum += (double)run[r].us / (work ? work[r] : 1);
    return sum / (double)n;
}

static double
mean_share(const conv_measure *run, const conv_measure *whole, size_t n)
{
    double sum = 0;
    for (size_t r = 0; r < n; r++)
        sum += whole[r].us ? (double)run[r].us / (double)whole[r].us : 0;
    return sum / (double)n;
}

static void
measure(const comparison *c, size_t f, conv_change *ret)
{
    const conv_sides *s = c->sides;
    size_t k = s->n_base, m = s->n_new;
    const conv_measure *run = s->function + f * (k + m);
    const double *now = s->work ? s->work + k : NULL;
    *ret = (conv_change){
        .base = add_up(run, k),
        .now = add_up(run + k, m),
        .base_us = mean_us(run, s->work, k),
        .new_us = mean_us(run + k, now, m),
        .base_share = mean_share(run, s->whole, k),
        .new_share = mean_share(run + k, s->whole + k, m),
        .adjusted = NAN,
    };
}

/* A function that one side lacks: is it rare, or did it come or go?  `run` are
 * those of the side that has it. */
static bool
is_missing(const conv_measure *run, size_t runs, size_t runs_without)
{
    size_t with = 0;
    double n = (double)add_up(run, runs).n;
    for (size_t r = 0; r < runs; r++)
        with += run[r].n > 0;
    return 2 * with > runs &&
           fmin(n, n * (double)runs_without / (double)runs) >= ENOUGH_NEW;
}

/* A function that has no time of its own may still be called: the stacks say
 * whether a side has it. */
static conv_verdict
find_presence(const conv_sides *s, size_t f)
{
    size_t k = s->n_base, m = s->n_new, at = f * (k + m);
    const conv_measure *run = s->function + at;
    const conv_measure *stack = (s->on_stack ? s->on_stack : s->function) + at;
    if (add_up(stack, k).n == 0 && is_missing(run + k, m, k))
        return CONV_NEW;
    if (add_up(stack + k, m).n == 0 && is_missing(run, k, m))
        return CONV_GONE;
    return CONV_INCONCLUSIVE;
}

/* ---- the test ---- */

static double
difference(const comparison *c, const double *y)
{
    return conv_mean(y + c->sides->n_base, c->sides->n_new) -
           conv_mean(y, c->sides->n_base);
}

static void
test(const comparison *c, size_t f, conv_change *ret)
{
    size_t at = f * c->logs.n_runs;
    double d = c->fit.difference[f];
    double error = sqrt(c->noise.variance[f] * c->fit.spread[f]);
    ret->raw = exp(difference(c, c->logs.raw + at));
    ret->ratio = exp(d);
    ret->low = exp(d - c->half * error);
    ret->high = exp(d + c->half * error);
    ret->sd = sqrt(c->noise.variance[f]);
    ret->p = conv_t_two_tails(d / error, c->noise.df);
}

static bool
is_tested(const comparison *c, const conv_change *change)
{
    return change->verdict == CONV_INCONCLUSIVE &&
           fmax(change->base_share, change->new_share) >= c->opts->least_share;
}

/* An item of the list that qsort() sorts: p, and its place. */
typedef struct ranked {
    double p;
    size_t at;
} ranked;

static int
compare_p(const void *x, const void *y)
{
    const ranked *a = x, *b = y;
    int order = (a->p > b->p) - (a->p < b->p);
    return order ? order : (a->at > b->at) - (a->at < b->at);
}

/* The i-th smallest of n is multiplied by n - i, and none is smaller than the
 * one before it. */
pr_code
conv_adjust(double *p, size_t n, pr_err *err)
{
    double most = 0;
    ranked *order = calloc(n + 1, sizeof *order);
    if (!order)
        return pr_no_memory(err);
    for (size_t i = 0; i < n; i++)
        order[i] = (ranked){p[i], i};
    qsort(order, n, sizeof *order, compare_p);
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, fmin(1, order[i].p * (double)(n - i)));
        p[order[i].at] = most;
    }
    free(order);
    return PR_OK;
}

static pr_code
adjust(const comparison *c, pr_err *err)
{
    size_t n = 0, n_functions = c->sides->n_functions;
    double *p = calloc(n_functions + 1, sizeof *p);
    if (!p)
        return pr_no_memory(err);
    for (size_t f = 0; f < n_functions; f++)
        if (is_tested(c, &c->change[f]))
            p[n++] = c->change[f].p;
    pr_code rc = conv_adjust(p, n, err);
    c->head->n_tested = n;
    n = 0;
    for (size_t f = 0; rc == PR_OK && f < n_functions; f++)
        if (is_tested(c, &c->change[f]))
            c->change[f].adjusted = p[n++];
    free(p);
    return rc;
}

/* ---- verdicts ---- */

/* Does the only run of a side lie among those of the other?  Then a function
 * with two modes explains it. */
static bool
is_in_range(const comparison *c, const double *y)
{
    size_t k = c->sides->n_base, m = c->sides->n_new;
    const double *one = m == 1 ? y + k : y, *others = m == 1 ? y : y + k;
    size_t n = m == 1 ? k : m;
    bool below = false, above = false;
    if ((k > 1 && m > 1) || n < 2)
        return false;
    for (size_t i = 0; i < n; i++) {
        below = below || others[i] <= *one;
        above = above || others[i] >= *one;
    }
    return below && above;
}

static conv_verdict
judge(const comparison *c, const double *y, conv_change *change)
{
    double least = log1p(c->opts->least_effect);
    change->in_range = is_in_range(c, y);
    bool marked = change->adjusted <= c->opts->alpha && !change->in_range;
    if (marked && log(change->ratio) > least)
        return CONV_WORSE;
    if (marked && log(change->ratio) < -least)
        return CONV_BETTER;
    change->within = fmax(change->high, 1 / change->low) - 1;
    return change->within <= c->opts->same_within ? CONV_SAME
                                                  : CONV_INCONCLUSIVE;
}

/* For a function that is neither worse nor better. */
static conv_cause
find_cause(const comparison *c, const conv_change *change)
{
    double least = log1p(c->opts->least_effect);
    if (change->base_share <= 0 || change->new_share <= 0)
        return CONV_CAUSE_NONE;
    if (fabs(log(change->raw)) > least &&
        fabs(log(change->ratio)) <= fabs(log(change->raw)) / 2 &&
        c->head->factor_p <= c->opts->alpha)
        return CONV_CAUSE_ALL;
    double share = log(change->new_share / change->base_share);
    if (fabs(share) > least && fabs(log(change->ratio)) <= fabs(share) / 2 &&
        fabs(log(change->raw)) <= fabs(share) / 2)
        return CONV_CAUSE_SHARE;
    return CONV_CAUSE_NONE;
}

/* Sorts y. */
static bool
has_gap(double *y, size_t n)
{
    double widest = 0;
    conv_sort(y, n);
    for (size_t i = FEWEST_OF_MODE; i + FEWEST_OF_MODE <= n; i++)
        widest = fmax(widest, y[i] - y[i - 1]);
    return n >= 2 * FEWEST_OF_MODE && widest >= log(MODE_GAP) &&
           widest >= MODE_SHARE * (y[n - 1] - y[0]);
}

static bool
has_two_modes(const comparison *c, const double *y, double *room)
{
    size_t k = c->sides->n_base, m = c->sides->n_new;
    memcpy(room, y, k * sizeof *y);
    if (has_gap(room, k))
        return true;
    memcpy(room, y + k, m * sizeof *y);
    return has_gap(room, m);
}

static void
judge_one(const comparison *c, size_t f, double *room)
{
    conv_change *change = &c->change[f];
    const double *y = c->logs.scaled + f * c->logs.n_runs;
    change->detectable = expm1(c->reach * change->sd * sqrt(c->fit.spread[f]));
    if (change->verdict != CONV_INCONCLUSIVE)
        return;
    change->two_modes =
        change->base.n >= ENOUGH_NEW * (int64_t)c->logs.n_runs &&
        has_two_modes(c, y, room);
    change->verdict = judge(c, y, change);
    if (change->verdict == CONV_WORSE || change->verdict == CONV_BETTER)
        c->head->n_marked++;
    else
        change->cause = find_cause(c, change);
    if (change->p < c->opts->alpha && is_tested(c, change))
        c->head->n_suspects++;
}

/* ---- the whole ---- */

/* The common factor of the runs by Student's test, without moderation, as
 * there is one of it.  With two runs its variance is assumed. */
static void
test_factor(const comparison *c)
{
    size_t k = c->sides->n_base, m = c->sides->n_new;
    const double *y = c->logs.factor;
    double df = (double)(k + m - 2), d = difference(c, y);
    double variance = c->noise.centre;
    c->head->factor = exp(d);
    c->head->factor_low = c->head->factor_high = c->head->factor_p = NAN;
    if (df >= 1)
        variance = (conv_squares(y, k) + conv_squares(y + k, m)) / df;
    else
        df = INFINITY;
    if (isnan(variance))
        return;
    double error = sqrt(variance * (1 / (double)k + 1 / (double)m));
    double half = conv_t_quantile((1 - INTERVAL) / 2, df) * error;
    c->head->factor_low = exp(d - half);
    c->head->factor_high = exp(d + half);
    if (error > 0)
        c->head->factor_p = conv_t_two_tails(d / error, df);
}

static void
test_all(comparison *c)
{
    c->half = conv_t_quantile((1 - INTERVAL) / 2, c->noise.df);
    for (size_t f = 0; f < c->sides->n_functions; f++) {
        measure(c, f, &c->change[f]);
        test(c, f, &c->change[f]);
        c->change[f].verdict = find_presence(c->sides, f);
        c->head->n_new += c->change[f].verdict == CONV_NEW;
        c->head->n_gone += c->change[f].verdict == CONV_GONE;
    }
    test_factor(c);
}

static pr_code
judge_all(comparison *c, pr_err *err)
{
    size_t k = c->sides->n_base, m = c->sides->n_new;
    double *room = calloc(k > m ? k : m, sizeof *room);
    if (!room)
        return pr_no_memory(err);
    double tested = c->head->n_tested ? (double)c->head->n_tested : 1;
    c->reach = conv_t_quantile(c->opts->alpha / 2 / tested, c->noise.df) +
               conv_t_quantile(1 - POWER, c->noise.df);
    for (size_t f = 0; f < c->sides->n_functions; f++)
        judge_one(c, f, room);
    free(room);
    return PR_OK;
}

static pr_code
compare(comparison *c, pr_err *err)
{
    const conv_sides *s = c->sides;
    pr_code rc = conv_logs_build(s, c->opts->scale, &c->logs, err);
    if (rc == PR_OK)
        rc = conv_fit_build(s, &c->logs, &c->fit, err);
    if (rc == PR_OK)
        rc = conv_noise_estimate(s, &c->logs, &c->fit, &c->noise, err);
    if (rc != PR_OK)
        return rc;
    *c->head = (conv_comparison){
        .scale = c->logs.scale,
        .n_factors = c->fit.n_factors,
        .base_us = mean_us(s->whole, s->work, s->n_base),
        .new_us = mean_us(s->whole + s->n_base,
                          s->work ? s->work + s->n_base : NULL, s->n_new),
        .common_sd = sqrt(c->noise.common),
        .confirmed = s->n_base >= FEWEST_RUNS && s->n_new >= FEWEST_RUNS,
    };
    test_all(c);
    rc = adjust(c, err);
    return rc == PR_OK ? judge_all(c, err) : rc;
}

/* ---- interface ---- */

static bool
is_possible(const conv_measure *m, size_t n)
{
    /* sums of all runs must fit */
    int64_t most = INT64_MAX / (int64_t)(n ? n : 1);
    for (size_t i = 0; i < n; i++)
        if (m[i].n < 0 || m[i].us < 0 || m[i].n > most || m[i].us > most)
            return false;
    return true;
}

static pr_code
check(const conv_sides *s, pr_err *err)
{
    size_t runs = s->n_base + s->n_new;
    if (!s->n_base || !s->n_new)
        return PR_FAIL(err, PR_USAGE, "a side of the comparison has no run");
    for (size_t r = 0; s->work && r < runs; r++)
        if (!(s->work[r] > 0) || isinf(s->work[r]))
            return PR_FAIL(err, PR_USAGE,
                           "run %zu did no positive amount of work", r + 1);
    if (!is_possible(s->whole, runs))
        return PR_FAIL(err, PR_USAGE, "a run has an impossible sum");
    for (size_t f = 0; f < s->n_functions; f++)
        if (!is_possible(s->function + f * runs, runs) ||
            (s->on_stack && !is_possible(s->on_stack + f * runs, runs)))
            return PR_FAIL(err, PR_USAGE, "a function has an impossible sum");
    return PR_OK;
}

pr_code
conv_compare(const conv_sides *sides, const conv_compare_opts *given,
             conv_change *ret_change, conv_comparison *ret, pr_err *err)
{
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    conv_comparison head;
    comparison c = {.sides = sides, .opts = &opts, .head = &head};
    pr_code rc = pr_opts_take(&opts, sizeof opts, given, err);
    if (rc == PR_OK)
        rc = check(sides, err);
    if (rc != PR_OK)
        return rc;
    c.change = calloc(sides->n_functions + 1, sizeof *c.change);
    if (!c.change)
        return pr_no_memory(err);
    rc = compare(&c, err);
    if (rc == PR_OK) {
        memcpy(ret_change, c.change, sides->n_functions * sizeof *c.change);
        *ret = head;
    }
    conv_logs_release(&c.logs);
    conv_fit_release(&c.fit);
    conv_noise_release(&c.noise);
    free(c.change);
    return rc;
}

const char *
conv_verdict_name(conv_verdict verdict)
{
    static const char *const names[] = {"inconclusive", "same", "worse",
                                        "better",       "new",  "gone"};
    return names[verdict];
}
