/*
 * test_database.c - databases that are wrong, hostile or damaged.
 */
#include "query_fixture.h"

#include "query/database/database.h"
#include <fcntl.h>
#include <sys/stat.h>

static pr_code
open_code(const char *path, pr_err *err)
{
    q_database *database = NULL;
    *err = (pr_err)PR_ERR_INIT;
    pr_code rc = q_open(path, &database, err);
    assert_true((rc == PR_OK) == (database != NULL));
    q_close(database);
    return rc;
}

/* Read all rows of an answer.  PR_OK, or the code that stopped it. */
static pr_code
drain(q_result *result, pr_err *err)
{
    pr_code rc;
    while ((rc = q_result_next(result, err)) == PR_OK)
        for (size_t i = 0; i < q_result_columns(result); i++)
            q_result_value(result, i);
    q_result_free(result);
    return rc == PR_END ? PR_OK : rc;
}

static pr_code
run(q_database *database, const char *query, pr_err *err)
{
    q_result *result = NULL;
    *err = (pr_err)PR_ERR_INIT;
    pr_code rc = q_run(database, query, &result, err);
    return rc == PR_OK ? drain(result, err) : rc;
}

static pr_code
run_sql(q_database *database, const char *sql, pr_err *err)
{
    q_result *result = NULL;
    *err = (pr_err)PR_ERR_INIT;
    pr_code rc = q_run_sql(database, sql, &result, err);
    return rc == PR_OK ? drain(result, err) : rc;
}

static void
write_file(const char *path, const char *bytes, size_t n)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, n, out), n);
    fclose(out);
}

static char *
read_file(const char *path, size_t *ret)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    *ret = (size_t)ftell(in);
    rewind(in);
    char *bytes = malloc(*ret);
    assert_int_equal(fread(bytes, 1, *ret, in), *ret);
    fclose(in);
    return bytes;
}

static void
a_foreign_database_is_named_as_such(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    pr_err err;
    assert_int_equal(open_code(f.path, &err), PR_IO); /* not there */
    assert_non_null(strstr(err.what, "run.db"));
    assert_int_equal(open_code(f.dir, &err), PR_NAME); /* no profile */
    write_file(f.path, "", 0);
    assert_int_equal(open_code(f.path, &err), PR_FOREIGN);
    write_file(f.path, "SQLite format 3", 16); /* and nothing more */
    assert_int_not_equal(open_code(f.path, &err), PR_OK);
    unlink(f.path);
    assert_int_equal(mkfifo(f.path, 0600), 0); /* would wait for a writer */
    assert_int_equal(open_code(f.path, &err), PR_USAGE);
    assert_non_null(strstr(err.hint, "copy it to a file"));
    fixture_write(&f, "PRAGMA application_id=0");
    assert_int_equal(open_code(f.path, &err), PR_FOREIGN);
    assert_non_null(strstr(err.hint, "pyconv"));
    fixture_write(&f, "PRAGMA user_version=0");
    assert_int_equal(open_code(f.path, &err), PR_FOREIGN);
    fixture_write(&f, "PRAGMA user_version=99");
    assert_int_equal(open_code(f.path, &err), PR_NEWER);
    assert_non_null(strstr(err.what, "99"));
    fixture_end(&f);
}

static void
names_with_a_meaning_for_sqlite_are_files_like_others(void **state)
{
    (void)state;
    static const char *const names[] = {":memory:", "file:x?mode=rwc"};
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    fixture f;
    fixture_begin(&f);
    assert_int_equal(chdir(f.dir), 0);
    pr_err err;
    for (size_t i = 0; i < 2; i++) {
        fixture_write(&f, FIXTURE_ROWS);
        assert_int_equal(open_code(names[i], &err), PR_IO);
        assert_int_equal(rename(f.path, names[i]), 0);
        assert_int_equal(open_code(names[i], &err), PR_OK);
        assert_int_equal(unlink(names[i]), 0);
    }
    assert_int_equal(chdir(before), 0);
    fixture_end(&f);
}

static void
tables_must_be_tables_with_their_columns(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "DROP TABLE node",
        "DROP TABLE node; CREATE VIEW node AS SELECT 1 AS id, NULL AS"
        " parent_id, 1 AS last_id, 1 AS function_id, 1 AS line",
        "DROP TABLE meta; CREATE VIRTUAL TABLE meta USING fts5(profile_id, key,"
        " value)",
        "ALTER TABLE run DROP COLUMN weight_us",
        "ALTER TABLE thread RENAME COLUMN tid TO t",
        "ALTER TABLE node_self RENAME TO node_own",
    };
    fixture f;
    fixture_begin(&f);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        pr_err err;
        fixture_write(&f, changes[i]);
        assert_int_equal(open_code(f.path, &err), PR_DAMAGED);
        assert_true(err.what[0]);
    }
    fixture_end(&f);
}

/* Texts that --sql refuses. */
static const char *const refused[] = {
    "",
    " -- only a comment",
    "INSERT INTO meta VALUES(1, 'a', 1)",
    "UPDATE node SET depth = 0",
    "DELETE FROM node RETURNING id",
    "DROP TABLE node",
    "CREATE TABLE x(y)",
    "CREATE TEMP TABLE x(y)",
    "CREATE VIEW x AS SELECT 1",
    "ALTER TABLE node RENAME TO x",
    "ATTACH '/etc/passwd' AS x",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO '/tmp/pyquery-was-here'",
    "PRAGMA user_version",
    "PRAGMA journal_mode=WAL",
    "PRAGMA temp_store_directory='/tmp'",
    "SELECT * FROM pragma_table_info('node')",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT x",
    "REINDEX",
    "ANALYZE",
    "SELECT load_extension('/tmp/x.so')",
    "SELECT 1; DROP TABLE node",
    "SELECT 1; SELECT 2",
    "SELECT * FROM nothing",
    "SELEC 1",
    "SELECT \"no such column\"",
};

static void
sql_of_the_user_reads_and_does_nothing_else(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    size_t n_before, n_after;
    char *before = read_file(f.path, &n_before);
    q_database *d = fixture_open(&f);
    pr_err err;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        pr_code rc = run_sql(d, refused[i], &err);
        if (rc != PR_USAGE)
            fail_msg("%s: code %d %s", refused[i], rc, err.what);
    }
    assert_int_equal(run_sql(d, "SELECT 1; -- done", &err), PR_OK);
    assert_int_equal(run_sql(d, "VALUES(1), (2)", &err), PR_OK);
    assert_int_equal(run_sql(d,
                             "WITH f AS (SELECT * FROM function) SELECT"
                             " sum(n) OVER (ORDER BY node_id), f.name FROM f"
                             " JOIN node ON function_id = f.id JOIN node_self"
                             " ON node_id = node.id",
                             &err),
                     PR_OK);
    /* a question may still make its own tables meanwhile */
    q_result *open = NULL;
    assert_int_equal(q_run_sql(d, "SELECT * FROM node", &open, &err), PR_OK);
    assert_int_equal(q_result_next(open, &err), PR_OK);
    assert_int_equal(run(d, "top", &err), PR_OK);
    assert_int_equal(drain(open, &err), PR_OK);
    q_close(d);
    char *after = read_file(f.path, &n_after);
    assert_int_equal(n_after, n_before);
    assert_memory_equal(after, before, n_before);
    free(before);
    free(after);
    fixture_end(&f);
}

static void
faults_in_sql_have_a_column(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *d = fixture_open(&f);
    pr_err err;
    assert_int_equal(run_sql(d, "SELECT idd FROM node", &err), PR_USAGE);
    assert_int_equal(err.offset, 7);
    assert_non_null(strstr(err.what, "idd"));
    assert_int_equal(run_sql(d, "SELECT 1; SELECT 2", &err), PR_USAGE);
    assert_int_equal(err.offset, 9);
    assert_int_equal(
        run_sql(d,
                "SELECT sum(x) FROM (SELECT 9223372036854775807 AS x UNION"
                " ALL SELECT 1)",
                &err),
        PR_USAGE); /* found only while it runs */
    q_close(d);
    fixture_end(&f);
}

static void
traps_in_a_schema_do_not_spring(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(
        &f, FIXTURE_ROWS
        "CREATE VIEW trap AS SELECT load_extension('/tmp/x.so');"
        "CREATE VIEW ever AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL"
        " SELECT x + 1 FROM c) SELECT count(*) FROM c;"
        "CREATE VIEW kind AS SELECT kind FROM function;"
        "CREATE TRIGGER t AFTER INSERT ON meta BEGIN DELETE FROM node; END;"
        "CREATE TABLE answer1(x);");
    q_database *d = fixture_open(&f);
    d->max_ticks = 50;
    pr_err err;
    assert_int_equal(run_sql(d, "SELECT * FROM trap", &err), PR_USAGE);
    assert_int_equal(run_sql(d, "SELECT * FROM ever", &err), PR_LIMIT);
    assert_non_null(strstr(err.what, "more steps than are allowed"));
    assert_int_equal(run_sql(d, "SELECT * FROM kind", &err), PR_OK);
    assert_int_equal(run(d, "top", &err), PR_OK); /* counts steps anew */
    q_close(d);
    fixture_end(&f);
}

static void
a_value_too_long_is_a_limit_and_not_memory(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *d = fixture_open(&f);
    pr_err err;
    assert_int_equal(run_sql(d, "SELECT zeroblob(100000000)", &err), PR_LIMIT);
    assert_int_equal(run_sql(d, "SELECT hex(zeroblob(60000000))", &err),
                     PR_LIMIT);
    q_close(d);
    fixture_end(&f);
}

static void
values_that_cannot_be_are_damage(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "UPDATE node_self SET n = -1 WHERE node_id = 3",
        "UPDATE node_self SET weight_us = -1 WHERE node_id = 3",
        "UPDATE node_self SET n = 9223372036854775807",
        "UPDATE node_self SET weight_us = 9223372036854775807",
        "UPDATE node SET last_id = 0 WHERE id = 2",
        "UPDATE node SET last_id = -9223372036854775808 WHERE id = 1",
    };
    fixture f;
    fixture_begin(&f);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char sql[4096];
        snprintf(sql, sizeof sql, FIXTURE_ROWS "%s", changes[i]);
        fixture_write(&f, sql);
        q_database *d = fixture_open(&f);
        pr_err err;
        if (run(d, "top", &err) != PR_DAMAGED)
            fail_msg("%s: %s", changes[i], err.what);
        assert_int_equal(run(d, "tree", &err), PR_DAMAGED);
        q_close(d);
    }
    fixture_end(&f);
}

static void
ask_all(fixture *f, const char *change)
{
    static const char *const queries[] = {"top",
                                          "lines by total",
                                          "files",
                                          "threads",
                                          "summary",
                                          "tree above 0%",
                                          "tree from load",
                                          "callers of load",
                                          "callees of *",
                                          "top between 10% and 90%",
                                          "top where main thread 1*",
                                          "lines between 1ms and 3ms"};
    q_database *d = fixture_open(f);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        pr_err err;
        pr_code rc = run(d, queries[i], &err);
        if (rc != PR_OK && rc != PR_DAMAGED && rc != PR_NAME)
            fail_msg("%s; %s: code %d: %s", change, queries[i], rc, err.what);
        assert_true(rc == PR_OK || err.what[0]);
    }
    q_close(d);
}

/* Column `at` of a copy of the table without its keys and types, so that ids
 * may repeat, be text or go backwards.  0: there is no such column. */
static int
set_column(fixture *f, const char *table, int at, const char *value)
{
    fixture_write(f, FIXTURE_ROWS);
    sqlite3 *s = fixture_handle(f);
    char sql[256];
    snprintf(sql, sizeof sql, "SELECT * FROM %s", table);
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(s, sql, -1, &stmt, NULL), SQLITE_OK);
    int exists = at < sqlite3_column_count(stmt);
    if (exists) {
        snprintf(sql, sizeof sql,
                 "CREATE TABLE c AS SELECT * FROM %s; DROP TABLE %s;"
                 "ALTER TABLE c RENAME TO %s;"
                 "UPDATE %s SET %s = %s WHERE rowid > 1",
                 table, table, table, table, sqlite3_column_name(stmt, at),
                 value);
        sqlite3_finalize(stmt);
        fixture_sql(s, sql);
        ask_all(f, sql);
    } else {
        sqlite3_finalize(stmt);
    }
    sqlite3_close(s);
    return exists;
}

static void
any_value_in_any_column_gives_an_answer_or_a_sentence(void **state)
{
    (void)state;
    static const char *const values[] = {"NULL",
                                         "-1",
                                         "0",
                                         "3",
                                         "9223372036854775807",
                                         "-9223372036854775808",
                                         "1e300",
                                         "'x'",
                                         "''",
                                         "x'ff00'",
                                         "'a' || char(10, 27, 0) || 'b'"};
    static const char *const tables[] = {"node",   "node_self", "run",
                                         "thread", "function",  "file"};
    fixture f;
    fixture_begin(&f);
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (int at = 0; set_column(&f, tables[t], at, values[v]);)
                at++;
    fixture_end(&f);
}

static void
try_all(const char *path)
{
    static const char *const queries[] = {
        "top",     "lines",           "tree",
        "summary", "callers of load", "top between 0s and 1s"};
    q_database *d = NULL;
    pr_err err = PR_ERR_INIT;
    pr_code rc = q_open(path, &d, &err);
    if (rc != PR_OK) {
        assert_true(rc == PR_FOREIGN || rc == PR_NEWER || rc == PR_DAMAGED ||
                    rc == PR_IO);
        assert_true(err.what[0]);
        return;
    }
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        rc = run(d, queries[i], &err);
        if (rc != PR_OK && rc != PR_DAMAGED && rc != PR_NAME && rc != PR_IO &&
            rc != PR_LIMIT)
            fail_msg("%s: code %d %s", queries[i], rc, err.what);
    }
    q_close(d);
}

static void
damaged_pages_end_in_an_answer_or_a_sentence(void **state)
{
    (void)state;
    unsigned seed = 20261129;
    printf("seed %u\n", seed);
    srand(seed);
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    size_t n;
    char *good = read_file(f.path, &n), *bad = malloc(n);
    for (int i = 0; i < 400; i++) {
        memcpy(bad, good, n);
        for (int k = 0; k < 1 + i % 20; k++)
            bad[(size_t)rand() % n] = (char)rand();
        write_file(f.path, bad, n);
        try_all(f.path);
    }
    for (size_t cut = 0; cut < n; cut += 512) {
        write_file(f.path, good, cut);
        try_all(f.path);
    }
    free(good);
    free(bad);
    fixture_end(&f);
}

static void
an_unrecorded_cpu_state_is_not_answered(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS "UPDATE node_self SET status = 36;"
                                   "UPDATE profile SET knows_cpu = 0,"
                                   " knows_waiting = 0;");
    q_database *d = fixture_open(&f);
    pr_err err;
    assert_int_equal(run(d, "top where gil and cpu", &err), PR_USAGE);
    assert_int_equal(err.offset, 18);
    assert_int_equal(run(d, "threads where idle", &err), PR_USAGE);
    assert_int_equal(run(d, "top where waiting", &err), PR_USAGE);
    assert_non_null(strstr(err.hint, "3.15"));
    assert_int_equal(run(d, "top where main", &err), PR_OK);
    q_close(d);
    fixture_write(&f, ""); /* no samples, so no condition fails */
    d = fixture_open(&f);
    assert_int_equal(run(d, "top where cpu", &err), PR_OK);
    q_close(d);
    fixture_end(&f);
}

static void
blobs_appear_in_hexadecimal(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_write(&f, "");
    q_database *d = fixture_open(&f);
    q_result *result = NULL;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(
        q_run_sql(d, "SELECT x'00ff7e', x'', 'é', NULL, x'10'", &result, &err),
        PR_OK);
    assert_int_equal(q_result_next(result, &err), PR_OK);
    q_value v = q_result_value(result, 0);
    assert_int_equal(v.len, 6);
    assert_memory_equal(v.text, "00ff7e", 6);
    assert_int_equal(q_result_value(result, 1).len, 0);
    assert_int_equal(q_result_value(result, 2).len, 2);
    assert_int_equal(q_result_value(result, 3).type, Q_NULL);
    assert_memory_equal(q_result_value(result, 4).text, "10", 2);
    assert_int_equal(q_result_value(result, 5).type, Q_NULL);
    assert_string_equal(q_result_name(result, 99), "");
    q_result_free(result);
    q_close(d);
    fixture_end(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_foreign_database_is_named_as_such),
        cmocka_unit_test(names_with_a_meaning_for_sqlite_are_files_like_others),
        cmocka_unit_test(tables_must_be_tables_with_their_columns),
        cmocka_unit_test(sql_of_the_user_reads_and_does_nothing_else),
        cmocka_unit_test(faults_in_sql_have_a_column),
        cmocka_unit_test(traps_in_a_schema_do_not_spring),
        cmocka_unit_test(a_value_too_long_is_a_limit_and_not_memory),
        cmocka_unit_test(values_that_cannot_be_are_damage),
        cmocka_unit_test(any_value_in_any_column_gives_an_answer_or_a_sentence),
        cmocka_unit_test(damaged_pages_end_in_an_answer_or_a_sentence),
        cmocka_unit_test(an_unrecorded_cpu_state_is_not_answered),
        cmocka_unit_test(blobs_appear_in_hexadecimal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
