/*
 * array.h - growing an array, and searching a sorted one.
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/* Grow an array so that it holds at least `need` elements of `size` bytes;
 * *cap is in elements.  Doubles; checks for overflow; on failure the array is
 * as before and false is returned. */
static inline bool pr_grow(void *array_ptr, size_t *cap, size_t need,
                           size_t size);

/* The same; the array is too small. */
bool pr_grow_on(void *array_ptr, size_t *cap, size_t need, size_t size);

static inline bool
pr_grow(void *array_ptr, size_t *cap, size_t need, size_t size)
{
    return need <= *cap || pr_grow_on(array_ptr, cap, need, size);
}

/* Set `ret` to the place of the first of `n` items whose `field` is at least
 * `key`; n: none is.  The items are in ascending order of the field. */
#define PR_FIND_SORTED(ret, items, n, field, key)       \
    do {                                                \
        size_t low_ = 0, high_ = (n);                   \
        while (low_ < high_) {                          \
            size_t middle_ = low_ + (high_ - low_) / 2; \
            if ((items)[middle_].field < (key))         \
                low_ = middle_ + 1;                     \
            else                                        \
                high_ = middle_;                        \
        }                                               \
        (ret) = low_;                                   \
    } while (0)

#endif
