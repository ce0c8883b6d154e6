/*
 * select.c - conditions and clauses as pieces of SQL.
 */
#include "query/plan/select.h"

#include "query/plan/lookup.h"

#include <string.h>

pr_code
q_finish_text(sqlite3_str *text, char **ret, pr_err *err)
{
    char *made = sqlite3_str_finish(text);
    if (!made)
        return pr_no_memory(err);
    *ret = made;
    return PR_OK;
}

static pr_code
end_text(sqlite3_str *text, pr_code rc, char **ret, pr_err *err)
{
    if (rc == PR_OK)
        return q_finish_text(text, ret, err);
    sqlite3_free(sqlite3_str_finish(text));
    return rc;
}

/* ---- states ---- */

#define LEAF_OF_KIND(kind)                               \
    "node_id IN (SELECT node.id FROM node JOIN function" \
    " ON function.id = function_id WHERE kind = '" kind "')"

/* Bits of a status: spec/schema.md, "run". */
static const char *const conditions[Q_WHERE_KINDS] = {
    "status & 1",                  /* gil */
    "status & 2",                  /* cpu */
    "status & 7 = 0",              /* idle: known to be off */
    "status & 8",                  /* waiting for the GIL */
    "status & 16",                 /* exception */
    "(status & 32 OR thread_id IN" /* main */
    " (SELECT id FROM thread WHERE is_main))",
    LEAF_OF_KIND("native"),
    LEAF_OF_KIND("gc"),
};

/* A condition on a state that was not recorded is refused, not answered with
 * nothing. */
static const struct need {
    unsigned where;
    const char *column, *what, *hint;
} needs[] = {
    {Q_WHERE_GIL | Q_WHERE_CPU | Q_WHERE_IDLE | Q_WHERE_WAITING |
         Q_WHERE_EXCEPTION,
     "knows_ran", "in which state a thread was",
     "imported stacks have no states; a recording of pyrec has them"},
    {Q_WHERE_CPU | Q_WHERE_IDLE, "knows_cpu", "whether a thread was on a CPU",
     "record it with a mode that keeps the CPU state, or ask 'where gil'"},
    {Q_WHERE_WAITING, "knows_waiting", "whether a thread waited for the GIL",
     "CPython has this from 3.15 on"},
};

/* The states that a question is about; `waits` and `per status` are about
 * those of each sample. */
static unsigned
states_of(const q_query *query)
{
    bool of_each = query->verb == Q_WAITS || query->split == Q_PER_STATUS;
    return query->where | (of_each ? Q_WHERE_GIL : 0u);
}

static size_t
place_of(const q_query *query, unsigned where)
{
    if (query->split == Q_PER_STATUS && !(query->where & where))
        return query->split_at;
    for (unsigned i = 0; i < Q_WHERE_KINDS; i++)
        if (query->where & where & 1u << i)
            return query->where_at[i];
    return 0;
}

pr_code
q_select_check_states(q_database *database, const q_query *query, pr_err *err)
{
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++) {
        const struct need *n = &needs[i];
        int64_t refused = 0;
        if (!(states_of(query) & n->where))
            continue;
        char *sql =
            sqlite3_mprintf("SELECT count(*) > 0 AND max(%s) = 0 FROM profile"
                            " WHERE samples > 0",
                            n->column);
        pr_code rc = q_database_integer(database, sql, &refused, err);
        sqlite3_free(sql);
        if (rc != PR_OK)
            return rc;
        if (!refused)
            continue;
        rc = PR_FAIL_AT(err, PR_USAGE, place_of(query, n->where),
                        "this profile does not say %s", n->what);
        pr_err_hint(err, "%s", n->hint);
        return rc;
    }
    return PR_OK;
}

/* ---- FIELD op VALUE ---- */

static const char *
compare(q_operator op)
{
    static const char *const words[] = {[Q_EQUAL] = "=",
                                        [Q_NOT_EQUAL] = "<>",
                                        [Q_LESS] = "<",
                                        [Q_GREATER] = ">",
                                        [Q_LIKE] = "GLOB"};
    return words[op];
}

/* A condition over the columns of one table that a text or number is in. */
static char *
simple(const char *column, const q_condition *c)
{
    return c->value.text ? sqlite3_mprintf("%s %s %Q", column, compare(c->op),
                                           c->value.text)
                         : sqlite3_mprintf("%s %s %lld", column, compare(c->op),
                                           c->number);
}

/* Over `function JOIN file`, of the equal ones. */
static pr_code
function_condition(q_database *database, const q_condition *c, char **ret,
                   pr_err *err)
{
    char *made = NULL;
    if (c->field == Q_FIELD_FUNCTION && c->op != Q_LIKE)
        return q_find_all_functions(database, &c->value, ret, err);
    if (c->field == Q_FIELD_FUNCTION)
        made = sqlite3_mprintf("qualname GLOB %Q", c->value.text);
    else if (c->field == Q_FIELD_FILE)
        made = sqlite3_mprintf("(path GLOB %Q OR path GLOB '*/' || %Q)",
                               c->value.text, c->value.text);
    else if (c->field == Q_FIELD_CLASS)
        made = sqlite3_mprintf("class GLOB %Q", c->value.text);
    else if (c->op == Q_LIKE)
        made = sqlite3_mprintf("module GLOB %Q", c->value.text);
    else
        made = sqlite3_mprintf("module = %Q", c->value.text);
    if (!made)
        return pr_no_memory(err);
    *ret = made;
    return PR_OK;
}

static pr_code
add_function_condition(q_database *database, const q_condition *c,
                       sqlite3_str *sql, pr_err *err)
{
    char *condition;
    pr_code rc = function_condition(database, c, &condition, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_str_appendf(
        sql,
        "node_id %sIN (SELECT id FROM node WHERE function_id IN"
        " (SELECT function.id FROM function JOIN file ON file.id = file_id"
        " WHERE %s))",
        c->op == Q_NOT_EQUAL ? "NOT " : "", condition);
    sqlite3_free(condition);
    return PR_OK;
}

/* Stacks that hold one of the functions: the nodes at or below theirs. */
#define HOLDS                                                                 \
    "node_id %sIN (SELECT below.id FROM node AS held JOIN node AS below"      \
    " ON below.id BETWEEN held.id AND held.last_id WHERE held.function_id IN" \
    " (SELECT function.id FROM function JOIN file ON file.id = file_id"       \
    " WHERE %s))"

static pr_code
add_task_condition(const q_condition *c, sqlite3_str *sql, pr_err *err)
{
    char *name = sqlite3_mprintf("kind = 'task' AND qualname %s %Q",
                                 c->op == Q_LIKE ? "GLOB" : "=", c->value.text);
    if (!name)
        return pr_no_memory(err);
    sqlite3_str_appendf(sql, HOLDS, c->op == Q_NOT_EQUAL ? "NOT " : "", name);
    sqlite3_free(name);
    return PR_OK;
}

/* A condition over `thread JOIN process JOIN profile`; that on a host or label
 * needs `profile` alone. */
static char *
owner_condition(const q_condition *c)
{
    switch (c->field) {
    case Q_FIELD_TID:
        return simple("tid", c);
    case Q_FIELD_INTERP:
        return simple("interp", c);
    case Q_FIELD_PID:
        return simple("pid", c);
    case Q_FIELD_HOST:
        return simple("host", c);
    case Q_FIELD_LABEL:
        return sqlite3_mprintf("profile.id %sIN (SELECT profile_id FROM label"
                               " WHERE key = %Q AND value %s %Q)",
                               c->op == Q_NOT_EQUAL ? "NOT " : "", c->key.text,
                               c->op == Q_LIKE ? "GLOB" : "=", c->value.text);
    case Q_FIELD_FUNCTION:
    case Q_FIELD_FILE:
    case Q_FIELD_MODULE:
    case Q_FIELD_CLASS:
    case Q_FIELD_LINE:
    case Q_FIELD_DEPTH:
    case Q_FIELD_TASK:
    case Q_FIELD_THREAD:
        break;
    }
    return NULL;
}

/* A thread's name stands for all threads that it means (spec/query.md 4.5). */
static pr_code
add_thread_condition(q_database *database, const q_condition *c,
                     sqlite3_str *sql, pr_err *err)
{
    char *threads;
    pr_code rc = q_find_threads(database, &c->value, &threads, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_str_appendf(sql, "thread_id %sIN (SELECT id FROM thread WHERE %s)",
                        c->op == Q_NOT_EQUAL ? "NOT " : "", threads);
    sqlite3_free(threads);
    return PR_OK;
}

static pr_code
add_owner_condition(const q_condition *c, sqlite3_str *sql, pr_err *err)
{
    char *condition = owner_condition(c);
    if (!condition)
        return pr_no_memory(err);
    sqlite3_str_appendf(sql,
                        "thread_id IN (SELECT thread.id FROM thread"
                        " JOIN process ON process.id = process_id"
                        " JOIN profile ON profile.id = profile_id WHERE %s)",
                        condition);
    sqlite3_free(condition);
    return PR_OK;
}

static pr_code
add_condition(q_database *database, const q_condition *c, sqlite3_str *sql,
              pr_err *err)
{
    switch (c->field) {
    case Q_FIELD_FUNCTION:
    case Q_FIELD_FILE:
    case Q_FIELD_MODULE:
    case Q_FIELD_CLASS:
        return add_function_condition(database, c, sql, err);
    case Q_FIELD_LINE:
    case Q_FIELD_DEPTH:
        sqlite3_str_appendf(sql,
                            "node_id IN (SELECT id FROM node WHERE %s %s %lld)",
                            c->field == Q_FIELD_LINE ? "line" : "depth",
                            compare(c->op), c->number);
        return PR_OK;
    case Q_FIELD_TASK:
        return add_task_condition(c, sql, err);
    case Q_FIELD_THREAD:
        return add_thread_condition(database, c, sql, err);
    case Q_FIELD_TID:
    case Q_FIELD_PID:
    case Q_FIELD_INTERP:
    case Q_FIELD_HOST:
    case Q_FIELD_LABEL:
        return add_owner_condition(c, sql, err);
    }
    return PR_OK;
}

/* ---- all conditions ---- */

/* Conditions as "WHERE a AND b": the first one begins with WHERE. */
typedef struct list {
    sqlite3_str *sql;
    const char *word;
} list;

static sqlite3_str *
next_of(list *l)
{
    sqlite3_str_appendall(l->sql, l->word);
    l->word = " AND ";
    return l->sql;
}

static pr_code
add_views(q_database *database, const q_query *query, list *l, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; i < query->n_views && rc == PR_OK; i++) {
        const q_view *view = &query->view[i];
        char *functions;
        if (view->kind != Q_FOCUS && view->kind != Q_IGNORE)
            continue;
        rc = q_find_all_functions(database, &view->name, &functions, err);
        if (rc != PR_OK)
            return rc;
        sqlite3_str_appendf(next_of(l), HOLDS,
                            view->kind == Q_IGNORE ? "NOT " : "", functions);
        sqlite3_free(functions);
    }
    return rc;
}

static pr_code
add_thread(q_database *database, const q_query *query, list *l, pr_err *err)
{
    char *threads;
    if (!query->thread.text)
        return PR_OK;
    pr_code rc = q_find_threads(database, &query->thread, &threads, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_str_appendf(
        next_of(l), "thread_id IN (SELECT id FROM thread WHERE %s)", threads);
    sqlite3_free(threads);
    return PR_OK;
}

/* Stacks without states did not wait for anything that is known. */
#define DID_NOT_RUN                                          \
    "status & 3 = 0 AND thread_id IN (SELECT thread.id FROM" \
    " profile JOIN process ON profile_id = profile.id JOIN"  \
    " thread ON process_id = process.id WHERE knows_ran <> 0)"

static pr_code
add_filter(q_database *database, const q_query *query, list *l, pr_err *err)
{
    pr_code rc = q_select_check_states(database, query, err);
    for (unsigned i = 0; i < Q_WHERE_KINDS && rc == PR_OK; i++)
        if (query->where & 1u << i)
            sqlite3_str_appendall(next_of(l), conditions[i]);
    if (rc == PR_OK && query->verb == Q_WAITS)
        sqlite3_str_appendall(next_of(l), DID_NOT_RUN);
    for (size_t i = 0; i < query->n_conditions && rc == PR_OK; i++)
        rc = add_condition(database, &query->condition[i], next_of(l), err);
    if (rc == PR_OK)
        rc = add_thread(database, query, l, err);
    if (rc == PR_OK)
        rc = add_views(database, query, l, err);
    return rc;
}

/* ---- ranges of time ---- */

pr_code
q_select_end(q_database *database, int64_t *ret, pr_err *err)
{
    return q_database_integer(
        database,
        "SELECT 1 + ifnull((SELECT max(t1_us) FROM thread),"
        " (SELECT max(t1_us) FROM run))",
        ret, err);
}

/* A time of day is that of the profile's first day, where it was recorded
 * within that time of this machine's zone. */
#define MIDNIGHT                                                        \
    "CAST(strftime('%%s', wall_us / 1000000, 'unixepoch', 'localtime'," \
    " 'start of day', 'utc') AS INTEGER) * 1000000"

/* Does any recording hold this time of day? */
static pr_code
is_on_clock(q_database *database, int64_t value, bool *ret, pr_err *err)
{
    int64_t found = 0;
    char *sql = sqlite3_mprintf(
        "SELECT count(*) FROM profile WHERE wall_us IS NOT NULL AND"
        " " MIDNIGHT " + %lld BETWEEN wall_us - 60000000"
        " AND wall_us + duration_us + 60000000",
        value);
    pr_code rc = q_database_integer(database, sql, &found, err);
    sqlite3_free(sql);
    if (rc == PR_OK)
        *ret = found > 0;
    return rc;
}

/* Microseconds since the start; on_clock: of the profile's first day; on_date:
 * since 1970. */
typedef struct moment {
    int64_t value;
    bool on_clock, on_date;
} moment;

/* A time that no recording has as its time of day counts from the start:
 * "0:01:30", and "1:30" as minutes and seconds. */
static pr_code
resolve_clock(q_database *database, q_time time, moment *ret, pr_err *err)
{
    bool on_clock = false;
    pr_code rc = is_on_clock(database, time.value, &on_clock, err);
    if (rc == PR_OK)
        *ret = (moment){!on_clock && time.short_form ? time.value / 60
                                                     : time.value,
                        on_clock, false};
    return rc;
}

static pr_code
resolve_time(q_database *database, q_time time, moment *ret, pr_err *err)
{
    int64_t end = 0;
    if (time.kind == Q_CLOCK)
        return resolve_clock(database, time, ret, err);
    *ret = (moment){time.value, false, time.kind == Q_WALL};
    if (time.kind == Q_WALL)
        return PR_OK;
    if (time.kind == Q_SINCE_START && time.value >= 0)
        return PR_OK;
    pr_code rc = q_select_end(database, &end, err);
    if (rc != PR_OK)
        return rc;
    if (time.kind == Q_SHARE) /* in two parts: no overflow */
        ret->value =
            end / 1000000 * time.value + end % 1000000 * time.value / 1000000;
    else
        ret->value = end + time.value > 0 ? end + time.value : 0;
    return PR_OK;
}

static char *
moment_sql(const moment *m)
{
    if (m->on_date)
        return sqlite3_mprintf("(%lld - wall_us)", m->value);
    return m->on_clock
               ? sqlite3_mprintf("(" MIDNIGHT " + %lld - wall_us)", m->value)
               : sqlite3_mprintf("%lld", m->value);
}

typedef struct range {
    char *from, *to; /* SQL; of sqlite3_mprintf() */
    bool on_clock;
} range;

static void
release_range(range *r)
{
    sqlite3_free(r->from);
    sqlite3_free(r->to);
}

static pr_code
resolve_range(q_database *database, const q_query *query, range *ret,
              pr_err *err)
{
    moment from, to;
    pr_code rc = resolve_time(database, query->from, &from, err);
    if (rc == PR_OK)
        rc = resolve_time(database, query->to, &to, err);
    if (rc != PR_OK)
        return rc;
    if (from.on_clock != to.on_clock || from.on_date != to.on_date)
        return PR_FAIL_AT(err, PR_USAGE, query->to_at,
                          "one end of the range is a time of day of the"
                          " recording, the other is not");
    /* shares are compared as such: of an empty recording all are its start */
    bool both_shares = query->from.kind == Q_SHARE && query->to.kind == Q_SHARE;
    if (both_shares ? query->from.value >= query->to.value
                    : from.value >= to.value)
        return PR_FAIL_AT(err, PR_USAGE, query->to_at,
                          "the range ends before it begins");
    *ret = (range){moment_sql(&from), moment_sql(&to),
                   from.on_clock || from.on_date};
    if (ret->from && ret->to)
        return PR_OK;
    release_range(ret);
    return pr_no_memory(err);
}

#define OWNERS                                 \
    " JOIN thread ON thread.id = thread_id"    \
    " JOIN process ON process.id = process_id" \
    " JOIN profile ON profile.id = profile_id"

/* Runs keep the times of their first and last sample; those between count as
 * evenly spaced.  before(x): how many of a run lie before the moment x. */
#define BEFORE(x)                                               \
    "(CASE WHEN " x " <= t0 THEN 0 WHEN " x " > t1 THEN n ELSE" \
    " max(1, ((" x " - t0) * (n - 1) + t1 - t0 - 1) / (t1 - t0)) END)"

/* The threads that have samples in a range, and their runs alone: of a day's
 * profiles an hour is a small part. */
#define RUNS_OF_THREADS                                        \
    "thread CROSS JOIN process ON process.id = process_id"     \
    " CROSS JOIN profile ON profile.id = profile_id"           \
    " CROSS JOIN run ON run.id BETWEEN first_run AND last_run" \
    " AND run.thread_id = thread.id"                           \
    " WHERE thread.t0_us < %s AND thread.t1_us >= %s"

static pr_code
add_range(q_database *database, const q_query *query, sqlite3_str *sql,
          pr_err *err)
{
    range r = {NULL, NULL, false};
    pr_code rc = resolve_range(database, query, &r, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_str_appendf(
        sql,
        "(SELECT node_id, thread_id, status, hits AS n,"
        " weight_us * upto / n - weight_us * past / n AS"
        " weight_us FROM (SELECT *, upto - past AS hits FROM"
        " (SELECT *, " BEFORE("until") " AS upto, " BEFORE(
            "since") " AS past FROM (SELECT node_id,"
                     " thread_id, status, n, run.weight_us,"
                     " run.t0_us AS t0, run.t1_us AS t1, %s AS since,"
                     " %s AS until FROM ",
        r.from, r.to);
    if (r.on_clock)
        sqlite3_str_appendf(sql, RUNS_OF_THREADS, r.to, r.from);
    else
        sqlite3_str_appendall(sql, "run");
    sqlite3_str_appendall(sql, ") WHERE t0 < until AND t1 >= since))"
                               " WHERE hits > 0)");
    release_range(&r);
    return PR_OK;
}

/* ---- the statements ---- */

pr_code
q_select_source(q_database *database, const q_query *query, bool runs,
                sqlite3_str *sql, pr_err *err)
{
    pr_code rc = PR_OK;
    sqlite3_str_appendall(sql, " FROM ");
    if (!runs && query->has_range)
        rc = add_range(database, query, sql, err);
    else
        sqlite3_str_appendall(sql, runs ? "run" : "node_self");
    list l = {sql, " WHERE "};
    if (rc == PR_OK && runs && query->has_range) {
        range r = {NULL, NULL, false};
        rc = resolve_range(database, query, &r, err);
        if (rc == PR_OK && r.on_clock)
            rc = PR_FAIL_AT(
                err, PR_USAGE, query->to_at,
                "this question takes only times since the start, such"
                " as 'between 0s and 5s'");
        if (rc == PR_OK)
            sqlite3_str_appendf(next_of(&l), "t0_us < %s AND t1_us >= %s", r.to,
                                r.from);
        release_range(&r);
    }
    return rc == PR_OK ? add_filter(database, query, &l, err) : rc;
}

static const char *const split_columns[] = {
    [Q_WHOLE] = "0",
    [Q_PER_THREAD] = "thread_id",
    [Q_PER_PROCESS] = "process_id",
    [Q_PER_PROFILE] = "profile_id",
    [Q_PER_LABEL] = "part.first_id",
    [Q_PER_STATUS] = "status & 15",
    [Q_PER_TIME] = "0",
};

static const char *const split_joins[] = {
    [Q_WHOLE] = "",
    [Q_PER_THREAD] = "",
    [Q_PER_PROCESS] = " JOIN thread ON thread.id = thread_id",
    [Q_PER_PROFILE] = " JOIN thread ON thread.id = thread_id"
                      " JOIN process ON process.id = process_id",
    [Q_PER_LABEL] = " JOIN thread ON thread.id = thread_id"
                    " JOIN process ON process.id = process_id JOIN ",
    [Q_PER_STATUS] = "",
    [Q_PER_TIME] = "",
};

/* The profiles of a label as (id, first_id): that of the first profile with
 * the same value stands for the value. */
static void
add_label_parts(const q_query *query, sqlite3_str *sql)
{
    sqlite3_str_appendf(sql,
                        "(SELECT profile_id AS id, min(profile_id) OVER"
                        " (PARTITION BY value) AS first_id FROM label"
                        " WHERE key = %Q) AS part",
                        query->label.text);
}

static pr_code
select_parts(q_database *database, const q_query *query, bool nodes, char **ret,
             pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(sql,
                        "SELECT %s, %s, n, s.weight_us,"
                        " CASE WHEN status & 3 THEN n ELSE 0 END,"
                        " CASE WHEN status & 3 THEN s.weight_us ELSE 0 END"
                        " FROM (SELECT *",
                        nodes ? "node_id" : "0", split_columns[query->split]);
    pr_code rc = q_select_source(database, query, false, sql, err);
    /* node_self lies in order of node */
    sqlite3_str_appendf(sql, ") AS s%s", split_joins[query->split]);
    if (query->split == Q_PER_LABEL) {
        add_label_parts(query, sql);
        sqlite3_str_appendall(sql, " ON part.id = profile_id");
    }
    if (!split_joins[query->split][0])
        sqlite3_str_appendall(sql, " ORDER BY s.id");
    return end_text(sql, rc, ret, err);
}

/* ---- runs ---- */

/* Whether a statement of runs needs the thread, process and profile of each:
 * for their clock, or for a part. */
static pr_code
need_owners(q_database *database, const q_query *query, const range *r,
            bool *ret, pr_err *err)
{
    int64_t profiles = 0;
    pr_code rc = q_database_integer(database, "SELECT count(*) FROM profile",
                                    &profiles, err);
    *ret = r->on_clock || (query->split == Q_PER_TIME && profiles > 1) ||
           query->split == Q_PER_PROCESS || query->split == Q_PER_PROFILE ||
           query->split == Q_PER_LABEL;
    return rc;
}

static const char all_time_from[] = "-4611686018427387904";
static const char all_time_to[] = "2305843009213693951";

static void
append_runs(const q_query *query, const range *r, bool nodes, bool owners,
            sqlite3_str *sql)
{
    const char *shift =
        owners && query->split == Q_PER_TIME ? " + " Q_SHIFT : "";
    sqlite3_str_appendf(
        sql,
        "SELECT %s, s.t0_us%s, s.t1_us%s, n, s.weight_us, status & 3 <> 0,"
        " %s%s, %s%s, %s FROM run AS s%s",
        nodes ? "node_id" : "0", shift, shift,
        r->from ? r->from : all_time_from, shift, r->to ? r->to : all_time_to,
        shift, split_columns[query->split], owners ? OWNERS : "");
    if (query->split == Q_PER_LABEL) {
        sqlite3_str_appendall(sql, " JOIN ");
        add_label_parts(query, sql);
        sqlite3_str_appendall(sql, " ON part.id = profile_id");
    }
}

static pr_code
select_runs(q_database *database, const q_query *query, bool nodes, char **ret,
            pr_err *err)
{
    range r = {NULL, NULL, false};
    bool owners = false;
    pr_code rc = PR_OK;
    if (query->has_range)
        rc = resolve_range(database, query, &r, err);
    if (rc == PR_OK)
        rc = need_owners(database, query, &r, &owners, err);
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    list l = {sql, " WHERE "};
    if (rc == PR_OK) {
        append_runs(query, &r, nodes, owners, sql);
        if (r.from)
            sqlite3_str_appendf(next_of(&l), "s.t0_us < %s AND s.t1_us >= %s",
                                r.to, r.from);
        rc = add_filter(database, query, &l, err);
    }
    release_range(&r);
    return end_text(sql, rc, ret, err);
}

bool
q_select_is_of_runs(const q_query *query)
{
    return query->has_range || query->split == Q_PER_TIME;
}

pr_code
q_select_samples(q_database *database, const q_query *query, bool nodes,
                 char **ret, pr_err *err)
{
    return q_select_is_of_runs(query)
               ? select_runs(database, query, nodes, ret, err)
               : select_parts(database, query, nodes, ret, err);
}

/* ---- frames ---- */

pr_code
q_select_hidden(q_database *database, const q_query *query, char **ret,
                pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    pr_code rc = PR_OK;
    bool has_only = false;
    sqlite3_str_appendall(sql, "(0");
    for (size_t i = 0; i < query->n_views && rc == PR_OK; i++) {
        const q_view *view = &query->view[i];
        char *functions;
        has_only = has_only || view->kind == Q_ONLY;
        if (view->kind == Q_WITHOUT)
            sqlite3_str_appendf(sql, " OR class = lower(%Q)", view->name.text);
        if (view->kind != Q_HIDE)
            continue;
        rc = q_find_all_functions(database, &view->name, &functions, err);
        if (rc == PR_OK) {
            sqlite3_str_appendf(sql, " OR (%s)", functions);
            sqlite3_free(functions);
        }
    }
    if (has_only) {
        sqlite3_str_appendall(sql, " OR class NOT IN (''");
        for (size_t i = 0; i < query->n_views; i++)
            if (query->view[i].kind == Q_ONLY)
                sqlite3_str_appendf(sql, ", lower(%Q)",
                                    query->view[i].name.text);
        sqlite3_str_appendall(sql, ")");
    }
    sqlite3_str_appendall(sql, ")");
    return end_text(sql, rc, ret, err);
}

/* ---- whole profiles ---- */

static bool
is_of_profile(q_field field)
{
    return field == Q_FIELD_HOST || field == Q_FIELD_LABEL;
}

bool
q_select_is_whole(const q_query *query)
{
    if (query->where || query->thread.text || query->has_range ||
        query->n_views)
        return false;
    for (size_t i = 0; i < query->n_conditions; i++)
        if (!is_of_profile(query->condition[i].field))
            return false;
    return query->split == Q_WHOLE || query->split == Q_PER_PROFILE ||
           query->split == Q_PER_LABEL;
}

pr_code
q_select_profiles(q_database *database, const q_query *query, char **ret,
                  pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    pr_code rc = PR_OK;
    sqlite3_str_appendall(sql, "1");
    for (size_t i = 0; i < query->n_conditions && rc == PR_OK; i++) {
        if (!is_of_profile(query->condition[i].field))
            continue;
        char *condition = owner_condition(&query->condition[i]);
        if (condition)
            sqlite3_str_appendf(sql, " AND %s", condition);
        else
            rc = pr_no_memory(err);
        sqlite3_free(condition);
    }
    return end_text(sql, rc, ret, err);
}

static pr_code
has_profile(q_database *database, const char *profiles, const char *condition,
            bool *ret, pr_err *err)
{
    int64_t has = 0;
    char *sql = sqlite3_mprintf(
        "SELECT EXISTS (SELECT 1 FROM profile WHERE (%s) AND %s)", profiles,
        condition);
    pr_code rc = q_database_integer(database, sql, &has, err);
    sqlite3_free(sql);
    *ret = has != 0;
    return rc;
}

pr_code
q_select_calls(q_database *database, const q_query *query, bool *ret,
               bool *ret_both, pr_err *err)
{
    char *profiles;
    *ret = *ret_both = false;
    if (!database->counts_calls)
        return PR_OK;
    pr_code rc = q_select_profiles(database, query, &profiles, err);
    if (rc != PR_OK)
        return rc;
    rc =
        has_profile(database, profiles, Q_COUNTS_CALLS("profile.id"), ret, err);
    if (rc == PR_OK && *ret)
        rc = has_profile(database, profiles,
                         "NOT " Q_COUNTS_CALLS("profile.id"), ret_both, err);
    sqlite3_free(profiles);
    return rc;
}

static const char *
split_of_profiles(const q_query *query)
{
    return query->split == Q_PER_LABEL     ? "part.first_id"
           : query->split == Q_PER_PROFILE ? "profile.id"
                                           : "0";
}

pr_code
q_select_whole_parts(q_database *database, const q_query *query, char **ret,
                     pr_err *err)
{
    char *profiles;
    pr_code rc = q_select_profiles(database, query, &profiles, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(sql,
                        "SELECT profile.id, %s AS split, samples, weight_us,"
                        " ran_n, ran_us FROM profile",
                        split_of_profiles(query));
    if (query->split == Q_PER_LABEL) {
        sqlite3_str_appendall(sql, " JOIN ");
        add_label_parts(query, sql);
        sqlite3_str_appendall(sql, " ON part.id = profile.id");
    }
    sqlite3_str_appendf(sql, " WHERE %s", profiles);
    sqlite3_free(profiles);
    return q_finish_text(sql, ret, err);
}
