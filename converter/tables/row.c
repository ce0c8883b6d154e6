/*
 * row.c - a prepared INSERT and the values that go into it.
 */
#include "converter/tables/row.h"

#include <base/buffer.h>
#include <base/create.h>
#include <base/quote.h>
#include <errno.h>
#include <sqlite3.h>

static pr_code
fail(int rc, int system_errno, const char *message, pr_err *err)
{
    pr_code code = rc == SQLITE_NOMEM ? PR_NOMEM : PR_IO;
    if (rc == SQLITE_NOTADB)
        return PR_FAIL(err, PR_FOREIGN, "the output is not a database");
    PR_FAIL_SYS(err, code, system_errno, "cannot write the database: %s",
                message);
    if (rc == SQLITE_BUSY)
        pr_err_hint(err, "another program writes to it; try again");
    pr_hint_room(system_errno, err);
    return code;
}

/* SQLite keeps the errno of some failures only, and of an earlier one after
 * others. */
static int
errno_of(sqlite3 *database, int rc)
{
    int sys = sqlite3_system_errno(database);
    if (rc == SQLITE_FULL)
        return ENOSPC;
    if (rc == SQLITE_IOERR)
        return sys ? sys : EIO;
    return rc == SQLITE_CANTOPEN ? sys : 0;
}

pr_code
conv_sqlite_fail(sqlite3 *database, pr_err *err)
{
    int rc = sqlite3_errcode(database) & 0xff;
    return fail(rc, errno_of(database, rc), sqlite3_errmsg(database), err);
}

pr_code
conv_sqlite_fail_file(int code, pr_err *err)
{
    return fail(code & 0xff, 0, sqlite3_errstr(code), err);
}

static pr_code
prepare(conv_row *row, sqlite3 *database, const char *verb, const char *table,
        int columns, pr_err *err)
{
    *row = (conv_row){.database = database};
    sqlite3_str *sql = sqlite3_str_new(database);
    sqlite3_str_appendf(sql, "%s INTO main.%s VALUES(?", verb, table);
    for (int i = 1; i < columns; i++)
        sqlite3_str_appendall(sql, ",?");
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    int rc = text ? sqlite3_prepare_v2(database, text, -1, &row->insert, NULL)
                  : SQLITE_NOMEM;
    sqlite3_free(text);
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail(database, err);
}

pr_code
conv_row_open(conv_row *row, sqlite3 *database, const char *table, int columns,
              pr_err *err)
{
    return prepare(row, database, "INSERT", table, columns, err);
}

pr_code
conv_row_open_or_replace(conv_row *row, sqlite3 *database, const char *table,
                         int columns, pr_err *err)
{
    return prepare(row, database, "REPLACE", table, columns, err);
}

void
conv_row_close(conv_row *row)
{
    sqlite3_finalize(row->insert);
    pr_buffer_release(&row->text);
    row->insert = NULL;
}

static void
note(conv_row *row, int rc)
{
    row->failed = row->failed || rc != SQLITE_OK;
}

void
conv_row_integer(conv_row *row, int64_t value)
{
    int place = ++row->place;
    note(row, value == CONV_NULL
                  ? sqlite3_bind_null(row->insert, place)
                  : sqlite3_bind_int64(row->insert, place, value));
}

void
conv_row_unsigned(conv_row *row, uint64_t value)
{
    conv_row_integer(row, conv_row_limit(value));
}

void
conv_row_real(conv_row *row, double value)
{
    note(row, sqlite3_bind_double(row->insert, ++row->place, value));
}

void
conv_row_string(conv_row *row, const char *string)
{
    note(row, sqlite3_bind_text(row->insert, ++row->place, string, -1,
                                SQLITE_TRANSIENT));
}

void
conv_row_text(conv_row *row, const pr_buffer *text)
{
    row->failed = row->failed || text->failed;
    note(row, sqlite3_bind_text64(row->insert, ++row->place,
                                  text->at ? text->at : "", text->len,
                                  SQLITE_TRANSIENT, SQLITE_UTF8));
}

void
conv_row_name(conv_row *row, pr_bytes name)
{
    pr_buffer_reset(&row->text);
    pr_quote_name(&row->text, PR_QUOTE_SQL, name.at, name.len);
    conv_row_text(row, &row->text);
}

void
conv_row_hash(conv_row *row, uint64_t hash)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(hash >> (56 - 8 * i));
    note(row, sqlite3_bind_blob(row->insert, ++row->place, bytes, sizeof bytes,
                                SQLITE_TRANSIENT));
}

pr_code
conv_row_put(conv_row *row, pr_err *err)
{
    if (row->failed || row->text.failed)
        return pr_no_memory(err);
    row->place = 0;
    if (sqlite3_step(row->insert) != SQLITE_DONE)
        return conv_sqlite_fail(row->database, err);
    sqlite3_reset(row->insert);
    return PR_OK;
}
