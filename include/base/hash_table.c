/*
 * hash_table.c - linear probing at a load of at most three quarters.
 */
#include <base/hash_table.h>

#include <stdlib.h>
#include <string.h>

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
