/*
 * base.h - the floor all rooms stand on: allocation, hash table, little
 * helpers.  Not installed; not part of the interface.
 */
#ifndef BASE_BASE_H
#define BASE_BASE_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Grow an array so that it holds at least `need` elements of `size` bytes;
 * *cap is in elements.  Doubles; checks for overflow; on failure the array is
 * as before and false is returned. */
bool pr_grow(void *array_ptr, size_t *cap, size_t need, size_t size);

/* Take a caller's options.  *to, of `size` bytes, holds the defaults; both begin
 * with a size_t that is the size of the struct, and `from` may be that of an
 * older or a newer version.  Fields that `from` lacks keep their defaults; what
 * it has beyond `size` must be zero.  `from` may be NULL.  PR_USAGE. */
pr_code pr_opts_take(void *to, size_t size, const void *from, pr_err *err);

/* PR_IO: a file cannot be created, with the errno `sys` and what may help. */
pr_code pr_fail_to_create(const char *path, int sys, pr_err *err);

/* Open addressing from a 64-bit hash to a 32-bit value that the caller uses
 * as an index into his own array, where the key lives.  No deletion. */
typedef struct pr_table {
    uint32_t *slot; /* value + 1, 0 free; owns one block with what follows */
    uint32_t *tag;  /* upper half of the hash */
    size_t cap;     /* a power of two */
    size_t n;
} pr_table;

#define PR_TABLE_NONE UINT32_MAX

/* same(context, value): is the key of `value` the one looked for? */
typedef bool (*pr_table_same)(const void *context, uint32_t value);

uint32_t pr_table_find(const pr_table *table, uint64_t hash, pr_table_same same,
                       const void *context);
/* The key must not be there yet.  False: out of memory. */
bool pr_table_insert(pr_table *table, uint64_t hash, uint32_t value);
void pr_table_reset(pr_table *table);   /* empty, keep the memory */
void pr_table_release(pr_table *table); /* free */

/* Mixes 64 bits well enough for pointers and small integers. */
static inline uint64_t
pr_mix64(uint64_t x)
{
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ (x >> 32);
}

/* XXH64, seed 0. */
uint64_t pr_hash_bytes(const void *bytes, size_t len);
uint64_t pr_hash_seeded(const void *bytes, size_t len, uint64_t seed);

#endif
