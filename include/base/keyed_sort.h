/*
 * keyed_sort.h - numbers in order of their keys, in linear time.
 */
#ifndef BASE_KEYED_SORT_H
#define BASE_KEYED_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pr_keyed {
    uint64_t key;
    uint32_t value;
} pr_keyed;

/* Sort by ascending keys; values of equal keys stay in their order.  Takes
 * memory for n more while it runs; false: there is none, and the order is as
 * before. */
bool pr_sort_keyed(pr_keyed *items, size_t n);

#endif
