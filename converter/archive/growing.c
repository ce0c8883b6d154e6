/*
 * growing.c - a file that grows is converted part by part: each becomes a
 * profile of its own, which the first one then takes in.
 */
#include <pyrec/convert.h>

#include "converter/filter/chain.h"
#include "converter/input/recording.h"
#include "converter/job/job.h"
#include "converter/tables/row.h"
#include "converter/tables/tables.h"

#include <base/opts.h>
#include <sqlite3.h>
#include <stdio.h>

enum {
    PATIENCE_MS = 60000, /* for a reader or another writer of the database */
    PARTS = 64,          /* then all is converted once more */
    LATE_INTERVALS = 20  /* threads without a sample for so long have ended */
};

/* ---- how far the file is ---- */

/* *ret becomes the moment before which nothing more comes, and *ret_grows
 * whether there may be more at all. */
static pr_code
find_settled(const char *input, const conv_opts *opts, uint64_t *ret,
             bool *ret_grows, pr_err *err)
{
    conv_recording *recording;
    pr_code rc =
        conv_recording_open(input, opts->from, opts->memory, &recording, err);
    if (rc != PR_OK)
        return rc;
    const pf_info *info = conv_recording_info(recording);
    *ret_grows = info && info->has_checkpoints && info->state == PF_CUT;
    if (*ret_grows) {
        uint64_t late = LATE_INTERVALS * info->start.interval_us;
        *ret = info->last_us > late ? info->last_us - late : 0;
    }
    conv_recording_free(recording);
    return PR_OK;
}

/* ---- from a part to the whole ---- */

/* Ids of the whole are those of the part less the number of rows that the
 * whole has: a recording has its processes and threads in one order. */
typedef struct part {
    conv_tables tables;
    conv_tables before;
    int64_t profile;
    uint64_t from_us;
    bool has_runs_of_all; /* no filter left samples between two runs out */
} part;

#define SUMS(x)                                                        \
    "self_n = self_n + " x "self_n, self_us = self_us + " x "self_us," \
    " total_n = total_n + " x "total_n, total_us = total_us + " x "total_us"
#define SUMS_THAT_RAN(x)                             \
    ", self_ran_n = self_ran_n + " x "self_ran_n,"   \
    " self_ran_us = self_ran_us + " x "self_ran_us," \
    " total_ran_n = total_ran_n + " x "total_ran_n," \
    " total_ran_us = total_ran_us + " x "total_ran_us"
#define LATEST(column) #column " = excluded." #column

/* Counters count from the beginning of the recording, and metadata is that of
 * the whole file: the part's take the place of the whole's.  Events that ended
 * before the part are the whole's, all others the part's. */
static const char *const statements[] =
    {
        "UPDATE main.run SET thread_id = thread_id - :thread WHERE id > :run",
        "UPDATE main.node_self SET thread_id = thread_id - :thread"
        " WHERE id > :node_self",
        "DELETE FROM main.event WHERE (id > :event) = (t1_us < :from)",
        "UPDATE main.event SET process_id = process_id - :process,"
        " thread_id = thread_id - :thread WHERE id > :event",
        "DELETE FROM main.task_parent WHERE task_id <= :task",
        "DELETE FROM main.task WHERE id <= :task",
        "UPDATE main.task SET process_id = process_id - :process,"
        " thread_id = thread_id - :thread WHERE id > :task",
        "DELETE FROM main.loss WHERE id <= :loss",
        "UPDATE main.loss SET process_id = process_id - :process,"
        " thread_id = thread_id - :thread WHERE id > :loss",
        "DELETE FROM main.meta WHERE profile_id = :whole",
        "UPDATE main.meta SET profile_id = :whole WHERE profile_id = :profile",
        "DELETE FROM main.label WHERE profile_id = :whole",
        "UPDATE main.label SET profile_id = :whole WHERE profile_id = :profile",
        "INSERT INTO main.function_total SELECT :whole, function_id, self_n,"
        " self_us, self_ran_n, self_ran_us, total_n, total_us, total_ran_n,"
        " total_ran_us FROM main.function_total WHERE profile_id = :profile"
        " ON CONFLICT DO UPDATE SET " SUMS("excluded.")
            SUMS_THAT_RAN("excluded."),
        "DELETE FROM main.function_total WHERE profile_id = :profile",
        "INSERT INTO main.edge_total SELECT :whole, callee_id, caller_id, "
        "self_n,"
        " self_us, total_n, total_us FROM main.edge_total"
        " WHERE profile_id = :profile"
        " ON CONFLICT DO UPDATE SET " SUMS("excluded."),
        "DELETE FROM main.edge_total WHERE profile_id = :profile",
        /* each has only its large stacks, which do not add up */
        "DELETE FROM main.tree_total WHERE profile_id IN (:whole, :profile)",
        /* out of the way, since a row of the whole may get the id of one here */
        "UPDATE main.process SET id = -id WHERE profile_id = :profile",
        "INSERT INTO main.process SELECT -id - :process, :whole, pid, "
        "parent_pid,"
        " command, python, t0_us, t1_us, cgroup_periods, cgroup_throttled,"
        " throttled_us FROM main.process WHERE id < 0 ON CONFLICT DO UPDATE SET"
        " t1_us = max(t1_us, excluded.t1_us), " LATEST(
            cgroup_periods) ", " LATEST(cgroup_throttled) ", " LATEST(throttled_us),
        "DELETE FROM main.process WHERE id < 0",
        "UPDATE main.thread SET id = -id WHERE id > :thread",
        "INSERT INTO main.thread SELECT -id - :thread, process_id - :process, "
        "tid,"
        " interp, name, is_main, t0_us, t1_us, samples, weight_us, "
        "unobserved_us,"
        " proven, sleeping, unproven, stopped, lost, first_run, last_run,"
        " left_out, cpu_us, cpu_wait_us, gil_wait_us, switches_voluntary,"
        " switches_involuntary FROM main.thread WHERE id < 0"
        " ON CONFLICT DO UPDATE SET " LATEST(
            name) ","
                  " is_main = max(is_main, excluded.is_main),"
                  " t0_us = ifnull(t0_us, excluded.t0_us),"
                  " t1_us = ifnull(excluded.t1_us, t1_us),"
                  " samples = samples + excluded.samples,"
                  " weight_us = weight_us + excluded.weight_us,"
                  " unobserved_us = unobserved_us + "
                  "excluded.unobserved_us, " LATEST(proven) ", " LATEST(sleeping) ", " LATEST(unproven) ", " LATEST(stopped) ", " LATEST(
                      lost) ","
                            " first_run = ifnull(first_run, "
                            "excluded.first_run),"
                            " last_run = ifnull(excluded.last_run, "
                            "last_run), " LATEST(left_out) ", " LATEST(cpu_us) ", " LATEST(cpu_wait_us) ", " LATEST(
                                gil_wait_us) ", " LATEST(switches_voluntary) ","
                                                                             " " LATEST(
                                                                                 switches_involuntary),
        "DELETE FROM main.thread WHERE id < 0",
        "UPDATE main.profile SET duration_us = max(profile.duration_us,"
        " part.duration_us), samples = profile.samples + part.samples,"
        " weight_us = profile.weight_us + part.weight_us,"
        " unobserved_us = profile.unobserved_us + part.unobserved_us,"
        " ran_n = profile.ran_n + part.ran_n,"
        " ran_us = profile.ran_us + part.ran_us,"
        " knows_ran = max(profile.knows_ran, part.knows_ran),"
        " knows_cpu = min(profile.knows_cpu, part.knows_cpu),"
        " knows_waiting = max(profile.knows_waiting, part.knows_waiting),"
        " first_node = ifnull(profile.first_node, part.first_node),"
        " last_node = ifnull(part.last_node, profile.last_node)"
        " FROM (SELECT * FROM main.profile WHERE id = :profile) AS part"
        " WHERE profile.id = :whole",
        "DELETE FROM main.profile WHERE id = :profile",
};

static pr_code
prepare(const part *p, const char *sql, sqlite3_stmt **ret, pr_err *err)
{
    const struct {
        const char *name;
        int64_t value;
    } values[] = {
        {":whole", p->before.profile},
        {":profile", p->profile},
        {":process", p->before.process},
        {":thread", p->before.thread},
        {":run", p->before.run},
        {":event", p->before.event},
        {":node_self", p->before.node_self},
        {":task", p->before.task},
        {":loss", p->before.loss},
        {":from", (int64_t)p->from_us},
    };
    if (sqlite3_prepare_v2(p->tables.database, sql, -1, ret, NULL) != SQLITE_OK)
        return conv_sqlite_fail(p->tables.database, err);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int at = sqlite3_bind_parameter_index(*ret, values[i].name);
        if (at)
            sqlite3_bind_int64(*ret, at, values[i].value);
    }
    return PR_OK;
}

static pr_code
execute(const part *p, const char *sql, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = prepare(p, sql, &stmt, err);
    if (rc == PR_OK && sqlite3_step(stmt) != SQLITE_DONE)
        rc = conv_sqlite_fail(p->tables.database, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- runs that go on ---- */

/* The last run of a thread in the whole, and its first one in the part. */
typedef struct border {
    int64_t before, after, node_before, node_after;
} border;

static bool
read_node(sqlite3_stmt *node, int64_t id, int64_t *ret_parent,
          int64_t *ret_frame)
{
    sqlite3_reset(node);
    sqlite3_bind_int64(node, 1, id);
    if (sqlite3_step(node) != SQLITE_ROW)
        return false;
    *ret_parent = sqlite3_column_int64(node, 0);
    *ret_frame = sqlite3_column_int64(node, 1);
    return true;
}

/* 0 is the empty stack. */
static bool
same_stack(sqlite3_stmt *node, int64_t a, int64_t b)
{
    int64_t frame_a, frame_b;
    while (a && b && a != b)
        if (!read_node(node, a, &a, &frame_a) ||
            !read_node(node, b, &b, &frame_b) || frame_a != frame_b)
            return false;
    return a == b;
}

static pr_code
join_runs(const part *p, const border *at, pr_err *err)
{
    char sql[400];
    snprintf(sql, sizeof sql,
             "UPDATE main.run SET t1_us = later.t1_us, n = run.n + later.n,"
             " weight_us = run.weight_us + later.weight_us FROM"
             " (SELECT * FROM main.run WHERE id = %lld) AS later"
             " WHERE run.id = %lld",
             (long long)at->after, (long long)at->before);
    pr_code rc = execute(p, sql, err);
    snprintf(sql, sizeof sql,
             "UPDATE main.thread SET last_run = %lld WHERE last_run = %lld",
             (long long)at->before, (long long)at->after);
    if (rc == PR_OK)
        rc = execute(p, sql, err);
    snprintf(sql, sizeof sql, "DELETE FROM main.run WHERE id = %lld",
             (long long)at->after);
    return rc == PR_OK ? execute(p, sql, err) : rc;
}

/* A thread that stood still at the border has one run there. */
static pr_code
join_all_runs(const part *p, pr_err *err)
{
    sqlite3_stmt *borders = NULL, *node = NULL;
    pr_code rc = prepare(
        p,
        "SELECT a.id, b.id, a.node_id, b.node_id FROM main.thread AS part"
        " JOIN main.thread AS whole ON whole.id = part.id - :thread"
        " JOIN main.run AS a ON a.id = whole.last_run"
        " JOIN main.run AS b ON b.id = part.first_run"
        " WHERE part.id > :thread AND whole.id <= :thread"
        " AND a.status = b.status",
        &borders, err);
    if (rc == PR_OK)
        rc =
            prepare(p, "SELECT parent_id, frame_id FROM main.node WHERE id = ?",
                    &node, err);
    int step = SQLITE_DONE;
    while (rc == PR_OK && (step = sqlite3_step(borders)) == SQLITE_ROW) {
        const border at = {
            sqlite3_column_int64(borders, 0), sqlite3_column_int64(borders, 1),
            sqlite3_column_int64(borders, 2), sqlite3_column_int64(borders, 3)};
        if (same_stack(node, at.node_before, at.node_after))
            rc = join_runs(p, &at, err);
    }
    if (rc == PR_OK && step != SQLITE_DONE)
        rc = conv_sqlite_fail(p->tables.database, err);
    sqlite3_finalize(borders);
    sqlite3_finalize(node);
    return rc;
}

static pr_code
take_in(const part *p, pr_err *err)
{
    pr_code rc = p->has_runs_of_all ? join_all_runs(p, err) : PR_OK;
    for (size_t i = 0;
         i < sizeof statements / sizeof *statements && rc == PR_OK; i++)
        rc = execute(p, statements[i], err);
    return rc;
}

/* ---- one part ---- */

static pr_code
write_part(conv_job *job, pr_err *err)
{
    part *p = job->state;
    bool added = false;
    p->before = p->tables;
    pr_code rc = conv_tables_add(&p->tables, job->model, job->source,
                                 &p->profile, &added, &job->names_changed, err);
    return rc == PR_OK && added ? take_in(p, err) : rc;
}

static const conv_target into_growing = {
    .info = {"growing", "", "", ""},
    .level = CONV_LEVEL_DEFAULT,
    .time = CONV_TIME_REAL,
    .times = CONV_TIMES_OF_CLOCK,
    .write = write_part,
};

static pr_code
add_to(sqlite3 *database, const char *input, const conv_opts *opts,
       conv_report *report, pr_err *err)
{
    part p = {.from_us = opts->from_us,
              .has_runs_of_all = !conv_filters_given(&opts->filters)};
    conv_job job;
    pr_code rc = conv_job_plan(&into_growing, opts, input, &job, err);
    if (rc == PR_OK)
        rc = conv_tables_begin(database, &p.tables, err);
    if (rc != PR_OK)
        return rc;
    job.state = &p;
    rc = conv_job_add(input, &into_growing, &job, report, err);
    pr_err later = PR_ERR_INIT;
    pr_code ended = conv_tables_end(&p.tables, conv_job_delivered(rc), &later);
    report->delivered = conv_job_delivered(rc) && ended == PR_OK;
    if (conv_job_delivered(rc) && ended != PR_OK && err)
        *err = later;
    return conv_job_delivered(rc) && ended != PR_OK ? ended : rc;
}

static pr_code
add_part(const char *input, const char *output, const conv_opts *opts,
         conv_report *report, pr_err *err)
{
    sqlite3 *database;
    int opened = sqlite3_open_v2(
        output, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (opened == SQLITE_OK)
        opened = sqlite3_busy_timeout(database, PATIENCE_MS);
    pr_code rc = opened == SQLITE_OK
                     ? add_to(database, input, opts, report, err)
                     : conv_sqlite_fail(database, err);
    sqlite3_close(database);
    return rc;
}

/* ---- interface ---- */

static pr_code
convert_whole(const char *input, const char *output, const conv_opts *opts,
              conv_report *report, pr_err *err)
{
    return conv_run(&input, 1, "sqlite", output, opts, report, err);
}

pr_code
conv_grow(const char *input, const char *output, const conv_opts *given,
          conv_growth *growth, conv_report *ret, pr_err *err)
{
    conv_opts opts = CONV_OPTS_INIT;
    uint64_t settled_us = 0;
    bool grows = false;
    *ret = (conv_report){.delivered = 0};
    pr_code rc = pr_opts_take(&opts, sizeof opts, given, err);
    if (rc == PR_OK)
        rc = find_settled(input, &opts, &settled_us, &grows, err);
    if (rc != PR_OK)
        return rc;
    bool in_time = opts.from_us == 0 && opts.to_us == UINT64_MAX;
    if (!grows || !in_time)
        return convert_whole(input, output, &opts, ret, err);
    if (growth->settled_us && settled_us <= growth->settled_us)
        return PR_FAIL(err, PR_CUT, "'%s' has nothing new", input);
    bool whole = growth->settled_us == 0 || growth->parts == PARTS;
    opts.filters.settled_us = settled_us;
    opts.from_us = whole ? 0 : growth->settled_us;
    rc = whole ? convert_whole(input, output, &opts, ret, err)
               : add_part(input, output, &opts, ret, err);
    if (rc == PR_NAME && !whole)
        rc = PR_CUT; /* no sample in this part */
    if (!conv_job_delivered(rc))
        return rc;
    *growth = (conv_growth){settled_us, whole ? 0 : growth->parts + 1};
    return rc;
}
