/*
 * sqlite.c - the tables that pyquery asks (spec/schema.md), in a new file.
 */
#include "converter/target/sqlite.h"

#include "converter/tables/row.h"

#include <sqlite3.h>

/* Nobody else sees the file before it is whole: no journal, no waiting for the
 * disk. */
static const char pragmas[] = "PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
                              "PRAGMA locking_mode=EXCLUSIVE;";

pr_code
conv_sqlite_open(const char *path, sqlite3 **ret, pr_err *err)
{
    sqlite3 *database = NULL;
    int rc = sqlite3_open_v2(path, &database,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(database, pragmas, NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        *ret = database;
        return PR_OK;
    }
    pr_code code = conv_sqlite_fail(database, err);
    sqlite3_close(database);
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
};
