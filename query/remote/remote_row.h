/*
 * remote_row.h - rows of a server into the tables of schema.h that are in the
 * memory of a question.
 */
#ifndef QUERY_REMOTE_REMOTE_ROW_H
#define QUERY_REMOTE_REMOTE_ROW_H

#include "query/database/database.h"
#include "query/remote/engine.h"

#include <base/text_rows.h>

/* Empty all tables that a question fills, and fill them in one transaction. */
pr_code q_remote_row_replace(q_database *database,
                             pr_code (*fill)(void *context, pr_err *err),
                             void *context, pr_err *err);

/* Ask the server `sql`, which is released, and give `take` each row; it finds
 * the statement `text` in *insert, which is NULL again afterwards. */
pr_code q_remote_row_ask(q_database *database, const q_engine *engine,
                         void *connection, pr_buffer *sql, const char *text,
                         sqlite3_stmt **insert, pr_take_row take, void *context,
                         pr_err *err);

/* PR_DAMAGED: a row of the server has impossible values. */
pr_code q_remote_row_fail(pr_err *err);

/* Bind a value, or NULL, to the parameter `place` of the statement. */
void q_remote_row_bind_text(sqlite3_stmt *insert, int place,
                            const pr_field *field);
/* false: it is not a number. */
bool q_remote_row_bind_number(sqlite3_stmt *insert, int place,
                              const pr_field *field);

/* Insert the row, and make the statement ready for the next one. */
pr_code q_remote_row_put(q_database *database, sqlite3_stmt *insert,
                         pr_err *err);

#endif
