/*
 * rows.c - prepared multi-row inserts.
 */
#include "converter/rows.h"

#include <sqlite3.h>

pr_code
conv_sqlite_fail(sqlite3 *database, pr_err *err)
{
    int rc = sqlite3_errcode(database);
    pr_code code = rc == SQLITE_NOMEM ? PR_NOMEM : PR_IO;
    return PR_FAIL(err, code, sqlite3_system_errno(database), PR_NO_OFFSET,
                   "cannot write the database: %s", sqlite3_errmsg(database));
}

static pr_code
prepare(conv_rows *rows, size_t n, sqlite3_stmt **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(rows->database);
    sqlite3_str_appendf(sql, "INSERT INTO %s VALUES", rows->table);
    for (size_t i = 0; i < n; i++) {
        for (int c = 0; c < rows->columns; c++)
            sqlite3_str_appendall(sql, c ? ",?" : i ? ",(?" : "(?");
        sqlite3_str_appendchar(sql, 1, ')');
    }
    char *text = sqlite3_str_finish(sql);
    if (!text)
        return PR_FAIL(err, PR_NOMEM, 0, PR_NO_OFFSET, "SQL text");
    int rc = sqlite3_prepare_v3(rows->database, text, -1,
                                SQLITE_PREPARE_PERSISTENT, ret, NULL);
    sqlite3_free(text);
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail(rows->database, err);
}

pr_code
conv_rows_init(conv_rows *rows, sqlite3 *database, const char *table,
               int columns, pr_err *err)
{
    *rows =
        (conv_rows){.database = database, .table = table, .columns = columns};
    pr_code rc = prepare(rows, CONV_ROWS_AT_ONCE, &rows->many, err);
    return rc == PR_OK ? prepare(rows, 1, &rows->one, err) : rc;
}

static pr_code
insert(conv_rows *rows, sqlite3_stmt *stmt, size_t first, size_t n, pr_err *err)
{
    int place = 1;
    for (size_t i = first; i < first + n; i++)
        for (int c = 0; c < rows->columns; c++, place++)
            if (rows->row[i][c] == CONV_NULL)
                sqlite3_bind_null(stmt, place);
            else
                sqlite3_bind_int64(stmt, place, rows->row[i][c]);
    int rc = sqlite3_step(stmt);
    if (rc != SQLITE_DONE)
        return conv_sqlite_fail(rows->database, err);
    sqlite3_reset(stmt);
    return PR_OK;
}

pr_code
conv_rows_add(conv_rows *rows, const int64_t *row, pr_err *err)
{
    for (int c = 0; c < rows->columns; c++)
        rows->row[rows->n][c] = row[c];
    if (++rows->n < CONV_ROWS_AT_ONCE)
        return PR_OK;
    rows->n = 0;
    return insert(rows, rows->many, 0, CONV_ROWS_AT_ONCE, err);
}

pr_code
conv_rows_flush(conv_rows *rows, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; i < rows->n && rc == PR_OK; i++)
        rc = insert(rows, rows->one, i, 1, err);
    rows->n = 0;
    return rc;
}

void
conv_rows_release(conv_rows *rows)
{
    sqlite3_finalize(rows->many);
    sqlite3_finalize(rows->one);
}
