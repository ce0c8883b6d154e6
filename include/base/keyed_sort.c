/*
 * keyed_sort.c - radix sort from the lowest byte of the keys on.
 *
 * A byte that all keys share costs no pass, so small keys cost few.
 */
#include <base/keyed_sort.h>

#include <stdlib.h>
#include <string.h>

enum { BYTES = 8, VALUES = 256 };

static unsigned
byte_of(uint64_t key, unsigned byte)
{
    return (unsigned)(key >> (8 * byte)) & 0xff;
}

static void
count_bytes(const pr_keyed *items, size_t n, size_t count[BYTES][VALUES])
{
    memset(count, 0, sizeof(size_t) * BYTES * VALUES);
    for (size_t i = 0; i < n; i++)
        for (unsigned byte = 0; byte < BYTES; byte++)
            count[byte][byte_of(items[i].key, byte)]++;
}

/* From the counts of one byte to the places where its values begin. */
static void
begin_places(size_t place[VALUES])
{
    size_t begin = 0;
    for (unsigned value = 0; value < VALUES; value++) {
        size_t n = place[value];
        place[value] = begin;
        begin += n;
    }
}

bool
pr_sort_keyed(pr_keyed *items, size_t n)
{
    size_t place[BYTES][VALUES];
    if (n < 2)
        return true;
    pr_keyed *other = malloc(n * sizeof *other);
    if (!other)
        return false;
    pr_keyed *from = items, *to = other;
    count_bytes(items, n, place);
    for (unsigned byte = 0; byte < BYTES; byte++) {
        if (place[byte][byte_of(items[0].key, byte)] == n)
            continue;
        begin_places(place[byte]);
        for (size_t i = 0; i < n; i++)
            to[place[byte][byte_of(from[i].key, byte)]++] = from[i];
        pr_keyed *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * sizeof *items);
    free(other);
    return true;
}
