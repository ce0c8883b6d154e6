/*
 * row.h - one row of an SQLite table, value after value.
 *
 * The values are bound in the order of the columns; a failure is kept until
 * conv_row_put() returns it.
 */
#ifndef CONVERTER_TABLES_ROW_H
#define CONVERTER_TABLES_ROW_H

#include <base/buffer.h>
#include <base/intern.h>

struct sqlite3;
struct sqlite3_stmt;

#define CONV_NULL INT64_MIN /* stands for SQL's NULL */

typedef struct conv_row {
    struct sqlite3 *database;
    struct sqlite3_stmt *insert;
    int place; /* of the last value bound */
    bool failed;
    pr_buffer text; /* scratch; counts the names that were changed */
} conv_row;

/* Record the last failure of SQLite as a pr_code with a sentence. */
pr_code conv_sqlite_fail(struct sqlite3 *database, pr_err *err);
/* The same for a code of SQLite's file methods. */
pr_code conv_sqlite_fail_file(int code, pr_err *err);

/* Begin rows of the table, which has `columns` columns. */
pr_code conv_row_open(conv_row *row, struct sqlite3 *database,
                      const char *table, int columns, pr_err *err);
/* The same, but a row replaces another one with its key. */
pr_code conv_row_open_or_replace(conv_row *row, struct sqlite3 *database,
                                 const char *table, int columns, pr_err *err);
void conv_row_close(conv_row *row); /* takes one that was not opened */

void conv_row_integer(conv_row *row, int64_t value);   /* or CONV_NULL */
void conv_row_unsigned(conv_row *row, uint64_t value); /* at most 2^63 - 1 */
void conv_row_real(conv_row *row, double value);
void conv_row_string(conv_row *row, const char *string); /* NULL: SQL's */
void conv_row_name(conv_row *row, pr_bytes name);        /* as PR_QUOTE_SQL */
void conv_row_text(conv_row *row, const pr_buffer *text);
void conv_row_hash(conv_row *row, uint64_t hash); /* 8 bytes, big-endian */

/* Insert the row and begin the next one. */
pr_code conv_row_put(conv_row *row, pr_err *err);

static inline int64_t
conv_row_limit(uint64_t value)
{
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

#endif
