/*
 * logs.c - spec/compare.md, 3.1 and 3.2.
 */
#include "converter/compare/logs.h"

#include "converter/compare/sample_moments.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* A function without a sample counts as this much of one: its logarithm must
 * be finite. */
static const double LEAST_SAMPLE = 0.3;

enum {
    REFERENCE = 50, /* mean samples of a function that the centre rests on */
    FEWEST = 5,     /* functions that make a centre ... */
    WEAKEST = 20,   /* ... and the fewest samples of one that fills them up */
    ALONE = 100     /* samples of it on each side, with one run a side: these
                     * runs do not show how uncertain their centre is */
};

static double
work_of(const conv_sides *sides, size_t run)
{
    return sides->work ? sides->work[run] : 1;
}

/* Microseconds of one sample, the mean of all runs. */
static double
sample_us(const conv_sides *sides)
{
    double n = 0, us = 0;
    for (size_t r = 0; r < sides->n_base + sides->n_new; r++) {
        n += (double)sides->whole[r].n;
        us += (double)sides->whole[r].us;
    }
    return n > 0 && us > 0 ? us / n : 1;
}

static void
take_logs(const conv_sides *sides, conv_logs *l)
{
    double least = LEAST_SAMPLE * sample_us(sides);
    for (size_t f = 0; f < l->n_functions; f++) {
        double n = 0; /* of the base; exact */
        for (size_t r = 0; r < l->n_runs; r++) {
            size_t at = f * l->n_runs + r;
            double us = fmax((double)sides->function[at].us, least);
            l->raw[at] = log(us / work_of(sides, r));
            n += r < sides->n_base ? (double)sides->function[at].n : 0;
        }
        l->count[f] = n / (double)sides->n_base;
    }
}

bool
conv_is_one_against_one(const conv_sides *sides)
{
    return sides->n_base == 1 && sides->n_new == 1;
}

/* The number of samples from which on a function is part of the centre. */
static double
reference_count(const conv_logs *l, double *room)
{
    size_t n = 0;
    for (size_t f = 0; f < l->n_functions; f++)
        if (l->count[f] >= WEAKEST)
            room[n++] = l->count[f];
    if (n < FEWEST)
        return REFERENCE;
    conv_sort(room, n);
    return fmin(room[n - FEWEST], REFERENCE);
}

/* The functions of the centre; none if they are too few. */
static void
choose_references(const conv_sides *sides, conv_logs *l, double *room)
{
    bool alone = conv_is_one_against_one(sides);
    double least = alone ? ALONE : reference_count(l, room);
    for (size_t f = 0; f < l->n_functions; f++) {
        double n = l->count[f];
        if (alone)
            n = fmin(n, (double)sides->function[2 * f + 1].n);
        if (n >= least)
            l->reference[l->n_references++] = f;
    }
    if (l->n_references < FEWEST)
        l->n_references = 0;
}

/* The centre of each run: the median over the reference functions of the
 * distance from the function's mean. */
static void
find_centres(conv_logs *l, double *room)
{
    for (size_t r = 0; r < l->n_runs; r++) {
        for (size_t i = 0; i < l->n_references; i++) {
            const double *own = l->raw + l->reference[i] * l->n_runs;
            room[i] = own[r] - conv_mean(own, l->n_runs);
        }
        l->factor[r] = conv_median(room, l->n_references);
    }
}

/* The logarithm of all seconds of each run: the factor without a centre. */
static void
take_whole(const conv_sides *sides, conv_logs *l)
{
    for (size_t r = 0; r < l->n_runs; r++)
        l->factor[r] =
            log(fmax((double)sides->whole[r].us, 1) / work_of(sides, r));
}

static void
put_on_scale(const conv_sides *sides, conv_logs *l)
{
    for (size_t r = 0; r < l->n_runs; r++) {
        double by = 0;
        if (l->scale == CONV_SCALE_CENTRED)
            by = l->factor[r];
        else if (l->scale == CONV_SCALE_SHARE)
            by = log(fmax((double)sides->whole[r].us, 1) / work_of(sides, r));
        for (size_t f = 0; f < l->n_functions; f++)
            l->scaled[f * l->n_runs + r] = l->raw[f * l->n_runs + r] - by;
    }
}

static bool
allocate(conv_logs *l)
{
    /* pr_no_memory() for a product that would overflow: calloc() checks it */
    l->raw = calloc(l->n_functions + 1, l->n_runs * sizeof *l->raw);
    l->scaled = calloc(l->n_functions + 1, l->n_runs * sizeof *l->scaled);
    l->factor = calloc(l->n_runs, sizeof *l->factor);
    l->count = calloc(l->n_functions + 1, sizeof *l->count);
    l->reference = calloc(l->n_functions + 1, sizeof *l->reference);
    return l->raw && l->scaled && l->factor && l->count && l->reference;
}

pr_code
conv_logs_build(const conv_sides *sides, conv_scale scale, conv_logs *ret,
                pr_err *err)
{
    conv_logs l = {.n_functions = sides->n_functions,
                   .n_runs = sides->n_base + sides->n_new,
                   .scale = scale};
    double *room = calloc(l.n_functions + 1, sizeof *room);
    if (!room || !allocate(&l)) {
        free(room);
        conv_logs_release(&l);
        return pr_no_memory(err);
    }
    take_logs(sides, &l);
    choose_references(sides, &l, room);
    if (l.n_references)
        find_centres(&l, room);
    else
        take_whole(sides, &l);
    if (!l.n_references && scale == CONV_SCALE_CENTRED)
        l.scale = CONV_SCALE_SECONDS;
    put_on_scale(sides, &l);
    free(room);
    *ret = l;
    return PR_OK;
}

void
conv_logs_release(conv_logs *logs)
{
    free(logs->raw);
    free(logs->scaled);
    free(logs->factor);
    free(logs->count);
    free(logs->reference);
    *logs = (conv_logs){0};
}
