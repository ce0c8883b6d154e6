/*
 * duckdb.h - a database of DuckDB, by its library, which pyconv loads when the
 * first one is opened.
 *
 * The program is not linked with DuckDB, and its headers are not needed: the
 * few functions of its C interface that are used here have been the same since
 * DuckDB 1.0 (https://duckdb.org/docs/clients/c/api).
 */
#ifndef CONVERTER_ENCODE_DUCKDB_H
#define CONVERTER_ENCODE_DUCKDB_H

#include <pyrec/error.h>
#include <stddef.h>
#include <stdint.h>

typedef struct conv_duckdb conv_duckdb;           /* one thread at a time */
typedef struct conv_duckdb_rows conv_duckdb_rows; /* dies before its database */

/* Make the database file `path`, and work with `threads` threads and at most
 * 1 GB of memory.  DuckDB loads no extension from the network.  PR_IO with a
 * hint: the library is not installed. */
pr_code conv_duckdb_open(const char *path, int threads, conv_duckdb **ret,
                         pr_err *err);
void conv_duckdb_close(conv_duckdb *duckdb); /* takes NULL */

/* Run one statement; *ret_changed (may be NULL): rows that it inserted. */
pr_code conv_duckdb_run(conv_duckdb *duckdb, const char *sql,
                        uint64_t *ret_changed, pr_err *err);

/* Rows at the end of a table.  The first failure is kept: put() returns it. */
pr_code conv_duckdb_rows_open(conv_duckdb *duckdb, const char *table,
                              conv_duckdb_rows **ret, pr_err *err);
void conv_duckdb_null(conv_duckdb_rows *rows);
void conv_duckdb_integer(conv_duckdb_rows *rows, int64_t value);
void conv_duckdb_text(conv_duckdb_rows *rows, const char *text, size_t n);
pr_code conv_duckdb_put(conv_duckdb_rows *rows, pr_err *err);

/* The rows are in the table once this has returned PR_OK. */
pr_code conv_duckdb_rows_close(conv_duckdb_rows *rows, pr_err *err);

#endif
