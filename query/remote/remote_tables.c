/*
 * remote_tables.c - rows of single profiles, their numbers as ids.
 */
#include "query/remote/remote_tables.h"

#include "query/remote/remote_row.h"

#include <base/intern.h>
#include <string.h>

/* A column of a server becomes the parameter of its number.  Its kind is a
 * letter:
 * P  the identity of a profile, which gets the next id; p  the id of one
 * Q  the number of a process in its profile, likewise;  q  the id of one
 * T  the number of a thread in its profile, likewise;   t  the id of one
 * u  NULL, or as t
 * n  a number or NULL
 * s  a text or NULL */
typedef struct table {
    const char *name, *columns, *rest, *kinds, *insert;
} table;

static const table tables[] = {
    {"profile",
     "profile, source, recording, host, command, commit_id, python, mode,"
     " capture, time, wall_us, start_us, interval_us, duration_us, samples,"
     " weight_us, unobserved_us, ran_n, ran_us, knows_ran, knows_cpu,"
     " knows_waiting",
     " ORDER BY wall_us, profile", "Psssssssssnnnnnnnnnnnn",
     "INSERT INTO profile(id, hash, source, recording, host, command,"
     " commit_id, python, mode, capture, time, wall_us, start_us, interval_us,"
     " duration_us, samples, weight_us, unobserved_us, ran_n, ran_us,"
     " knows_ran, knows_cpu, knows_waiting) VALUES(?1,?1,?2,?3,?4,?5,?6,?7,?8,"
     "?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22)"},
    {"label", "profile, key, value", "", "pss",
     "INSERT INTO label(profile_id, key, value) VALUES(?1,?2,?3)"},
    {"process",
     "profile, process, pid, parent_pid, command, python, t0_us, t1_us,"
     " cgroup_periods, cgroup_throttled, throttled_us",
     "", "pQnnssnnnnn",
     "INSERT INTO process(profile_id, id, pid, parent_pid, command, python,"
     " t0_us, t1_us, cgroup_periods, cgroup_throttled, throttled_us)"
     " VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11)"},
    {"thread",
     "profile, thread, process, tid, interp, name, is_main, t0_us, t1_us,"
     " samples, weight_us, unobserved_us, proven, sleeping, unproven, stopped,"
     " lost, left_out, cpu_us, cpu_wait_us, gil_wait_us, switches_voluntary,"
     " switches_involuntary",
     "", "pTqnnsnnnnnnnnnnnnnnnnn",
     "INSERT INTO thread(id, process_id, tid, interp, name, is_main, t0_us,"
     " t1_us, samples, weight_us, unobserved_us, proven, sleeping, unproven,"
     " stopped, lost, left_out, cpu_us, cpu_wait_us, gil_wait_us,"
     " switches_voluntary, switches_involuntary) VALUES(?2,?3,?4,?5,?6,?7,?8,"
     "?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,?22,?23)"},
    {"node_self", "profile, thread, status, sum(n), sum(weight_us)",
     " GROUP BY profile, thread, status", "ptnnn",
     "INSERT INTO node_self(node_id, thread_id, status, n, weight_us)"
     " VALUES(0,?2,?3,?4,?5)"},
    {"event", "profile, event, process, thread, kind, t0_us, t1_us, detail",
     " ORDER BY profile, event", "pnqusnns",
     "INSERT INTO event(process_id, thread_id, kind, t0_us, t1_us, detail)"
     " VALUES(?3,?4,?5,?6,?7,?8)"},
    {"loss", "profile, loss, process, thread, reason, n", "", "pnqusn",
     "INSERT INTO loss(process_id, thread_id, reason, n)"
     " VALUES(?3,?4,?5,?6)"},
};

/* A process or a thread. */
typedef struct part {
    int64_t profile, number; /* the profile's id */
} part;

typedef struct reader {
    q_database *database;
    const q_engine *engine;
    void *connection;
    const table *table;
    sqlite3_stmt *insert;
    pr_set profiles;           /* identities; the id is the place and one */
    pr_set processes, threads; /* part, the same */
} reader;

/* ---- values ---- */

static pr_code
bind_new(const reader *r, pr_set *set, int place, const void *item, pr_err *err)
{
    uint32_t at;
    size_t had = set->n;
    pr_code rc = pr_set_add(set, item, &at, err);
    if (rc == PR_OK && set->n == had)
        return q_remote_row_fail(err);
    sqlite3_bind_int64(r->insert, place, (int64_t)at + 1);
    return rc;
}

static pr_code
bind_old(const reader *r, const pr_set *set, int place, const void *item,
         pr_err *err)
{
    uint32_t at = pr_set_find(set, item);
    if (at == PR_TABLE_NONE)
        return q_remote_row_fail(err);
    sqlite3_bind_int64(r->insert, place, (int64_t)at + 1);
    return PR_OK;
}

static pr_code
bind_part(reader *r, char kind, int place, int64_t profile,
          const pr_field *field, pr_err *err)
{
    part item = {.profile = profile};
    pr_set *set = kind == 'Q' || kind == 'q' ? &r->processes : &r->threads;
    if (kind == 'u' && !field->at) {
        sqlite3_bind_null(r->insert, place);
        return PR_OK;
    }
    if (!pr_field_integer(field, &item.number))
        return q_remote_row_fail(err);
    return kind == 'Q' || kind == 'T' ? bind_new(r, set, place, &item, err)
                                      : bind_old(r, set, place, &item, err);
}

static pr_code
bind_value(reader *r, char kind, int place, int64_t profile,
           const pr_field *field, pr_err *err)
{
    if (kind == 's')
        q_remote_row_bind_text(r->insert, place, field);
    else if (kind != 'n')
        return bind_part(r, kind, place, profile, field, err);
    else if (!q_remote_row_bind_number(r->insert, place, field))
        return q_remote_row_fail(err);
    return PR_OK;
}

/* A row of a profile that arrived after the table of profiles was read does not
 * count. */
static pr_code
take_row(void *context, const pr_field *field, size_t n, pr_err *err)
{
    reader *r = context;
    const char *kinds = r->table->kinds;
    int64_t identity;
    pr_code rc = PR_OK;
    if (n != strlen(kinds) || !pr_field_integer(&field[0], &identity))
        return q_remote_row_fail(err);
    if (kinds[0] == 'P')
        rc = bind_new(r, &r->profiles, 1, &identity, err);
    if (rc != PR_OK)
        return rc;
    uint32_t at = pr_set_find(&r->profiles, &identity);
    if (at == PR_TABLE_NONE)
        return PR_OK;
    sqlite3_bind_int64(r->insert, 1, (int64_t)at + 1);
    for (size_t i = 1; i < n && rc == PR_OK; i++)
        rc = bind_value(r, kinds[i], (int)i + 1, (int64_t)at + 1, &field[i],
                        err);
    return rc == PR_OK ? q_remote_row_put(r->database, r->insert, err) : rc;
}

/* ---- tables ---- */

static pr_code
read_table(reader *r, const table *t, pr_err *err)
{
    pr_buffer sql = {0};
    r->engine->put_rows(t->name, t->columns, &sql);
    pr_buffer_puts(&sql, t->rest);
    r->table = t;
    return q_remote_row_ask(r->database, r->engine, r->connection, &sql,
                            t->insert, &r->insert, take_row, r, err);
}

static pr_code
read_tables(void *context, pr_err *err)
{
    reader *r = context;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && rc == PR_OK; i++)
        rc = read_table(r, &tables[i], err);
    if (rc == PR_OK && r->profiles.n == 0)
        return PR_FAIL(err, PR_NAME, "the server has no profile");
    return rc;
}

pr_code
q_remote_tables_read(q_database *database, const q_engine *engine,
                     void *connection, pr_err *err)
{
    int64_t knows_ran = 0;
    reader r = {.database = database,
                .engine = engine,
                .connection = connection,
                .profiles.size = sizeof(int64_t),
                .processes.size = sizeof(part),
                .threads.size = sizeof(part)};
    pr_code rc = q_remote_row_replace(database, read_tables, &r, err);
    if (rc == PR_OK)
        rc = q_database_integer(database, "SELECT max(knows_ran) FROM profile",
                                &knows_ran, err);
    database->knows_ran = knows_ran != 0;
    pr_set_release(&r.profiles);
    pr_set_release(&r.processes);
    pr_set_release(&r.threads);
    return rc;
}
