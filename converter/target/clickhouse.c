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
#include "converter/tables/tables.h"

#include <base/array.h>
#include <base/clickhouse_http.h>
#include <base/intern.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    BATCH_BYTES = 64 * 1024 * 1024,
    BATCH_PROFILES = 500,
    PROFILE = 0 /* its place among the tables */
};

/* A row of a table that is not of one profile, or a profile. */
typedef struct identity {
    int64_t table, hash;
} identity;

/* A batch on its way, which a thread of its own sends over a connection of its
 * own while the next one is made. */
typedef struct sender {
    pr_clickhouse *server;
    pr_buffer rows[CONV_EXPORT_TABLES];
    pthread_t thread;
    bool runs;
    pr_code code; /* of the latest batch, once its thread has ended */
    pr_err err;
} sender;

/* A node of the profile that is being added. */
typedef struct frame {
    int64_t parent, function; /* the parent's number, or 0; an identity */
} frame;

typedef struct hand_over {
    pr_clickhouse *server;
    uint64_t load;     /* of the next profile */
    size_t profiles;   /* in the batch */
    pr_set had;        /* identities of this hand-over */
    sqlite3 *database; /* all names, and the small tables of one profile */
    conv_tables tables;
    conv_tables_taker taker;
    int64_t profile; /* identity of the one that is being added */
    bool knows_profile;
    conv_row_column column[CONV_EXPORT_TABLES][CONV_ROW_COLUMNS];
    size_t columns[CONV_EXPORT_TABLES];
    pr_buffer rows[CONV_EXPORT_TABLES];
    sender sender;
    frame *frame; /* [n_frames] of the profile: node i is frame[i - 1] */
    size_t n_frames, cap_frames;
    int64_t *path; /* scratch of a stack, innermost first */
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

/* Its rows have the stacks as well. */
static bool
has_stacks(size_t table)
{
    return strcmp(conv_export_tables[table].name, "node_self") == 0;
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
    if (has_stacks(table))
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

/* The large tables: which columns of their rows (schema.h) go where, and which
 * of them are functions. */
static const struct large {
    const char *name;
    size_t n;
    uint8_t at[9];
    unsigned functions;
} large_tables[] = {
    [CONV_NODE] = {"node", 9, {0, 1, 2, 3, 5, 6, 7, 8, 9}, 1u << 4},
    [CONV_RUN] = {"run", 8, {0, 1, 2, 3, 4, 5, 6, 7}, 0},
    [CONV_NODE_SELF] = {"node_self", 6, {0, 1, 2, 3, 4, 5}, 0},
    [CONV_FUNCTION_TOTAL] = {"function_total",
                             9,
                             {1, 2, 3, 4, 5, 6, 7, 8, 9},
                             1},
    [CONV_EDGE_TOTAL] = {"edge_total", 6, {1, 2, 3, 4, 5, 6}, 1 | 2},
};
enum { LARGE_TABLES = sizeof large_tables / sizeof *large_tables };

static size_t
place_of(const char *name)
{
    size_t i = 0;
    while (strcmp(conv_export_tables[i].name, name) != 0)
        i++;
    return i;
}

static bool
is_large(size_t table)
{
    for (size_t i = 0; i < LARGE_TABLES; i++)
        if (strcmp(large_tables[i].name, conv_export_tables[table].name) == 0)
            return true;
    return false;
}

/* The identity of a function's row; 0: of none.  The rows of a new database are
 * numbered from 1. */
static int64_t
function_hash(const hand_over *h, int64_t id)
{
    const uint64_t *hash = h->tables.names.functions.item;
    return id ? (int64_t)hash[id - 1] : 0;
}

/* Columns of the rows of nodes, and of node_self (schema.h). */
enum { NODE = 0, PARENT = 1, FUNCTION = 5, SELF_NODE = 1 };

/* Nodes come in the order of their numbers, from 1, before all that names
 * them. */
static pr_code
keep_node(hand_over *h, const int64_t *row, pr_err *err)
{
    if (row[NODE] == 1)
        h->n_frames = 0;
    if (!pr_grow(&h->frame, &h->cap_frames, h->n_frames + 1, sizeof *h->frame))
        return pr_no_memory(err);
    h->frame[h->n_frames++] =
        (frame){row[PARENT] == CONV_NULL ? 0 : row[PARENT],
                function_hash(h, row[FUNCTION])};
    return PR_OK;
}

/* The functions of the node's stack from the outermost in. */
static pr_code
put_stack(hand_over *h, size_t table, int64_t node, pr_err *err)
{
    size_t depth = 0;
    for (; node > 0; node = h->frame[node - 1].parent) {
        if (!pr_grow(&h->path, &h->cap_path, depth + 1, sizeof *h->path))
            return pr_no_memory(err);
        h->path[depth++] = h->frame[node - 1].function;
    }
    conv_row_put_length(&h->rows[table], depth);
    while (depth)
        conv_row_put_number(&h->rows[table], (uint64_t)h->path[--depth], 8);
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
    pr_code rc =
        of_profile ? PR_OK
                   : meet(h, table, conv_export_integer(row, 0), &is_new, err);
    if (rc != PR_OK || !is_new)
        return rc;
    for (size_t i = 0; i < h->columns[table]; i++) {
        conv_row_put_value(rows, &h->column[table][i], row, (int)i);
        if (i == 0 && of_profile)
            conv_row_put_number(rows, h->load, 8);
    }
    return PR_OK;
}

/* A table by its SELECT. */
static pr_code
put_rows(hand_over *h, size_t table, pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(h->database, conv_export_tables[table].rows, -1,
                           &row, NULL) != SQLITE_OK)
        return conv_sqlite_fail(h->database, err);
    pr_code rc = PR_OK;
    int step;
    while ((step = sqlite3_step(row)) == SQLITE_ROW && rc == PR_OK)
        rc = put_row(h, table, row, err);
    sqlite3_finalize(row);
    if (rc == PR_OK && step != SQLITE_DONE)
        return conv_sqlite_fail(h->database, err);
    return rc == PR_OK && table == PROFILE
               ? put_times(&h->rows[table], h->database, err)
               : rc;
}

static pr_code
read_profile(hand_over *h, pr_err *err)
{
    sqlite3_stmt *row;
    if (sqlite3_prepare_v2(h->database, "SELECT hash FROM profile", -1, &row,
                           NULL) != SQLITE_OK)
        return conv_sqlite_fail(h->database, err);
    int step = sqlite3_step(row);
    h->profile = step == SQLITE_ROW ? conv_export_integer(row, 0) : 0;
    h->knows_profile = step == SQLITE_ROW;
    sqlite3_finalize(row);
    return step == SQLITE_ROW ? PR_OK : conv_sqlite_fail(h->database, err);
}

static pr_code
put_large_row(hand_over *h, conv_large which, size_t table, const int64_t *row,
              pr_err *err)
{
    const struct large *l = &large_tables[which];
    pr_buffer *rows = &h->rows[table];
    conv_row_put_number(rows, (uint64_t)h->profile, 8);
    conv_row_put_number(rows, h->load, 8);
    for (size_t i = 0; i < l->n; i++) {
        int64_t value = row[l->at[i]];
        bool function = l->functions >> i & 1;
        conv_row_put_column(rows, &h->column[table][i + 1],
                            function ? function_hash(h, value) : value);
    }
    if (which == CONV_NODE)
        return keep_node(h, row, err);
    return which == CONV_NODE_SELF ? put_stack(h, table, row[SELF_NODE], err)
                                   : PR_OK;
}

/* conv_tables_taker: rows that SQLite never sees. */
static pr_code
take_large(void *context, conv_large which, conv_rows_next next, void *rows,
           pr_err *err)
{
    hand_over *h = context;
    size_t table = place_of(large_tables[which].name);
    int64_t row[CONV_ROWS_COLUMNS];
    pr_code rc = h->knows_profile ? PR_OK : read_profile(h, err);
    while (rc == PR_OK && next(rows, row))
        rc = put_large_row(h, which, table, row, err);
    return rc;
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

static void
send_rows(sender *s, size_t table)
{
    pr_buffer *rows = &s->rows[table];
    if (s->code == PR_OK && rows->failed)
        s->code = pr_no_memory(&s->err);
    if (s->code == PR_OK && rows->len)
        s->code = pr_clickhouse_insert(
            s->server, conv_export_tables[table].name, rows, &s->err);
    pr_buffer_reset(rows);
}

/* H2 */
static void *
send_all(void *context)
{
    sender *s = context;
    for (size_t i = 1; i < CONV_EXPORT_TABLES; i++)
        send_rows(s, i);
    send_rows(s, PROFILE);
    return NULL;
}

/* Waits for the batch that is on its way, and returns what became of it. */
static pr_code
wait_for_batch(sender *s, pr_err *err)
{
    if (s->runs)
        pthread_join(s->thread, NULL);
    s->runs = false;
    if (s->code != PR_OK && err && err->code == PR_OK)
        *err = s->err;
    return s->code;
}

/* The names of a batch are those that are new in the database. */
static pr_code
send_batch(hand_over *h, pr_err *err)
{
    sender *s = &h->sender;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < CONV_EXPORT_TABLES && rc == PR_OK; i++)
        if (!is_of_profile(i))
            rc = put_rows(h, i, err);
    if (rc == PR_OK)
        rc = wait_for_batch(s, err);
    if (rc != PR_OK)
        return rc;
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++) {
        pr_buffer sent = s->rows[i];
        s->rows[i] = h->rows[i];
        h->rows[i] = sent;
    }
    h->profiles = 0;
    s->runs = pthread_create(&s->thread, NULL, send_all, s) == 0;
    if (!s->runs)
        send_all(s);
    return PR_OK;
}

/* ---- a profile ---- */

/* H3: *ret: neither the server nor this hand-over has it. */
static pr_code
is_missing(hand_over *h, bool *ret, pr_err *err)
{
    char sql[100];
    int64_t there = 0;
    pr_code rc = meet(h, PROFILE, h->profile, ret, err);
    if (rc != PR_OK || !*ret)
        return rc;
    snprintf(sql, sizeof sql,
             "SELECT count() FROM profile WHERE profile = %lld",
             (long long)h->profile);
    rc = ask_number(h, sql, &there, err);
    *ret = there == 0;
    return rc;
}

/* The database keeps the names alone; rows are numbered from 1 again. */
static pr_code
forget_profile(hand_over *h, pr_err *err)
{
    static const char sql[] = "DELETE FROM profile; DELETE FROM label;"
                              "DELETE FROM meta; DELETE FROM process;"
                              "DELETE FROM thread; DELETE FROM event;"
                              "DELETE FROM task; DELETE FROM task_parent;"
                              "DELETE FROM loss;";
    conv_tables *t = &h->tables;
    t->profile = t->process = t->thread = t->node = t->run = t->node_self = 0;
    t->event = t->task = t->loss = 0;
    h->knows_profile = false;
    return sqlite3_exec(h->database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? PR_OK
               : conv_sqlite_fail(h->database, err);
}

/* The rows of a profile that is there already are taken back. */
static pr_code
add_profile(hand_over *h, conv_job *job, pr_err *err)
{
    size_t len[CONV_EXPORT_TABLES];
    int64_t id;
    bool added, missing = false;
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++)
        len[i] = h->rows[i].len;
    pr_code rc = conv_tables_add(&h->tables, job->model, job->source, &id,
                                 &added, &job->names_changed, err);
    if (rc == PR_OK && !h->knows_profile)
        rc = read_profile(h, err);
    if (rc == PR_OK)
        rc = is_missing(h, &missing, err);
    for (size_t i = 0; i < CONV_EXPORT_TABLES && rc == PR_OK && missing; i++)
        if (is_of_profile(i) && !is_large(i))
            rc = put_rows(h, i, err);
    for (size_t i = 0; i < CONV_EXPORT_TABLES && !missing; i++)
        h->rows[i].len = len[i];
    job->there += rc == PR_OK && !missing;
    h->load += missing;
    h->profiles += missing;
    return rc == PR_OK ? forget_profile(h, err) : rc;
}

/* ---- the target ---- */

static void
release(hand_over *h)
{
    wait_for_batch(&h->sender, NULL);
    pr_clickhouse_close(h->server);
    pr_clickhouse_close(h->sender.server);
    for (size_t i = 0; i < CONV_EXPORT_TABLES; i++) {
        pr_buffer_release(&h->rows[i]);
        pr_buffer_release(&h->sender.rows[i]);
    }
    if (h->tables.database)
        conv_tables_end(&h->tables, false, NULL);
    sqlite3_close(h->database);
    pr_set_release(&h->had);
    free(h->frame);
    free(h->path);
    free(h);
}

static pr_code
open_memory(hand_over *h, pr_err *err)
{
    if (sqlite3_open(":memory:", &h->database) != SQLITE_OK)
        return pr_no_memory(err);
    h->taker = (conv_tables_taker){take_large, h};
    pr_code rc = conv_tables_begin(h->database, &h->tables, err);
    h->tables.taker = &h->taker;
    return rc;
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
        rc = pr_clickhouse_open(job->into, NULL, &h->sender.server, err);
    if (rc == PR_OK)
        rc = prepare_tables(h, err);
    if (rc == PR_OK)
        rc = open_memory(h, err);
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
    pr_code rc = add_profile(h, job, err);
    bool full = batch_bytes(h) >= BATCH_BYTES || h->profiles >= BATCH_PROFILES;
    return rc == PR_OK && full ? send_batch(h, err) : rc;
}

static pr_code
end_clickhouse(conv_job *job, bool keep, pr_err *err)
{
    hand_over *h = job->state;
    pr_code rc = keep ? send_batch(h, err) : PR_OK;
    if (rc == PR_OK)
        rc = wait_for_batch(&h->sender, keep ? err : NULL);
    release(h);
    job->state = NULL;
    return rc;
}

const conv_target conv_clickhouse = {
    .info = {"clickhouse", "", "the tables in a server (spec/fleet.md 7)",
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
