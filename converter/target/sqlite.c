/*
 * sqlite.c - the tables that pyquery asks (spec/schema.md), in a new file.
 */
#include "converter/target/sqlite.h"

#include "converter/tables/row.h"
#include "converter/tables/tables.h"

#include <sqlite3.h>

/* Nobody else sees the file before it is whole: no journal, no waiting for the
 * disk. */
static const char pragmas[] = "PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
                              "PRAGMA locking_mode=EXCLUSIVE;";

pr_code
conv_sqlite_fill(sqlite3 *database, conv_job *job, pr_err *err)
{
    conv_tables tables;
    bool added;
    if (sqlite3_exec(database, pragmas, NULL, NULL, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_code rc = conv_tables_begin(database, &tables, err);
    if (rc != PR_OK)
        return rc;
    rc = conv_tables_add(&tables, job->model, job->source, &added,
                         &job->names_changed, err);
    pr_code ended = conv_tables_end(&tables, rc == PR_OK, err);
    return rc == PR_OK ? ended : rc;
}

static pr_code
write_sqlite(conv_job *job, pr_err *err)
{
    sqlite3 *database = NULL;
    int rc = sqlite3_open_v2(conv_out_path(job->out), &database,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    pr_code code = rc == SQLITE_OK ? conv_sqlite_fill(database, job, err)
                                   : conv_sqlite_fail(database, err);
    if (sqlite3_close(database) != SQLITE_OK && code == PR_OK)
        code = PR_FAIL(err, PR_IO, "cannot close database");
    return code;
}

const conv_target conv_sqlite = {
    .info = {"sqlite", ".db .sqlite .sqlite3",
             "the tables that pyquery asks (spec/schema.md)",
             "pyquery, sqlite3, DuckDB, Datasette"},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .by_path = true,
    .write = write_sqlite,
};
