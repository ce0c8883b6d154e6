/*
 * pages.h - write the rows of large tables straight into a new database file.
 *
 * A table of SQLite is a b-tree by row id.  Rows in the order of their ids
 * fill its leaves one after the other, and the inner pages follow from the
 * last id of each leaf: no search, no statement, a fifth of the time of an
 * INSERT.  The format of a page has not changed since SQLite 3.0 and may not
 * (https://www.sqlite.org/fileformat2.html, sections 1.3, 1.6 and 2.1).
 *
 * SQLite adds pages to the same file in the caller's transactions.  So leaves
 * are collected, and go to the end of the file between two transactions:
 * conv_pages_add() commits the caller's and begins the next one.
 */
#ifndef CONVERTER_TABLES_PAGES_H
#define CONVERTER_TABLES_PAGES_H

#include "converter/tables/rows.h"

typedef struct conv_pages conv_pages;

/* A table whose first column is its INTEGER PRIMARY KEY. */
typedef struct conv_pages_table {
    const char *name;
    int columns; /* at most CONV_ROWS_COLUMNS */
} conv_pages_table;

/* Begin n empty tables, in a transaction, of a file that no other connection
 * uses, without journal and in locking mode normal.  `table` must live as long
 * as *ret. */
pr_code conv_pages_new(struct sqlite3 *database, const conv_pages_table *table,
                       size_t n, conv_pages **ret, pr_err *err);

/* Add all rows to table[i]; their ids are not NULL and ascend over all calls.
 * No statement of the database may be running. */
pr_code conv_pages_add(conv_pages *pages, size_t i, conv_rows_next next,
                       void *context, pr_err *err);

/* Complete the tables, after the last transaction.  A connection that opens the
 * database later sees the rows. */
pr_code conv_pages_finish(conv_pages *pages, pr_err *err);

void conv_pages_free(conv_pages *pages); /* takes NULL */

#endif
