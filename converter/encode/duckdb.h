/*
 * duckdb.h - a database of DuckDB, by its library, which pyconv loads when it
 * opens the first one.
 *
 * The program neither links DuckDB nor needs its headers: the few functions of
 * its C interface that are used here have been the same since DuckDB 1.0
 * (https://duckdb.org/docs/clients/c/api).
 */
#ifndef CONVERTER_ENCODE_DUCKDB_H
#define CONVERTER_ENCODE_DUCKDB_H

#include <pyrec/error.h>
#include <stddef.h>
#include <stdint.h>

typedef struct conv_duckdb conv_duckdb;           /* one thread at a time */
typedef struct conv_duckdb_rows conv_duckdb_rows; /* closed before it */

/* Make the database file `path`.  DuckDB uses `threads` threads and at most 1
 * GB of memory, and loads no extension from the network.  PR_IO with a hint:
 * the library is not installed. */
pr_code conv_duckdb_open(const char *path, int threads, conv_duckdb **ret,
                         pr_err *err);
void conv_duckdb_close(conv_duckdb *duckdb); /* takes NULL */

/* Run one statement; *ret_changed (may be NULL): rows that it inserted. */
pr_code conv_duckdb_run(conv_duckdb *duckdb, const char *sql,
                        uint64_t *ret_changed, pr_err *err);

/* Append rows to a table.  conv_duckdb_put() ends a row, and returns the first
 * failure of its values. */
pr_code conv_duckdb_rows_open(conv_duckdb *duckdb, const char *table,
                              conv_duckdb_rows **ret, pr_err *err);
void conv_duckdb_null(conv_duckdb_rows *rows);
void conv_duckdb_integer(conv_duckdb_rows *rows, int64_t value);
void conv_duckdb_text(conv_duckdb_rows *rows, const char *text, size_t n);
pr_code conv_duckdb_put(conv_duckdb_rows *rows, pr_err *err);

/* Close the rows; after PR_OK all of them are in the table. */
pr_code conv_duckdb_rows_close(conv_duckdb_rows *rows, pr_err *err);

#endif
