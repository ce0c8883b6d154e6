/*
 * test_error.c - the error record: one line, first failure, whole characters.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <pyrec/error.h>

static void
the_first_failure_wins(void **state)
{
    (void)state;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(PR_FAIL_AT(&err, PR_CUT, 7, "first"), PR_CUT);
    assert_int_equal(PR_FAIL_SYS_AT(&err, PR_IO, EIO, 9, "second"), PR_IO);
    pr_err_hint(&err, "one");
    pr_err_hint(&err, "two");
    char line[600];
    pr_err_format(&err, line, sizeof line);
    assert_string_equal(line, "first (at byte 7); one");
    assert_int_equal(err.code, PR_CUT);
}

static void
a_chain_of_causes_reads_outermost_first(void **state)
{
    (void)state;
    pr_err err = PR_ERR_INIT;
    pr_err_wrap(&err, "nothing to wrap yet");
    assert_string_equal(err.what, "");
    PR_FAIL_SYS(&err, PR_TORN, EFAULT, "read of 512 bytes");
    pr_err_wrap(&err, "failed to read interpreter %d", 0);
    char line[600];
    pr_err_format(&err, line, sizeof line);
    assert_string_equal(
        line, "failed to read interpreter 0: read of 512 bytes: Bad address");
}

static void
control_bytes_cannot_break_the_line(void **state)
{
    (void)state;
    pr_err err = PR_ERR_INIT;
    PR_FAIL(&err, PR_FOREIGN, "'%s'", "a\nb\x1b[31m\x7f");
    assert_string_equal(err.what, "'a\\nb\\x1b[31m\\x7f'");
}

static void
a_long_text_ends_at_a_whole_character(void **state)
{
    (void)state;
    /* 2-byte characters shifted by one: the cut falls inside one of them */
    char text[600] = "x";
    while (strlen(text) < 500)
        strcat(text, "\xc3\xa9");
    pr_err err = PR_ERR_INIT;
    PR_FAIL(&err, PR_IO, "%s", text);
    size_t n = strlen(err.what);
    assert_int_equal(n, sizeof err.what - 1);
    pr_err odd = PR_ERR_INIT;
    PR_FAIL(&odd, PR_IO, "y%s", text);
    assert_int_equal(strlen(odd.what), sizeof odd.what - 2);
    assert_int_equal((unsigned char)odd.what[sizeof odd.what - 3], 0xa9);
}

static void
memory_that_is_missing_has_one_sentence(void **state)
{
    (void)state;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(pr_no_memory(&err), PR_NOMEM);
    assert_int_equal(pr_no_memory(NULL), PR_NOMEM);
    char line[600];
    pr_err_format(&err, line, sizeof line);
    assert_string_equal(line, "out of memory");
}

static void
every_code_has_a_name_a_sentence_and_a_status(void **state)
{
    (void)state;
#define CHECK(name, value, text, status)                 \
    assert_string_equal(pr_code_name(PR_##name), #name); \
    assert_string_equal(pr_code_text(PR_##name), text);  \
    assert_int_equal(pr_exit_status(PR_##name), status);
    PR_CODE_MAP(CHECK)
#undef CHECK
    assert_string_equal(pr_code_name((pr_code)-999), "UNKNOWN");
    assert_int_equal(pr_exit_status((pr_code)-999), 1);
}

static void
without_a_record_nothing_crashes(void **state)
{
    (void)state;
    pr_err_set(NULL, PR_IO, 0, 0, "x");
    pr_err_hint(NULL, "x");
    pr_err_wrap(NULL, "x");
    pr_err_clear(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_wins),
        cmocka_unit_test(a_chain_of_causes_reads_outermost_first),
        cmocka_unit_test(control_bytes_cannot_break_the_line),
        cmocka_unit_test(a_long_text_ends_at_a_whole_character),
        cmocka_unit_test(memory_that_is_missing_has_one_sentence),
        cmocka_unit_test(every_code_has_a_name_a_sentence_and_a_status),
        cmocka_unit_test(without_a_record_nothing_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
