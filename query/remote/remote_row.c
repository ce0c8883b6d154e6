/*
 * remote_row.c - values into parameters, rows into tables.
 */
#include "query/remote/remote_row.h"

static pr_code
clear_tables(q_database *database, pr_err *err)
{
    static const char clear[] =
        "DELETE FROM profile; DELETE FROM label; DELETE FROM process;"
        "DELETE FROM thread; DELETE FROM file; DELETE FROM function;"
        "DELETE FROM node_self; DELETE FROM event; DELETE FROM loss;";
    return sqlite3_exec(database->sqlite, clear, NULL, NULL, NULL) == SQLITE_OK
               ? PR_OK
               : pr_no_memory(err);
}

pr_code
q_remote_row_replace(q_database *database,
                     pr_code (*fill)(void *context, pr_err *err), void *context,
                     pr_err *err)
{
    pr_code rc = clear_tables(database, err);
    if (rc == PR_OK)
        rc = q_database_exec(database, "BEGIN", err);
    if (rc != PR_OK)
        return rc;
    rc = fill(context, err);
    pr_code ended =
        q_database_exec(database, "COMMIT", rc == PR_OK ? err : NULL);
    return rc == PR_OK ? ended : rc;
}

pr_code
q_remote_row_ask(q_database *database, const q_engine *engine, void *connection,
                 pr_buffer *sql, const char *text, sqlite3_stmt **insert,
                 pr_take_row take, void *context, pr_err *err)
{
    pr_code rc = sql->failed ? pr_no_memory(err)
                             : q_database_prepare(database, text, insert, err);
    if (rc == PR_OK)
        rc = engine->ask(connection, sql, take, context, err);
    sqlite3_finalize(*insert);
    *insert = NULL;
    pr_buffer_release(sql);
    return rc;
}

pr_code
q_remote_row_fail(pr_err *err)
{
    return PR_FAIL(err, PR_DAMAGED, "a row of the server cannot be");
}

void
q_remote_row_bind_text(sqlite3_stmt *insert, int place, const pr_field *field)
{
    sqlite3_bind_text64(insert, place, field->at, field->len, SQLITE_TRANSIENT,
                        SQLITE_UTF8); /* NULL is bound as such */
}

bool
q_remote_row_bind_number(sqlite3_stmt *insert, int place, const pr_field *field)
{
    int64_t number;
    if (!field->at)
        return sqlite3_bind_null(insert, place) == SQLITE_OK;
    return pr_field_integer(field, &number) &&
           sqlite3_bind_int64(insert, place, number) == SQLITE_OK;
}

pr_code
q_remote_row_put(q_database *database, sqlite3_stmt *insert, pr_err *err)
{
    pr_code rc = q_database_step(database, insert, err);
    sqlite3_reset(insert);
    return rc == PR_END ? PR_OK : rc;
}
