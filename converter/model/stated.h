/*
 * stated.h - the sums of functions and callers that a file without stacks
 * states (pr_total).
 *
 * Sums of one function and caller add up.  Counts stop at 2^62.
 */
#ifndef CONVERTER_MODEL_STATED_H
#define CONVERTER_MODEL_STATED_H

#include <base/intern.h>
#include <pyrec/profile.h>
#include <stdbool.h>

/* Functions of the model; caller CONV_ANY_CALLER: the function's own sums. */
typedef struct conv_stated_key {
    uint32_t function, caller;
} conv_stated_key;
#define CONV_ANY_CALLER UINT32_MAX

typedef struct conv_stated_sum {
    uint64_t calls, primitive_calls;
    double self_s, total_s; /* 0 without times */
    bool has_times;
} conv_stated_sum;

/* Zero but for keys.size is empty. */
typedef struct conv_stated {
    pr_set keys;          /* conv_stated_key, in order of first appearance */
    conv_stated_sum *sum; /* [keys.n] */
    size_t cap;
} conv_stated;

pr_code conv_stated_add(conv_stated *stated, conv_stated_key key,
                        const pr_total *total, pr_err *err);
void conv_stated_release(conv_stated *stated);

/* Whole microseconds; a time below 0, which a clock may yield, is 0. */
uint64_t conv_stated_us(double seconds);

static inline conv_stated_key
conv_stated_key_of(const conv_stated *stated, size_t i)
{
    return ((const conv_stated_key *)stated->keys.item)[i];
}

#endif
