/*
 * export.c - the tables for other engines: columns, keys, and the statements
 * that read their rows from the tables of one profile (export.h).
 */
#include "converter/tables/export.h"

#include "converter/tables/row.h"
#include "converter/tables/tables.h"

#include <sqlite3.h>

#define OF_PROFILE " FROM profile AS p CROSS JOIN "

/* Ids of a database that holds one profile are numbers within it. */
const conv_export_table conv_export_tables[CONV_EXPORT_TABLES] = {
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
     " knows_waiting FROM profile",
     "source, recording, host, command, commit_id, python, wall_us, start_us"},
    {"label", "profile bigint, key text, value text", "profile, key",
     "SELECT p.hash, key, value" OF_PROFILE "label", ""},
    {"meta", "profile bigint, key text, value text", "profile, key",
     "SELECT p.hash, key, value" OF_PROFILE "meta", "value"},
    {"process",
     "profile bigint, process integer, pid bigint, parent_pid bigint,"
     " command text, python text, t0_us bigint, t1_us bigint,"
     " cgroup_periods bigint, cgroup_throttled bigint, throttled_us bigint",
     "profile, process",
     "SELECT p.hash, o.id, o.pid, o.parent_pid, o.command, o.python, o.t0_us,"
     " o.t1_us, o.cgroup_periods, o.cgroup_throttled, o.throttled_us" OF_PROFILE
     "process AS o",
     "pid, parent_pid, command, python, t0_us, t1_us, cgroup_periods,"
     " cgroup_throttled, throttled_us"},
    {"thread",
     "profile bigint, thread integer, process integer, tid bigint,"
     " interp bigint, name text, is_main smallint, t0_us bigint,"
     " t1_us bigint, samples bigint, weight_us bigint, unobserved_us bigint,"
     " proven bigint, sleeping bigint, unproven bigint, stopped bigint,"
     " lost bigint, left_out bigint, cpu_us bigint, cpu_wait_us bigint,"
     " gil_wait_us bigint, switches_voluntary bigint,"
     " switches_involuntary bigint",
     "profile, thread",
     "SELECT p.hash, o.id, o.process_id, o.tid, o.interp, o.name, o.is_main,"
     " o.t0_us, o.t1_us, o.samples, o.weight_us, o.unobserved_us, o.proven,"
     " o.sleeping, o.unproven, o.stopped, o.lost, o.left_out, o.cpu_us,"
     " o.cpu_wait_us, o.gil_wait_us, o.switches_voluntary,"
     " o.switches_involuntary" OF_PROFILE "thread AS o",
     "name, t0_us, t1_us, proven, sleeping, unproven, stopped, lost, left_out,"
     " cpu_us, cpu_wait_us, gil_wait_us, switches_voluntary,"
     " switches_involuntary"},
    {"file", "file bigint, path text, base text, module text, class text",
     "file", "SELECT hash, path, base, module, class FROM file", "module"},
    {"function",
     "function bigint, file bigint, qualname text, name text,"
     " first_line integer, kind text",
     "function",
     "SELECT o.hash, file.hash, qualname, name, first_line, kind"
     " FROM function AS o JOIN file ON file.id = file_id",
     "first_line"},
    {"node",
     "profile bigint, node integer, parent integer, last integer,"
     " depth integer, function bigint, line integer, is_first_fn smallint,"
     " is_first_line smallint, is_first_edge smallint",
     "profile, node",
     "SELECT p.hash, o.id, o.parent_id, o.last_id, o.depth, f.hash, o.line,"
     " o.is_first_fn, o.is_first_line, o.is_first_edge" OF_PROFILE
     "node AS o JOIN function AS f ON f.id = o.function_id",
     "parent, line"},
    {"run",
     "profile bigint, run bigint, thread integer, node integer,"
     " status smallint, t0_us bigint, t1_us bigint, n bigint,"
     " weight_us bigint",
     "profile, run",
     "SELECT p.hash, o.id, o.thread_id, o.node_id, o.status, o.t0_us,"
     " o.t1_us, o.n, o.weight_us" OF_PROFILE "run AS o",
     ""},
    {"node_self",
     "profile bigint, number bigint, node integer, thread integer,"
     " status smallint, n bigint, weight_us bigint",
     "profile, number",
     "SELECT p.hash, o.id, o.node_id, o.thread_id, o.status, o.n,"
     " o.weight_us" OF_PROFILE "node_self AS o",
     ""},
    {"function_total",
     "profile bigint, function bigint, self_n bigint, self_us bigint,"
     " self_ran_n bigint, self_ran_us bigint, total_n bigint,"
     " total_us bigint, total_ran_n bigint, total_ran_us bigint",
     "profile, function",
     "SELECT p.hash, f.hash, self_n, self_us, self_ran_n, self_ran_us,"
     " total_n, total_us, total_ran_n, total_ran_us" OF_PROFILE
     "function_total JOIN function AS f ON f.id = function_id",
     ""},
    {"edge_total",
     "profile bigint, callee bigint, caller bigint, self_n bigint,"
     " self_us bigint, total_n bigint, total_us bigint",
     "profile, callee, caller",
     "SELECT p.hash, f.hash, ifnull(c.hash, 0), self_n, self_us, total_n,"
     " total_us" OF_PROFILE "edge_total JOIN function AS f ON f.id = callee_id"
     " LEFT JOIN function AS c ON c.id = caller_id",
     ""},
    {"event",
     "profile bigint, event bigint, process integer, thread integer,"
     " kind text, t0_us bigint, t1_us bigint, detail text",
     "profile, event",
     "SELECT p.hash, o.id, o.process_id, o.thread_id, o.kind, o.t0_us,"
     " o.t1_us, o.detail" OF_PROFILE "event AS o",
     "thread, detail"},
    {"loss",
     "profile bigint, loss bigint, process integer, thread integer,"
     " reason text, n bigint",
     "profile, loss",
     "SELECT p.hash, o.id, o.process_id, o.thread_id, o.reason, o.n" OF_PROFILE
     "loss AS o",
     "thread"},
};

/* A hash, the most significant byte first, as a signed number. */
static int64_t
hash_of(const uint8_t *bytes, size_t n)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < n && i < 8; i++)
        hash = hash << 8 | bytes[i];
    return (int64_t)hash;
}

int64_t
conv_export_integer(sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) != SQLITE_BLOB)
        return sqlite3_column_int64(row, column);
    size_t n = (size_t)sqlite3_column_bytes(row, column);
    return hash_of(sqlite3_column_blob(row, column), n);
}

pr_code
conv_export_open(const conv_model *model, const char *source,
                 uint64_t *names_changed, sqlite3 **ret, pr_err *err)
{
    sqlite3 *database;
    conv_tables tables;
    int64_t profile;
    bool added;
    if (sqlite3_open(":memory:", &database) != SQLITE_OK) {
        sqlite3_close(database);
        return pr_no_memory(err);
    }
    pr_code rc = conv_tables_begin(database, &tables, err);
    if (rc == PR_OK) {
        rc = conv_tables_add(&tables, model, source, &profile, &added,
                             names_changed, err);
        pr_code ended =
            conv_tables_end(&tables, rc == PR_OK, rc == PR_OK ? err : NULL);
        rc = rc == PR_OK ? ended : rc;
    }
    if (rc == PR_OK)
        *ret = database;
    else
        sqlite3_close(database);
    return rc;
}
