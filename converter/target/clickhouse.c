/*
 * clickhouse.c - a hand-over to ClickHouse: the tables of spec/clickhouse.sql,
 * and the rows of profiles in batches, by HTTP in RowBinary.
 *
 * H1  Each profile has a number of its own in each hand-over, its load; rows
 *     carry it, and only those whose load is in the table `profile` count.
 * H2  The rows of `profile` are the last of a batch.  So a hand-over that was
 *     interrupted leaves rows that count for nothing, and repeating it
 *     finishes it.
 * H3  A profile that the server has is left out.  Where two hand-overs of it
 *     meet, the greater load counts.
 */
#include "converter/target/row_binary.h"
#include "converter/target/table.h"

#include "converter/tables/export.h"
#include "converter/tables/row.h"

#include <base/array.h>
#include <base/clickhouse_http.h>
#include <base/intern.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    BATCH_BYTES = 32 * 1024 * 1024,
    BATCH_PROFILES = 500,
    PROFILE = 0 /* its place among the tables */
};

/* A row of a table that is not of one profile, or a profile. */
typedef struct identity {
    int64_t table, hash;
} identity;

typedef struct hand_over {
    pr_clickhouse *server;
    uint64_t load;   /* of the next profile */
    size_t profiles; /* in the batch */
    pr_set had;      /* identities of this hand-over */
    conv_row_column column[CONV_EXPORT_TABLES][CONV_ROW_COLUMNS];
    size_t columns[CONV_EXPORT_TABLES];
    pr_buffer rows[CONV_EXPORT_TABLES];
    int64_t *path; /* functions of the stack of the latest node */
    size_t cap_path;
} hand_over;

/* *ret_new: this hand-over has met it for the first time. */
static pr_code
meet(hand_over *h, size_t table, int64_t hash, bool *ret_new, pr_err *err)
{
    const identity met = {(int64_t)table, hash};
    size_t had = h->had.n;
    uint32_t place;
    pr_code rc = pr_set_add(&h->had, &met, &place, err);
    *ret_new = h->had.n > had;
    return rc;
}

/* ---- the tables ---- */

static bool
is_of_profile(size_t table)
{
    return strncmp(conv_export_tables[table].columns, "profile ", 8) == 0;
}

static bool
is_of_nodes(size_t table)
{
    return strcmp(conv_export_tables[table].name, "node") == 0;
}

/* Rows of one load lie together, in the order of their key. */
static void
put_order(const conv_export_table *t, bool of_profile, pr_buffer *sql)
{
    const char *rest = t->key + strcspn(t->key, ",");
    if (of_profile && *rest)
        pr_buffer_printf(sql, "MergeTree() ORDER BY (load%s)", rest);
    else
        pr_buffer_printf(sql, "ReplacingMergeTree(%s) ORDER BY %s",
                         of_profile ? "load" : "", t->key);
}

static void
put_table(const hand_over *h, size_t table, pr_buffer *sql)
{
    const conv_export_table *t = &conv_export_tables[table];
    pr_buffer_printf(sql, "CREATE TABLE IF NOT EXISTS %s(", t->name);
    for (size_t i = 0; i < h->columns[table]; i++) {
        const conv_row_column *column = &h->column[table][i];
        pr_buffer_printf(sql, "%s%.*s ", i ? ", " : "", (int)column->name_len,
                         t->columns + column->name);
        conv_row_put_type(sql, column);
        if (i == 0 && is_of_profile(table))
            pr_buffer_puts(sql, ", load UInt64");
    }
    if (table == PROFILE)
        pr_buffer_puts(sql, ", t0_us Int64, t1_us Int64");
    if (is_of_nodes(table))
        pr_buffer_puts(sql, ", stack Array(Int64)");
    pr_buffer_puts(sql, ") ENGINE = ");
    put_order(t, is_of_profile(table), sql);
}

static pr_code
run_statement(hand_over *h, pr_buffer *sql, pr_err *err)
{
    pr_code rc = sql->failed ? pr_no_memory(err)
                             : pr_clickhouse_ask(h->server, sql->at, sql->len,
                                                 NULL, NULL, err);
    pr_buffer_reset(sql);
    return rc;
}

/* The view of the version is the last: where it is, all tables are. */
static pr_code
make_tables(hand_over *h, pr_err *err)
{
    pr_buffer sql = {0};
    pr_code rc = PR_OK;
    for (size_t i = 0; i < CONV_EXPORT_TABLES && rc == PR_OK; i++) {
        put_table(h, i, &sql);
        rc = run_statement(h, &sql, err);
    }
    if (rc == PR_OK) {
        pr_buffer_printf(&sql,
                         "CREATE VIEW IF NOT EXISTS version AS SELECT"
                         " toInt32(%d) AS version",
                         CONV_EXPORT_VERSION);
        rc = run_statement(h, &sql, err);
    }
    pr_buffer_release(&sql);
    return rc;
}

/* The number in the last row of an answer. */
static pr_code
take_number(void *context, const pr_field *field, size_t n, pr_err *err)
{
    return n == 1 && pr_field_integer(field, context)
               ? PR_OK
               : PR_FAIL(err, PR_DAMAGED,
                         "the server's answer is not a number");
}

static pr_code
ask_number(hand_over *h, const char *sql, int64_t *ret, pr_err *err)
{
    *ret = 0;
    return pr_clickhouse_ask(h->server, sql, strlen(sql), take_number, ret,
                             err);
}

static pr_code
prepare_tables(hand_over *h, pr_err *err)
{
    int64_t number = 0;
    pr_code rc = ask_number(h, "EXISTS TABLE version", &number, err);
    if (rc == PR_OK && !number)
        rc = make_tables(h, err);
    if (rc == PR_OK)
        rc = ask_number(h, "SELECT version FROM version", &number, err);
    if (rc != PR_OK || number == CONV_EXPORT_VERSION)
        return rc;
    PR_FAIL(err, PR_NEWER,
            "the server's tables have version %lld, this program knows %d",
            (long long)number, CONV_EXPORT_VERSION);
    pr_err_hint(err, "hand over to another database");
    return PR_NEWER;
}

/* ---- rows ---- */

/* The functions of the node's stack from the outermost in: rows come in
 * pre-order, so that those above it are the path of the one before. */
static pr_code
put_stack(hand_over *h, size_t table, sqlite3_stmt *row, pr_err *err)
{
    enum { DEPTH = 4, FUNCTION = 5 };
    size_t depth = (size_t)sqlite3_column_int64(row, DEPTH);
    if (!pr_grow(&h->path, &h->cap_path, depth, sizeof *h->path))
        return pr_no_memory(err);
    h->path[depth - 1] = conv_export_integer(row, FUNCTION);
    conv_row_put_length(&h->rows[table], depth);
    for (size_t i = 0; i < depth; i++)
        conv_row_put_number(&h->rows[table], (uint64_t)h->path[i], 8);
    return PR_OK;
}

/* When the first and the last sample of the profile were, for ranges. */
static pr_code
put_times(pr_buffer *rows, sqlite3 *database, pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database,
                           "SELECT ifnull(min(t0_us), 0), ifnull(max(t1_us), 0)"
                           " FROM thread",
                           -1, &row, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    int step = sqlite3_step(row);
    for (int i = 0; i < 2; i++)
        conv_row_put_number(rows, (uint64_t)sqlite3_column_int64(row, i), 8);
    sqlite3_finalize(row);
    return step == SQLITE_ROW ? PR_OK : conv_sqlite_fail(database, err);
}

static pr_code
put_row(hand_over *h, size_t table, sqlite3_stmt *row, pr_err *err)
{
    bool of_profile = is_of_profile(table), is_new = true;
    pr_buffer *rows = &h->rows[table];
    pr_code rc = PR_OK;
    if (!of_profile) {
        rc = meet(h, table, conv_export_integer(row, 0), &is_new, err);
    }
    if (rc != PR_OK || !is_new)
        return rc;
    for (size_t i = 0; i < h->columns[table]; i++) {
        conv_row_put_value(rows, &h->column[table][i], row, (int)i);
        if (i == 0 && of_profile)
            conv_row_put_number(rows, h->load, 8);
    }
    return is_of_nodes(table) ? put_stack(h, table, row, err) : PR_OK;
}

static pr_code
put_rows(hand_over *h, size_t table, sqlite3 *database, pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database, conv_export_tables[table].rows, -1, &row,
                           NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_code rc = PR_OK;
    int step;
    while ((step = sqlite3_step(row)) == SQLITE_ROW && rc == PR_OK)
        rc = put_row(h, table, row, err);
    sqlite3_finalize(row);
    if (rc == PR_OK && step != SQLITE_DONE)
        return conv_sqlite_fail(database, err);
    return rc == PR_OK && table == PROFILE
               ? put_times(&h->rows[table], database, err)
               : rc;
}

/* ---- batches ---- */

static size_t
batch_bytes(const hand_over *h)
{
    size_t bytes = 0;
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        bytes += h->rows[i].len;
    return bytes;
}

/* H2 */
static pr_code
send_batch(hand_over *h, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 1; i <= CONV_EXPORT_TABLES && rc == PR_OK; i++) {
        size_t table = i % CONV_EXPORT_TABLES;
        pr_buffer *rows = &h->rows[table];
        if (rows->failed)
            return pr_no_memory(err);
        if (rows->len)
            rc = pr_clickhouse_insert(h->server, conv_export_tables[table].name,
                                      rows, err);
        pr_buffer_reset(rows);
    }
    h->profiles = 0;
    return rc;
}

/* ---- a profile ---- */

static pr_code
read_hash(sqlite3 *database, int64_t *ret, pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(database, "SELECT hash FROM profile", -1, &row,
                           NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    int step = sqlite3_step(row);
    if (step == SQLITE_ROW)
        *ret = conv_export_integer(row, 0);
    sqlite3_finalize(row);
    return step == SQLITE_ROW ? PR_OK : conv_sqlite_fail(database, err);
}

/* H3: *ret: neither the server nor this hand-over has it. */
static pr_code
is_missing(hand_over *h, int64_t hash, bool *ret, pr_err *err)
{
    char sql[100];
    int64_t there = 0;
    pr_code rc = meet(h, PROFILE, hash, ret, err);
    if (rc != PR_OK || !*ret)
        return rc;
    snprintf(sql, sizeof sql,
             "SELECT count() FROM profile WHERE profile = %lld",
             (long long)hash);
    rc = ask_number(h, sql, &there, err);
    *ret = there == 0;
    return rc;
}

static pr_code
add_profile(hand_over *h, sqlite3 *database, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; i < CONV_EXPORT_TABLES && rc == PR_OK; i++)
        rc = put_rows(h, i, database, err);
    h->load++;
    h->profiles++;
    bool full = batch_bytes(h) >= BATCH_BYTES || h->profiles >= BATCH_PROFILES;
    return rc == PR_OK && full ? send_batch(h, err) : rc;
}

/* ---- the target ---- */

static void
release(hand_over *h)
{
    pr_clickhouse_close(h->server);
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        pr_buffer_release(&h->rows[i]);
    pr_set_release(&h->had);
    free(h->path);
    free(h);
}

static pr_code
begin_clickhouse(conv_job *job, pr_err *err)
{
    hand_over *h = calloc(1, sizeof *h);
    if (!h)
        return pr_no_memory(err);
    h->had.size = sizeof(identity);
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        h->columns[i] =
            conv_row_columns(conv_export_tables[i].columns,
                             conv_export_tables[i].nullable, h->column[i]);
    pr_code rc = pr_clickhouse_open(job->into, NULL, &h->server, err);
    if (rc == PR_OK &&
        getrandom(&h->load, sizeof h->load, 0) != (ssize_t)sizeof h->load)
        rc = PR_FAIL(err, PR_IO, "the system gives no random number");
    if (rc == PR_OK)
        rc = prepare_tables(h, err);
    if (rc == PR_OK)
        job->state = h;
    else
        release(h);
    return rc;
}

static pr_code
write_clickhouse(conv_job *job, pr_err *err)
{
    hand_over *h = job->state;
    sqlite3 *database;
    int64_t hash = 0;
    bool missing = false;
    pr_code rc = conv_export_open(job->model, job->source, &job->names_changed,
                                  &database, err);
    if (rc != PR_OK)
        return rc;
    rc = read_hash(database, &hash, err);
    if (rc == PR_OK)
        rc = is_missing(h, hash, &missing, err);
    if (rc == PR_OK && missing)
        rc = add_profile(h, database, err);
    job->there += rc == PR_OK && !missing;
    sqlite3_close(database);
    return rc;
}

static pr_code
end_clickhouse(conv_job *job, bool keep, pr_err *err)
{
    hand_over *h = job->state;
    pr_code rc = keep ? send_batch(h, err) : PR_OK;
    release(h);
    job->state = NULL;
    return rc;
}

const conv_target conv_clickhouse = {
    .info = {"clickhouse", "", "the tables in a server (spec/fleet.md 6)",
             "pyquery, clickhouse-client", .adds = 1,
             .address = "clickhouse://HOST[:PORT]/DATABASE"},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .is_address = pr_clickhouse_is_address,
    .write = write_clickhouse,
    .begin = begin_clickhouse,
    .end = end_clickhouse,
};
