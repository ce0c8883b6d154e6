/*
 * draws.h - random numbers of one seed (xorshift64).
 */
#ifndef TESTS_COMPARE_DRAWS_H
#define TESTS_COMPARE_DRAWS_H

#include <math.h>
#include <stdint.h>

static uint64_t state; /* the seed at first; not 0 */

/* In (0, 1). */
static double
uniform(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return ((double)(state >> 11) + 0.5) / 9007199254740992.0;
}

/* Mean 0, variance 1. */
static double
normal(void)
{
    double radius = sqrt(-2 * log(uniform()));
    return radius * cos(6.28318530717958648 * uniform());
}

#endif
