/*
 * test_buffer.c - numbers and formats appended to a text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <base/buffer.h>

static void
numbers_print_whole(void **state)
{
    (void)state;
    pr_buffer text = {0};
    pr_buffer_u64(&text, UINT64_MAX);
    pr_buffer_puts(&text, " ");
    pr_buffer_i64(&text, INT64_MIN);
    pr_buffer_puts(&text, " ");
    pr_buffer_u64(&text, 0);
    const char want[] = "18446744073709551615 -9223372036854775808 0";
    assert_int_equal(text.len, sizeof want - 1);
    assert_memory_equal(text.at, want, text.len);
    pr_buffer_release(&text);
}

static void
a_format_of_any_length_is_appended(void **state)
{
    (void)state;
    pr_buffer text = {0};
    for (int n = 0; n < 300; n++) {
        pr_buffer_reset(&text);
        pr_buffer_puts(&text, "<");
        pr_buffer_printf(&text, "%0*d", n, 0);
        pr_buffer_char(&text, '>');
        size_t digits = n ? (size_t)n : 1;
        assert_int_equal(text.len, digits + 2);
        assert_int_equal(text.at[digits + 1], '>');
        for (size_t i = 1; i <= digits; i++)
            assert_int_equal(text.at[i], '0');
    }
    pr_buffer_release(&text);
}

static void
a_text_that_failed_takes_no_more(void **state)
{
    (void)state;
    pr_buffer text = {0};
    pr_buffer_puts(&text, "ab");
    volatile size_t most = SIZE_MAX; /* the compiler knows it is too much */
    pr_buffer_append(&text, "x", most - 1);
    pr_buffer_puts(&text, "cd");
    pr_buffer_printf(&text, "%d", 7);
    assert_true(text.failed);
    assert_int_equal(text.len, 2);
    pr_buffer_release(&text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_print_whole),
        cmocka_unit_test(a_format_of_any_length_is_appended),
        cmocka_unit_test(a_text_that_failed_takes_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
