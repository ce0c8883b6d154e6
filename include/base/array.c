/*
 * array.c - doubling, with the sizes checked.
 */
#include <base/array.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

bool
pr_grow_on(void *array_ptr, size_t *cap, size_t need, size_t size)
{
    size_t want = *cap ? *cap : 16;
    while (want < need) {
        if (want > SIZE_MAX / 2)
            return false;
        want *= 2;
    }
    if (want > SIZE_MAX / size)
        return false;
    void *old;
    memcpy(&old, array_ptr, sizeof old); /* any T ** without aliasing */
    void *grown = realloc(old, want * size);
    if (!grown)
        return false;
    memcpy(array_ptr, &grown, sizeof grown);
    *cap = want;
    return true;
}
