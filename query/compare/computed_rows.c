/*
 * computed_rows.c - a temporary table, filled in one transaction.
 */
#include "query/compare/computed_rows.h"

#include <math.h>

static pr_code
end_transaction(q_rows *rows, pr_err *err)
{
    if (!rows->begun)
        return PR_OK;
    rows->begun = false;
    return q_database_exec(rows->database, "COMMIT", err);
}

pr_code
q_rows_begin(q_database *database, const char *columns, q_rows *ret,
             pr_err *err)
{
    q_rows rows = {.database = database};
    rows.table = sqlite3_mprintf("temp.answer%u", ++database->n_answers);
    char *create = sqlite3_mprintf("CREATE TABLE %s(%s)", rows.table, columns);
    int n = 1;
    for (const char *p = columns; *p; p++)
        n += *p == ',';
    sqlite3_str *insert = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(insert, "INSERT INTO %s VALUES(?", rows.table);
    for (; n > 1; n--)
        sqlite3_str_appendall(insert, ",?");
    sqlite3_str_appendall(insert, ")");
    char *text = sqlite3_str_finish(insert);
    pr_code rc = rows.table && create && text
                     ? q_database_exec(database, create, err)
                     : pr_no_memory(err);
    if (rc == PR_OK)
        rc = q_database_prepare(database, text, &rows.insert, err);
    /* one transaction, or each row pays for its own; an archive has one */
    rows.begun = rc == PR_OK && sqlite3_get_autocommit(database->sqlite);
    if (rows.begun)
        rc = q_database_exec(database, "BEGIN", err);
    sqlite3_free(create);
    sqlite3_free(text);
    if (rc == PR_OK)
        *ret = rows;
    else
        q_rows_release(&rows);
    return rc;
}

static void
keep(q_rows *rows, int rc)
{
    if (rc != SQLITE_OK && rows->failed == PR_OK)
        rows->failed = rc == SQLITE_NOMEM ? PR_NOMEM : PR_INTERNAL;
}

void
q_rows_text(q_rows *rows, const char *at, size_t len)
{
    keep(rows, sqlite3_bind_text64(rows->insert, ++rows->column, at, len,
                                   SQLITE_TRANSIENT, SQLITE_UTF8));
}

void
q_rows_integer(q_rows *rows, int64_t value)
{
    keep(rows, sqlite3_bind_int64(rows->insert, ++rows->column, value));
}

void
q_rows_real(q_rows *rows, double value)
{
    int column = ++rows->column;
    keep(rows, isfinite(value)
                   ? sqlite3_bind_double(rows->insert, column, value)
                   : sqlite3_bind_null(rows->insert, column));
}

pr_code
q_rows_end_row(q_rows *rows, pr_err *err)
{
    rows->column = 0;
    if (rows->failed != PR_OK)
        return PR_FAIL(err, rows->failed, "the answer");
    pr_code rc = q_database_step(rows->database, rows->insert, err);
    sqlite3_reset(rows->insert);
    return rc == PR_END ? PR_OK : rc;
}

pr_code
q_rows_finish(q_rows *rows, const char *select, char *title, q_result **ret,
              pr_err *err)
{
    char *sql = sqlite3_mprintf(select, rows->table);
    sqlite3_stmt *stmt = NULL;
    pr_code rc = sql && title ? PR_OK : pr_no_memory(err);
    sqlite3_finalize(rows->insert);
    rows->insert = NULL;
    if (rc == PR_OK)
        rc = end_transaction(rows, err);
    if (rc == PR_OK)
        rc = q_database_prepare(rows->database, sql, &stmt, err);
    sqlite3_free(sql);
    if (rc == PR_OK) {
        char *table = rows->table;
        rows->table = NULL;
        rc = q_result_new(rows->database, stmt, table, false, ret, err);
    }
    if (rc == PR_OK)
        q_result_set_title(*ret, title);
    else
        sqlite3_free(title);
    q_rows_release(rows);
    return rc;
}

void
q_rows_release(q_rows *rows)
{
    sqlite3_finalize(rows->insert);
    end_transaction(rows, NULL);
    if (rows->table) {
        char *sql = sqlite3_mprintf("DROP TABLE IF EXISTS %s", rows->table);
        if (sql)
            q_database_exec(rows->database, sql, NULL);
        sqlite3_free(sql);
    }
    sqlite3_free(rows->table);
    *rows = (q_rows){0};
}
