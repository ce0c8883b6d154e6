/*
 * row_binary.c - types, and values from rows of SQLite.
 */
#include "converter/target/row_binary.h"

#include "converter/tables/export.h"
#include "converter/tables/row.h"

#include <endian.h>
#include <sqlite3.h>
#include <string.h>

/* ---- columns ---- */

static bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Is the name in the list, which commas separate? */
static bool
is_in(const char *list, const char *name, size_t len)
{
    while (*list) {
        size_t n = strcspn(list, ",");
        if (n == len && memcmp(list, name, n) == 0)
            return true;
        list += n + strspn(list + n, ", ");
    }
    return false;
}

size_t
conv_row_columns(const char *columns, const char *nullable,
                 conv_row_column ret[CONV_ROW_COLUMNS])
{
    size_t n = 0;
    for (const char *at = columns; *at && n < CONV_ROW_COLUMNS; n++) {
        size_t len = strcspn(at, ","), name = strcspn(at, " ");
        const char *type = at + name + 1;
        ret[n] = (conv_row_column){.name = (size_t)(at - columns),
                                   .name_len = name,
                                   .bytes = begins(type, "bigint")     ? 8
                                            : begins(type, "integer")  ? 4
                                            : begins(type, "smallint") ? 2
                                                                       : 0,
                                   .may_be_null = is_in(nullable, at, name)};
        at += len + strspn(at + len, ", ");
    }
    return n;
}

void
conv_row_put_type(pr_buffer *sql, const conv_row_column *column)
{
    if (column->may_be_null)
        pr_buffer_puts(sql, "Nullable(");
    if (column->bytes)
        pr_buffer_printf(sql, "Int%zu", 8 * column->bytes);
    else
        pr_buffer_puts(sql, "String");
    if (column->may_be_null)
        pr_buffer_char(sql, ')');
}

/* ---- values ---- */

void
conv_row_put_number(pr_buffer *rows, uint64_t value, size_t bytes)
{
    const uint64_t little = htole64(value);
    pr_buffer_append(rows, (const char *)&little, bytes);
}

void
conv_row_put_length(pr_buffer *rows, uint64_t length)
{
    for (; length >= 0x80; length >>= 7)
        pr_buffer_char(rows, (char)(length | 0x80));
    pr_buffer_char(rows, (char)length);
}

void
conv_row_put_column(pr_buffer *rows, const conv_row_column *column,
                    int64_t value)
{
    if (column->may_be_null)
        pr_buffer_char(rows, value == CONV_NULL);
    if (value != CONV_NULL)
        conv_row_put_number(rows, (uint64_t)value, column->bytes);
}

void
conv_row_put_value(pr_buffer *rows, const conv_row_column *column,
                   sqlite3_stmt *row, int place)
{
    int type = sqlite3_column_type(row, place);
    if (column->may_be_null)
        pr_buffer_char(rows, type == SQLITE_NULL);
    if (column->may_be_null && type == SQLITE_NULL)
        return;
    if (!column->bytes) {
        const char *text = (const char *)sqlite3_column_text(row, place);
        size_t n = (size_t)sqlite3_column_bytes(row, place);
        conv_row_put_length(rows, n);
        pr_buffer_append(rows, text, n);
    } else {
        conv_row_put_number(rows, (uint64_t)conv_export_integer(row, place),
                            column->bytes);
    }
}
