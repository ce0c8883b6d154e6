/*
 * compare.c - the statistics of converter/compare on numbers from stdin, for a
 * test that computes them by another library.
 *
 * Commands, one after the other:
 *     t T DF                two tails of Student's t
 *     quantile ABOVE DF     the t above which a share of ABOVE lies
 *     sides SCALE K M F     then K + M units of work, K + M pairs (samples,
 *                           microseconds) of whole runs, and F lines of as many
 *     series ALPHA N        then N values
 *     builds SCALE N F      as sides, with N builds
 * Prints one line of numbers for each number, for sides a line of the
 * comparison and one for each function, and for a series a line of the newest
 * values with the number of points, and one for each point; for builds a line
 * with the series of each function.
 */
#include "converter/compare/distribution.h"

#include <pyrec/compare.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
read_measures(conv_measure *ret, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        long long samples, us;
        if (scanf("%lld %lld", &samples, &us) != 2)
            exit(2);
        ret[i] = (conv_measure){samples, us};
    }
}

static void
print_change(const conv_change *c)
{
    printf("%.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g"
           " %.17g %d\n",
           c->base_us, c->new_us, c->base_share, c->new_share, c->raw, c->ratio,
           c->low, c->high, c->sd, c->p, c->adjusted, c->detectable,
           c->verdict);
}

static void
compare_sides(void)
{
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    conv_comparison head;
    pr_err err = PR_ERR_INIT;
    size_t k, m, f;
    int scale;
    if (scanf("%d %zu %zu %zu", &scale, &k, &m, &f) != 4)
        exit(2);
    double *work = calloc(k + m, sizeof *work);
    conv_measure *whole = calloc(k + m, sizeof *whole);
    conv_measure *function = calloc(f * (k + m), sizeof *function);
    conv_change *change = calloc(f, sizeof *change);
    for (size_t r = 0; r < k + m; r++)
        if (scanf("%lf", &work[r]) != 1)
            exit(2);
    read_measures(whole, k + m);
    read_measures(function, f * (k + m));
    conv_sides sides = {k, m, f, function, whole, work};
    opts.scale = (conv_scale)scale;
    if (conv_compare(&sides, &opts, change, &head, &err) != PR_OK) {
        fprintf(stderr, "%s\n", err.what);
        exit(1);
    }
    printf("%d %.17g %.17g %.17g %.17g %zu %zu %zu %zu\n", head.scale,
           head.factor, head.factor_low, head.factor_high, head.factor_p,
           head.n_factors, head.n_tested, head.n_marked, head.n_suspects);
    for (size_t i = 0; i < f; i++)
        print_change(&change[i]);
    free(work);
    free(whole);
    free(function);
    free(change);
}

static void
search_series(void)
{
    double alpha;
    size_t n, n_points;
    pr_err err = PR_ERR_INIT;
    if (scanf("%lf %zu", &alpha, &n) != 2)
        exit(2);
    double *y = calloc(n + 1, sizeof *y);
    conv_point *point = calloc(n + 1, sizeof *point);
    for (size_t i = 0; i < n; i++)
        if (scanf("%lf", &y[i]) != 1)
            exit(2);
    if (conv_change_points(y, n, alpha, point, &n_points, &err) != PR_OK) {
        fprintf(stderr, "%s\n", err.what);
        exit(1);
    }
    conv_newest newest = conv_judge_newest(y, n);
    printf("%zu %.17g %.17g %zu\n", newest.n, newest.ratio, newest.p, n_points);
    for (size_t i = 0; i < n_points; i++)
        printf("%zu %.17g %.17g %.17g\n", point[i].at, point[i].before,
               point[i].after, point[i].p);
    free(y);
    free(point);
}

static void
print_series(void)
{
    size_t n, f;
    int scale;
    pr_err err = PR_ERR_INIT;
    if (scanf("%d %zu %zu", &scale, &n, &f) != 3)
        exit(2);
    double *work = calloc(n, sizeof *work);
    conv_measure *all = calloc((f + 1) * n, sizeof *all);
    double *series = calloc(f * n, sizeof *series);
    for (size_t r = 0; r < n; r++)
        if (scanf("%lf", &work[r]) != 1)
            exit(2);
    read_measures(all, (f + 1) * n);
    conv_sides builds = {.n_base = n,
                         .n_functions = f,
                         .function = all + n,
                         .whole = all,
                         .work = work};
    if (conv_series(&builds, (conv_scale)scale, series, NULL, &err) != PR_OK) {
        fprintf(stderr, "%s\n", err.what);
        exit(1);
    }
    for (size_t i = 0; i < f * n; i++)
        printf("%.17g%c", series[i], (i + 1) % n ? ' ' : '\n');
    free(work);
    free(all);
    free(series);
}

int
main(void)
{
    char command[16];
    double x, df;
    while (scanf("%15s", command) == 1)
        if (strcmp(command, "sides") == 0)
            compare_sides();
        else if (strcmp(command, "series") == 0)
            search_series();
        else if (strcmp(command, "builds") == 0)
            print_series();
        else if (scanf("%lf %lf", &x, &df) != 2)
            return 2;
        else if (strcmp(command, "t") == 0)
            printf("%.17g\n", conv_t_two_tails(x, df));
        else
            printf("%.17g\n", conv_t_quantile(x, df));
    return 0;
}
