/*
 * history.c - change points of made series: false ones, and steps found.
 *
 * usage: history N SEED
 *
 * Rows, tab-separated: unchanged series of 113 builds (false points in one,
 * alarms of the newest build in 1000); series of 80 builds with a step at a
 * random place (found within 3 builds); seconds for 10,000 series of 200.
 */
#include <pyrec/compare.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 200 };

static uint64_t state;

static double
uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

static double
normal(void)
{
    double radius = sqrt(-2 * log(uniform()));
    return radius * cos(6.28318530717958648 * uniform());
}

static conv_point point[MOST];

static size_t
points_of(const double *y, size_t n)
{
    size_t found = 0;
    if (conv_change_points(y, n, CONV_HISTORY_ALPHA, point, &found, NULL) !=
        PR_OK)
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

int
main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    size_t n = strtoul(argv[1], NULL, 10);
    state = strtoull(argv[2], NULL, 10) * 0x9E3779B97F4A7C15u + 1;
    print_unchanged(n, 0);
    print_unchanged(n, 0.3);
    print_step(n, 0.05, 0.04, 0.08);
    print_step(n, 0.10, 0.04, 0.08);
    print_step(n, 0.20, 0.04, 0.08);
    print_step(n, 0.05, 0.02, 0.04);
    print_speed();
    return 0;
}
