/*
 * test_compare.c - the statistics of comparisons.  The expected numbers are
 * those of tables or of hand; tests/peers/test_statistics.py compares with an
 * independent library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "converter/compare/distribution.h"
#include "converter/compare/eigen.h"
#include "converter/compare/sample_moments.h"

#include <math.h>
#include <pyrec/compare.h>

static void
assert_near(double value, double expected, double relative)
{
    if (fabs(value - expected) > relative * fabs(expected))
        fail_msg("%.15g is not near %.15g", value, expected);
}

/* Two-sided critical values of Student's t, as tables have them. */
static void
tails_of_t_are_those_of_tables(void **state)
{
    (void)state;
    static const struct {
        double df, p, t;
    } table[] = {{1, .5, 1},
                 {1, .05, 12.7062047361747},
                 {2, .05, 4.30265272974946},
                 {5, .05, 2.57058183563631},
                 {8, .01, 3.35538733133319},
                 {12, .001, 4.31779128360619},
                 {30, .05, 2.04227245630124},
                 {INFINITY, .05, 1.95996398454005},
                 {INFINITY, .001, 3.29052673149190}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        assert_near(conv_t_two_tails(table[i].t, table[i].df), table[i].p,
                    1e-11);
        assert_near(conv_t_two_tails(-table[i].t, table[i].df), table[i].p,
                    1e-11);
        assert_near(conv_t_quantile(table[i].p / 2, table[i].df), table[i].t,
                    1e-11);
    }
    /* one degree of freedom is Cauchy's: 2 atan(1 / t) / pi */
    assert_near(conv_t_two_tails(1e100, 1), 2 / 3.14159265358979324 * 1e-100,
                1e-10);
    assert_true(conv_t_two_tails(0, 7) == 1);
    assert_true(conv_t_two_tails(INFINITY, 7) == 0);
    assert_true(isnan(conv_t_two_tails(NAN, 7)));
}

/* By hand: 4 * 0.005, 3 * 0.01, 2 * 0.03, and 0.04 that is not less. */
static void
several_tests_share_one_level(void **state)
{
    (void)state;
    double p[] = {0.01, 0.04, 0.03, 0.005};
    static const double wanted[] = {0.03, 0.06, 0.06, 0.02};
    assert_int_equal(conv_adjust(p, 4, NULL), PR_OK);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(p[i] - wanted[i]) < 1e-12);
    double one = 0.9;
    assert_int_equal(conv_adjust(&one, 1, NULL), PR_OK);
    assert_true(one > 0.89 && one < 0.91);
    assert_int_equal(conv_adjust(NULL, 0, NULL), PR_OK);
}

static void
a_median_is_the_middle(void **state)
{
    (void)state;
    double odd[] = {3, 1, 2}, even[] = {4, 1, 3, 2}, one[] = {5};
    assert_true(conv_median(odd, 3) == 2);
    assert_true(conv_median(even, 4) == 2.5);
    assert_true(conv_median(one, 1) == 5);
    double far[] = {1e9 + 1, 1e9 + 2, 1e9 + 3};
    assert_true(conv_squares(far, 3) == 2);
}

/* ---- made profiles ---- */

enum { MOST_FUNCTIONS = 40, MOST_RUNS = 20 };

/* Runs of one program: functions from 4 s down, a factor common to each run,
 * and noise of its own for each function and run. */
typedef struct made {
    conv_measure function[MOST_FUNCTIONS * MOST_RUNS];
    conv_measure whole[MOST_RUNS];
    conv_sides sides;
    uint64_t seed;
} made;

static double
uniform(made *m)
{
    m->seed = m->seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(m->seed >> 11) + 0.5) / 9007199254740992.0;
}

static double
normal(made *m)
{
    double radius = sqrt(-2 * log(uniform(m)));
    return radius * cos(6.28318530717958648 * uniform(m));
}

static void
sum_up(made *m)
{
    size_t runs = m->sides.n_base + m->sides.n_new;
    memset(m->whole, 0, sizeof m->whole);
    for (size_t i = 0; i < m->sides.n_functions * runs; i++) {
        m->whole[i % runs].n += m->function[i].n;
        m->whole[i % runs].us += m->function[i].us;
    }
}

static void
set(made *m, size_t function, size_t run, double us)
{
    m->function[function * (m->sides.n_base + m->sides.n_new) + run] =
        (conv_measure){(int64_t)(us / 1000 + 0.5),
                       (int64_t)(us / 1000 + 0.5) * 1000};
}

static void
make(made *m, uint64_t seed, size_t base, size_t now, size_t functions,
     double common, double own)
{
    *m = (made){.seed = seed};
    m->sides = (conv_sides){.n_base = base,
                            .n_new = now,
                            .n_functions = functions,
                            .function = m->function,
                            .whole = m->whole};
    for (size_t r = 0; r < base + now; r++) {
        double factor = exp(common * normal(m));
        for (size_t f = 0; f < functions; f++)
            set(m, f, r,
                4e6 * pow(0.8, (double)f) * factor * exp(own * normal(m)));
    }
    sum_up(m);
}

static void
slow_down(made *m, size_t function, double by)
{
    size_t runs = m->sides.n_base + m->sides.n_new;
    for (size_t r = m->sides.n_base; r < runs; r++)
        set(m, function, r, (double)m->function[function * runs + r].us * by);
    sum_up(m);
}

static conv_change change[MOST_FUNCTIONS];

static conv_comparison
compare(const made *m, conv_scale scale)
{
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    conv_comparison head;
    pr_err err = PR_ERR_INIT;
    opts.scale = scale;
    assert_int_equal(conv_compare(&m->sides, &opts, change, &head, &err),
                     PR_OK);
    return head;
}

/* ---- comparisons ---- */

static void
one_slower_function_is_found_and_no_other(void **state)
{
    (void)state;
    made m;
    make(&m, 1, 5, 5, 12, .15, .02);
    slow_down(&m, 3, 1.3);
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_true(head.confirmed);
    assert_int_equal(head.n_tested, 12);
    assert_int_equal(head.n_marked, 1);
    for (size_t f = 0; f < 12; f++)
        assert_true((change[f].verdict == CONV_WORSE) == (f == 3));
    assert_true(change[3].low < 1.3 && 1.3 < change[3].high);
    assert_true(change[3].adjusted < .05 && change[3].detectable < .3);
    assert_true(change[3].sd > .01 && change[3].sd < .06);
}

static void
a_side_against_itself_is_the_same(void **state)
{
    (void)state;
    made m;
    make(&m, 2, 4, 4, 10, .1, .03);
    for (size_t f = 0; f < 10; f++)
        for (size_t r = 0; r < 4; r++)
            set(&m, f, 4 + r, (double)m.function[f * 8 + r].us);
    sum_up(&m);
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_near(head.factor, 1, 1e-12);
    assert_int_equal(head.n_marked, 0);
    for (size_t f = 0; f < 10; f++) {
        assert_near(change[f].ratio, 1, 1e-12);
        assert_near(change[f].p, 1, 1e-6);
        assert_true(change[f].verdict == CONV_SAME ||
                    change[f].verdict == CONV_INCONCLUSIVE);
    }
}

/* Everything is half as fast: no function is marked, the factor says it. */
static void
a_slower_machine_is_the_factor(void **state)
{
    (void)state;
    made m;
    make(&m, 3, 5, 5, 10, .02, .02);
    for (size_t f = 0; f < 10; f++)
        slow_down(&m, f, 2);
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(head.n_marked, 0);
    assert_near(head.factor, 2, .05);
    assert_true(head.factor_low > 1.5 && head.factor_p < .001);
    assert_near(head.new_us / head.base_us, 2, .05);
    for (size_t f = 0; f < 10; f++)
        assert_int_equal(change[f].cause, CONV_CAUSE_ALL);
    head = compare(&m, CONV_SCALE_SECONDS);
    assert_int_equal(head.n_marked, 10);
}

/* One function of a third of the run grows: shares of the others shrink, and
 * the comparison says that this is all that they did. */
static void
a_share_that_shrinks_is_not_better(void **state)
{
    (void)state;
    made m;
    make(&m, 4, 5, 5, 10, .01, .005);
    slow_down(&m, 0, 2);
    compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(change[0].verdict, CONV_WORSE);
    for (size_t f = 1; f < 10; f++) {
        assert_true(change[f].new_share < .95 * change[f].base_share);
        assert_int_equal(change[f].cause, CONV_CAUSE_SHARE);
        assert_int_not_equal(change[f].verdict, CONV_BETTER);
    }
    compare(&m, CONV_SCALE_SHARE);
    assert_int_equal(change[1].verdict, CONV_BETTER);
}

static void
one_run_a_side_is_unconfirmed(void **state)
{
    (void)state;
    made m;
    make(&m, 5, 1, 1, 12, 0, 0);
    slow_down(&m, 2, 2);
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_false(head.confirmed);
    assert_int_equal(head.scale, CONV_SCALE_CENTRED);
    assert_int_equal(change[2].verdict, CONV_WORSE);
    /* z = d / sqrt(1/Na + 1/Nb + 2 * 0.10^2 + variance of the factor) */
    double na = (double)change[2].base.n, nb = (double)change[2].now.n;
    double half = log(head.factor_high / head.factor_low) / 2 / 1.959963984540;
    double z =
        log(change[2].ratio) / sqrt(1 / na + 1 / nb + 2 * .01 + half * half);
    assert_near(change[2].p, erfc(z / sqrt(2)), 1e-9);
}

static void
set_pair(made *m, const int (*samples)[2], size_t n)
{
    *m = (made){.sides = {.n_base = 1,
                          .n_new = 1,
                          .n_functions = n,
                          .function = m->function,
                          .whole = m->whole}};
    for (size_t f = 0; f < n; f++)
        for (size_t r = 0; r < 2; r++)
            set(m, f, r, samples[f][r] * 1e3);
    sum_up(m);
}

/* Two runs of an unchanged program with few samples: the factor of its
 * functions, x0.6, would make `reader` (43, 72) nearly three times slower. */
static void
a_centre_of_few_samples_is_not_used(void **state)
{
    (void)state;
    static const int few[][2] = {{240, 150}, {130, 78}, {70, 42}, {55, 33},
                                 {43, 72},   {35, 21},  {25, 15}};
    made m;
    set_pair(&m, few, 7);
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(head.scale, CONV_SCALE_SECONDS);
    assert_near(head.factor, 411. / 598, 1e-9);
    assert_true(isnan(head.factor_low) && isnan(head.factor_p));
    assert_near(change[4].ratio, 72. / 43, 1e-9);
    assert_int_equal(head.n_marked, 0);
    /* in seconds the runs' own factor has a variance, too */
    double z = log(72. / 43) / sqrt(1 / 43. + 1 / 72. + 4 * .01);
    assert_near(change[4].p, erfc(z / sqrt(2)), 1e-9);
}

/* Five functions of at least 100 samples on both sides make a centre; its
 * interval is that of a median of n normal values of variance v: v pi / 2n. */
static void
a_centre_of_two_runs_has_an_assumed_interval(void **state)
{
    (void)state;
    static const int many[][2] = {{200, 100}, {200, 100}, {200, 100},
                                  {200, 100}, {200, 100}, {300, 99}};
    made m;
    set_pair(&m, many, 6);
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(head.scale, CONV_SCALE_CENTRED);
    assert_near(head.factor, .5, 1e-9);
    double v = 1 / 200. + 1 / 100. + 2 * .01;
    double error = sqrt(v * 3.14159265358979 / 2 / 5);
    assert_near(log(head.factor_high / .5), 1.959963984540 * error, 1e-6);
    assert_near(log(head.factor_low / .5), -1.959963984540 * error, 1e-6);
    assert_near(head.factor_p, erfc(log(2) / error / sqrt(2)), 1e-6);
    set_pair(&m, many + 1, 5);
    assert_int_equal(compare(&m, CONV_SCALE_CENTRED).scale, CONV_SCALE_SECONDS);
}

static void
the_least_effect_is_not_marked(void **state)
{
    (void)state;
    made m;
    make(&m, 6, 10, 10, 12, .05, .002);
    slow_down(&m, 1, 1.04);
    compare(&m, CONV_SCALE_CENTRED);
    assert_true(change[1].adjusted < 1e-6);
    assert_int_equal(change[1].verdict, CONV_SAME);
    assert_true(change[1].within > .035 && change[1].within < .05);
}

static void
a_function_is_new_if_the_base_would_have_had_it(void **state)
{
    (void)state;
    made m;
    make(&m, 7, 3, 3, 8, .02, .02);
    for (size_t r = 0; r < 3; r++) {
        set(&m, 6, r, 0);     /* comes */
        set(&m, 7, 3 + r, 0); /* goes */
        set(&m, 5, r, 0);     /* rare: three samples */
        set(&m, 5, 3 + r, 1000);
    }
    sum_up(&m);
    compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(change[6].verdict, CONV_NEW);
    assert_int_equal(change[7].verdict, CONV_GONE);
    assert_int_equal(change[5].verdict, CONV_INCONCLUSIVE);
}

/* A function without self time that is on stacks all the same is called. */
static void
a_function_on_a_stack_is_neither_new_nor_gone(void **state)
{
    (void)state;
    made m;
    static conv_measure on_stack[MOST_FUNCTIONS * MOST_RUNS];
    make(&m, 12, 3, 3, 8, .02, .02);
    for (size_t r = 0; r < 3; r++) {
        set(&m, 5, 3 + r, 0); /* its callee remains */
        set(&m, 6, r, 0);     /* its callee was there */
        set(&m, 7, 3 + r, 0); /* goes */
    }
    sum_up(&m);
    memcpy(on_stack, m.function, sizeof on_stack);
    on_stack[5 * 6 + 4] = on_stack[6 * 6 + 2] = (conv_measure){1, 1000};
    m.sides.on_stack = on_stack;
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(change[5].verdict, CONV_BETTER);
    assert_int_equal(change[6].verdict, CONV_WORSE);
    assert_int_equal(change[7].verdict, CONV_GONE);
    assert_int_equal(head.n_gone, 1);
    assert_int_equal(head.n_new, 0);
    assert_int_equal(head.n_tested, 7);
    on_stack[0].n = -1;
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    assert_int_equal(conv_compare(&m.sides, &opts, change, &head, NULL),
                     PR_USAGE);
}

/* A base with two modes explains a new run that lies in one of them. */
static void
two_modes_are_seen(void **state)
{
    (void)state;
    made m;
    make(&m, 8, 8, 1, 10, .02, .01);
    for (size_t r = 0; r < 8; r++)
        set(&m, 2, r, r < 6 ? 2e6 + 1e4 * (double)r : 4e6 + 1e4 * (double)r);
    set(&m, 2, 8, 4.05e6);
    sum_up(&m);
    compare(&m, CONV_SCALE_CENTRED);
    assert_true(change[2].two_modes);
    assert_int_equal(change[2].verdict, CONV_INCONCLUSIVE);
    assert_false(change[3].two_modes);
}

/* A run that did twice the work took twice the time for it. */
static void
seconds_are_those_of_a_unit_of_work(void **state)
{
    (void)state;
    made m;
    make(&m, 9, 4, 4, 8, .01, .01);
    double work[8] = {1, 1, 1, 1, 2, 2, 2, 2};
    for (size_t f = 0; f < 8; f++)
        slow_down(&m, f, 2);
    m.sides.work = work;
    conv_comparison head = compare(&m, CONV_SCALE_SECONDS);
    assert_near(head.factor, 1, .05);
    assert_near(head.new_us / head.base_us, 1, .05);
    assert_int_equal(head.n_marked, 0);
    work[3] = 0;
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(conv_compare(&m.sides, &opts, change, &head, &err),
                     PR_USAGE);
}

static void
few_functions_have_no_centre(void **state)
{
    (void)state;
    made m;
    make(&m, 10, 5, 5, 3, .02, .01);
    slow_down(&m, 0, 1.5);
    conv_comparison head = compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(head.scale, CONV_SCALE_SECONDS);
    assert_int_equal(change[0].verdict, CONV_WORSE);
    assert_int_equal(head.n_marked, 1);
}

static void
empty_sides_are_refused_and_empty_runs_are_not(void **state)
{
    (void)state;
    made m;
    make(&m, 11, 2, 2, 4, 0, 0);
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    conv_comparison head;
    memset(m.function, 0, sizeof m.function);
    memset(m.whole, 0, sizeof m.whole);
    head = compare(&m, CONV_SCALE_CENTRED);
    assert_int_equal(head.n_tested, 0);
    assert_true(head.factor == 1);
    m.sides.n_functions = 0;
    compare(&m, CONV_SCALE_SHARE);
    m.sides.n_new = 0;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(conv_compare(&m.sides, &opts, change, &head, &err),
                     PR_USAGE);
    m.sides.n_new = 2;
    m.whole[1].us = -1;
    pr_err_clear(&err);
    assert_int_equal(conv_compare(&m.sides, &opts, change, &head, &err),
                     PR_USAGE);
}

/* Unchanged programs as the model has them: with 12 functions and Holm's
 * correction at .05, and only changes above 5 % marked, at most 5 % of 2000
 * comparisons mark anything; the seed is fixed. */
static void
unchanged_programs_are_seldom_marked(void **state)
{
    (void)state;
    size_t marked = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        made m;
        make(&m, 1000 + i, 5, 5, 12, .1, .06);
        marked += compare(&m, CONV_SCALE_CENTRED).n_marked > 0;
    }
    assert_true(marked <= 100);
}

/* ---- series ---- */

static void
a_step_of_a_series_is_found_where_it_is(void **state)
{
    (void)state;
    made m = {.seed = 20};
    double y[120];
    conv_point point[120];
    size_t n = 0;
    pr_err err = PR_ERR_INIT;
    for (size_t i = 0; i < 120; i++)
        y[i] = 0.02 * normal(&m) + (i >= 40) * 0.2 - (i >= 90) * 0.1;
    assert_int_equal(
        conv_change_points(y, 120, CONV_HISTORY_ALPHA, point, &n, &err), PR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(point[0].at, 40);
    assert_int_equal(point[1].at, 90);
    assert_near(point[0].after - point[0].before, .2, .1);
    assert_near(point[1].before - point[1].after, .1, .2);
    assert_true(point[0].p < 1e-10 && point[1].p < 1e-10);
}

static void
a_series_without_a_step_has_no_point(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 1, 2, 3, 4, 49, 50, 51, 75, 200};
    double y[200] = {0};
    conv_point point[200];
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = 1;
        assert_int_equal(conv_change_points(y, lengths[i], CONV_HISTORY_ALPHA,
                                            point, &n, NULL),
                         PR_OK);
        assert_int_equal(n, 0);
        assert_int_equal(conv_judge_newest(y, lengths[i]).n, 0);
    }
    /* a constant with one step is certain */
    for (size_t i = 100; i < 200; i++)
        y[i] = 1;
    size_t n = 0;
    assert_int_equal(
        conv_change_points(y, 200, CONV_HISTORY_ALPHA, point, &n, NULL), PR_OK);
    assert_int_equal(n, 1);
    assert_int_equal(point[0].at, 100);
    y[7] = NAN;
    assert_int_equal(
        conv_change_points(y, 200, CONV_HISTORY_ALPHA, point, &n, NULL),
        PR_USAGE);
}

/* 1000 series of 100 values with the seeds of this test: the rate of points
 * that spec/compare.md, 9, prints is below 1 in 20 series. */
static void
unchanged_series_have_few_points(void **state)
{
    (void)state;
    size_t points = 0, alarms = 0;
    made m = {.seed = 21};
    for (int i = 0; i < 1000; i++) {
        double y[100];
        conv_point point[100];
        size_t n = 0;
        for (size_t b = 0; b < 100; b++)
            y[b] = 0.05 * normal(&m);
        assert_int_equal(
            conv_change_points(y, 100, CONV_HISTORY_ALPHA, point, &n, NULL),
            PR_OK);
        points += n;
        alarms += conv_judge_newest(y, 100).n > 0;
    }
    assert_true(points <= 50);
    assert_true(alarms <= 5);
}

static int
is_near(const conv_point *point, size_t n, size_t at)
{
    for (size_t i = 0; i < n; i++)
        if (point[i].at + 3 >= at && point[i].at <= at + 3)
            return 1;
    return 0;
}

/* 1000 steps of 10 % in 80 values with an sd of .06, the seed is fixed: near
 * .90 of them are found within three values (spec/compare.md, 9.3, has .89 for
 * sds of .04 to .08). */
static void
most_steps_are_found_near_their_place(void **state)
{
    (void)state;
    size_t found = 0;
    made m = {.seed = 23};
    for (size_t i = 0; i < 1000; i++) {
        double y[80];
        conv_point point[80];
        size_t n = 0, at = 10 + i % 60;
        for (size_t b = 0; b < 80; b++)
            y[b] = 0.06 * normal(&m) + (b >= at) * log(1.1);
        assert_int_equal(
            conv_change_points(y, 80, CONV_HISTORY_ALPHA, point, &n, NULL),
            PR_OK);
        found += (size_t)is_near(point, n, at);
    }
    assert_true(found >= 870);
}

static void
an_outlier_is_not_a_level_and_three_values_are(void **state)
{
    (void)state;
    made m = {.seed = 24};
    double y[60];
    conv_point point[60];
    size_t n = 9;
    for (size_t i = 0; i < 60; i++)
        y[i] = 0.02 * normal(&m) + (i == 30) * 0.14;
    assert_int_equal(
        conv_change_points(y, 60, CONV_HISTORY_ALPHA, point, &n, NULL), PR_OK);
    assert_int_equal(n, 0);
    y[31] += 0.14;
    y[32] += 0.14;
    assert_int_equal(
        conv_change_points(y, 60, CONV_HISTORY_ALPHA, point, &n, NULL), PR_OK);
    assert_int_equal(n, 2);
    assert_int_equal(point[0].at, 30);
    assert_int_equal(point[1].at, 33);
}

static void
the_newest_values_are_judged_at_once(void **state)
{
    (void)state;
    made m = {.seed = 22};
    double y[40];
    for (size_t i = 0; i < 40; i++)
        y[i] = 0.02 * normal(&m) + (i >= 38) * 0.3;
    conv_newest newest = conv_judge_newest(y, 40);
    assert_int_equal(newest.n, 2);
    assert_near(newest.ratio, exp(.3), .05);
    assert_true(newest.p < 1e-6);
    assert_int_equal(conv_judge_newest(y, 38).n, 0);
}

static void
a_series_is_what_the_centres_leave(void **state)
{
    (void)state;
    made m;
    make(&m, 23, 12, 0, 10, .2, 0);
    double y[10 * 12];
    pr_err err = PR_ERR_INIT;
    conv_scale scale;
    m.sides.n_base = 12;
    assert_int_equal(conv_series(&m.sides, CONV_SCALE_CENTRED, y, &scale, &err),
                     PR_OK);
    assert_int_equal(scale, CONV_SCALE_CENTRED);
    for (size_t i = 1; i < 12; i++) /* whole samples alone make a difference */
        assert_true(fabs(y[i] - y[0]) < .01);
    m.sides.n_new = 1;
    assert_int_equal(conv_series(&m.sides, CONV_SCALE_CENTRED, y, &scale, &err),
                     PR_USAGE);
}

/* Three of 12 functions become 30 % slower at one build: their series have that
 * point, for none of the three shows a factor. */
static void
a_change_of_a_group_is_not_a_factor(void **state)
{
    (void)state;
    enum { N = 40, F = 12, AT = 20 };
    made m = {.seed = 25};
    static conv_measure function[F * N], whole[N];
    static double y[F * N];
    for (size_t f = 0; f < F; f++)
        for (size_t b = 0; b < N; b++) {
            double slower = f < 3 && b >= AT ? 1.3 : 1;
            conv_measure *one = &function[f * N + b];
            one->n = (int64_t)(1000 * slower * exp(0.03 * normal(&m)));
            one->us = 1000 * one->n;
            whole[b].n += one->n;
            whole[b].us += one->us;
        }
    conv_sides builds = {
        .n_base = N, .n_functions = F, .function = function, .whole = whole};
    assert_int_equal(conv_series(&builds, CONV_SCALE_CENTRED, y, NULL, NULL),
                     PR_OK);
    for (size_t f = 0; f < 3; f++) {
        conv_point point[N];
        size_t n = 0;
        assert_int_equal(conv_change_points(y + f * N, N, CONV_HISTORY_ALPHA,
                                            point, &n, NULL),
                         PR_OK);
        assert_int_equal(n, 1);
        assert_int_equal(point[0].at, AT);
        assert_near(point[0].after - point[0].before, log(1.3), .15);
    }
}

/* [[4 1] [1 3]] and the same less q q' with q = (1, 1): [[3 0] [0 2]]. */
static void
eigenvectors_are_those_of_hand(void **state)
{
    (void)state;
    double a[] = {4, 1, 1, 3}, value[2], vector[4], q[2], u[2];
    conv_eigen(a, 2, value, vector);
    assert_near(value[0], 3.5 + sqrt(1.25), 1e-14);
    assert_near(value[1], 3.5 - sqrt(1.25), 1e-14);
    for (size_t i = 0; i < 2; i++)
        q[i] = vector[2 * i] + vector[2 * i + 1];
    conv_eigen_without(value, q, 2, 0, u);
    double x = u[0] * vector[0] + u[1] * vector[2];
    double y = u[0] * vector[1] + u[1] * vector[3];
    assert_near(fabs(x), 1, 1e-14);
    assert_true(fabs(y) < 1e-14);
    double none[2] = {0, 0};
    conv_eigen_without(value, none, 2, 0, u);
    assert_true(u[0] == 1 && u[1] == 0);
}

/* Functions of one phase are slower in some runs; one of them is 20 % slower in
 * each run of the new side. */
static void
a_factor_of_a_phase_does_not_hide_a_change(void **state)
{
    (void)state;
    enum { RUNS = 10, FUNCTIONS = 16, PHASE = 7 };
    static const double phase[RUNS] = {1,    1.3, 0.9, 1.4, 1.1,
                                       1.25, 0.9, 1.3, 1,   1.2};
    static const int wobble[7] = {0, 31, -17, 23, -29, 11, -7};
    conv_measure function[FUNCTIONS * RUNS], whole[RUNS] = {{0, 0}};
    for (size_t f = 0; f < FUNCTIONS; f++)
        for (size_t r = 0; r < RUNS; r++) {
            double n = 2000 + wobble[(3 * f + 5 * r) % 7];
            n *= f < PHASE ? phase[r] : 1;
            n *= f == 0 && r >= RUNS / 2 ? 1.2 : 1;
            conv_measure m = {(int64_t)n, (int64_t)n * 1000};
            function[f * RUNS + r] = m;
            whole[r].n += m.n;
            whole[r].us += m.us;
        }
    conv_sides sides = {RUNS / 2, RUNS / 2, FUNCTIONS, function,
                        whole,    NULL,     NULL};
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    conv_change found[FUNCTIONS];
    conv_comparison head;
    assert_int_equal(conv_compare(&sides, &opts, found, &head, NULL), PR_OK);
    assert_int_equal(head.n_factors, 1);
    assert_int_equal(found[0].verdict, CONV_WORSE);
    assert_near(found[0].ratio, 1.2, 0.05);
    assert_int_equal(head.n_marked, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(eigenvectors_are_those_of_hand),
        cmocka_unit_test(a_factor_of_a_phase_does_not_hide_a_change),
        cmocka_unit_test(tails_of_t_are_those_of_tables),
        cmocka_unit_test(a_median_is_the_middle),
        cmocka_unit_test(several_tests_share_one_level),
        cmocka_unit_test(one_slower_function_is_found_and_no_other),
        cmocka_unit_test(a_side_against_itself_is_the_same),
        cmocka_unit_test(a_slower_machine_is_the_factor),
        cmocka_unit_test(a_share_that_shrinks_is_not_better),
        cmocka_unit_test(one_run_a_side_is_unconfirmed),
        cmocka_unit_test(a_centre_of_few_samples_is_not_used),
        cmocka_unit_test(a_centre_of_two_runs_has_an_assumed_interval),
        cmocka_unit_test(the_least_effect_is_not_marked),
        cmocka_unit_test(a_function_is_new_if_the_base_would_have_had_it),
        cmocka_unit_test(a_function_on_a_stack_is_neither_new_nor_gone),
        cmocka_unit_test(two_modes_are_seen),
        cmocka_unit_test(seconds_are_those_of_a_unit_of_work),
        cmocka_unit_test(few_functions_have_no_centre),
        cmocka_unit_test(empty_sides_are_refused_and_empty_runs_are_not),
        cmocka_unit_test(unchanged_programs_are_seldom_marked),
        cmocka_unit_test(a_step_of_a_series_is_found_where_it_is),
        cmocka_unit_test(a_series_without_a_step_has_no_point),
        cmocka_unit_test(unchanged_series_have_few_points),
        cmocka_unit_test(most_steps_are_found_near_their_place),
        cmocka_unit_test(an_outlier_is_not_a_level_and_three_values_are),
        cmocka_unit_test(the_newest_values_are_judged_at_once),
        cmocka_unit_test(a_series_is_what_the_centres_leave),
        cmocka_unit_test(a_change_of_a_group_is_not_a_factor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
