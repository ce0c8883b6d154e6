/*
 * test_hash_table.c - the hash table and the small parts of include/base.
 */
#include <base/array.h>
#include <base/hash.h>
#include <base/hash_table.h>
#include <pyrec/error.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { KEYS = 20000 };

typedef struct lookup {
    const uint64_t *keys;
    uint64_t wanted;
} lookup;

static bool
same_key(const void *context, uint32_t value)
{
    const lookup *l = context;
    return l->keys[value] == l->wanted;
}

static void
a_table_finds_its_keys_and_no_others(void **state)
{
    (void)state;
    unsigned seed = 20261129;
    printf("seed %u\n", seed);
    srand(seed);
    uint64_t *keys = calloc(KEYS, sizeof *keys);
    pr_table table = {0};
    lookup l = {keys, 1};
    assert_int_equal(pr_table_find(&table, 1, same_key, &l), PR_TABLE_NONE);
    for (uint32_t i = 0; i < KEYS; i++) {
        keys[i] = ((uint64_t)rand() << 20 ^ (uint64_t)rand()) * 2;
        l.wanted = keys[i];
        uint32_t at = pr_table_find(&table, pr_mix64(keys[i]), same_key, &l);
        if (at == PR_TABLE_NONE)
            assert_true(pr_table_insert(&table, pr_mix64(keys[i]), i));
        else
            assert_true(keys[at] == keys[i]);
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        l.wanted = keys[i];
        uint32_t at = pr_table_find(&table, pr_mix64(keys[i]), same_key, &l);
        assert_int_not_equal(at, PR_TABLE_NONE);
        assert_true(keys[at] == keys[i] && at <= i);
        l.wanted = keys[i] + 1; /* odd: never put in */
        assert_int_equal(
            pr_table_find(&table, pr_mix64(keys[i] + 1), same_key, &l),
            PR_TABLE_NONE);
    }
    pr_table_reset(&table);
    l.wanted = keys[0];
    assert_int_equal(pr_table_find(&table, pr_mix64(keys[0]), same_key, &l),
                     PR_TABLE_NONE);
    pr_table_release(&table);
    free(keys);
}

static void
a_table_survives_equal_hashes(void **state)
{
    (void)state;
    uint64_t keys[200];
    pr_table table = {0};
    for (uint32_t i = 0; i < 200; i++) {
        keys[i] = i;
        assert_true(pr_table_insert(&table, 42, i));
    }
    for (uint32_t i = 0; i < 200; i++) {
        lookup l = {keys, i};
        assert_int_equal(pr_table_find(&table, 42, same_key, &l), i);
    }
    pr_table_release(&table);
}

static void
an_array_grows_and_refuses_sizes_that_overflow(void **state)
{
    (void)state;
    uint32_t *v = NULL;
    size_t cap = 0;
    for (size_t n = 1; n < 5000; n++) {
        assert_true(pr_grow(&v, &cap, n, sizeof *v));
        assert_true(cap >= n && cap < 2 * n + 32);
        v[n - 1] = (uint32_t)n;
    }
    for (size_t n = 1; n < 5000; n++)
        assert_int_equal(v[n - 1], n);
    size_t before = cap;
    assert_false(pr_grow(&v, &cap, SIZE_MAX / 2, sizeof *v));
    assert_false(pr_grow(&v, &cap, SIZE_MAX, sizeof *v));
    assert_int_equal(cap, before);
    assert_int_equal(v[4998], 4999);
    free(v);
}

static void
hashes_are_xxh64(void **state)
{
    (void)state;
    /* XXH64 of the empty input and of "abc", seed 0, as xxhsum -H1 says */
    assert_true(pr_hash_bytes("", 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(pr_hash_bytes("abc", 3) == UINT64_C(0x44bc2cf5ad770999));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_finds_its_keys_and_no_others),
        cmocka_unit_test(a_table_survives_equal_hashes),
        cmocka_unit_test(an_array_grows_and_refuses_sizes_that_overflow),
        cmocka_unit_test(hashes_are_xxh64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
