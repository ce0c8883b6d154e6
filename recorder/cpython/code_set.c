/*
 * code_set.c - a sorted array of extents (code_set.h).
 */
#include "recorder/cpython/code_set.h"

#include <base/array.h>
#include <stdlib.h>
#include <string.h>

/* A piece has no gap of a page: each of its pages holds a part of an extent. */
enum {
    NEAR = 2048, /* bytes between two extents of one piece */
    EXTENTS_MAX = 4096,
    RENEW_AFTER = 512 /* batches */
};

void
rec_code_set_release(rec_code_set *set)
{
    free(set->v);
    *set = (rec_code_set){0};
}

/* The first extent at or after an address. */
static size_t
place_of(const rec_code_set *set, uint64_t address)
{
    size_t at;
    PR_FIND_SORTED(at, set->v, set->n, address, address);
    return at;
}

void
rec_code_set_add(rec_code_set *set, uint64_t address, uint32_t len)
{
    size_t at = place_of(set, address);
    if (at < set->n && set->v[at].address == address) {
        if (set->v[at].len < len)
            set->v[at].len = len;
        return;
    }
    if (set->n == EXTENTS_MAX ||
        !pr_grow(&set->v, &set->cap, set->n + 1, sizeof *set->v))
        return;
    memmove(&set->v[at + 1], &set->v[at], (set->n - at) * sizeof *set->v);
    set->v[at] = (rec_extent){address, len};
    set->n++;
}

void
rec_code_set_miss(rec_code_set *set, uint64_t address)
{
    size_t at = place_of(set, address);
    if (at < set->n && set->v[at].address == address)
        set->n = set->asked = 0;
}

void
rec_code_set_ask(rec_code_set *set, rec_batch *batch)
{
    for (size_t i = 0; i < set->n;) {
        uint64_t begin = set->v[i].address, end = begin;
        for (; i < set->n && set->v[i].address - begin <= end - begin + NEAR;
             i++)
            if (set->v[i].address + set->v[i].len > end)
                end = set->v[i].address + set->v[i].len;
        rec_batch_add(batch, begin, end - begin);
    }
    if (++set->asked >= RENEW_AFTER)
        set->n = set->asked = 0;
}
