/*
 * test_message.c - the form of the programs' messages.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <base/message.h>
#include <cmocka.h>

static void
assert_error(const pr_err *err, const char *want)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    pr_message_error(to, "pyconv", err);
    fclose(to);
    assert_string_equal(text, want);
    free(text);
}

static void
an_error_is_one_line_and_its_hint_a_second(void **state)
{
    (void)state;
    pr_err err = PR_ERR_INIT;
    PR_FAIL_SYS_AT(&err, PR_IO, ENOENT, 7, "cannot open '%s'", "a\x1b[1m");
    assert_error(&err, "pyconv: error: cannot open 'a\\x1b[1m' (at byte 7):"
                       " No such file or directory\n");
    pr_err_hint(&err, "does its folder exist?");
    assert_error(&err, "pyconv: error: cannot open 'a\\x1b[1m' (at byte 7):"
                       " No such file or directory\n"
                       "pyconv: hint: does its folder exist?\n");
}

static void
assert_partial(pr_code code, const char *want)
{
    char *text;
    size_t size;
    pr_err err = PR_ERR_INIT;
    PR_FAIL(&err, code, "'a'");
    pr_err_hint(&err, "b");
    FILE *to = open_memstream(&text, &size);
    pr_message_partial(to, "pyquery", &err);
    fclose(to);
    assert_string_equal(text, want);
    free(text);
}

static void
an_answer_in_part_has_a_note_or_a_warning(void **state)
{
    (void)state;
    assert_partial(PR_CUT, "pyquery: note: 'a'\npyquery: hint: b\n");
    assert_partial(PR_DAMAGED, "pyquery: warning: 'a'\npyquery: hint: b\n");
    assert_partial(PR_FOREIGN, "pyquery: error: 'a'\npyquery: hint: b\n");
}

static void
a_message_is_safe_for_a_terminal(void **state)
{
    (void)state;
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    pr_message(to, "pyrec", "warning", "'%s'", "a\n\xe2\x80\xae\xff");
    pr_message(to, "pyrec", NULL, "%d samples", 3);
    fclose(to);
    assert_string_equal(text, "pyrec: warning: 'a\\n\\u202e\\xff'\n"
                              "pyrec: 3 samples\n");
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_one_line_and_its_hint_a_second),
        cmocka_unit_test(an_answer_in_part_has_a_note_or_a_warning),
        cmocka_unit_test(a_message_is_safe_for_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
