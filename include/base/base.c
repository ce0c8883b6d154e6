/*
 * base.c - growable arrays, the hash table, hashing.
 */
#include <base/base.h>

#include <errno.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

bool
pr_grow(void *array_ptr, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return true;
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

pr_code
pr_opts_take(void *to, size_t size, const void *from, pr_err *err)
{
    size_t given;
    if (!from)
        return PR_OK;
    memcpy(&given, from, sizeof given);
    if (given <= sizeof given)
        return PR_FAIL(err, PR_USAGE, "the size of the options is not set");
    const uint8_t *bytes = from;
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return PR_FAIL(err, PR_USAGE,
                           "an option that this version does not know");
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return PR_OK;
}

pr_code
pr_fail_to_create(const char *path, int sys, pr_err *err)
{
    PR_FAIL_SYS(err, PR_IO, sys, "cannot create '%s'", path);
    if (sys == ENOENT)
        pr_err_hint(err, "does its folder exist?");
    return PR_IO;
}

static uint32_t
tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

uint32_t
pr_table_find(const pr_table *table, uint64_t hash, pr_table_same same,
              const void *context)
{
    if (table->cap == 0)
        return PR_TABLE_NONE;
    size_t mask = table->cap - 1;
    for (size_t i = (size_t)hash & mask; table->slot[i]; i = (i + 1) & mask)
        if (table->tag[i] == tag_of(hash) && same(context, table->slot[i] - 1))
            return table->slot[i] - 1;
    return PR_TABLE_NONE;
}

/* One block holds slots, tags and the lower halves of the hashes, so that a
 * table can grow without asking its owner for the keys. */
static bool
rehash(pr_table *table, size_t cap)
{
    uint32_t *slot = calloc(cap, 3 * sizeof *slot);
    if (!slot)
        return false;
    uint32_t *tag = slot + cap, *low = slot + 2 * cap;
    uint32_t *old_low = table->slot ? table->slot + 2 * table->cap : NULL;
    for (size_t i = 0; i < table->cap; i++) {
        if (!table->slot[i])
            continue;
        size_t mask = cap - 1, j = (size_t)old_low[i] & mask;
        while (slot[j])
            j = (j + 1) & mask;
        slot[j] = table->slot[i];
        tag[j] = table->tag[i];
        low[j] = old_low[i];
    }
    free(table->slot);
    table->slot = slot;
    table->tag = tag;
    table->cap = cap;
    return true;
}

bool
pr_table_insert(pr_table *table, uint64_t hash, uint32_t value)
{
    if ((table->n + 1) * 4 > table->cap * 3 &&
        !rehash(table, table->cap ? table->cap * 2 : 64))
        return false;
    size_t mask = table->cap - 1, i = (size_t)hash & mask;
    while (table->slot[i])
        i = (i + 1) & mask;
    table->slot[i] = value + 1;
    table->tag[i] = tag_of(hash);
    (table->slot + 2 * table->cap)[i] = (uint32_t)hash;
    table->n++;
    return true;
}

void
pr_table_reset(pr_table *table)
{
    if (table->slot)
        memset(table->slot, 0, table->cap * sizeof *table->slot);
    table->n = 0;
}

void
pr_table_release(pr_table *table)
{
    free(table->slot);
    *table = (pr_table){0};
}

uint64_t
pr_hash_bytes(const void *bytes, size_t len)
{
    return XXH64(bytes, len, 0);
}

uint64_t
pr_hash_seeded(const void *bytes, size_t len, uint64_t seed)
{
    return XXH64(bytes, len, seed);
}
