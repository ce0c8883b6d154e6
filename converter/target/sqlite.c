/*
 * sqlite.c - the tables that pyquery asks (spec/schema.md), in a new file or
 * added to one.
 */
#include "converter/target/table.h"

#include "converter/tables/row.h"
#include "converter/tables/tables.h"

#include <sqlite3.h>
#include <stdlib.h>

/* No other program sees the file before it is whole: no journal, no waiting
 * for the disk. */
static const char pragmas[] = "PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;"
                              "PRAGMA locking_mode=NORMAL;";

enum { PATIENCE_MS = 60000 }; /* for another writer of the same database */

/* A database that profiles are added to. */
typedef struct session {
    sqlite3 *database;
    conv_tables tables;
} session;

/* An existing database keeps its journal: all of the profiles are in it, or
 * none, however this ends. */
static int
open_database(const conv_job *job, sqlite3 **ret)
{
    const char *path = job->into     ? job->into
                       : job->memory ? ":memory:"
                                     : conv_out_path(job->out);
    int rc = sqlite3_open_v2(path, ret,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc != SQLITE_OK)
        return rc;
    return job->into ? sqlite3_busy_timeout(*ret, PATIENCE_MS)
                     : sqlite3_exec(*ret, pragmas, NULL, NULL, NULL);
}

static pr_code
begin_tables(const conv_job *job, session *s, pr_err *err)
{
    pr_code rc = conv_tables_begin(s->database, &s->tables, err);
    if (rc != PR_OK || job->into || job->memory)
        return rc;
    rc = conv_tables_use_pages(&s->tables, err);
    if (rc != PR_OK)
        conv_tables_end(&s->tables, false, NULL);
    return rc;
}

static pr_code
begin_sqlite(conv_job *job, pr_err *err)
{
    session *s = calloc(1, sizeof *s);
    if (!s)
        return pr_no_memory(err);
    int rc = open_database(job, &s->database);
    pr_code code = rc == SQLITE_OK ? begin_tables(job, s, err)
                                   : conv_sqlite_fail(s->database, err);
    if (code == PR_OK) {
        job->state = s;
    } else {
        sqlite3_close(s->database);
        free(s);
    }
    return code;
}

static pr_code
write_sqlite(conv_job *job, pr_err *err)
{
    session *s = job->state;
    int64_t profile;
    bool added = true;
    pr_code rc = conv_tables_add(&s->tables, job->model, job->source, &profile,
                                 &added, &job->names_changed, err);
    job->there += !added;
    return rc;
}

static pr_code
end_sqlite(conv_job *job, bool keep, pr_err *err)
{
    session *s = job->state;
    pr_code code = conv_tables_end(&s->tables, keep, err);
    if (job->memory && keep && code == PR_OK)
        *job->memory = s->database;
    else if (sqlite3_close(s->database) != SQLITE_OK && code == PR_OK)
        code = PR_FAIL(err, PR_IO, "cannot close the database");
    free(s);
    job->state = NULL;
    return code;
}

const conv_target conv_sqlite = {
    .info = {"sqlite", ".db .sqlite .sqlite3",
             "the tables that pyquery asks (spec/schema.md)",
             "pyquery, sqlite3, DuckDB, Datasette"},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .takes = CONV_TAKES_ADD,
    .of_totals = true,
    .by_path = true,
    .write = write_sqlite,
    .begin = begin_sqlite,
    .end = end_sqlite,
};
