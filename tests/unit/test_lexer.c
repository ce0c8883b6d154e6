/*
 * test_lexer.c - words, quotes, and where they lie.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "query/language/lexer.h"
#include <cmocka.h>

static q_token
take(q_lexer *lexer)
{
    q_token token;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(q_lexer_next(lexer, &token, &err), PR_OK);
    return token;
}

static void
words_end_at_white_space_and_know_their_place(void **state)
{
    (void)state;
    q_lexer lexer = {"  top\t20 \n a.b:<x>", 0};
    q_token token = take(&lexer);
    assert_int_equal(token.kind, Q_TOKEN_WORD);
    assert_int_equal(token.at, 2);
    assert_true(q_token_is(&token, "top"));
    assert_false(q_token_is(&token, "to"));
    assert_false(q_token_is(&token, "tops"));
    token = take(&lexer);
    assert_int_equal(token.at, 6);
    assert_true(q_token_is(&token, "20"));
    token = take(&lexer);
    assert_int_equal(token.at, 11);
    assert_true(q_token_is(&token, "a.b:<x>"));
    assert_int_equal(take(&lexer).kind, Q_TOKEN_END);
    assert_int_equal(take(&lexer).kind, Q_TOKEN_END);
    assert_int_equal(take(&lexer).at, 18);
}

static void
words_match_in_any_case(void **state)
{
    (void)state;
    q_lexer lexer = {"ToP", 0};
    q_token token = take(&lexer);
    assert_true(q_token_is(&token, "top"));
}

static void
assert_text(const char *query, const char *expected)
{
    q_lexer lexer = {query, 0};
    q_token token = take(&lexer);
    char *text = q_token_text(&token);
    assert_string_equal(text, expected);
    free(text);
    assert_int_equal(take(&lexer).kind, Q_TOKEN_END);
}

static void
quotes_keep_spaces_and_double_to_stand_for_themselves(void **state)
{
    (void)state;
    assert_text("\"a b\"", "a b");
    assert_text("'a \"b\"'", "a \"b\"");
    assert_text("\"a \"\"b\"\"\"", "a \"b\"");
    assert_text("'it''s'", "it's");
    assert_text("''", "");
    assert_text("\"\"\"\"", "\"");
    assert_text("a\"b", "a\"b"); /* inside a word they are nothing special */
    assert_text("\"C:\\x\"", "C:\\x");
}

static void
a_quoted_word_is_never_a_keyword(void **state)
{
    (void)state;
    q_lexer lexer = {"\"top\"", 0};
    q_token token = take(&lexer);
    assert_int_equal(token.kind, Q_TOKEN_QUOTED);
    assert_false(q_token_is(&token, "top"));
}

static void
assert_fault(const char *query, uint64_t at)
{
    q_lexer lexer = {query, 0};
    q_token token = {Q_TOKEN_END, 99, NULL, 0, 0};
    pr_err err = PR_ERR_INIT;
    assert_int_equal(q_lexer_next(&lexer, &token, &err), PR_USAGE);
    assert_int_equal(err.offset, at);
    assert_int_equal(token.at, 99); /* untouched */
}

static void
faults_are_found_where_they_are(void **state)
{
    (void)state;
    assert_fault("  \"abc", 2);
    assert_fault("'abc''", 0);
    assert_fault("\"", 0);
    assert_fault("\"ab\"c", 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_end_at_white_space_and_know_their_place),
        cmocka_unit_test(words_match_in_any_case),
        cmocka_unit_test(quotes_keep_spaces_and_double_to_stand_for_themselves),
        cmocka_unit_test(a_quoted_word_is_never_a_keyword),
        cmocka_unit_test(faults_are_found_where_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
