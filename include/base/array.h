/*
 * array.h - growing an array.
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

#endif
