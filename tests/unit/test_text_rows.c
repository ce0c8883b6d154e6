/*
 * test_text_rows.c - rows of a server: escapes, NULL, and answers that cannot
 * be.
 */
#include <base/text_rows.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct taken {
    char text[256]; /* values in brackets, rows end with a bar */
    size_t rows;
} taken;

static pr_code
take(void *context, const pr_field *field, size_t n, pr_err *err)
{
    taken *t = context;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(t->text);
        snprintf(t->text + len, sizeof t->text - len, "[%.*s]",
                 field[i].at ? (int)field[i].len : 4,
                 field[i].at ? field[i].at : "NULL");
    }
    strncat(t->text, "|", sizeof t->text - strlen(t->text) - 1);
    return ++t->rows < 3 ? PR_OK : PR_FAIL(err, PR_LIMIT, "enough");
}

static pr_code
read_text(const char *text, taken *ret)
{
    char copy[1024];
    size_t len = strlen(text);
    memcpy(copy, text, len);
    *ret = (taken){.rows = 0};
    return pr_rows_read(copy, len, take, ret, NULL);
}

static void
values_are_unescaped(void **state)
{
    (void)state;
    taken t;
    assert_int_equal(read_text("a\\tb\t\\N\t\t\\\\N\n\\n\\'\n", &t), PR_OK);
    assert_string_equal(t.text, "[a\tb][NULL][][\\N]|[\n']|");
    assert_int_equal(read_text("", &t), PR_OK);
    assert_int_equal(t.rows, 0);
}

static void
a_taker_ends_the_rows(void **state)
{
    (void)state;
    taken t;
    assert_int_equal(read_text("1\n2\n3\n4\n", &t), PR_LIMIT);
    assert_string_equal(t.text, "[1]|[2]|[3]|");
}

static void
a_cut_answer_is_damaged(void **state)
{
    (void)state;
    static const char *const cut[] = {"a",     "a\t", "a\tb",
                                      "a\n\\", "\\N", "\\Nx\n"};
    taken t;
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++)
        assert_int_equal(read_text(cut[i], &t), PR_DAMAGED);
    char wide[200];
    memset(wide, '\t', sizeof wide);
    assert_int_equal(pr_rows_read(wide, sizeof wide, take, &t, NULL),
                     PR_DAMAGED);
}

static void
numbers_are_whole(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int good;
        int64_t value;
    } cases[] = {
        {"0", 1, 0},
        {"-7", 1, -7},
        {"9223372036854775807", 1, INT64_MAX},
        {"-9223372036854775808", 1, INT64_MIN},
        {"9223372036854775808", 0, 0},
        {"-9223372036854775809", 0, 0},
        {"", 0, 0},
        {"-", 0, 0},
        {"1.5", 0, 0},
        {"+1", 0, 0},
        {" 1", 0, 0},
        {"1e3", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const pr_field field = {cases[i].text, strlen(cases[i].text)};
        int64_t value = 0;
        assert_int_equal(pr_field_integer(&field, &value), cases[i].good);
        assert_true(value == cases[i].value);
    }
    const pr_field null = {NULL, 0};
    int64_t value;
    assert_int_equal(pr_field_integer(&null, &value), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_unescaped),
        cmocka_unit_test(a_taker_ends_the_rows),
        cmocka_unit_test(a_cut_answer_is_damaged),
        cmocka_unit_test(numbers_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
