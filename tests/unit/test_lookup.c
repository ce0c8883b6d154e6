/*
 * test_lookup.c - the meaning of a name, and the message if it has several.
 */
#include "query_fixture.h"

/* Six functions that differ in one thing each. */
static const char rows[] = FIXTURE_PROFILE
    "INSERT INTO file VALUES(1, '/a/x.py', 'x.py', 'x', 'project', x'01'),"
    " (2, '/b/x.py', 'x.py', 'x', 'project', x'02'),"
    " (3, '/a/y.py', 'y.py', 'y', 'project', x'03');"
    "INSERT INTO function VALUES"
    "(1, 1, 'run', 'run', 10, 'py', x'01'),"
    "(2, 2, 'run', 'run', 10, 'py', x'02'),"
    "(3, 3, 'A.run', 'run', 20, 'py', x'03'),"
    "(4, 3, 'A.stop', 'stop', 30, 'py', x'04'),"
    "(5, 3, '<lambda>', '<lambda>', 40, 'py', x'05'),"
    "(6, 3, '<lambda>', '<lambda>', 50, 'py', x'06'),"
    "(7, 1, 'twin', 'twin', NULL, 'py', x'07'),"
    "(8, 1, 'twin', 'twin', NULL, 'py', x'08'),"
    "(9, 3, 'it''s a \"b\"', 'odd', 70, 'py', x'09');"
    "INSERT INTO node SELECT id, NULL, id, 0, id, id, 1, 1, 1, 1"
    " FROM function;"
    "INSERT INTO node_self SELECT id, id, 1, 0, 1 << id, 1000 FROM function;"
    "INSERT INTO thread(id, process_id, tid, interp, name, is_main, samples,"
    " weight_us, unobserved_us) VALUES"
    "(1, 1, 100, 0, 'MainThread', 1, 9, 0, 0),"
    "(2, 1, 200, 0, 'pool-1', 0, 5, 0, 0),"
    "(3, 1, 300, 0, 'pool-2', 0, 4, 0, 0), (4, 1, 400, 0, NULL, 0, 3, 0, 0);";

static pr_code
run(q_database *database, const char *query, int64_t *ret_samples, pr_err *err)
{
    q_result *result = NULL;
    pr_code rc = q_run(database, query, &result, err);
    if (rc != PR_OK)
        return rc;
    *ret_samples = 0;
    while ((rc = q_result_next(result, err)) == PR_OK)
        *ret_samples += q_result_value(result, 0).integer;
    q_result_free(result);
    return rc == PR_END ? PR_OK : rc;
}

static void
a_name_is_read_from_the_most_exact_to_the_widest(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        int64_t samples; /* a bit for each function */
    } cases[] = {
        {"callers of A.run", 1 << 3},
        {"callers of stop", 1 << 4},
        {"callers of y.py:A.run", 1 << 3},
        {"callers of /a/x.py:run", 1 << 1},
        {"callers of y.py:30", 1 << 4},
        {"callers of /b/x.py:10", 1 << 2},
        {"callers of y.py:40", 1 << 5},
        {"callers of *run", 1 << 1 | 1 << 2 | 1 << 3},
        {"callers of y.py:*", 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 9},
        {"callers of x.py:[r]un", 1 << 1 | 1 << 2},
        {"callers of \"it's a \"\"b\"\"\"", 1 << 9},
        /* equal in name, path and first line */
        {"callers of twin", 1 << 7 | 1 << 8},
    };
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, rows);
    q_database *d = fixture_open(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pr_err err = PR_ERR_INIT;
        int64_t samples = 0;
        if (run(d, cases[i].query, &samples, &err) != PR_OK ||
            samples != cases[i].samples)
            fail_msg("%s: %lld samples; %s; %s", cases[i].query,
                     (long long)samples, err.what, err.hint);
    }
    q_close(d);
    fixture_end(&f);
}

static void
several_or_no_meanings_come_with_candidates(void **state)
{
    (void)state;
    static const struct {
        const char *query;
        uint64_t at;
        const char *what, *hint;
    } cases[] = {
        {"callers of run", 11, "'run' means 2 functions",
         "say which: '/a/x.py:run', '/b/x.py:run'"},
        {"callers of x.py:run", 11, "means 2 functions",
         "'/a/x.py:run', '/b/x.py:run'"},
        {"tree from <lambda>", 10, "means 2 functions",
         "'/a/y.py:40', '/a/y.py:50'"},
        {"callees of STO", 11, "no function is called 'STO'",
         "did you mean 'y.py:A.stop'"},
        {"callees of zebra", 11, "no function is called 'zebra'",
         "'top 20 by total' shows"},
        {"callees of \"x' OR '1'='1\"", 11, "no function is called 'x' OR", ""},
        {"top thread pool", 11, "no thread is called 'pool'",
         "did you mean 'pool-1', 'pool-2', '400', 'MainThread'"},
        {"top thread MainTread", 11, "no thread is called 'MainTread'",
         "did you mean 'MainThread', "},
        {"top where thread = pool", 19, "no thread is called 'pool'",
         "did you mean 'pool-1', 'pool-2'"},
        {"threads where thread != pool", 24, "no thread is called 'pool'",
         "did you mean 'pool-1', 'pool-2'"},
        {"top in nosuch.py", 7, "no file or module is called 'nosuch.py'",
         "'files' shows the files there are"},
        {"top between 0s and 9s in z.py", 25,
         "no file or module is called 'z.py'", "did you mean 'x.py', 'y.py'"},
        {"lines per thread in X.PY", 20, "no file or module is called 'X.PY'",
         "did you mean 'x.py', 'y.py'"},
        {"callers of twin in /c/*", 19, "no file or module is called '/c/*'",
         ""},
    };
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, rows);
    q_database *d = fixture_open(&f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pr_err err = PR_ERR_INIT;
        int64_t samples = -1;
        pr_code rc = run(d, cases[i].query, &samples, &err);
        if (rc != PR_NAME || err.offset != cases[i].at ||
            !strstr(err.what, cases[i].what) ||
            !strstr(err.hint, cases[i].hint))
            fail_msg("%s: code %d at %llu: %s; %s", cases[i].query, rc,
                     (unsigned long long)err.offset, err.what, err.hint);
        assert_int_equal(samples, -1);
        assert_int_equal(pr_exit_status(rc), 4);
    }
    q_close(d);
    fixture_end(&f);
}

static void
threads_are_found_by_name_number_and_pattern(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, rows);
    q_database *d = fixture_open(&f);
    static const char *const queries[] = {"top thread MainThread",
                                          "top thread 100",
                                          "top thread M*",
                                          "top where thread = MainThread",
                                          "top where thread like *Thread",
                                          "top where thread = 100"};
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        pr_err err = PR_ERR_INIT;
        int64_t samples = 0;
        assert_int_equal(run(d, queries[i], &samples, &err), PR_OK);
        assert_int_equal(samples, (1 << 10) - 2);
    }
    pr_err err = PR_ERR_INIT;
    int64_t samples = -1;
    assert_int_equal(run(d, "top thread pool-*", &samples, &err), PR_OK);
    assert_int_equal(samples, 0);
    q_close(d);
    fixture_end(&f);
}

static void
candidates_that_do_not_fit_are_left_out_whole(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(
        &f, "INSERT INTO file VALUES(1, 'a', 'a', 'a', 'project', x'00');"
            "WITH RECURSIVE i(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM i"
            " WHERE x < 50) INSERT INTO function SELECT x, 1, 'C' || x ||"
            " '.' || hex(zeroblob(25)) || '.f', 'f', x, 'py', x'00' FROM i;");
    q_database *d = fixture_open(&f);
    pr_err err = PR_ERR_INIT;
    int64_t samples;
    assert_int_equal(run(d, "callers of f", &samples, &err), PR_NAME);
    assert_non_null(strstr(err.what, "means 50 functions"));
    size_t quotes = 0;
    for (const char *p = err.hint; *p; p++)
        quotes += *p == '\'';
    assert_true(quotes >= 2 && quotes % 2 == 0);
    assert_string_equal(err.hint + strlen(err.hint) - 5, ", ...");
    q_close(d);
    fixture_end(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_read_from_the_most_exact_to_the_widest),
        cmocka_unit_test(several_or_no_meanings_come_with_candidates),
        cmocka_unit_test(threads_are_found_by_name_number_and_pattern),
        cmocka_unit_test(candidates_that_do_not_fit_are_left_out_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
