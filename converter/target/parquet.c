/*
 * parquet.c - a folder of Parquet files: each conversion adds a part, a folder
 * with one file for each table of export.h.
 *
 *     FOLDER/PART/profile.parquet, FOLDER/PART/run.parquet, ...
 *
 * A reader asks for the files of one name in all parts.  A part appears by one
 * rename, so all of its profiles are there or none.  It holds the profiles that the other
 * parts lack: writers take turns by a lock on the folder.  Names reach DuckDB as
 * values, never in a statement.
 */
#include "converter/target/table.h"

#include "converter/encode/duckdb.h"
#include "converter/tables/export.h"
#include "converter/tables/row.h"

#include <base/array.h>
#include <base/hash.h>

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A part that is not complete lies one folder deeper, where no reader's pattern
 * finds it.  The holder of the lock removes the work of a killed program. */
#define WORK     ".pyconv"
#define NEW_PART WORK "/part"

typedef struct session {
    const char *folder;
    bool made; /* the folder is new */
    int lock;  /* the open folder; -1: none */
    conv_duckdb *duckdb;
    conv_duckdb_rows *rows[CONV_EXPORT_TABLES];
    uint64_t *profile; /* hashes of those that are added */
    size_t n, cap;
} session;

/* ---- paths and statements ---- */

static char *
path_in(const session *s, const char *name)
{
    return sqlite3_mprintf("%s/%s", s->folder, name);
}

/* The folder in a pattern of DuckDB, whose wildcards in its name are escaped. */
static char *
pattern_of(const session *s, const char *rest)
{
    sqlite3_str *text = sqlite3_str_new(NULL);
    for (const char *at = s->folder; *at; at++)
        if (strchr("*?[", *at))
            sqlite3_str_appendf(text, "[%c]", *at);
        else
            sqlite3_str_appendchar(text, 1, *at);
    sqlite3_str_appendall(text, rest);
    return sqlite3_str_finish(text);
}

/* Run and free a statement; NULL: there was no memory for it. */
static pr_code
run(session *s, char *sql, uint64_t *ret_changed, pr_err *err)
{
    if (!sql)
        return pr_no_memory(err);
    pr_code rc = conv_duckdb_run(s->duckdb, sql, ret_changed, err);
    sqlite3_free(sql);
    return rc;
}

/* ---- the folder ---- */

static int
remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

static void
remove_work(const session *s)
{
    char *path = path_in(s, WORK);
    if (path)
        nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    sqlite3_free(path);
}

static pr_code
make_folder(const char *path, unsigned mode, bool *ret_made, pr_err *err)
{
    if (!path)
        return pr_no_memory(err);
    *ret_made = mkdir(path, mode) == 0;
    return *ret_made || errno == EEXIST
               ? PR_OK
               : PR_FAIL_SYS(err, PR_IO, errno, "cannot make the folder '%s'",
                             path);
}

static pr_code
lock_folder(session *s, pr_err *err)
{
    s->lock = open(s->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (s->lock < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot open the folder '%s'",
                           s->folder);
    while (flock(s->lock, LOCK_EX) != 0)
        if (errno != EINTR)
            return PR_FAIL_SYS(err, PR_IO, errno, "cannot lock '%s'",
                               s->folder);
    return PR_OK;
}

/* Permissions of a folder whose files would have those of `mode`. */
static unsigned
folder_mode(unsigned mode)
{
    return mode | 0700 | (mode & 0444) >> 2;
}

static pr_code
open_folder(session *s, unsigned mode, pr_err *err)
{
    bool made;
    pr_code rc = make_folder(s->folder, folder_mode(mode), &s->made, err);
    if (rc == PR_OK)
        rc = lock_folder(s, err);
    if (rc != PR_OK)
        return rc;
    remove_work(s);
    char *work = path_in(s, WORK), *part = path_in(s, NEW_PART);
    rc = make_folder(work, 0700, &made, err);
    if (rc == PR_OK)
        rc = make_folder(part, folder_mode(mode), &made, err);
    sqlite3_free(work);
    sqlite3_free(part);
    return rc;
}

/* ---- the profiles of other parts ---- */

static pr_code
refuse_version(session *s, const char *profiles, pr_err *err)
{
    uint64_t others = 0;
    char *sql = sqlite3_mprintf(
        "INSERT INTO other SELECT DISTINCT decode(value) FROM"
        " parquet_kv_metadata(%Q) WHERE decode(key) = 'pyrec' AND"
        " decode(value) <> '%d'",
        profiles, CONV_EXPORT_VERSION);
    pr_code rc = run(s, sql, &others, err);
    if (rc != PR_OK || others == 0)
        return rc;
    PR_FAIL(err, PR_NEWER, "'%s' has tables of another version", s->folder);
    pr_err_hint(err, "give another folder with -o");
    return PR_NEWER;
}

/* DuckDB fails to read a pattern that no file matches. */
static pr_code
read_known(session *s, const char *profiles, pr_err *err)
{
    uint64_t parts = 0;
    char *sql = sqlite3_mprintf("INSERT INTO other SELECT file FROM glob(%Q)",
                                profiles);
    pr_code rc = run(s, sql, &parts, err);
    if (rc == PR_OK && parts)
        rc = refuse_version(s, profiles, err);
    if (rc != PR_OK || parts == 0)
        return rc;
    sql = sqlite3_mprintf("INSERT INTO known SELECT DISTINCT profile FROM"
                          " read_parquet(%Q)",
                          profiles);
    return run(s, sql, NULL, err);
}

static pr_code
learn_known(session *s, pr_err *err)
{
    pr_code rc = conv_duckdb_run(
        s->duckdb, "CREATE TEMP TABLE known(profile bigint PRIMARY KEY)", NULL,
        err);
    if (rc == PR_OK)
        rc = conv_duckdb_run(s->duckdb, "CREATE TEMP TABLE other(value text)",
                             NULL, err);
    if (rc != PR_OK)
        return rc;
    char *profiles = pattern_of(s, "/*/profile.parquet");
    rc = profiles ? read_known(s, profiles, err) : pr_no_memory(err);
    sqlite3_free(profiles);
    return rc;
}

/* ---- begin ---- */

static pr_code
make_tables(session *s, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < CONV_EXPORT_TABLES; i++) {
        const conv_export_table *t = &conv_export_tables[i];
        rc = run(s, sqlite3_mprintf("CREATE TABLE %s(%s)", t->name, t->columns),
                 NULL, err);
        if (rc == PR_OK)
            rc = conv_duckdb_rows_open(s->duckdb, t->name, &s->rows[i], err);
    }
    return rc;
}

static pr_code
open_session(session *s, const conv_job *job, pr_err *err)
{
    pr_code rc = open_folder(s, job->mode, err);
    if (rc != PR_OK)
        return rc;
    char *path = path_in(s, WORK "/rows.duckdb");
    rc = path ? conv_duckdb_open(path, job->opts->jobs, &s->duckdb, err)
              : pr_no_memory(err);
    sqlite3_free(path);
    if (rc == PR_OK)
        rc = learn_known(s, err);
    return rc == PR_OK ? make_tables(s, err) : rc;
}

/* Takes over rc: the first failure wins. */
static pr_code
close_rows(session *s, pr_code rc, pr_err *err)
{
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        if (s->rows[i]) {
            pr_code ended =
                conv_duckdb_rows_close(s->rows[i], rc == PR_OK ? err : NULL);
            rc = rc == PR_OK ? ended : rc;
            s->rows[i] = NULL;
        }
    return rc;
}

/* The lock ends last. */
static void
close_session(session *s, bool failed)
{
    close_rows(s, PR_OK, NULL);
    conv_duckdb_close(s->duckdb);
    if (s->lock >= 0) {
        remove_work(s);
        if (s->made && failed)
            rmdir(s->folder);
        close(s->lock);
    }
    free(s->profile);
    free(s);
}

static pr_code
begin_parquet(conv_job *job, pr_err *err)
{
    session *s = calloc(1, sizeof *s);
    if (!s)
        return pr_no_memory(err);
    s->folder = job->into;
    s->lock = -1;
    pr_code rc = open_session(s, job, err);
    if (rc == PR_OK)
        job->state = s;
    else
        close_session(s, true);
    return rc;
}

/* ---- write ---- */

static void
put_value(conv_duckdb_rows *rows, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        conv_duckdb_null(rows);
        break;
    case SQLITE_INTEGER:
    case SQLITE_BLOB:
        conv_duckdb_integer(rows, conv_export_integer(row, column));
        break;
    default: {
        const char *text = (const char *)sqlite3_column_text(row, column);
        conv_duckdb_text(rows, text, (size_t)sqlite3_column_bytes(row, column));
    }
    }
}

static pr_code
put_rows(conv_duckdb_rows *rows, sqlite3 *database, const char *sql,
         pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database, sql, -1, &row, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_code rc = PR_OK;
    int step = SQLITE_DONE, columns = sqlite3_column_count(row);
    while (rc == PR_OK && (step = sqlite3_step(row)) == SQLITE_ROW) {
        for (int i = 0; i < columns; i++)
            put_value(rows, row, i);
        rc = conv_duckdb_put(rows, err);
    }
    if (rc == PR_OK && step != SQLITE_DONE)
        rc = conv_sqlite_fail(database, err);
    sqlite3_finalize(row);
    return rc;
}

static pr_code
hash_of_profile(sqlite3 *database, int64_t *ret, pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database, "SELECT hash FROM profile", -1, &row,
                           NULL) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW) {
        sqlite3_finalize(row);
        return conv_sqlite_fail(database, err);
    }
    *ret = conv_export_integer(row, 0);
    sqlite3_finalize(row);
    return PR_OK;
}

/* *ret: no part has the profile, nor was it added before. */
static pr_code
take_profile(session *s, sqlite3 *database, bool *ret, pr_err *err)
{
    int64_t hash = 0;
    uint64_t inserted = 0;
    pr_code rc = hash_of_profile(database, &hash, err);
    if (rc == PR_OK)
        rc = run(s,
                 sqlite3_mprintf("INSERT OR IGNORE INTO known VALUES (%lld)",
                                 (long long)hash),
                 &inserted, err);
    *ret = inserted != 0;
    if (rc != PR_OK || !inserted)
        return rc;
    if (!pr_grow(&s->profile, &s->cap, s->n + 1, sizeof *s->profile))
        return pr_no_memory(err);
    s->profile[s->n++] = (uint64_t)hash;
    return PR_OK;
}

static pr_code
write_parquet(conv_job *job, pr_err *err)
{
    session *s = job->state;
    sqlite3 *database;
    bool is_new;
    pr_code rc = conv_export_open(job->model, job->source, &job->names_changed,
                                  &database, err);
    if (rc != PR_OK)
        return rc;
    rc = take_profile(s, database, &is_new, err);
    job->there += rc == PR_OK && !is_new;
    for (size_t i = 0; rc == PR_OK && is_new && i < CONV_EXPORT_TABLES; i++)
        rc = put_rows(s->rows[i], database, conv_export_tables[i].rows, err);
    sqlite3_close(database);
    return rc;
}

/* ---- end ---- */

/* Profiles share files and functions; the rows of all others are distinct. */
static pr_code
write_file(session *s, const char *table, pr_err *err)
{
    bool shared = strcmp(table, "file") == 0 || strcmp(table, "function") == 0;
    char *path =
        sqlite3_mprintf("%s/" NEW_PART "/%s.parquet", s->folder, table);
    if (!path)
        return pr_no_memory(err);
    char *sql = sqlite3_mprintf(
        "COPY (SELECT %s * FROM %s) TO %Q (FORMAT parquet, COMPRESSION zstd,"
        " KV_METADATA {pyrec: '%d'})",
        shared ? "DISTINCT" : "", table, path, CONV_EXPORT_VERSION);
    sqlite3_free(path);
    return run(s, sql, NULL, err);
}

static pr_code
write_files(session *s, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < CONV_EXPORT_TABLES; i++)
        rc = write_file(s, conv_export_tables[i].name, err);
    return rc;
}

static int
compare_hashes(const void *x, const void *y)
{
    const uint64_t *a = x, *b = y;
    return *a < *b ? -1 : *a > *b;
}

/* A part is named by its profiles. */
static pr_code
publish(session *s, pr_err *err)
{
    qsort(s->profile, s->n, sizeof *s->profile, compare_hashes);
    uint64_t name = pr_hash_bytes(s->profile, s->n * sizeof *s->profile);
    char *from = path_in(s, NEW_PART);
    char *to =
        sqlite3_mprintf("%s/%016llx", s->folder, (unsigned long long)name);
    pr_code rc = PR_OK;
    if (!from || !to)
        rc = pr_no_memory(err);
    else if (rename(from, to) != 0)
        rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot make '%s'", to);
    sqlite3_free(from);
    sqlite3_free(to);
    return rc;
}

static pr_code
end_parquet(conv_job *job, bool keep, pr_err *err)
{
    session *s = job->state;
    pr_code rc = close_rows(s, PR_OK, keep ? err : NULL);
    if (!keep)
        rc = PR_OK;
    else if (rc == PR_OK && s->n) {
        rc = write_files(s, err);
        if (rc == PR_OK)
            rc = publish(s, err);
    }
    close_session(s, !keep || rc != PR_OK);
    job->state = NULL;
    return rc;
}

const conv_target conv_parquet = {
    .info =
        {"parquet", ".parquet",
         "a folder of Parquet files, which profiles are added to; by DuckDB",
         "DuckDB, ClickHouse, Spark, pandas", .adds = 1},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .write = write_parquet,
    .begin = begin_parquet,
    .end = end_parquet,
};
