/*
 * result.c - a statement, its row, and the temp table below it.
 */
#include "query/database/result.h"

#include <base/array.h>
#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct q_result {
    q_database *database;
    sqlite3_stmt *stmt;
    char *table;
    char *title;
    q_basis basis;
    conv_comparison comparison;
    bool compares;
    char *notes; /* ended by a NUL each, the last by two */
    q_value *row;
    size_t n_columns;
    char *hex; /* the row's blobs as text */
    size_t cap_hex;
    bool guarded;
    bool ended;
};

static void
drop_table(q_database *database, const char *table)
{
    if (!table)
        return;
    static const char *const texts[] = {"DROP TABLE IF EXISTS %s",
                                        "DROP TABLE IF EXISTS %s_source"};
    q_database_begin(database); /* a question out of steps still tidies up */
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char *sql = sqlite3_mprintf(texts[i], table);
        if (sql)
            q_database_exec(database, sql, NULL);
        sqlite3_free(sql);
    }
}

pr_code
q_result_new(q_database *database, sqlite3_stmt *stmt, char *table,
             bool guarded, q_result **ret, pr_err *err)
{
    size_t n = (size_t)sqlite3_column_count(stmt);
    q_result *result = calloc(1, sizeof *result);
    q_value *row = calloc(n ? n : 1, sizeof *row);
    if (!result || !row) {
        free(result);
        free(row);
        sqlite3_finalize(stmt);
        drop_table(database, table);
        sqlite3_free(table);
        return pr_no_memory(err);
    }
    *result = (q_result){.database = database,
                         .stmt = stmt,
                         .table = table,
                         .row = row,
                         .n_columns = n,
                         .basis = {-1, -1, -1, -1, -1, -1, -1, 0},
                         .guarded = guarded};
    *ret = result;
    return PR_OK;
}

void
q_result_set_title(q_result *result, char *title)
{
    result->title = title;
}

void
q_result_set_basis(q_result *result, const q_basis *basis)
{
    result->basis = *basis;
}

void
q_result_set_comparison(q_result *result, const conv_comparison *comparison)
{
    result->comparison = *comparison;
    result->compares = true;
}

const conv_comparison *
q_result_comparison(const q_result *result)
{
    return result->compares ? &result->comparison : NULL;
}

pr_code
q_result_set_notes(q_result *result, const char *lines, pr_err *err)
{
    size_t n = strlen(lines);
    free(result->notes);
    result->notes = calloc(n + 2, 1);
    if (!result->notes)
        return pr_no_memory(err);
    for (size_t i = 0; i < n; i++)
        result->notes[i] = lines[i] == '\n' ? '\0' : lines[i];
    return PR_OK;
}

const char *
q_result_note(const q_result *result, size_t i)
{
    const char *note = result->notes;
    for (; note && *note && i > 0; i--)
        note += strlen(note) + 1;
    return note && *note ? note : NULL;
}

const q_basis *
q_result_basis(const q_result *result)
{
    return &result->basis;
}

size_t
q_result_columns(const q_result *result)
{
    return result->n_columns;
}

const char *
q_result_name(const q_result *result, size_t column)
{
    if (column >= result->n_columns)
        return "";
    const char *name = sqlite3_column_name(result->stmt, (int)column);
    return name ? name : "";
}

const char *
q_result_title(const q_result *result)
{
    return result->title ? result->title : "";
}

/* Blobs become hexadecimal: a q_value is text for people and files. */
static bool
write_hex(q_result *result, size_t *at, const unsigned char *bytes, size_t n)
{
    static const char digits[] = "0123456789abcdef";
    if (!pr_grow(&result->hex, &result->cap_hex, *at + 2 * n, 1))
        return false;
    for (size_t i = 0; i < n; i++) {
        result->hex[(*at)++] = digits[bytes[i] >> 4];
        result->hex[(*at)++] = digits[bytes[i] & 15];
    }
    return true;
}

static q_value
read_value(sqlite3_stmt *stmt, int column)
{
    q_value v = {Q_NULL, 0, 0, NULL, 0};
    switch (sqlite3_column_type(stmt, column)) {
    case SQLITE_INTEGER:
        v.type = Q_INTEGER;
        v.integer = sqlite3_column_int64(stmt, column);
        break;
    case SQLITE_FLOAT:
        v.type = Q_REAL;
        v.real = sqlite3_column_double(stmt, column);
        break;
    case SQLITE_TEXT:
        v.text = (const char *)sqlite3_column_text(stmt, column);
        v.len = (size_t)sqlite3_column_bytes(stmt, column);
        v.type = v.text ? Q_TEXT : Q_NULL;
        break;
    default:
        break;
    }
    return v;
}

static pr_code
read_row(q_result *result, pr_err *err)
{
    size_t at = 0;
    for (size_t i = 0; i < result->n_columns; i++) {
        int column = (int)i;
        result->row[i] = read_value(result->stmt, column);
        if (sqlite3_column_type(result->stmt, column) != SQLITE_BLOB)
            continue;
        size_t n = (size_t)sqlite3_column_bytes(result->stmt, column);
        if (!write_hex(result, &at, sqlite3_column_blob(result->stmt, column),
                       n))
            return pr_no_memory(err);
        result->row[i].type = Q_TEXT;
        result->row[i].len = 2 * n;
    }
    /* from here on the buffer does not move */
    at = 0;
    for (size_t i = 0; i < result->n_columns; i++)
        if (sqlite3_column_type(result->stmt, (int)i) == SQLITE_BLOB) {
            result->row[i].text = result->hex ? result->hex + at : "";
            at += result->row[i].len;
        }
    return PR_OK;
}

pr_code
q_result_next(q_result *result, pr_err *err)
{
    if (result->ended)
        return PR_END;
    result->database->guarded = result->guarded;
    pr_code rc = q_database_step(result->database, result->stmt, err);
    result->database->guarded = false;
    if (rc == PR_OK)
        rc = read_row(result, err);
    result->ended = rc != PR_OK;
    return rc;
}

q_value
q_result_value(const q_result *result, size_t column)
{
    if (column >= result->n_columns || result->ended)
        return (q_value){Q_NULL, 0, 0, NULL, 0};
    return result->row[column];
}

void
q_result_rewind(q_result *result)
{
    sqlite3_reset(result->stmt);
    result->ended = false;
}

void
q_result_free(q_result *result)
{
    if (!result)
        return;
    sqlite3_finalize(result->stmt);
    drop_table(result->database, result->table);
    sqlite3_free(result->table);
    sqlite3_free(result->title);
    free(result->notes);
    free(result->row);
    free(result->hex);
    free(result);
}
