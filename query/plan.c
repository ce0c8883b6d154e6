/*
 * plan.c - verbs, levels, conditions as pieces of SQL.
 *
 * Everything that comes from the query text passes through %Q.
 */
#include "query/plan.h"
#include "query/lookup.h"

/* Bits of a status: spec/schema.md, "run". */
static const char *const conditions[Q_WHERE_KINDS] = {
    "status & 1",                  /* gil */
    "status & 2",                  /* cpu */
    "status & 7 = 0",              /* idle: known to be off */
    "status & 8",                  /* waiting for the GIL */
    "status & 16",                 /* exception */
    "(status & 32 OR thread_id IN" /* main */
    " (SELECT id FROM thread WHERE is_main))",
};

/* A text of sqlite3_str as a string, or why not. */
static pr_code
finish_text(sqlite3_str *text, char **ret, pr_err *err)
{
    char *made = sqlite3_str_finish(text);
    if (!made)
        return pr_no_memory(err);
    *ret = made;
    return PR_OK;
}

static pr_code
resolve_time(q_database *database, q_time time, int64_t *ret, pr_err *err)
{
    if (!time.is_share) {
        *ret = time.value;
        return PR_OK;
    }
    int64_t end = 0;
    pr_code rc =
        q_database_integer(database,
                           "SELECT 1 + ifnull((SELECT max(t1_us) FROM thread),"
                           " (SELECT max(t1_us) FROM run))",
                           &end, err);
    if (rc == PR_OK) /* in two parts: no overflow */
        *ret =
            end / 1000000 * time.value + end % 1000000 * time.value / 1000000;
    return rc;
}

/* Runs keep the times of their first and last sample; those between count as
 * evenly spaced.  before(x): how many of a run lie before the moment x. */
#define BEFORE                                                      \
    "(CASE WHEN %lld <= t0_us THEN 0 WHEN %lld > t1_us THEN n ELSE" \
    " max(1, ((%lld - t0_us) * (n - 1) + t1_us - t0_us - 1)"        \
    " / (t1_us - t0_us)) END)"

static pr_code
add_range(q_database *database, const q_query *query, sqlite3_str *sql,
          pr_err *err)
{
    int64_t from = 0, to = 0;
    pr_code rc = resolve_time(database, query->from, &from, err);
    if (rc == PR_OK)
        rc = resolve_time(database, query->to, &to, err);
    if (rc != PR_OK)
        return rc;
    /* shares are compared as such: of an empty recording all are its start */
    bool same_kind = query->from.is_share == query->to.is_share;
    if (same_kind ? query->from.value >= query->to.value : from >= to)
        return PR_FAIL_AT(err, PR_USAGE, query->to_at,
                          "the range ends before it begins");
    sqlite3_str_appendf(
        sql,
        "(SELECT node_id, thread_id, status, hits AS n,"
        " weight_us * hits / n AS weight_us FROM"
        " (SELECT *, " BEFORE " - " BEFORE " AS hits FROM run"
        " WHERE t0_us < %lld AND t1_us >= %lld) WHERE hits > 0)",
        to, to, to, from, from, from, to, from);
    return PR_OK;
}

/* cpu and idle can only be answered if anybody looked. */
static pr_code
check_cpu_known(q_database *database, const q_query *query, pr_err *err)
{
    int64_t any = 0, known = 0;
    pr_code rc = q_database_integer(
        database, "SELECT EXISTS (SELECT 1 FROM node_self)", &any, err);
    if (rc == PR_OK)
        rc = q_database_integer(
            database,
            "SELECT EXISTS (SELECT 1 FROM node_self WHERE status & 4 = 0)",
            &known, err);
    if (rc != PR_OK || known || !any)
        return rc;
    rc = PR_FAIL_AT(err, PR_USAGE, query->where_at,
                    "this profile does not say who was on a CPU");
    pr_err_hint(err, "record it with a mode that keeps the CPU state");
    return rc;
}

static pr_code
add_filter(q_database *database, const q_query *query, sqlite3_str *sql,
           pr_err *err)
{
    const char *word = " WHERE ";
    if (query->where & (Q_WHERE_CPU | Q_WHERE_IDLE)) {
        pr_code rc = check_cpu_known(database, query, err);
        if (rc != PR_OK)
            return rc;
    }
    for (unsigned i = 0; i < Q_WHERE_KINDS; i++)
        if (query->where & 1u << i) {
            sqlite3_str_appendf(sql, "%s%s", word, conditions[i]);
            word = " AND ";
        }
    if (!query->thread.text)
        return PR_OK;
    char *threads;
    pr_code rc = q_find_threads(database, &query->thread, &threads, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_str_appendf(sql, "%sthread_id IN (SELECT id FROM thread WHERE %s)",
                        word, threads);
    sqlite3_free(threads);
    return PR_OK;
}

/* "FROM ... WHERE ..." of the samples a question is about. */
static pr_code
add_source(q_database *database, const q_query *query, sqlite3_str *sql,
           pr_err *err)
{
    sqlite3_str_appendall(sql, " FROM ");
    pr_code rc = PR_OK;
    if (query->has_range)
        rc = add_range(database, query, sql, err);
    else
        sqlite3_str_appendall(sql, "node_self");
    return rc == PR_OK ? add_filter(database, query, sql, err) : rc;
}

static pr_code
make_samples(q_database *database, const q_query *query, char **ret,
             pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    /* node_self lies in order of node: no sorting */
    sqlite3_str_appendall(sql, query->has_range
                                   ? "SELECT node_id, sum(n), sum(weight_us)"
                                   : "SELECT node_id, n, weight_us");
    pr_code rc = add_source(database, query, sql, err);
    sqlite3_str_appendall(sql, query->has_range
                                   ? " GROUP BY node_id ORDER BY node_id"
                                   : " ORDER BY id");
    if (rc == PR_OK)
        return finish_text(sql, ret, err);
    sqlite3_free(sqlite3_str_finish(sql));
    return rc;
}

#define FUNCTIONS_OF                                                      \
    "IN (SELECT function.id FROM function JOIN file ON file.id = file_id" \
    " WHERE %s)"

/* The nodes of top: by level. */
static const char *const level_nodes[] = {
    "SELECT id, last_id, function_id FROM node ORDER BY id",
    "SELECT id, last_id, function_id, line FROM node ORDER BY id",
    "SELECT node.id, last_id, file_id FROM node"
    " CROSS JOIN function ON function.id = function_id ORDER BY node.id",
};

#define EDGES                                                        \
    "SELECT node.id, node.last_id, up.function_id, node.function_id" \
    " FROM node LEFT JOIN node AS up ON up.id = node.parent_id"

/* %s: FUNCTIONS_OF */
static const char *const verb_nodes[] = {
    [Q_CALLERS] = EDGES " WHERE node.function_id %s ORDER BY node.id",
    [Q_CALLEES] = EDGES " WHERE up.function_id %s ORDER BY node.id",
    [Q_TREE] = "SELECT id, last_id, function_id, function_id %s FROM node"
               " ORDER BY id",
};

static pr_code
make_nodes(q_database *database, const q_query *query, char **ret, pr_err *err)
{
    char *made = NULL;
    if (query->verb == Q_TOP) {
        made = sqlite3_mprintf("%s", level_nodes[query->level]);
    } else if (!query->of.text) { /* tree: every outermost node is a root */
        made = sqlite3_mprintf(verb_nodes[query->verb], "IS NOT NULL");
    } else {
        char *functions = NULL;
        pr_code rc = q_find_functions(database, &query->of, &functions, err);
        if (rc != PR_OK)
            return rc;
        char *of = sqlite3_mprintf(FUNCTIONS_OF, functions);
        if (of)
            made = sqlite3_mprintf(verb_nodes[query->verb], of);
        sqlite3_free(of);
        sqlite3_free(functions);
    }
    if (!made)
        return pr_no_memory(err);
    *ret = made;
    return PR_OK;
}

#define SELF                                                               \
    "self_n AS self_samples, round(100.0 * self_n / :all, 2) AS self_pct," \
    " self_us / 1e6 AS self_s"
#define TOTAL                                                    \
    "total_n AS total_samples, round(100.0 * total_n / :all, 2)" \
    " AS total_pct, total_us / 1e6 AS total_s"

/* What each kind of answer shows, joins, leaves out, and is named by. */
typedef struct answer {
    const char *columns, *joins, *condition, *name;
} answer;

static const answer level_answers[] = {
    {SELF ", " TOTAL ", qualname AS function, first_line AS line, path AS file",
     " JOIN function ON function.id = a JOIN file ON file.id = file_id",
     "kind NOT IN ('native', 'task')", "qualname, path, first_line"},
    {SELF ", " TOTAL ", qualname AS function, nullif(b, -1) AS line,"
          " path AS file",
     " JOIN function ON function.id = a JOIN file ON file.id = file_id",
     "kind NOT IN ('native', 'task')", "qualname, path, b"},
    {SELF ", " TOTAL ", path AS file, class", " JOIN file ON file.id = a", "1",
     "path"},
};

#define EDGE_COLUMNS                                                 \
    TOTAL ", " SELF ", ifnull(caller.qualname, '(root)') AS caller," \
          " function.qualname AS callee, file.path AS file"
#define EDGE_JOINS                      \
    " JOIN function ON function.id = b" \
    " LEFT JOIN function AS caller ON caller.id = a"

static const answer verb_answers[] = {
    [Q_CALLERS] = {EDGE_COLUMNS,
                   EDGE_JOINS " LEFT JOIN file ON file.id = caller.file_id",
                   "1", "caller.qualname, function.qualname, a, b"},
    [Q_CALLEES] = {EDGE_COLUMNS,
                   EDGE_JOINS " JOIN file ON file.id = function.file_id", "1",
                   "function.qualname, caller.qualname, b, a"},
    [Q_TREE] = {TOTAL ", " SELF ", depth, qualname AS function, path AS file",
                " JOIN function ON function.id = a"
                " JOIN file ON file.id = file_id",
                "1", "place"},
};

static void
add_order(const q_query *query, const answer *a, sqlite3_str *sql)
{
    static const char *const amounts[] = {
        [Q_BY_SELF] = "self_n DESC, total_n DESC, ",
        [Q_BY_TOTAL] = "total_n DESC, self_n DESC, ",
        [Q_BY_NAME] = "",
    };
    if (query->verb == Q_TREE)
        sqlite3_str_appendall(sql, " ORDER BY place");
    else
        sqlite3_str_appendf(sql, " ORDER BY %s%s", amounts[query->order],
                            a->name);
    if (query->limit >= 0)
        sqlite3_str_appendf(sql, " LIMIT %lld", query->limit);
}

static pr_code
make_answer(q_database *database, const q_query *query, const char *table,
            char **ret, pr_err *err)
{
    const answer *a = query->verb == Q_TOP ? &level_answers[query->level]
                                           : &verb_answers[query->verb];
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendf(sql, "SELECT %s FROM %s%s WHERE %s", a->columns, table,
                        a->joins, a->condition);
    if (query->in.text)
        sqlite3_str_appendf(sql,
                            " AND (path GLOB %Q OR path GLOB '*/' || %Q"
                            " OR module = %Q)",
                            query->in.text, query->in.text, query->in.text);
    if (query->verb == Q_TREE && query->depth >= 0)
        sqlite3_str_appendf(sql, " AND depth < %lld", query->depth);
    add_order(query, a, sql);
    return finish_text(sql, ret, err);
}

static pr_code
make_threads(q_database *database, const q_query *query, char **ret,
             pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    sqlite3_str_appendall(
        sql,
        "SELECT s.n AS samples, round(100.0 * s.n / sum(s.n) OVER (), 2)"
        " AS pct, s.us / 1e6 AS seconds, round(100.0 * s.gil / s.n, 2)"
        " AS gil_pct, round(100.0 * s.waiting / s.n, 2) AS waiting_pct,"
        " name AS thread, tid, interp, is_main AS main,"
        " t0_us / 1e6 AS first_s, t1_us / 1e6 AS last_s,"
        " proven, sleeping, unproven, stopped, lost"
        " FROM (SELECT thread_id, sum(n) AS n, sum(weight_us) AS us,"
        " sum(n * (status & 1)) AS gil, sum(n * (status >> 3 & 1)) AS waiting");
    pr_code rc = add_source(database, query, sql, err);
    sqlite3_str_appendall(sql, " GROUP BY thread_id) AS s"
                               " JOIN thread ON thread.id = s.thread_id"
                               " ORDER BY s.n DESC, name, tid, interp");
    if (rc == PR_OK)
        return finish_text(sql, ret, err);
    sqlite3_free(sqlite3_str_finish(sql));
    return rc;
}

static const char summary[] =
    "SELECT 'samples' AS what, sum(samples) AS value FROM thread"
    " UNION ALL SELECT 'seconds', sum(weight_us) / 1e6 FROM node_self"
    " UNION ALL SELECT 'threads', count(*) FROM thread"
    " UNION ALL SELECT 'functions', count(*) FROM function"
    " UNION ALL SELECT 'files', count(*) FROM file"
    " UNION ALL SELECT 'stacks', count(DISTINCT node_id) FROM node_self"
    " UNION ALL SELECT 'proven', sum(proven) FROM thread"
    " UNION ALL SELECT 'sleeping', sum(sleeping) FROM thread"
    " UNION ALL SELECT 'unproven', sum(unproven) FROM thread"
    " UNION ALL SELECT 'stopped', sum(stopped) FROM thread"
    " UNION ALL SELECT 'lost', sum(lost) FROM thread"
    " UNION ALL SELECT * FROM (SELECT key, value FROM meta ORDER BY key)";

static pr_code
make_plain(q_database *database, const q_query *query, char **ret, pr_err *err)
{
    if (query->verb == Q_THREADS)
        return make_threads(database, query, ret, err);
    char *made = sqlite3_mprintf("%s", summary);
    if (!made)
        return pr_no_memory(err);
    *ret = made;
    return PR_OK;
}

/* Is it about all samples, by function, and are the sums there? */
static pr_code
is_ready(q_database *database, const q_query *query, bool *ret, pr_err *err)
{
    int64_t ready = 0;
    pr_code rc = PR_OK;
    if (query->verb == Q_TOP && query->level == Q_FUNCTION && !query->where &&
        !query->thread.text && !query->has_range)
        rc = q_database_integer(database,
                                "SELECT EXISTS (SELECT 1 FROM function_total)",
                                &ready, err);
    if (rc == PR_OK)
        *ret = ready != 0;
    return rc;
}

static pr_code
make_ready(q_database *database, const q_query *query, q_plan *plan,
           pr_err *err)
{
    plan->shape = Q_SHAPE_READY;
    plan->samples =
        sqlite3_mprintf("SELECT 0, sum(samples), sum(weight_us) FROM profile");
    if (!plan->samples)
        return pr_no_memory(err);
    return make_answer(database, query,
                       "(SELECT function_id AS a, sum(self_n) AS self_n,"
                       " sum(self_us) AS self_us, sum(total_n) AS total_n,"
                       " sum(total_us) AS total_us FROM function_total"
                       " GROUP BY function_id)",
                       &plan->answer, err);
}

static pr_code
make_folded(q_database *database, const q_query *query, q_plan *plan,
            pr_err *err)
{
    plan->shape = query->verb == Q_TREE ? Q_SHAPE_TREE : Q_SHAPE_FLAT;
    plan->table = sqlite3_mprintf("temp.answer%u", ++database->n_answers);
    if (!plan->table)
        return pr_no_memory(err);
    pr_code rc = make_samples(database, query, &plan->samples, err);
    if (rc == PR_OK)
        rc = make_nodes(database, query, &plan->nodes, err);
    if (rc == PR_OK)
        rc = make_answer(database, query, plan->table, &plan->answer, err);
    return rc;
}

pr_code
q_plan_make(q_database *database, const q_query *query, q_plan *ret,
            pr_err *err)
{
    q_plan plan = {.above = query->above};
    bool ready = false;
    pr_code rc = is_ready(database, query, &ready, err);
    if (rc != PR_OK)
        return rc;
    if (query->verb == Q_THREADS || query->verb == Q_SUMMARY)
        rc = make_plain(database, query, &plan.answer, err);
    else if (ready)
        rc = make_ready(database, query, &plan, err);
    else
        rc = make_folded(database, query, &plan, err);
    if (rc != PR_OK) {
        q_plan_release(&plan);
        return rc;
    }
    *ret = plan;
    return PR_OK;
}

void
q_plan_release(q_plan *plan)
{
    sqlite3_free(plan->samples);
    sqlite3_free(plan->nodes);
    sqlite3_free(plan->answer);
    sqlite3_free(plan->table);
    *plan = (q_plan){0};
}
