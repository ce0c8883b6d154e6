/*
 * stated.c - a set of keys, and an array of sums beside it.
 */
#include "converter/model/stated.h"

#include <base/array.h>
#include <stdlib.h>

#define COUNT_MAX (UINT64_C(1) << 62)

static uint64_t
add_counts(uint64_t a, uint64_t b)
{
    return a > COUNT_MAX || b > COUNT_MAX - a ? COUNT_MAX : a + b;
}

pr_code
conv_stated_add(conv_stated *stated, conv_stated_key key, const pr_total *total,
                pr_err *err)
{
    size_t before = stated->keys.n;
    uint32_t id;
    pr_code rc = pr_set_add(&stated->keys, &key, &id, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&stated->sum, &stated->cap, stated->keys.n,
                 sizeof *stated->sum))
        return pr_no_memory(err);
    conv_stated_sum *sum = &stated->sum[id];
    if (stated->keys.n > before)
        *sum = (conv_stated_sum){.has_times = false};
    sum->calls = add_counts(sum->calls, total->calls);
    sum->primitive_calls =
        add_counts(sum->primitive_calls, total->primitive_calls);
    sum->self_s += total->self_s;
    sum->total_s += total->total_s;
    sum->has_times = sum->has_times || total->has_times;
    return PR_OK;
}

void
conv_stated_release(conv_stated *stated)
{
    pr_set_release(&stated->keys);
    free(stated->sum);
    *stated = (conv_stated){.cap = 0};
}

uint64_t
conv_stated_us(double seconds)
{
    double us = seconds * 1e6 + 0.5;
    if (!(us >= 1))
        return 0;
    return us >= 9e18 ? (uint64_t)9e18 : (uint64_t)us;
}
