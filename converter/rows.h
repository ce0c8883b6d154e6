/*
 * rows.h - many rows of integers into an SQLite table, fast.
 *
 * Several rows go with one statement: half the cost of one by one.
 */
#ifndef CONVERTER_ROWS_H
#define CONVERTER_ROWS_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

#define CONV_NULL INT64_MIN /* stands for SQL's NULL */

enum { CONV_ROWS_AT_ONCE = 8, CONV_ROWS_COLUMNS = 10 };

typedef struct conv_rows {
    struct sqlite3 *database;
    const char *table;
    int columns;
    struct sqlite3_stmt *many, *one;
    size_t n; /* rows waiting */
    int64_t row[CONV_ROWS_AT_ONCE][CONV_ROWS_COLUMNS];
} conv_rows;

pr_code conv_rows_init(conv_rows *rows, struct sqlite3 *database,
                       const char *table, int columns, pr_err *err);
/* `row` has as many numbers as the table has columns. */
pr_code conv_rows_add(conv_rows *rows, const int64_t *row, pr_err *err);
pr_code conv_rows_flush(conv_rows *rows, pr_err *err);
void conv_rows_release(conv_rows *rows);

/* What SQLite says went wrong, as a pr_code with a sentence. */
pr_code conv_sqlite_fail(struct sqlite3 *database, pr_err *err);

#endif
