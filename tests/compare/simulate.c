/*
 * simulate.c - how often comparisons of runs mark an unchanged program, and how
 * often they find a change.
 *
 * usage: simulate COMMAND N SEED <PROGRAMS
 *
 * PROGRAMS, one after the other, are text:
 *     NAME n_base n_slow n_functions slow_function
 *     samples and microseconds of each run: n_base + n_slow pairs
 *     the same of each function, one line each
 * or `model NAME median_sd common_sd two_modes n_functions`: made runs.
 * Each comparison draws its runs at random without putting them back, as if
 * both sides had been recorded in turn.
 */
#include "draws.h"

#include <pyrec/compare.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RUNS = 400, MOST_FUNCTIONS = 2000, MOST_SIDE = 20 };

typedef struct program {
    char name[64];
    size_t n_base, n_slow, n_functions, slow;
    conv_measure *whole, *function; /* [run], [function][run] */
    double sd, common, two_modes;   /* of a model; sd < 0: recorded */
} program;

/* Poisson; by the normal distribution where the mean is large. */
static double
poisson(double mean)
{
    if (mean > 100)
        return fmax(0, floor(mean + sqrt(mean) * normal() + 0.5));
    double product = uniform(), least = exp(-mean), n = 0;
    for (; product > least; n++)
        product *= uniform();
    return n;
}

/* ---- reading ---- */

static void
read_runs(program *p)
{
    size_t runs = p->n_base + p->n_slow;
    p->whole = calloc(runs, sizeof *p->whole);
    p->function = calloc(p->n_functions * runs, sizeof *p->function);
    for (size_t i = 0; i < (p->n_functions + 1) * runs; i++) {
        long long n = 0, us = 0;
        conv_measure *m = i < runs ? &p->whole[i] : &p->function[i - runs];
        if (scanf("%lld %lld", &n, &us) != 2)
            exit(2);
        *m = (conv_measure){n, us};
    }
}

static int
read_program(program *p)
{
    char word[64];
    *p = (program){.sd = -1};
    if (scanf("%63s", word) != 1)
        return 0;
    if (strcmp(word, "model") == 0)
        return scanf("%63s %lf %lf %lf %zu", p->name, &p->sd, &p->common,
                     &p->two_modes, &p->n_functions) == 5;
    memcpy(p->name, word, sizeof word);
    if (scanf("%zu %zu %zu %zu", &p->n_base, &p->n_slow, &p->n_functions,
              &p->slow) != 4 ||
        p->n_base + p->n_slow > MOST_RUNS || p->n_functions > MOST_FUNCTIONS)
        exit(2);
    read_runs(p);
    return 1;
}

/* ---- drawing ---- */

typedef struct draw {
    conv_measure function[MOST_FUNCTIONS * 2 * MOST_SIDE];
    conv_measure whole[2 * MOST_SIDE];
    conv_sides sides;
} draw;

/* The first n of `order` become a random choice without repetition. */
static void
shuffle(size_t *order, size_t len, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t j = i + (size_t)(uniform() * (double)(len - i));
        size_t swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
}

static void
take_run(const program *p, size_t from, draw *d, size_t to)
{
    size_t all = p->n_base + p->n_slow, runs = d->sides.n_base + d->sides.n_new;
    d->whole[to] = p->whole[from];
    for (size_t f = 0; f < p->n_functions; f++)
        d->function[f * runs + to] = p->function[f * all + from];
}

/* slow: the new side is of the changed program. */
static void
draw_recorded(const program *p, int slow, draw *d)
{
    size_t order[MOST_RUNS], k = d->sides.n_base, m = d->sides.n_new;
    for (size_t i = 0; i < p->n_base; i++)
        order[i] = i;
    shuffle(order, p->n_base, slow ? k : k + m);
    for (size_t r = 0; r < k + (slow ? 0 : m); r++)
        take_run(p, order[r], d, r);
    for (size_t i = 0; slow && i < p->n_slow; i++)
        order[i] = p->n_base + i;
    if (slow)
        shuffle(order, p->n_slow, m);
    for (size_t r = 0; slow && r < m; r++)
        take_run(p, order[r], d, k + r);
}

/* Shares fall from 15 % by a quarter each; sds lie around the median; the
 * second function may have two modes, 40 % apart.  Function 1 of a changed
 * program is `by` slower. */
static void
draw_model(const program *p, double by, draw *d)
{
    size_t runs = d->sides.n_base + d->sides.n_new;
    double sd[MOST_FUNCTIONS];
    memset(d->whole, 0, sizeof d->whole);
    for (size_t f = 0; f < p->n_functions; f++)
        sd[f] = p->sd * exp(0.4 * normal());
    double common = 0;
    for (size_t r = 0; r < runs; r++) {
        common = 0.35 * common + p->common * sqrt(1 - 0.35 * 0.35) * normal();
        for (size_t f = 0; f < p->n_functions; f++) {
            double mean = 400 * pow(0.8, (double)f);
            double mode = f == 2 && uniform() < p->two_modes ? log(1.4) : 0;
            double change = f == 1 && r >= d->sides.n_base ? log(1 + by) : 0;
            double n =
                poisson(mean * exp(common + sd[f] * normal() + mode + change));
            conv_measure one = {(int64_t)n, (int64_t)n * 1000};
            d->function[f * runs + r] = one;
            d->whole[r].n += one.n;
            d->whole[r].us += one.us;
        }
    }
}

static void
make_draw(const program *p, size_t k, size_t m, double by, draw *d)
{
    d->sides = (conv_sides){.n_base = k,
                            .n_new = m,
                            .n_functions = p->n_functions,
                            .function = d->function,
                            .whole = d->whole};
    if (p->sd < 0)
        draw_recorded(p, by > 0, d);
    else
        draw_model(p, by, d);
}

/* ---- counting ---- */

static draw drawn;
static conv_change change[MOST_FUNCTIONS];

static conv_comparison
compare(conv_scale scale)
{
    conv_compare_opts opts = CONV_COMPARE_OPTS_INIT;
    conv_comparison head;
    pr_err err = PR_ERR_INIT;
    opts.scale = scale;
    if (conv_compare(&drawn.sides, &opts, change, &head, &err) != PR_OK) {
        fprintf(stderr, "%s\n", err.what);
        exit(1);
    }
    return head;
}

static int
any(const program *p, conv_verdict verdict)
{
    for (size_t f = 0; f < p->n_functions; f++)
        if (change[f].verdict == verdict)
            return 1;
    return 0;
}

static size_t
slow_function(const program *p)
{
    return p->sd < 0 ? p->slow : 1;
}

static double
false_alarms(const program *p, size_t k, size_t m, size_t n, conv_scale scale)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        make_draw(p, k, m, 0, &drawn);
        compare(scale);
        found += (size_t)any(p, CONV_WORSE);
    }
    return (double)found / (double)n;
}

typedef struct power {
    double found;  /* the slower function */
    double others; /* at least one that did not change */
} power;

static int
marks_another(const program *p, size_t slow)
{
    for (size_t f = 0; f < p->n_functions; f++)
        if (f != slow && (change[f].verdict == CONV_WORSE ||
                          change[f].verdict == CONV_BETTER))
            return 1;
    return 0;
}

static power
measure_power(const program *p, size_t k, size_t m, size_t n, conv_scale scale)
{
    size_t found = 0, others = 0, slow = slow_function(p);
    for (size_t i = 0; i < n; i++) {
        make_draw(p, k, m, 0.2, &drawn);
        compare(scale);
        found += change[slow].verdict == CONV_WORSE;
        others += (size_t)marks_another(p, slow);
    }
    return (power){(double)found / (double)n, (double)others / (double)n};
}

/* A function with at least 6 % of all time; every one is as likely. */
static size_t
large_function(const program *p)
{
    size_t runs = p->n_base + p->n_slow;
    double all = 0;
    for (size_t r = 0; r < runs; r++)
        all += (double)p->whole[r].us;
    for (;;) {
        size_t f = (size_t)(uniform() * (double)p->n_functions);
        double us = 0;
        for (size_t r = 0; r < runs; r++)
            us += (double)p->function[f * runs + r].us;
        if (us >= 0.06 * all)
            return f;
    }
}

static void
lengthen(conv_measure *m, conv_measure *whole)
{
    conv_measure more = {m->n / 5, m->us / 5};
    m->n += more.n;
    m->us += more.us;
    whole->n += more.n;
    whole->us += more.us;
}

/* Unchanged recorded runs, on the new side of which one large function takes
 * 20 % longer: any of them, so that none is chosen. */
static double
power_of_any(const program *p, size_t k, size_t m, size_t n)
{
    size_t found = 0;
    for (size_t i = 0; p->sd < 0 && i < n; i++) {
        make_draw(p, k, m, 0, &drawn);
        size_t f = large_function(p);
        for (size_t r = k; r < k + m; r++)
            lengthen(&drawn.function[f * (k + m) + r], &drawn.whole[r]);
        compare(CONV_SCALE_CENTRED);
        found += change[f].verdict == CONV_WORSE;
    }
    return p->sd < 0 ? (double)found / (double)n
                     : measure_power(p, k, m, n, CONV_SCALE_CENTRED).found;
}

static int
ascending(const void *x, const void *y)
{
    const double *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

static double
detectable(const program *p, size_t k, size_t m, size_t n)
{
    double *all = calloc(n * p->n_functions, sizeof *all);
    size_t len = 0;
    for (size_t i = 0; i < n; i++) {
        make_draw(p, k, m, 0, &drawn);
        compare(CONV_SCALE_CENTRED);
        for (size_t f = 0; f < p->n_functions; f++)
            if (!isnan(change[f].adjusted))
                all[len++] = change[f].detectable;
    }
    qsort(all, len, sizeof *all, ascending);
    double median = len ? all[len / 2] : (double)NAN;
    free(all);
    return median;
}

/* One new run against five; where it gives reason to, four more. */
static void
two_stages(const program *p, double by, size_t n, double *ret_marked,
           double *ret_second)
{
    size_t marked = 0, second = 0;
    for (size_t i = 0; i < n; i++) {
        make_draw(p, 5, 5, by, &drawn);
        static draw whole;
        whole = drawn;
        for (size_t f = 0; f < p->n_functions; f++)
            memmove(drawn.function + f * 6, whole.function + f * 10,
                    6 * sizeof *drawn.function);
        drawn.sides.n_new = 1;
        if (!compare(CONV_SCALE_CENTRED).n_suspects)
            continue;
        second++;
        drawn = whole;
        drawn.sides.function = drawn.function;
        drawn.sides.whole = drawn.whole;
        compare(CONV_SCALE_CENTRED);
        marked += by > 0 ? change[slow_function(p)].verdict == CONV_WORSE
                         : (size_t)any(p, CONV_WORSE);
    }
    *ret_marked = (double)marked / (double)n;
    *ret_second = (double)second / (double)n;
}

/* ---- tables: one row a program, tab-separated ---- */

static void
print_gate(const program *p, size_t n)
{
    static const size_t sides[][2] = {{1, 1}, {3, 1}, {5, 1},  {10, 1},
                                      {3, 3}, {5, 5}, {10, 10}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        size_t k = sides[i][0], m = sides[i][1];
        double alarms = false_alarms(p, k, m, n, CONV_SCALE_CENTRED);
        power one = measure_power(p, k, m, n, CONV_SCALE_CENTRED);
        printf("gate\t%s\t%zu v %zu\t%.3f\t%.2f\t%.3f\t%.2f\t%.0f\n", p->name,
               k, m, alarms, one.found, one.others, power_of_any(p, k, m, n),
               100 * detectable(p, k, m, n / 4 + 1));
    }
    double alarms, changes, second, unused;
    two_stages(p, 0, n, &alarms, &second);
    two_stages(p, 0.2, n, &changes, &unused);
    printf("stages\t%s\t%.3f\t%.2f\t%.2f\n", p->name, alarms, changes, second);
}

static void
print_scales(const program *p, size_t n)
{
    static const char *const names[] = {"centred", "seconds", "share"};
    for (int s = CONV_SCALE_CENTRED; s <= CONV_SCALE_SHARE; s++)
        printf("scale\t%s\t%s\t%.3f\t%.2f\n", p->name, names[s],
               false_alarms(p, 5, 5, n, (conv_scale)s),
               measure_power(p, 5, 5, n, (conv_scale)s).found);
}

int
main(int argc, char **argv)
{
    program p;
    if (argc != 4)
        return 2;
    size_t n = strtoul(argv[2], NULL, 10);
    state = strtoull(argv[3], NULL, 10) * 0x9E3779B97F4A7C15u + 1;
    while (read_program(&p)) {
        if (strcmp(argv[1], "gate") == 0)
            print_gate(&p, n);
        else if (strcmp(argv[1], "scales") == 0)
            print_scales(&p, n);
        free(p.whole);
        free(p.function);
    }
    return 0;
}
