/*
 * records.c - archive_file, archive_rows: files, and which rows are theirs.
 */
#include "converter/archive/records.h"

#include "converter/tables/row.h"

#include <pyrec/convert.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS archive_file(name BLOB PRIMARY KEY,"
    " size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,"
    " ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,"
    " profile_id INTEGER, code INTEGER, problem TEXT) WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS archive_file_profile"
    " ON archive_file(profile_id);"
    "CREATE TABLE IF NOT EXISTS archive_rows(profile_id INTEGER NOT NULL,"
    " kind INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL,"
    " PRIMARY KEY(profile_id, kind)) WITHOUT ROWID;";

/* The tables whose rows have ids, and where conv_tables counts them. */
static const struct kind {
    const char *table;
    size_t last;
} kinds[] = {
    {"process", offsetof(conv_tables, process)},
    {"thread", offsetof(conv_tables, thread)},
    {"node", offsetof(conv_tables, node)},
    {"run", offsetof(conv_tables, run)},
    {"node_self", offsetof(conv_tables, node_self)},
    {"event", offsetof(conv_tables, event)},
    {"task", offsetof(conv_tables, task)},
    {"loss", offsetof(conv_tables, loss)},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The tables whose rows begin with the profile's id. */
static const char *const by_profile[] = {"label",          "meta",
                                         "function_total", "edge_total",
                                         "tree_total",     "archive_rows"};

static pr_code
execute(sqlite3 *database, const char *sql, pr_err *err)
{
    int rc = sqlite3_exec(database, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail(database, err);
}

/* One statement made of a format of sqlite3_mprintf(). */
static pr_code execute_made(sqlite3 *database, char *sql, pr_err *err);

static pr_code
execute_made(sqlite3 *database, char *sql, pr_err *err)
{
    if (!sql)
        return pr_no_memory(err);
    pr_code rc = execute(database, sql, err);
    sqlite3_free(sql);
    return rc;
}

static pr_code
prepare(sqlite3 *database, const char *sql, sqlite3_stmt **ret, pr_err *err)
{
    return sqlite3_prepare_v2(database, sql, -1, ret, NULL) == SQLITE_OK
               ? PR_OK
               : conv_sqlite_fail(database, err);
}

/* Step a statement that answers with nothing, and end it. */
static pr_code
finish(sqlite3 *database, sqlite3_stmt *stmt, pr_err *err)
{
    pr_code rc = sqlite3_step(stmt) == SQLITE_DONE
                     ? PR_OK
                     : conv_sqlite_fail(database, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- files ---- */

pr_code
conv_records_create(sqlite3 *database, pr_err *err)
{
    return execute(database, schema, err);
}

static pr_code
has_records(sqlite3 *database, bool *ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = prepare(database,
                         "SELECT count(*) FROM sqlite_schema WHERE name ="
                         " 'archive_file' AND type = 'table'",
                         &stmt, err);
    if (rc != PR_OK)
        return rc;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        *ret = sqlite3_column_int(stmt, 0) > 0;
    else
        rc = conv_sqlite_fail(database, err);
    sqlite3_finalize(stmt);
    return rc;
}

static pr_code
load_file(sqlite3_stmt *stmt, conv_files *files, pr_err *err)
{
    const char *name = sqlite3_column_blob(stmt, 0);
    size_t n = (size_t)sqlite3_column_bytes(stmt, 0);
    const conv_mark mark = {
        sqlite3_column_int64(stmt, 1), sqlite3_column_int64(stmt, 2),
        sqlite3_column_int64(stmt, 3), sqlite3_column_int64(stmt, 4)};
    return conv_files_add(files, strndup(name ? name : "", n), &mark,
                          sqlite3_column_int64(stmt, 5), err);
}

pr_code
conv_records_load(sqlite3 *database, conv_files *ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    bool has = false;
    pr_code rc = has_records(database, &has, err);
    if (rc != PR_OK || !has)
        return rc;
    rc = prepare(database,
                 "SELECT name, size, mtime_ns, ctime_ns, inode, profile_id"
                 " FROM archive_file ORDER BY name",
                 &stmt, err);
    if (rc != PR_OK)
        return rc;
    int step;
    while (rc == PR_OK && (step = sqlite3_step(stmt)) != SQLITE_DONE)
        rc = step == SQLITE_ROW ? load_file(stmt, ret, err)
                                : conv_sqlite_fail(database, err);
    sqlite3_finalize(stmt);
    return rc;
}

pr_code
conv_records_put(sqlite3 *database, const conv_file *file,
                 const pr_err *problem, pr_err *err)
{
    sqlite3_stmt *stmt;
    const conv_mark *mark = &file->mark;
    const int64_t numbers[] = {mark->size, mark->mtime_ns, mark->ctime_ns,
                               mark->inode};
    pr_code rc =
        prepare(database, "REPLACE INTO archive_file VALUES(?,?,?,?,?,?,?,?)",
                &stmt, err);
    if (rc != PR_OK)
        return rc;
    int bound = sqlite3_bind_blob64(stmt, 1, file->name, strlen(file->name),
                                    SQLITE_STATIC);
    for (int i = 0; i < 4; i++)
        bound |= sqlite3_bind_int64(stmt, i + 2, numbers[i]);
    if (file->profile)
        bound |= sqlite3_bind_int64(stmt, 6, file->profile);
    if (problem) {
        bound |= sqlite3_bind_int(stmt, 7, (int)problem->code);
        bound |= sqlite3_bind_text(stmt, 8, problem->what, -1, SQLITE_STATIC);
    }
    if (bound == SQLITE_OK)
        return finish(database, stmt, err);
    sqlite3_finalize(stmt);
    return pr_no_memory(err);
}

pr_code
conv_records_drop(sqlite3 *database, const char *name, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = prepare(database, "DELETE FROM archive_file WHERE name = ?",
                         &stmt, err);
    if (rc != PR_OK)
        return rc;
    if (sqlite3_bind_blob64(stmt, 1, name, strlen(name), SQLITE_STATIC) ==
        SQLITE_OK)
        return finish(database, stmt, err);
    sqlite3_finalize(stmt);
    return pr_no_memory(err);
}

/* ---- rows ---- */

static int64_t
last_of(const conv_tables *tables, size_t kind)
{
    int64_t last;
    memcpy(&last, (const char *)tables + kinds[kind].last, sizeof last);
    return last;
}

pr_code
conv_records_own(int64_t profile, const conv_tables *before,
                 const conv_tables *after, pr_err *err)
{
    sqlite3 *database = after->database;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < KINDS && rc == PR_OK; i++)
        if (last_of(after, i) > last_of(before, i))
            rc = execute_made(
                database,
                sqlite3_mprintf(
                    "INSERT INTO archive_rows VALUES(%lld, %d, %lld, %lld)",
                    profile, (int)i, last_of(before, i) + 1, last_of(after, i)),
                err);
    return rc;
}

/* Rows with ids, by the range that archive_rows has for them. */
static pr_code
delete_range(sqlite3 *database, int64_t profile, const char *table,
             const char *column, size_t kind, pr_err *err)
{
    char *sql = sqlite3_mprintf(
        "DELETE FROM %s WHERE %s BETWEEN (SELECT first FROM archive_rows WHERE"
        " profile_id = %lld AND kind = %d) AND (SELECT last FROM archive_rows"
        " WHERE profile_id = %lld AND kind = %d)",
        table, column, profile, (int)kind, profile, (int)kind);
    return execute_made(database, sql, err);
}

static pr_code
delete_rows(sqlite3 *database, int64_t profile, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; i < KINDS && rc == PR_OK; i++) {
        rc = delete_range(database, profile, kinds[i].table, "id", i, err);
        if (rc == PR_OK && strcmp(kinds[i].table, "task") == 0)
            rc = delete_range(database, profile, "task_parent", "task_id", i,
                              err);
    }
    for (size_t i = 0;
         i < sizeof by_profile / sizeof *by_profile && rc == PR_OK; i++)
        rc = execute_made(
            database,
            sqlite3_mprintf("DELETE FROM %s WHERE profile_id = %lld",
                            by_profile[i], profile),
            err);
    if (rc == PR_OK)
        rc = execute_made(
            database,
            sqlite3_mprintf("DELETE FROM profile WHERE id = %lld", profile),
            err);
    return rc;
}

static pr_code
name_by_other(sqlite3 *database, int64_t profile, bool *ret, pr_err *err)
{
    char *sql = sqlite3_mprintf(
        "UPDATE profile SET source = (SELECT CAST(min(name) AS TEXT) FROM"
        " archive_file WHERE profile_id = %lld) WHERE id = %lld AND EXISTS"
        " (SELECT 1 FROM archive_file WHERE profile_id = %lld)",
        profile, profile, profile);
    pr_code rc = execute_made(database, sql, err);
    if (rc == PR_OK)
        *ret = sqlite3_changes(database) > 0;
    return rc;
}

pr_code
conv_records_release(conv_tables *tables, int64_t profile, bool *ret_gone,
                     pr_err *err)
{
    bool named = false;
    pr_code rc = name_by_other(tables->database, profile, &named, err);
    if (rc == PR_OK && !named)
        rc = conv_function_sums_remove(tables->database, &tables->function_sums,
                                       profile, err);
    if (rc == PR_OK && !named)
        rc = delete_rows(tables->database, profile, err);
    if (rc == PR_OK)
        *ret_gone = !named;
    return rc;
}

/* A profile of totals may have callers of which it has no totals. */
#define CALLERS_OF_TOTALS                                                 \
    "SELECT caller_id FROM profile CROSS JOIN meta ON meta.profile_id ="  \
    " profile.id AND key = '" CONV_META_CONTENT "' CROSS JOIN edge_total" \
    " ON edge_total.profile_id = profile.id"

pr_code
conv_records_prune(conv_tables *tables, pr_err *err)
{
    pr_code rc =
        conv_function_sums_put(tables->database, &tables->function_sums, err);
    if (rc != PR_OK)
        return rc;
    return execute(
        tables->database,
        "DELETE FROM function WHERE id NOT IN (SELECT function_id FROM"
        " function_sum UNION ALL " CALLERS_OF_TOTALS ");"
        "DELETE FROM frame WHERE function_id NOT IN (SELECT id FROM function);"
        "DELETE FROM file WHERE id NOT IN (SELECT file_id FROM function)",
        err);
}

/* ---- problems ---- */

pr_code
conv_records_problems(sqlite3 *database, int64_t *ret, int64_t *ret_profiles,
                      pr_err *problem, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = prepare(
        database,
        "SELECT count(*), (SELECT count(*) FROM profile),"
        " (SELECT code FROM archive_file WHERE code IS NOT NULL LIMIT 1),"
        " (SELECT problem FROM archive_file WHERE code IS NOT NULL LIMIT 1)"
        " FROM archive_file WHERE code IS NOT NULL",
        &stmt, err);
    if (rc != PR_OK)
        return rc;
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(stmt, 0);
        *ret_profiles = sqlite3_column_int64(stmt, 1);
        const char *text = (const char *)sqlite3_column_text(stmt, 3);
        if (*ret)
            PR_FAIL(problem, (pr_code)sqlite3_column_int(stmt, 2), "%s",
                    text ? text : "");
    } else {
        rc = conv_sqlite_fail(database, err);
    }
    sqlite3_finalize(stmt);
    return rc;
}
