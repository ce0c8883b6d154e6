/*
 * hash.h - hashes of numbers and bytes.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

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
