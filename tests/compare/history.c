/*
 * history.c - change points of made series: false ones, and steps found.
 *
 * usage: history N SEED [ALPHA] <PROGRAMS
 *
 * Rows, tab-separated: unchanged series of 113 builds (false points in one,
 * alarms of the newest build in 1000); series of 80 builds with a step at a
 * random place (found within 3 builds); the same by two oracles; seconds for
 * 10,000 series of 200.  Then, of recorded programs, as simulate.c reads them:
 * the series of each function in the order of recording; and 80 builds drawn
 * from its runs with a step of each function whose sd between runs is .04 to
 * .08.
 */
#include "draws.h"

#include "converter/compare/logs.h"

#include <pyrec/compare.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 200 };

static conv_point point[MOST];
static double alpha = CONV_HISTORY_ALPHA;

static size_t
points_of(const double *y, size_t n)
{
    size_t found = 0;
    if (conv_change_points(y, n, alpha, point, &found, NULL) != PR_OK)
        exit(1);
    return found;
}

/* Noise of one sd, of which `correlation` stays from build to build. */
static void
make(double *y, size_t n, double sd, double correlation)
{
    double old = normal();
    for (size_t i = 0; i < n; i++) {
        old =
            correlation * old + sqrt(1 - correlation * correlation) * normal();
        y[i] = sd * old;
    }
}

static void
print_unchanged(size_t n, double correlation)
{
    double y[MOST];
    size_t points = 0, alarms = 0, builds = 0;
    for (size_t i = 0; i < n; i++) {
        make(y, 113, 0.04 + 0.04 * uniform(), correlation);
        points += points_of(y, 113);
        for (size_t end = 20; end <= 113; end++, builds++)
            alarms += conv_judge_newest(y, end).n > 0;
    }
    printf("unchanged\t%.1f\t%.3f\t%.1f\n", correlation,
           (double)points / (double)n, 1000 * (double)alarms / (double)builds);
}

static void
print_step(size_t n, double step, double low, double high)
{
    double y[MOST];
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = 10 + (size_t)(uniform() * 60), near = 0;
        make(y, 80, low + (high - low) * uniform(), 0);
        for (size_t b = at; b < 80; b++)
            y[b] += log1p(step);
        for (size_t p = points_of(y, 80); p > 0; p--)
            near |= point[p - 1].at + 3 >= at && point[p - 1].at <= at + 3;
        found += near;
    }
    printf("step\t%.0f\t%.2f-%.2f\t%.3f\n", 100 * step, low, high,
           (double)found / (double)n);
}

/* ---- oracles ---- */

enum { BUILDS = 80, FIRST = 10, LAST = 70 }; /* of steps */

/* log_chance[at] of a step at each place, of levels 0 and `step`. */
static void
know_levels(const double *y, double sd, double step, double *log_chance)
{
    double sum = 0;
    for (size_t at = BUILDS; at-- > FIRST;) {
        sum += step * (y[at] - step / 2) / (sd * sd);
        log_chance[at] = sum;
    }
}

/* The same of levels that are as likely wherever they are. */
static void
know_noise(const double *y, double sd, double step, double *log_chance)
{
    (void)step;
    double all = 0, sum = 0;
    for (size_t i = 0; i < BUILDS; i++)
        all += y[i];
    for (size_t at = 0; at < LAST; at++) {
        if (at >= FIRST) {
            double m = (double)at, n = BUILDS - m;
            double d = sum / m - (all - sum) / n;
            log_chance[at] = d * d * m * n / (m + n) / (2 * sd * sd);
        }
        sum += y[at];
    }
}

/* The place with the largest chance of a step within 3 builds. */
static size_t
likeliest(const double *log_chance)
{
    size_t best = FIRST;
    double most = 0, top = log_chance[FIRST];
    for (size_t at = FIRST; at < LAST; at++)
        top = fmax(top, log_chance[at]);
    for (size_t at = FIRST; at < LAST; at++) {
        double sum = 0;
        for (size_t j = at < FIRST + 3 ? FIRST : at - 3;
             j <= at + 3 && j < LAST; j++)
            sum += exp(log_chance[j] - top);
        if (sum > most) {
            most = sum;
            best = at;
        }
    }
    return best;
}

/* No search finds more in this noise: an oracle knows its sd, that the series
 * has one step, and that it is not near an end. */
static void
print_oracle(const char *name, size_t n,
             void (*know)(const double *, double, double, double *))
{
    double y[BUILDS], log_chance[BUILDS], step = log1p(0.1);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = FIRST + (size_t)(uniform() * (LAST - FIRST));
        double sd = 0.04 + 0.04 * uniform();
        make(y, BUILDS, sd, 0);
        for (size_t b = at; b < BUILDS; b++)
            y[b] += step;
        know(y, sd, step, log_chance);
        size_t best = likeliest(log_chance);
        found += best + 3 >= at && best <= at + 3;
    }
    printf("oracle\t10\t%s\t%.3f\n", name, (double)found / (double)n);
}

static void
print_speed(void)
{
    static double y[10000][MOST];
    for (size_t i = 0; i < 10000; i++)
        make(y[i], MOST, 0.06, 0);
    clock_t begin = clock();
    size_t found = 0;
    for (size_t i = 0; i < 10000; i++)
        found += points_of(y[i], MOST);
    printf("seconds\t%.2f\t%zu\n", (double)(clock() - begin) / CLOCKS_PER_SEC,
           found);
}

/* ---- recorded series ---- */

typedef struct recorded {
    size_t series, points; /* unchanged, and false points in them */
    size_t steps, found;
} recorded;

static double
sd_of(const double *y, size_t n)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        mean += y[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (y[i] - mean) * (y[i] - mean);
    return sqrt(squares / (double)(n - 1));
}

/* The functions that a history judges or centres by, of 80 runs drawn from
 * those recorded; of `changed` with a step of 10 %. */
static void
draw_builds(const conv_sides *from, size_t changed, size_t at, conv_sides *ret,
            conv_measure *function, conv_measure *whole)
{
    size_t n = from->n_base;
    for (size_t i = 0; i < BUILDS; i++) {
        size_t r = (size_t)(uniform() * (double)n);
        whole[i] = from->whole[r];
        for (size_t f = 0; f < from->n_functions; f++)
            function[f * BUILDS + i] = from->function[f * n + r];
        if (i < at)
            continue;
        conv_measure *own = &function[changed * BUILDS + i];
        conv_measure more = {own->n / 10, own->us / 10};
        own->n += more.n;
        own->us += more.us;
        whole[i].n += more.n;
        whole[i].us += more.us;
    }
    *ret = (conv_sides){.n_base = BUILDS,
                        .n_functions = from->n_functions,
                        .function = function,
                        .whole = whole};
}

static int
finds_step(const conv_sides *from, size_t changed)
{
    size_t cells = from->n_functions * BUILDS;
    conv_measure *function = calloc(cells, sizeof *function), whole[BUILDS];
    double *y = calloc(cells, sizeof *y);
    size_t at = FIRST + (size_t)(uniform() * (LAST - FIRST));
    conv_sides builds;
    int near = 0;
    draw_builds(from, changed, at, &builds, function, whole);
    if (conv_series(&builds, CONV_SCALE_CENTRED, y, NULL, NULL) != PR_OK)
        exit(1);
    for (size_t p = points_of(y + changed * BUILDS, BUILDS); p > 0; p--)
        near |= point[p - 1].at + 3 >= at && point[p - 1].at <= at + 3;
    free(function);
    free(y);
    return near;
}

/* sd: of the centred values, before factors are taken out. */
static void
take_series(const conv_sides *runs, size_t f, double sd, const double *y,
            recorded *r)
{
    r->series++;
    r->points += points_of(y, runs->n_base);
    for (size_t i = 0; i < 100 && sd >= 0.04 && sd <= 0.08; i++, r->steps++)
        r->found += (size_t)finds_step(runs, f);
}

static double
sum_of(const conv_measure *m, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)m[i].n;
    return sum;
}

static void
print_recorded(const char *name, const conv_sides *runs)
{
    size_t n = runs->n_base;
    double *y = calloc(runs->n_functions * n + 1, sizeof *y);
    double all = sum_of(runs->whole, n);
    conv_logs logs;
    recorded r = {0, 0, 0, 0};
    if (conv_logs_build(runs, CONV_SCALE_CENTRED, &logs, NULL) != PR_OK ||
        conv_series(runs, CONV_SCALE_CENTRED, y, NULL, NULL) != PR_OK)
        exit(1);
    for (size_t f = 0; f < runs->n_functions; f++) {
        double count = sum_of(runs->function + f * n, n);
        if (count >= 0.005 * all && count >= 50 * (double)n)
            take_series(runs, f, sd_of(logs.scaled + f * n, n), y + f * n, &r);
    }
    printf("recorded\t%s\t%zu\t%zu\t%.3f\n", name, r.series, r.points,
           r.steps ? (double)r.found / (double)r.steps : (double)NAN);
    conv_logs_release(&logs);
    free(y);
}

/* Only the runs of the unchanged program are taken. */
static void
read_measures(conv_measure *ret, size_t kept, size_t runs)
{
    for (size_t r = 0; r < runs; r++) {
        long long n, us;
        if (scanf("%lld %lld", &n, &us) != 2)
            exit(2);
        if (r < kept)
            ret[r] = (conv_measure){n, us};
    }
}

static void
read_recorded(void)
{
    char name[64];
    size_t n, slow, functions, unused;
    while (scanf("%63s %zu %zu %zu %zu", name, &n, &slow, &functions,
                 &unused) == 5) {
        conv_measure *all = calloc((functions + 1) * n, sizeof *all);
        size_t kept = 0; /* functions with samples enough for the centre */
        read_measures(all, n, n + slow);
        for (size_t f = 0; f < functions; f++) {
            conv_measure *own = all + (kept + 1) * n;
            read_measures(own, n, n + slow);
            kept += sum_of(own, n) >= 20 * (double)n;
        }
        conv_sides runs = {.n_base = n,
                           .n_functions = kept,
                           .function = all + n,
                           .whole = all};
        print_recorded(name, &runs);
        free(all);
    }
}

int
main(int argc, char **argv)
{
    if (argc < 3 || argc > 4)
        return 2;
    if (argc == 4)
        alpha = strtod(argv[3], NULL);
    size_t n = strtoul(argv[1], NULL, 10);
    state = strtoull(argv[2], NULL, 10) * 0x9E3779B97F4A7C15u + 1;
    print_unchanged(n, 0);
    print_unchanged(n, 0.3);
    print_step(n, 0.05, 0.04, 0.08);
    print_step(n, 0.10, 0.04, 0.08);
    print_step(n, 0.20, 0.04, 0.08);
    print_step(n, 0.05, 0.02, 0.04);
    print_oracle("knows sd and number of steps", n, know_noise);
    print_oracle("knows these and both levels", n, know_levels);
    print_speed();
    read_recorded();
    return 0;
}
