/*
 * test_pages.c - tables that are written as pages have the rows that went in,
 * and SQLite finds nothing wrong with the file.  The seed is printed; argument
 * 1 sets it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "converter/tables/pages.h"

#include <base/hash.h>
#include <sqlite3.h>

static const char path[] = "pages.db";
static unsigned seed;

enum { COLUMNS = 10, TABLES = 2 };
static const conv_pages_table tables[TABLES] = {{"big", COLUMNS}, {"other", 3}};

/* Rows of a table in order, always the same for one seed. */
typedef struct source {
    uint64_t state;
    int64_t id;
    size_t left;
    int columns;
    bool dense; /* ids without gaps */
} source;

static uint64_t
next_random(source *s)
{
    s->state = s->state * UINT64_C(6364136223846793005) + 1;
    return pr_mix64(s->state);
}

/* A value of any length, so that each type and each limit of a type comes. */
static int64_t
random_value(source *s)
{
    static const int64_t special[] = {CONV_NULL,
                                      0,
                                      1,
                                      -1,
                                      2,
                                      127,
                                      128,
                                      -128,
                                      -129,
                                      32767,
                                      32768,
                                      -32768,
                                      -32769,
                                      8388607,
                                      8388608,
                                      -8388608,
                                      -8388609,
                                      2147483647,
                                      2147483648,
                                      -INT64_C(2147483648),
                                      INT64_MAX,
                                      -INT64_MAX,
                                      (INT64_C(1) << 47) - 1,
                                      INT64_C(1) << 47,
                                      -(INT64_C(1) << 47),
                                      -(INT64_C(1) << 47) - 1};
    enum { SPECIAL = sizeof special / sizeof *special };
    uint64_t random = next_random(s);
    if (random % 4 == 0)
        return special[(random >> 8) % SPECIAL];
    int64_t value = (int64_t)(next_random(s) >> random % 64);
    return value == CONV_NULL ? 0 : value;
}

static bool
next_row(void *context, int64_t *row)
{
    source *s = context;
    if (s->left == 0)
        return false;
    s->left--;
    s->id += s->dense
                 ? 1
                 : 1 + (int64_t)(next_random(s) >> (32 + (uint64_t)s->id % 32));
    row[0] = s->id;
    for (int i = 1; i < s->columns; i++)
        row[i] = random_value(s);
    return true;
}

static sqlite3 *
open_file(void)
{
    sqlite3 *database;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    return database;
}

static void
execute(sqlite3 *database, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static sqlite3 *
make_file(int page_size)
{
    char sql[64];
    unlink(path);
    sqlite3 *database = open_file();
    snprintf(sql, sizeof sql, "PRAGMA page_size=%d", page_size);
    execute(database, sql);
    execute(database, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
                      "CREATE TABLE big(c0 INTEGER PRIMARY KEY, c1, c2, c3,"
                      " c4, c5, c6, c7, c8, c9);"
                      "CREATE TABLE other(c0 INTEGER PRIMARY KEY, c1, c2);"
                      "CREATE TABLE usual(id INTEGER PRIMARY KEY, text)");
    return database;
}

static void
check_integer(sqlite3 *database, const char *sql, int64_t expected)
{
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &stmt, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_true(sqlite3_column_int64(stmt, 0) == expected);
    sqlite3_finalize(stmt);
}

static void
check_whole(sqlite3 *database)
{
    sqlite3_stmt *stmt;
    assert_int_equal(
        sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &stmt, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "ok");
    sqlite3_finalize(stmt);
}

static void
check_rows(sqlite3 *database, const char *table, source expected)
{
    char sql[64];
    int64_t row[COLUMNS];
    sqlite3_stmt *stmt;
    snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY c0", table);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &stmt, NULL),
                     SQLITE_OK);
    while (next_row(&expected, row)) {
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        for (int i = 0; i < expected.columns; i++)
            if (row[i] == CONV_NULL)
                assert_int_equal(sqlite3_column_type(stmt, i), SQLITE_NULL);
            else
                assert_true(sqlite3_column_int64(stmt, i) == row[i]);
    }
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    sqlite3_finalize(stmt);
}

/* Each row is found by its id: the inner pages lead there. */
static void
check_search(sqlite3 *database, const char *table, source expected)
{
    char sql[64];
    int64_t row[COLUMNS];
    sqlite3_stmt *stmt;
    snprintf(sql, sizeof sql, "SELECT 1 FROM %s WHERE c0 = ?", table);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &stmt, NULL),
                     SQLITE_OK);
    while (next_row(&expected, row)) {
        sqlite3_bind_int64(stmt, 1, row[0]);
        assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
        sqlite3_reset(stmt);
    }
    sqlite3_finalize(stmt);
}

static pr_code
add_some(conv_pages *pages, size_t i, source *from, size_t n)
{
    pr_err err = PR_ERR_INIT;
    source part = *from;
    part.left = n < from->left ? n : from->left;
    size_t left = from->left - part.left;
    pr_code rc = conv_pages_add(pages, i, next_row, &part, &err);
    *from = part;
    from->left = left;
    return rc;
}

/* Rows of both tables and of a usual one, in turns. */
static void
check_file(int page_size, size_t n, bool dense)
{
    pr_err err = PR_ERR_INIT;
    conv_pages *pages;
    sqlite3 *database = make_file(page_size);
    source all[TABLES] = {{seed, 0, n, COLUMNS, dense},
                          {seed + 1, -50, n / 2, 3, dense}};
    source rest[TABLES] = {all[0], all[1]};
    int64_t usual = 0;
    assert_int_equal(conv_pages_new(database, tables, TABLES, &pages, &err),
                     PR_OK);
    while (rest[0].left || rest[1].left) {
        for (size_t i = 0; i < TABLES; i++)
            assert_int_equal(add_some(pages, i, &rest[i], n / 7 + 1), PR_OK);
        execute(database,
                "INSERT INTO usual(text) VALUES(hex(zeroblob(9999)))");
        usual++;
    }
    execute(database, "COMMIT");
    assert_int_equal(conv_pages_finish(pages, &err), PR_OK);
    conv_pages_free(pages);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);

    database = open_file();
    check_whole(database);
    check_integer(database, "SELECT count(*) FROM usual", usual);
    for (size_t i = 0; i < TABLES; i++) {
        check_rows(database, tables[i].name, all[i]);
        check_search(database, tables[i].name, all[i]);
    }
    /* the file goes on as any other */
    execute(database, "DELETE FROM big WHERE c0 % 3 = 0;"
                      "INSERT INTO big(c1) SELECT c1 FROM other;"
                      "INSERT INTO other(c1) VALUES(1)");
    check_whole(database);
    sqlite3_close(database);
}

/* Pages of 512 bytes have 34 children: five levels. */
static void
test_rows(void **state)
{
    (void)state;
    static const int sizes[] = {512, 8192, 65536};
    static const size_t rows[] = {0, 1, 2, 3, 5, 9, 20, 170, 4000, 60000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t j = 0; j < sizeof rows / sizeof *rows; j++) {
            check_file(sizes[i], rows[j], true);
            check_file(sizes[i], rows[j], false);
        }
    check_file(512, 250000, true);
}

/* A number of leaves about those of one inner page. */
static void
test_limits_of_inner_pages(void **state)
{
    (void)state;
    for (size_t n = 60; n < 400; n += 3)
        check_file(512, n, true);
}

/* The page of SQLite's lock stays free, and the rows beyond it are found. */
static void
test_lock_page(void **state)
{
    (void)state;
    enum { SIZE = 8192, LOCK = 0x40000000 / SIZE + 1, ROWS = 100000 };
    pr_err err = PR_ERR_INIT;
    conv_pages *pages;
    for (int before = 1; before < 100; before += 30) {
        sqlite3 *database = make_file(SIZE);
        source all = {seed, 0, ROWS, COLUMNS, true};
        assert_int_equal(conv_pages_new(database, tables, TABLES, &pages, &err),
                         PR_OK);
        /* a hole, which costs no room on the disk */
        assert_int_equal(truncate(path, (off_t)(LOCK - before) * (off_t)SIZE),
                         0);
        source rows = all;
        assert_int_equal(conv_pages_add(pages, 0, next_row, &rows, &err),
                         PR_OK);
        execute(database, "INSERT INTO usual(text) VALUES('x'); COMMIT");
        assert_int_equal(conv_pages_finish(pages, &err), PR_OK);
        conv_pages_free(pages);
        sqlite3_close(database);

        uint8_t page[SIZE], none[SIZE] = {0};
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        fseeko(file, (off_t)(LOCK - 1) * SIZE, SEEK_SET);
        assert_int_equal(fread(page, 1, SIZE, file), SIZE);
        assert_memory_equal(page, none, SIZE);
        fclose(file);
        database = open_file();
        check_rows(database, "big", all);
        check_integer(database, "SELECT count(*) FROM usual", 1);
        sqlite3_close(database);
    }
}

static int
remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int
main(int argc, char **argv)
{
    seed = argc > 1 ? (unsigned)atoi(argv[1]) : (unsigned)time(NULL);
    printf("seed %u\n", seed);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_limits_of_inner_pages),
        cmocka_unit_test(test_lock_page),
    };
    return cmocka_run_group_tests(tests, NULL, remove_file);
}
