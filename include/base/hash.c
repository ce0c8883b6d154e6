/*
 * hash.c - XXH64.
 */
#include <base/hash.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

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
