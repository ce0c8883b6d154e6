/*
 * test_keyed_sort.c - ascending, stable, every item once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include <base/hash.h>
#include <base/keyed_sort.h>

static void
check(size_t n, uint64_t mask)
{
    pr_keyed *items = calloc(n + 1, sizeof *items);
    assert_non_null(items);
    for (size_t i = 0; i < n; i++)
        items[i] = (pr_keyed){pr_mix64(i + 1) & mask, (uint32_t)i};
    assert_true(pr_sort_keyed(items, n));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(items[i].key,
                         pr_mix64((uint64_t)items[i].value + 1) & mask);
        if (i == 0)
            continue;
        assert_true(items[i - 1].key < items[i].key ||
                    (items[i - 1].key == items[i].key &&
                     items[i - 1].value < items[i].value));
    }
    free(items);
}

static void
keys_of_any_bytes_are_sorted_and_equal_ones_stay(void **state)
{
    (void)state;
    const uint64_t masks[] = {0,        1,          0xff,      0x300,
                              0xff00ff, UINT64_MAX, 1ull << 63};
    const size_t counts[] = {0, 1, 2, 3, 1000, 70000};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++)
            check(counts[k], masks[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_any_bytes_are_sorted_and_equal_ones_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
