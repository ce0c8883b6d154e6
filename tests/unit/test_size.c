/*
 * test_size.c - numbers of bytes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <base/size.h>

static void
a_size_is_a_number_with_or_without_a_unit(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"1", 1},
                 {"4096", 4096},
                 {"4K", 4096},
                 {"4k", 4096},
                 {"3M", 3 << 20},
                 {"2G", UINT64_C(2) << 30},
                 {"5t", UINT64_C(5) << 40},
                 {"18446744073709551615", UINT64_MAX},
                 {"16777215T", UINT64_C(16777215) << 40}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t bytes = 0;
        assert_true(pr_size_parse(sizes[i].text, &bytes));
        assert_int_equal(bytes, sizes[i].bytes);
    }
}

static void
nothing_else_is_a_size(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",         "0",   "0G",  "K",    "-1",  "+1", " 1",
        "1 ",       "1KB", "1.5", "0x10", "1KK", "1E", "18446744073709551616",
        "16777216T"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t bytes = 7;
        assert_false(pr_size_parse(wrong[i], &bytes));
        assert_int_equal(bytes, 7);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_is_a_number_with_or_without_a_unit),
        cmocka_unit_test(nothing_else_is_a_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
