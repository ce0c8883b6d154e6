/*
 * row_binary.h - rows in ClickHouse's RowBinary format (ClickHouse 18.16,
 * "Formats for input and output data"): values one after the other, numbers
 * little-endian, a text after its length as a LEB128 number, the byte 1 in
 * place of NULL and the byte 0 before a value that may be NULL.  No name of a
 * profile becomes text of a statement.
 */
#ifndef CONVERTER_TARGET_ROW_BINARY_H
#define CONVERTER_TARGET_ROW_BINARY_H

#include <base/buffer.h>
#include <stdbool.h>

struct sqlite3_stmt;

typedef struct conv_row_column {
    size_t name, name_len; /* place in the columns of the table */
    size_t bytes;          /* of a number; 0: a text */
    bool may_be_null;
} conv_row_column;

enum { CONV_ROW_COLUMNS = 24 };

/* Parse the columns of a table (export.h); returns their number. */
size_t conv_row_columns(const char *columns, const char *nullable,
                        conv_row_column ret[CONV_ROW_COLUMNS]);

/* Append the type of a column, by ClickHouse's name. */
void conv_row_put_type(pr_buffer *sql, const conv_row_column *column);

void conv_row_put_number(pr_buffer *rows, uint64_t value, size_t bytes);
/* A number of that column, or CONV_NULL. */
void conv_row_put_column(pr_buffer *rows, const conv_row_column *column,
                         int64_t value);
void conv_row_put_length(pr_buffer *rows, uint64_t length);
/* The value of that column of a row of SQLite. */
void conv_row_put_value(pr_buffer *rows, const conv_row_column *column,
                        struct sqlite3_stmt *row, int place);

#endif
