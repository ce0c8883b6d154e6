/*
 * test_parser.c - the meaning of each word of a query, and the place of each
 * fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query/language/parser.h"
#include <cmocka.h>

static q_query
parse(const char *text)
{
    q_query query;
    pr_err err = PR_ERR_INIT;
    if (q_parse(text, &query, &err) != PR_OK)
        fail_msg("'%s': %s", text, err.what);
    return query;
}

static void
verbs_know_their_defaults(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        q_verb verb;
        q_unit unit;
        q_order order;
        int64_t limit;
    } cases[] = {
        {"top", Q_TOP, Q_FUNCTION, Q_BY_DEFAULT, 20},
        {"top 7 by total", Q_TOP, Q_FUNCTION, Q_BY_TOTAL, 7},
        {"TOP 7 BY Name", Q_TOP, Q_FUNCTION, Q_BY_NAME, 7},
        {"top per file by self", Q_TOP, Q_FILE, Q_BY_SELF, 20},
        {"lines", Q_TOP, Q_LINE, Q_BY_DEFAULT, 20},
        {"files 1000000", Q_TOP, Q_FILE, Q_BY_DEFAULT, 1000000},
        {"callers of f", Q_CALLERS, Q_FUNCTION, Q_BY_TOTAL, 20},
        {"callees 3 of f by self", Q_CALLEES, Q_FUNCTION, Q_BY_SELF, 3},
        {"tree", Q_TREE, Q_FUNCTION, Q_BY_TOTAL, -1},
        {"threads", Q_THREADS, Q_FUNCTION, Q_BY_DEFAULT, -1},
        {"summary", Q_SUMMARY, Q_FUNCTION, Q_BY_DEFAULT, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        q_query q = parse(cases[i].text);
        assert_int_equal(q.verb, cases[i].verb);
        assert_int_equal(q.unit, cases[i].unit);
        assert_int_equal(q.order, cases[i].order);
        assert_int_equal(q.limit, cases[i].limit);
        assert_false(q.explain || q.has_range || q.where);
        assert_null(q.thread.text);
        assert_null(q.in.text);
        q_query_release(&q);
    }
}

static void
a_comparison_names_its_sides(void **state)
{
    (void)state;
    q_query q = parse("diff 5 a.bin 'by' c/*.bin where label k = v and gil "
                      "to label k = w and host = h scale share unit work");
    assert_int_equal(q.verb, Q_DIFF);
    assert_int_equal(q.limit, 5);
    assert_int_equal(q.n_sides, 3);
    assert_string_equal(q.side[1].text, "by");
    assert_string_equal(q.side[2].text, "c/*.bin");
    assert_int_equal(q.n_conditions, 1);
    assert_int_equal(q.where, Q_WHERE_GIL);
    assert_int_equal(q.n_now, 2);
    assert_string_equal(q.now[0].key.text, "k");
    assert_string_equal(q.now[0].value.text, "w");
    assert_int_equal(q.now[1].field, Q_FIELD_HOST);
    assert_int_equal(q.scale, CONV_SCALE_SHARE);
    assert_string_equal(q.work.text, "work");
    q_query_release(&q);
}

static void
clauses_come_in_any_order(void **state)
{
    (void)state;
    q_query q = parse("explain tree from \"by of\" thread 'a b' above 0.25% "
                      "where cpu and main between 10% and 1m depth 4");
    assert_true(q.explain);
    assert_string_equal(q.of.text, "by of");
    assert_int_equal(q.of.at, 18);
    assert_string_equal(q.thread.text, "a b");
    assert_int_equal(q.above, 2500);
    assert_int_equal(q.where, Q_WHERE_CPU | Q_WHERE_MAIN);
    assert_true(q.has_range && q.from.kind == Q_SHARE &&
                q.to.kind == Q_SINCE_START);
    assert_int_equal(q.from.value, 100000);
    assert_int_equal(q.to.value, 60000000);
    assert_int_equal(q.depth, 4);
    q_query_release(&q);
    /* a name is whatever stands where one is due */
    q = parse("callers of by by self in in");
    assert_string_equal(q.of.text, "by");
    assert_string_equal(q.in.text, "in");
    assert_int_equal(q.order, Q_BY_SELF);
    q_query_release(&q);
}

static void
times_are_read_to_the_microsecond(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"0s", 0},
        {"1us", 1},
        {"1.5us", 1},
        {"800ms", 800000},
        {"0.001ms", 1},
        {"12.345678s", 12345678},
        {"12.3456789s", 12345678},
        {"2m", 120000000},
        {"1h", INT64_C(3600000000)},
        {"1:30.5", 90500000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[80];
        snprintf(text, sizeof text, "top between %s and 999999999s",
                 cases[i].text);
        q_query q = parse(text);
        assert_int_equal(q.from.kind, Q_SINCE_START);
        assert_int_equal(q.from.value, cases[i].us);
        q_query_release(&q);
    }
}

static void
sql_in_place_of_a_query_is_sent_to_its_option(void **state)
{
    (void)state;
    q_query q;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(q_parse("SELECT * FROM run", &q, &err), PR_USAGE);
    assert_non_null(strstr(err.hint, "--sql"));
    pr_err_clear(&err);
    assert_int_equal(q_parse("selection", &q, &err), PR_USAGE);
    assert_non_null(strstr(err.hint, "'help' lists the verbs"));
}

static void
a_wrong_word_before_a_name_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t at;
        const char *hint;
    } cases[] = {
        {"source of load", 7, "did you mean 'source load'"},
        {"source from load", 7, "did you mean 'source load'"},
        {"tree of load above 5%", 5, "did you mean 'tree from load'"},
        {"lines of load", 6, "did you mean 'source load'"},
        {"lines 5 of load", 8, "did you mean 'source load'"},
        {"bottomup from load", 9, "did you mean 'bottomup of load'"},
        {"callers from load", 8, "did you mean 'callers of load'"},
        {"callers load", 8, "did you mean 'callers of load'"},
        {"paths of \"a b\"", 6, "did you mean 'paths to \"a b\"'"},
        {"history of load", 8, "did you mean 'history load'"},
        {"help of top", 5, "did you mean 'help top'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        q_query q;
        pr_err err = PR_ERR_INIT;
        pr_code rc = q_parse(cases[i].text, &q, &err);
        if (rc != PR_USAGE || err.offset != cases[i].at ||
            strcmp(err.hint, cases[i].hint) != 0)
            fail_msg("'%s': code %d at %llu: %s; %s", cases[i].text, rc,
                     (unsigned long long)err.offset, err.what, err.hint);
    }
    static const char *const names[] = {"source of", "history of as csv",
                                        "tree from of",
                                        "source from where gil"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        q_query q;
        pr_err err = PR_ERR_INIT;
        if (q_parse(names[i], &q, &err) != PR_OK)
            fail_msg("'%s': %s", names[i], err.what);
        assert_non_null(q.of.text);
        q_query_release(&q);
    }
}

static void
faults_are_reported_with_their_column(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t at;
        const char *says;
    } cases[] = {
        {"", 0, "ends where a verb"},
        {"   ", 3, "ends where"},
        {"topp", 0, "'topp' is not a verb"},
        {"\"top\"", 0, "is not a verb"},
        {"explain", 7, "ends where"},
        {"explain explain top", 8, "'explain' is not"},
        {"top 0", 4, "'0' is not a number from 1"},
        {"top 1000001", 4, "is not a number"},
        {"top 99999999999999999999", 4, "is not a number"},
        {"top 2x", 4, "is not a number"},
        {"top -1", 4, "'-1' is not by, per, where"},
        {"top by", 6, "ends where self, total, ran or name"},
        {"top by total by self", 13, "'by' given twice"},
        {"threads per file", 8, "'threads' takes no 'per'"},
        {"summary by self", 8, "'summary' takes no 'by'"},
        {"summary now", 8, "'now' is not as"},
        {"callers", 7, "ends where 'of' and a name"},
        {"callers f", 8, "'f' is not 'of' and a name"},
        {"callers of", 10, "ends where a name"},
        {"callers of \"\"", 11, "is not a name"},
        {"top where", 9, "ends where gil, cpu"},
        {"top where gil and", 17, "ends where gil, cpu"},
        {"top where gill", 10, "'gill' is not gil, cpu"},
        {"top per mouse", 8, "'mouse' is not function"},
        {"top where depth ~ 3", 16, "'~' is not =, !="},
        {"top where depth = x", 18, "is not a whole number"},
        {"top where file < x", 17, "compare only numbers"},
        {"top only stdlip", 9, "'stdlip' is not project"},
        {"top as cvs", 7, "'cvs' is not table, csv"},
        {"top between 1s", 14, "ends where and"},
        {"top between 1s or 2s", 15, "'or' is not and"},
        {"top between 1x and 2s", 12, "'1x' is not a time"},
        {"top between 1.s and 2s", 12, "is not a time"},
        {"top between 1:2:3:4 and 2s", 12, "is not a time"},
        {"top between 101% and 2s", 12, "is not a time"},
        {"top between 9999999999999s and 2s", 12, "is not a time"},
        {"tree depth x", 11, "is not a number of levels"},
        {"tree above 5", 11, "is not a share"},
        {"top thread 'a", 11, "quote is not closed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        q_query q = {.limit = 77};
        pr_err err = PR_ERR_INIT;
        pr_code rc = q_parse(cases[i].text, &q, &err);
        if (rc != PR_USAGE || err.offset != cases[i].at ||
            !strstr(err.what, cases[i].says))
            fail_msg("'%s': code %d at %llu: %s", cases[i].text, rc,
                     (unsigned long long)err.offset, err.what);
        assert_int_equal(q.limit, 77); /* untouched */
    }
}

static void
every_prefix_of_a_query_is_understood_or_refused_inside_it(void **state)
{
    (void)state;
    static const char whole[] =
        "explain tree from \"a \"\"b\" where gil and main thread 'x y' "
        "between 00:01:30.5 and 40% depth 12 above 0.5%";
    for (size_t n = 0; n < sizeof whole; n++) {
        char *text = malloc(n + 1); /* its end is the sanitizer's border */
        memcpy(text, whole, n);
        text[n] = '\0';
        q_query q;
        pr_err err = PR_ERR_INIT;
        pr_code rc = q_parse(text, &q, &err);
        if (rc == PR_OK) {
            q_query_release(&q);
        } else {
            assert_int_equal(rc, PR_USAGE);
            assert_true(err.offset <= n);
        }
        free(text);
    }
}

static void
a_query_has_a_longest_length(void **state)
{
    (void)state;
    size_t n = 1 << 20;
    char *text = malloc(n + 1);
    memset(text, 'x', n);
    text[n] = '\0';
    q_query q;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(q_parse(text, &q, &err), PR_USAGE);
    assert_non_null(strstr(err.what, "longer than"));
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verbs_know_their_defaults),
        cmocka_unit_test(a_comparison_names_its_sides),
        cmocka_unit_test(clauses_come_in_any_order),
        cmocka_unit_test(times_are_read_to_the_microsecond),
        cmocka_unit_test(a_wrong_word_before_a_name_is_named),
        cmocka_unit_test(faults_are_reported_with_their_column),
        cmocka_unit_test(sql_in_place_of_a_query_is_sent_to_its_option),
        cmocka_unit_test(
            every_prefix_of_a_query_is_understood_or_refused_inside_it),
        cmocka_unit_test(a_query_has_a_longest_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
