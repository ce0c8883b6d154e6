/*
 * query_fixture.h - a small profile database for the tests of query/.
 */
#ifndef TESTS_QUERY_FIXTURE_H
#define TESTS_QUERY_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <pyrec/query.h>
#include <pyrec/schema.h>
#include <sqlite3.h>

/* A folder of our own, removed by fixture_end(). */
typedef struct fixture {
    char dir[64];
    char path[96];
} fixture;

static inline void
fixture_begin(fixture *f)
{
    snprintf(f->dir, sizeof f->dir, "/tmp/test_query.XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    snprintf(f->path, sizeof f->path, "%s/run.db", f->dir);
}

static inline void
fixture_end(fixture *f)
{
    unlink(f->path);
    assert_int_equal(rmdir(f->dir), 0);
}

static inline void
fixture_sql(sqlite3 *s, const char *sql)
{
    char *message = NULL;
    if (sqlite3_exec(s, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

/* Open for writing; its content need not survive a power cut. */
static inline sqlite3 *
fixture_handle(fixture *f)
{
    sqlite3 *s;
    assert_int_equal(sqlite3_open(f->path, &s), SQLITE_OK);
    fixture_sql(s, "PRAGMA synchronous=off; PRAGMA journal_mode=memory;"
                   "PRAGMA legacy_alter_table=on");
    return s;
}

/* A new database with the tables of schema.h, then `more`. */
static inline void
fixture_write(fixture *f, const char *more)
{
    unlink(f->path);
    sqlite3 *s = fixture_handle(f);
    char numbers[96];
    snprintf(numbers, sizeof numbers,
             "PRAGMA application_id=%d; PRAGMA user_version=%d",
             PR_SCHEMA_APPLICATION_ID, PR_SCHEMA_VERSION);
    fixture_sql(s, numbers);
    static const char *const schema[] = {PR_SCHEMA_TABLES, PR_SCHEMA_VIEWS};
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++)
        fixture_sql(s, schema[i]);
    fixture_sql(s, more);
    sqlite3_close(s);
}

static inline q_database *
fixture_open(fixture *f)
{
    q_database *database = NULL;
    pr_err err = PR_ERR_INIT;
    if (q_open(f->path, &database, &err) != PR_OK)
        fail_msg("%s", err.what);
    return database;
}

/* A profile that says nothing of its own, for rows that need one. */
#define FIXTURE_PROFILE                                                       \
    "INSERT INTO profile VALUES(1, x'01', 'run.bin', NULL, NULL, NULL, NULL," \
    " NULL, 'all', 'threads', 'real', NULL, NULL, 1000, 10000, 10, 10000, 0," \
    " NULL, NULL, NULL, 10, 10000, 1, 1, 1, NULL, NULL);"                     \
    "INSERT INTO process(id, profile_id, pid, parent_pid, command, python,"   \
    " t0_us, t1_us) VALUES(1, 1, 7, NULL, NULL, NULL, 0, 10000);"

/* main(): work() calls two functions, one of them two ways.
 *
 *   node 1 main:10
 *     node 2 work:20          2 samples of thread 1
 *       node 3 load:30        3 samples of thread 1, 1 of thread 2
 *     node 4 load:31          4 samples of thread 2 */
#define FIXTURE_ROWS                                                          \
    "INSERT INTO profile VALUES(1, x'01', 'run.bin', NULL, 'web1', 'shop',"   \
    " NULL, '3.14.2', 'all', 'threads', 'real', NULL, NULL, 1000, 10000, 10," \
    " 10000, 125000, NULL, NULL, NULL, 9, 9000, 1, 1, 1, 1, 4);"              \
    "INSERT INTO process(id, profile_id, pid, parent_pid, command, python,"   \
    " t0_us, t1_us) VALUES(1, 1, 7, NULL, 'shop', '3.14.2', 0, 10000);"       \
    "INSERT INTO meta VALUES(1, 'host', 'web1');"                             \
    "INSERT INTO file VALUES(1, '/srv/app/main.py', 'main.py', 'main',"       \
    " 'project', x'01'), (2, '/srv/lib/data.py', 'data.py', 'data', 'site',"  \
    " x'02');"                                                                \
    "INSERT INTO function VALUES(1, 1, 'main', 'main', 9, 'py', x'01'),"      \
    " (2, 1, 'Shop.work', 'work', 19, 'py', x'02'),"                          \
    " (3, 2, 'load', 'load', 29, 'py', x'03');"                               \
    "INSERT INTO frame VALUES(1, 1, 10, 10, 0, 5, NULL),"                     \
    " (2, 2, 20, 20, 0, 5, NULL), (3, 3, 30, 30, 0, 5, NULL),"                \
    " (4, 3, 31, 31, 0, 5, NULL);"                                            \
    "INSERT INTO thread(id, process_id, tid, interp, name, is_main, t0_us,"   \
    " t1_us, samples, weight_us, unobserved_us, proven, sleeping, unproven,"  \
    " stopped, lost, first_run, last_run) VALUES"                             \
    "(1, 1, 101, 0, 'MainThread', 1, 0, 10000, 5, 5000, 125000, 5, 0, 0, 0,"  \
    " 1, 1, 2),"                                                              \
    " (2, 1, 102, 0, 'loader', 0, 0, 10000, 5, 5000, 0, 5, 0, 0, 0, 0, 3,"    \
    " 4);"                                                                    \
    "INSERT INTO node VALUES(1, NULL, 4, 0, 1, 1, 10, 1, 1, 1),"              \
    " (2, 1, 3, 1, 2, 2, 20, 1, 1, 1), (3, 2, 3, 2, 3, 3, 30, 1, 1, 1),"      \
    " (4, 1, 4, 1, 4, 3, 31, 1, 1, 1);"                                       \
    "INSERT INTO run VALUES(1, 1, 2, 35, 0, 1000, 2, 2000),"                  \
    " (2, 1, 3, 35, 2000, 4000, 3, 3000), (3, 2, 3, 8, 0, 0, 1, 1000),"       \
    " (4, 2, 4, 3, 1000, 4000, 4, 4000);"                                     \
    "INSERT INTO node_self VALUES(1, 2, 1, 35, 2, 2000),"                     \
    " (2, 3, 1, 35, 3, 3000), (3, 3, 2, 8, 1, 1000), (4, 4, 2, 3, 4, 4000);"

#endif
