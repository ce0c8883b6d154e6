/*
 * rows.h - insert many rows of integers into a table.
 *
 * The rows are a virtual table, from which SQLite reads one value after the
 * other; to bind them to a statement costs twice as much.
 */
#ifndef CONVERTER_TABLES_ROWS_H
#define CONVERTER_TABLES_ROWS_H

#include "converter/tables/row.h"

enum { CONV_ROWS_COLUMNS = 12 }; /* at most */

/* Fill the next row, CONV_NULL for NULL; false: none. */
typedef bool (*conv_rows_next)(void *context, int64_t *row);

/* Insert all rows into the table, which has `columns` columns. */
pr_code conv_rows_insert(struct sqlite3 *database, const char *table,
                         int columns, conv_rows_next next, void *context,
                         pr_err *err);

#endif
