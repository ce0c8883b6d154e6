/*
 * postgres.c - a script for psql: the tables of spec/postgres.sql, and each
 * profile's rows by COPY.
 *
 * Keys are content hashes (spec/schema.md 1.2) and numbers within a profile, so
 * that the scripts of many machines unite in one database in any order, and a
 * profile that is loaded twice is there once.  Each profile is one transaction:
 * a load that was interrupted is finished by repeating it.  Names are data of
 * COPY, in its text format, and never part of a statement.
 */
#include "converter/target/table.h"

#include "converter/tables/export.h"
#include "converter/tables/row.h"

#include <sqlite3.h>
#include <string.h>

/* Programs that load at once wait for each other here. */
static const char before_tables[] =
    "\\set ON_ERROR_STOP on\n"
    "SET client_encoding = 'UTF8';\n"
    "SET client_min_messages = 'warning';\n"
    "BEGIN;\n"
    "SELECT pg_advisory_xact_lock(1348031045) \\g /dev/null\n"
    "CREATE SCHEMA IF NOT EXISTS pyrec;\n"
    "CREATE TABLE IF NOT EXISTS pyrec.version(version integer PRIMARY KEY);\n"
    "INSERT INTO pyrec.version SELECT %d"
    " WHERE NOT EXISTS (SELECT 1 FROM pyrec.version);\n"
    "DO $$ BEGIN IF (SELECT max(version) FROM pyrec.version) <> %d THEN\n"
    "RAISE EXCEPTION 'the tables of schema pyrec have another version';\n"
    "END IF; END $$;\n";

static const char views[] =
    "CREATE OR REPLACE VIEW pyrec.functions AS SELECT profile, function AS"
    " function_hash, qualname AS function, path AS file, first_line AS line,"
    " module, class, kind, self_n AS self_samples, self_us / 1e6 AS self_s,"
    " self_ran_n AS self_ran_samples, self_ran_us / 1e6 AS self_ran_s,"
    " total_n AS total_samples, total_us / 1e6 AS total_s"
    " FROM pyrec.function_total JOIN pyrec.function USING (function)"
    " JOIN pyrec.file USING (file);\n"
    "CREATE OR REPLACE VIEW pyrec.callers AS SELECT profile,"
    " f.qualname AS function, c.qualname AS caller, cf.path AS file, self_n"
    " AS self_samples, total_n AS total_samples, total_us / 1e6 AS total_s"
    " FROM pyrec.edge_total AS e JOIN pyrec.function AS f"
    " ON f.function = callee LEFT JOIN pyrec.function AS c"
    " ON c.function = caller LEFT JOIN pyrec.file AS cf ON cf.file = c.file;\n"
    "COMMIT;\n";

/* ---- statements ---- */

static void
put_tables(pr_buffer *out)
{
    pr_buffer_printf(out, before_tables, CONV_EXPORT_VERSION,
                     CONV_EXPORT_VERSION);
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        pr_buffer_printf(out,
                         "CREATE TABLE IF NOT EXISTS pyrec.%s(%s,"
                         " PRIMARY KEY (%s));\n",
                         conv_export_tables[i].name,
                         conv_export_tables[i].columns,
                         conv_export_tables[i].key);
    pr_buffer_puts(out, views);
}

/* Rows arrive here, so that those that are there already can be left out. */
static void
put_stages(pr_buffer *out)
{
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        pr_buffer_printf(out,
                         "CREATE TEMPORARY TABLE stage_%s (LIKE pyrec.%s)"
                         " ON COMMIT DELETE ROWS;\n",
                         conv_export_tables[i].name,
                         conv_export_tables[i].name);
}

/* ---- rows ---- */

/* COPY's text format (PostgreSQL 15, "COPY"): a backslash and the bytes that
 * end a column or a row are escaped; so no name is its end mark "\\.". */
static void
put_text(pr_buffer *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (text[i]) {
        case '\\':
            pr_buffer_puts(out, "\\\\");
            break;
        case '\t':
            pr_buffer_puts(out, "\\t");
            break;
        case '\n':
            pr_buffer_puts(out, "\\n");
            break;
        case '\r':
            pr_buffer_puts(out, "\\r");
            break;
        default:
            pr_buffer_char(out, text[i]);
        }
}

static void
put_value(pr_buffer *out, sqlite3_stmt *row, int column)
{
    size_t n = (size_t)sqlite3_column_bytes(row, column);
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        pr_buffer_puts(out, "\\N");
        break;
    case SQLITE_INTEGER:
    case SQLITE_BLOB:
        pr_buffer_i64(out, conv_export_integer(row, column));
        break;
    default:
        put_text(out, (const char *)sqlite3_column_text(row, column), n);
    }
}

static void
flush(conv_job *job, pr_buffer *text)
{
    conv_out_write(job->out, text->at, text->len);
    pr_buffer_reset(text);
}

static pr_code
put_rows(conv_job *job, sqlite3 *database, const conv_export_table *table,
         pr_buffer *text, pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database, table->rows, -1, &row, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_buffer_printf(text, "COPY stage_%s FROM stdin;\n", table->name);
    int step;
    while ((step = sqlite3_step(row)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(row); i++) {
            if (i)
                pr_buffer_char(text, '\t');
            put_value(text, row, i);
        }
        pr_buffer_char(text, '\n');
        flush(job, text);
    }
    pr_buffer_puts(text, "\\.\n");
    sqlite3_finalize(row);
    return step == SQLITE_DONE ? PR_OK : conv_sqlite_fail(database, err);
}

/* In order of the key, so that two loads never wait for each other in turn. */
static pr_code
put_profile(conv_job *job, sqlite3 *database, pr_err *err)
{
    pr_buffer text = {0};
    pr_code rc = PR_OK;
    pr_buffer_puts(&text, "BEGIN;\n");
    for (size_t i = 0; i < CONV_EXPORT_TABLES && rc == PR_OK; i++)
        rc = put_rows(job, database, &conv_export_tables[i], &text, err);
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        pr_buffer_printf(&text,
                         "INSERT INTO pyrec.%s SELECT * FROM stage_%s"
                         " ORDER BY %s ON CONFLICT DO NOTHING;\n",
                         conv_export_tables[i].name, conv_export_tables[i].name,
                         conv_export_tables[i].key);
    pr_buffer_puts(&text, "COMMIT;\n");
    if (rc == PR_OK && text.failed)
        rc = pr_no_memory(err);
    flush(job, &text);
    pr_buffer_release(&text);
    return rc;
}

/* ---- the target ---- */

static pr_code
begin_postgres(conv_job *job, pr_err *err)
{
    pr_buffer text = {0};
    put_tables(&text);
    put_stages(&text);
    pr_code rc = text.failed ? pr_no_memory(err) : PR_OK;
    flush(job, &text);
    pr_buffer_release(&text);
    return rc;
}

static pr_code
write_postgres(conv_job *job, pr_err *err)
{
    sqlite3 *database;
    pr_code rc = conv_export_open(job->model, job->source, &job->names_changed,
                                  &database, err);
    if (rc != PR_OK)
        return rc;
    rc = put_profile(job, database, err);
    sqlite3_close(database);
    return rc;
}

static pr_code
end_postgres(conv_job *job, bool keep, pr_err *err)
{
    (void)job;
    (void)keep;
    (void)err;
    return PR_OK;
}

const conv_target conv_postgres = {
    .info = {"postgres", ".sql",
             "a script that loads the tables into PostgreSQL", "psql"},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .write = write_postgres,
    .begin = begin_postgres,
    .end = end_postgres,
};
