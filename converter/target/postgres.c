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

#include "converter/tables/row.h"
#include "converter/tables/tables.h"

#include <sqlite3.h>
#include <string.h>

#define OF_PROFILE " FROM profile AS p CROSS JOIN "

/* A table: its columns, its key, and its rows from the tables of SQLite, which
 * hold one profile, so that ids are numbers within it. */
static const struct table {
    const char *name, *columns, *key, *rows;
} tables[] = {
    {"profile",
     "profile bigint, source text, recording text, host text, command text,"
     " commit_id text, python text, mode text, capture text, time text,"
     " wall_us bigint, start_us bigint, interval_us bigint,"
     " duration_us bigint, samples bigint, weight_us bigint,"
     " unobserved_us bigint, ran_n bigint, ran_us bigint, knows_ran smallint,"
     " knows_cpu smallint, knows_waiting smallint",
     "profile",
     "SELECT hash, source, recording, host, command, commit_id, python, mode,"
     " capture, time, wall_us, start_us, interval_us, duration_us, samples,"
     " weight_us, unobserved_us, ran_n, ran_us, knows_ran, knows_cpu,"
     " knows_waiting FROM profile"},
    {"label", "profile bigint, key text, value text", "profile, key",
     "SELECT p.hash, key, value" OF_PROFILE "label"},
    {"meta", "profile bigint, key text, value text", "profile, key",
     "SELECT p.hash, key, value" OF_PROFILE "meta"},
    {"process",
     "profile bigint, process integer, pid bigint, parent_pid bigint,"
     " command text, python text, t0_us bigint, t1_us bigint",
     "profile, process",
     "SELECT p.hash, o.id, o.pid, o.parent_pid, o.command, o.python, o.t0_us,"
     " o.t1_us" OF_PROFILE "process AS o"},
    {"thread",
     "profile bigint, thread integer, process integer, tid bigint,"
     " interp bigint, name text, is_main smallint, t0_us bigint,"
     " t1_us bigint, samples bigint, weight_us bigint, unobserved_us bigint,"
     " proven bigint, sleeping bigint, unproven bigint, stopped bigint,"
     " lost bigint",
     "profile, thread",
     "SELECT p.hash, o.id, o.process_id, o.tid, o.interp, o.name, o.is_main,"
     " o.t0_us, o.t1_us, o.samples, o.weight_us, o.unobserved_us, o.proven,"
     " o.sleeping, o.unproven, o.stopped, o.lost" OF_PROFILE "thread AS o"},
    {"file", "file bigint, path text, base text, module text, class text",
     "file", "SELECT hash, path, base, module, class FROM file"},
    {"function",
     "function bigint, file bigint, qualname text, name text,"
     " first_line integer, kind text",
     "function",
     "SELECT o.hash, file.hash, qualname, name, first_line, kind"
     " FROM function AS o JOIN file ON file.id = file_id"},
    {"node",
     "profile bigint, node integer, parent integer, last integer,"
     " depth integer, function bigint, line integer, is_first_fn smallint,"
     " is_first_line smallint, is_first_edge smallint",
     "profile, node",
     "SELECT p.hash, o.id, o.parent_id, o.last_id, o.depth, f.hash, o.line,"
     " o.is_first_fn, o.is_first_line, o.is_first_edge" OF_PROFILE
     "node AS o JOIN function AS f ON f.id = o.function_id"},
    {"run",
     "profile bigint, run bigint, thread integer, node integer,"
     " status smallint, t0_us bigint, t1_us bigint, n bigint,"
     " weight_us bigint",
     "profile, run",
     "SELECT p.hash, o.id, o.thread_id, o.node_id, o.status, o.t0_us,"
     " o.t1_us, o.n, o.weight_us" OF_PROFILE "run AS o"},
    {"node_self",
     "profile bigint, number bigint, node integer, thread integer,"
     " status smallint, n bigint, weight_us bigint",
     "profile, number",
     "SELECT p.hash, o.id, o.node_id, o.thread_id, o.status, o.n,"
     " o.weight_us" OF_PROFILE "node_self AS o"},
    {"function_total",
     "profile bigint, function bigint, self_n bigint, self_us bigint,"
     " self_ran_n bigint, self_ran_us bigint, total_n bigint,"
     " total_us bigint, total_ran_n bigint, total_ran_us bigint",
     "profile, function",
     "SELECT p.hash, f.hash, self_n, self_us, self_ran_n, self_ran_us,"
     " total_n, total_us, total_ran_n, total_ran_us" OF_PROFILE
     "function_total JOIN function AS f ON f.id = function_id"},
    {"edge_total",
     "profile bigint, callee bigint, caller bigint, self_n bigint,"
     " self_us bigint, total_n bigint, total_us bigint",
     "profile, callee, caller",
     "SELECT p.hash, f.hash, ifnull(c.hash, 0), self_n, self_us, total_n,"
     " total_us" OF_PROFILE "edge_total JOIN function AS f ON f.id = callee_id"
     " LEFT JOIN function AS c ON c.id = caller_id"},
    {"event",
     "profile bigint, event bigint, process integer, thread integer,"
     " kind text, t0_us bigint, t1_us bigint, detail text",
     "profile, event",
     "SELECT p.hash, o.id, o.process_id, o.thread_id, o.kind, o.t0_us,"
     " o.t1_us, o.detail" OF_PROFILE "event AS o"},
    {"loss",
     "profile bigint, loss bigint, process integer, thread integer,"
     " reason text, n bigint",
     "profile, loss",
     "SELECT p.hash, o.id, o.process_id, o.thread_id, o.reason, o.n" OF_PROFILE
     "loss AS o"},
};
enum { TABLES = sizeof tables / sizeof *tables };

/* Programs that load at once wait for each other here. */
static const char before_tables[] =
    "\\set ON_ERROR_STOP on\n"
    "SET client_encoding = 'UTF8';\n"
    "SET client_min_messages = 'warning';\n"
    "BEGIN;\n"
    "SELECT pg_advisory_xact_lock(1348031045) \\g /dev/null\n"
    "CREATE SCHEMA IF NOT EXISTS pyrec;\n"
    "CREATE TABLE IF NOT EXISTS pyrec.version(version integer PRIMARY KEY);\n"
    "INSERT INTO pyrec.version SELECT 1"
    " WHERE NOT EXISTS (SELECT 1 FROM pyrec.version);\n"
    "DO $$ BEGIN IF (SELECT max(version) FROM pyrec.version) <> 1 THEN\n"
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
    pr_buffer_puts(out, before_tables);
    for (size_t i = 0; i < TABLES; i++)
        pr_buffer_printf(out,
                         "CREATE TABLE IF NOT EXISTS pyrec.%s(%s,"
                         " PRIMARY KEY (%s));\n",
                         tables[i].name, tables[i].columns, tables[i].key);
    pr_buffer_puts(out, views);
}

/* Rows arrive here, so that those that are there already can be left out. */
static void
put_stages(pr_buffer *out)
{
    for (size_t i = 0; i < TABLES; i++)
        pr_buffer_printf(out,
                         "CREATE TEMPORARY TABLE stage_%s (LIKE pyrec.%s)"
                         " ON COMMIT DELETE ROWS;\n",
                         tables[i].name, tables[i].name);
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

/* A hash, the most significant byte first, as a signed number. */
static int64_t
hash_of(const uint8_t *bytes, size_t n)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < n && i < 8; i++)
        hash = hash << 8 | bytes[i];
    return (int64_t)hash;
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
        pr_buffer_i64(out, sqlite3_column_int64(row, column));
        break;
    case SQLITE_BLOB:
        pr_buffer_i64(out, hash_of(sqlite3_column_blob(row, column), n));
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
put_rows(conv_job *job, sqlite3 *database, const struct table *table,
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
    for (size_t i = 0; i < TABLES && rc == PR_OK; i++)
        rc = put_rows(job, database, &tables[i], &text, err);
    for (size_t i = 0; i < TABLES; i++)
        pr_buffer_printf(&text,
                         "INSERT INTO pyrec.%s SELECT * FROM stage_%s"
                         " ORDER BY %s ON CONFLICT DO NOTHING;\n",
                         tables[i].name, tables[i].name, tables[i].key);
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

/* The profile alone in a database in memory. */
static pr_code
write_postgres(conv_job *job, pr_err *err)
{
    sqlite3 *database;
    conv_tables tables_of_one;
    int64_t profile;
    bool added;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK) {
        sqlite3_close(database);
        return pr_no_memory(err);
    }
    pr_code rc = conv_tables_begin(database, &tables_of_one, err);
    if (rc == PR_OK) {
        rc = conv_tables_add(&tables_of_one, job->model, job->source, &profile,
                             &added, &job->names_changed, err);
        pr_code ended = conv_tables_end(&tables_of_one, rc == PR_OK,
                                        rc == PR_OK ? err : NULL);
        rc = rc == PR_OK ? ended : rc;
    }
    if (rc == PR_OK)
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
