/*
 * sqlite_rows.h - many rows of integers into an SQLite table, fast.
 *
 * The rows are a virtual table of which SQLite asks one value after the other;
 * binding them to a statement costs twice as much.
 */
#ifndef CONVERTER_ENCODE_SQLITE_ROWS_H
#define CONVERTER_ENCODE_SQLITE_ROWS_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

#define CONV_NULL INT64_MIN /* stands for SQL's NULL */

enum { CONV_ROWS_COLUMNS = 10 }; /* at most */

/* Fill the next row; false: there is none. */
typedef bool (*conv_sqlite_rows_next)(void *context, int64_t *row);

/* Insert all rows into the table, which has that many columns. */
pr_code conv_sqlite_rows_insert(struct sqlite3 *database, const char *table,
                                int columns, conv_sqlite_rows_next next,
                                void *context, pr_err *err);

/* What SQLite says went wrong, as a pr_code with a sentence. */
pr_code conv_sqlite_fail(struct sqlite3 *database, pr_err *err);

#endif
