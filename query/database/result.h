/*
 * result.h - make the rows of an answer.
 */
#ifndef QUERY_DATABASE_RESULT_H
#define QUERY_DATABASE_RESULT_H

#include "query/database/database.h"

/* Take over stmt and table, also on failure.  `table` is a temp table
 * that lives as long as the result, or NULL; from sqlite3_mprintf().
 * guarded: stmt is of q_database_prepare_guarded(). */
pr_code q_result_new(q_database *database, sqlite3_stmt *stmt, char *table,
                     bool guarded, q_result **ret, pr_err *err);

/* Take over `title`, from sqlite3_mprintf(). */
void q_result_set_title(q_result *result, char *title);
void q_result_set_basis(q_result *result, const q_basis *basis);

/* Copy the comparison; set the lines of q_result_note(), joined by newlines. */
void q_result_set_comparison(q_result *result,
                             const conv_comparison *comparison);
pr_code q_result_set_notes(q_result *result, const char *lines, pr_err *err);

#endif
