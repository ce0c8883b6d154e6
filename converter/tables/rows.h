/*
 * rows.h - many rows of integers into a table of a database that may have
 * others.
 *
 * The rows are a virtual table of which SQLite asks one value after the other;
 * binding them to a statement costs twice as much.
 */
#ifndef CONVERTER_TABLES_ROWS_H
#define CONVERTER_TABLES_ROWS_H

#include "converter/tables/row.h"

enum { CONV_ROWS_COLUMNS = 12 }; /* at most */

/* Fill the next row, CONV_NULL for NULL; false: none. */
typedef bool (*conv_rows_next)(void *context, int64_t *row);

/* Insert all rows into the table, which has that many columns. */
pr_code conv_rows_insert(struct sqlite3 *database, const char *table,
                         int columns, conv_rows_next next, void *context,
                         pr_err *err);

#endif
