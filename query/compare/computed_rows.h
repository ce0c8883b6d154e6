/*
 * computed_rows.h - an answer whose rows pyquery has computed.
 */
#ifndef QUERY_COMPARE_COMPUTED_ROWS_H
#define QUERY_COMPARE_COMPUTED_ROWS_H

#include "query/database/result.h"

typedef struct q_rows {
    q_database *database;
    sqlite3_stmt *insert;
    char *table;
    int column; /* the next one of the row that is being made */
    pr_code failed;
    bool begun; /* a transaction of its own */
} q_rows;

/* Begin the rows.  columns: "place, verdict, function", names that need no
 * quotes in SQL. */
pr_code q_rows_begin(q_database *database, const char *columns, q_rows *ret,
                     pr_err *err);

/* Put the next value of a row. */
void q_rows_text(q_rows *rows, const char *at, size_t len); /* NULL: none */
void q_rows_integer(q_rows *rows, int64_t value);
void q_rows_real(q_rows *rows, double value); /* NAN: none; infinite: none */
pr_code q_rows_end_row(q_rows *rows, pr_err *err);

/* The answer of `select`, a statement with the table's name at its %s. */
pr_code q_rows_finish(q_rows *rows, const char *select, char *title,
                      q_result **ret, pr_err *err);
void q_rows_release(q_rows *rows); /* of rows that are not finished */

#endif
