/*
 * hash_table.h - open addressing from a hash to an index.
 */
#ifndef BASE_HASH_TABLE_H
#define BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Open addressing from a 64-bit hash to a 32-bit value that the caller uses
 * as an index into its own array, where the key lives.  No deletion. */
typedef struct pr_table {
    uint32_t *slot; /* value + 1, 0 free; owns one block with what follows */
    uint32_t *tag;  /* upper half of the hash */
    size_t cap;     /* a power of two */
    size_t n;
} pr_table;

#define PR_TABLE_NONE UINT32_MAX

/* same(context, value): is the key of `value` the wanted one? */
typedef bool (*pr_table_same)(const void *context, uint32_t value);

uint32_t pr_table_find(const pr_table *table, uint64_t hash, pr_table_same same,
                       const void *context);
/* The key must be new.  False: out of memory. */
bool pr_table_insert(pr_table *table, uint64_t hash, uint32_t value);
void pr_table_reset(pr_table *table);   /* empty, keep the memory */
void pr_table_release(pr_table *table); /* free */

#endif
