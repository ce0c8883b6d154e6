/*
 * run.c - from a query text to its result: parse, plan, fold, answer.
 */
#include "query/plan/run.h"

#include "query/database/result.h"
#include "query/database/server.h"
#include "query/fold/listing.h"
#include "query/fold/stored.h"
#include "query/language/verbs.h"
#include "query/plan/select.h"

#include <base/array.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

static void
bind_group(sqlite3_stmt *stmt, size_t place, const q_group *g,
           const q_amount *part)
{
    const int64_t values[] = {(int64_t)place, g->split,       0,
                              g->depth,       g->match,       g->a,
                              g->b,           g->self.n,      g->self.us,
                              g->self.ran_n,  g->self.ran_us, g->total.n,
                              g->total.us,    g->total.ran_n, g->total.ran_us,
                              part->n,        part->us};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        sqlite3_bind_int64(stmt, (int)i + 1, values[i]);
    if (g->parent == PR_TABLE_NONE)
        sqlite3_bind_null(stmt, 3);
    else
        sqlite3_bind_int64(stmt, 3, g->parent);
}

/* All samples of the part of a group; parts come in order. */
static q_amount
part_of(const q_samples *samples, int64_t split)
{
    size_t i;
    PR_FIND_SORTED(i, samples->entry, samples->len, split, split);
    q_amount sum = {0, 0, 0, 0};
    for (; i < samples->len && samples->entry[i].split == split; i++) {
        sum.n += samples->entry[i].amount.n;
        sum.us += samples->entry[i].amount.us;
    }
    return sum;
}

static pr_code
insert_groups(q_database *database, sqlite3_stmt *stmt,
              const q_samples *samples, const q_groups *groups, pr_err *err)
{
    q_amount part = {0, 0, 0, 0};
    pr_code rc = PR_OK;
    for (size_t i = 0; rc == PR_OK && i < groups->len; i++) {
        const q_group *g = &groups->group[i];
        if (i == 0 || g->split != groups->group[i - 1].split)
            part = part_of(samples, g->split);
        bind_group(stmt, i, g, &part);
        rc = q_database_step(database, stmt, err);
        sqlite3_reset(stmt);
        rc = rc == PR_END ? PR_OK : rc;
    }
    return rc;
}

/* The groups as the plan's table. */
static pr_code
fill_table(q_database *database, const q_plan *plan, const q_samples *samples,
           const q_groups *groups, pr_err *err)
{
    char *create =
        sqlite3_mprintf("CREATE TABLE %s(" Q_ANSWER_COLUMNS ")", plan->table);
    char *insert = sqlite3_mprintf(
        "INSERT INTO %s VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        plan->table);
    sqlite3_stmt *stmt = NULL;
    pr_code rc = q_database_exec(database, create, err);
    if (rc == PR_OK)
        rc = q_database_prepare(database, insert, &stmt, err);
    /* one transaction, or each row pays for its own; an archive has one */
    bool begins = rc == PR_OK && sqlite3_get_autocommit(database->sqlite);
    if (begins)
        rc = q_database_exec(database, "BEGIN", err);
    if (rc == PR_OK)
        rc = insert_groups(database, stmt, samples, groups, err);
    sqlite3_finalize(stmt);
    sqlite3_free(create);
    sqlite3_free(insert);
    if (begins) {
        pr_code ended = q_database_exec(database, "COMMIT", err);
        rc = rc == PR_OK ? ended : rc;
    }
    return rc;
}

/* ---- reading ---- */

static pr_code
read_samples(q_database *database, const q_plan *plan, q_samples *ret,
             pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, plan->samples, &stmt, err);
    if (rc != PR_OK)
        return rc;
    rc = plan->has_runs
             ? q_samples_read_runs(database, stmt, plan->width_us, ret, err)
             : q_samples_read(database, stmt, ret, err);
    sqlite3_finalize(stmt);
    return rc;
}

static pr_code
read_nodes(q_database *database, const q_plan *plan, const q_samples *samples,
           q_nodes *ret, pr_err *err)
{
    sqlite3_stmt *functions, *nodes = NULL;
    pr_code rc = q_database_prepare(database, plan->functions, &functions, err);
    if (rc == PR_OK)
        rc = q_database_prepare(database, plan->nodes, &nodes, err);
    if (rc == PR_OK)
        rc = q_nodes_read(database, functions, nodes, samples, ret, err);
    sqlite3_finalize(functions);
    sqlite3_finalize(nodes);
    return rc;
}

/* The samples of whole profiles, where the database has their sums. */
static pr_code
read_all(q_database *database, const q_plan *plan, q_amount *ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, plan->all, &stmt, err);
    if (rc != PR_OK)
        return rc;
    rc = q_database_step(database, stmt, err);
    if (rc == PR_OK)
        *ret = q_amount_read(stmt, 0);
    sqlite3_finalize(stmt);
    return rc;
}

/* ---- what becomes of a tree ---- */

/* The least number that is at least so many millionths of n; in two parts, so
 * that nothing overflows. */
static int64_t
share_of(int64_t n, int64_t millionths)
{
    return n / 1000000 * millionths +
           (n % 1000000 * millionths + 999999) / 1000000;
}

static int
compare_down(const void *x, const void *y)
{
    const int64_t *p = x, *q = y;
    return (*p < *q) - (*p > *q);
}

/* How many samples the last one of the best `limit` groups has. */
static pr_code
least_of_best(const q_plan *plan, const q_groups *groups, int64_t *ret,
              pr_err *err)
{
    int64_t *n = calloc(groups->len + 1, sizeof *n);
    size_t len = 0;
    if (!n)
        return pr_no_memory(err);
    for (size_t i = 0; i < groups->len; i++) {
        const q_group *g = &groups->group[i];
        int64_t amount = !plan->of_match ? g->self.n
                         : g->match      ? g->total.n
                                         : 0;
        if (amount > 0)
            n[len++] = amount;
    }
    qsort(n, len, sizeof *n, compare_down);
    size_t last = plan->limit >= 0 && (uint64_t)plan->limit < len
                      ? (size_t)plan->limit
                      : len;
    *ret = last ? n[last - 1] : 1;
    free(n);
    return PR_OK;
}

static pr_code
after_fold(const q_plan *plan, const q_samples *samples, q_groups *groups,
           pr_err *err)
{
    int64_t least = share_of(samples->all.n, plan->above);
    int64_t depth = plan->depth < 0 ? INT64_MAX : plan->depth;
    pr_code rc;
    switch (plan->after) {
    case Q_AFTER_ORDER:
        return q_groups_order(groups, least, err);
    case Q_AFTER_INVERT:
        return q_groups_invert(groups, false, depth, least, err);
    case Q_AFTER_INVERT_OF:
        return q_groups_invert(groups, true, depth, least, err);
    case Q_AFTER_BEST:
        rc = least_of_best(plan, groups, &least, err);
        return rc == PR_OK ? q_groups_order(groups, least, err) : rc;
    case Q_AFTER_NOTHING:
        break;
    }
    return PR_OK;
}

/* Without nodes each part is a group. */
static pr_code
group_parts(const q_samples *samples, q_groups *ret, pr_err *err)
{
    q_groups g = {0};
    if (!pr_grow(&g.group, &g.cap, samples->len + 1, sizeof *g.group))
        return pr_no_memory(err);
    for (; g.len < samples->len; g.len++)
        g.group[g.len] = (q_group){.split = samples->entry[g.len].split,
                                   .a = -1,
                                   .b = -1,
                                   .parent = PR_TABLE_NONE,
                                   .self = samples->entry[g.len].amount,
                                   .total = samples->entry[g.len].amount};
    *ret = g;
    return PR_OK;
}

static pr_code
make_groups(q_database *database, const q_plan *plan, const q_samples *samples,
            q_groups *ret, pr_err *err)
{
    q_nodes nodes = {0};
    if (plan->shape == Q_SHAPE_PARTS)
        return group_parts(samples, ret, err);
    pr_code rc = read_nodes(database, plan, samples, &nodes, err);
    if (rc == PR_OK)
        rc = q_fold_all(samples, &nodes, plan->fold, ret, err);
    q_nodes_release(&nodes);
    return rc == PR_OK ? after_fold(plan, samples, ret, err) : rc;
}

pr_code
q_run_groups(q_database *database, const q_plan *plan, q_samples *ret_samples,
             q_groups *ret_groups, pr_err *err)
{
    pr_code rc = read_samples(database, plan, ret_samples, err);
    if (rc == PR_OK && plan->keeps_parts)
        rc = q_samples_keep_parts(ret_samples, (size_t)plan->limit,
                                  database->knows_ran, err);
    if (rc == PR_OK)
        rc = make_groups(database, plan, ret_samples, ret_groups, err);
    return rc == PR_OK && plan->keeps_parts
               ? q_groups_add_parts(ret_groups, ret_samples, err)
               : rc;
}

/* Samples and nodes into the table; *ret_all is what the question is about. */
static pr_code
fold(q_database *database, const q_plan *plan, q_amount *ret_all, pr_err *err)
{
    q_samples samples = {0};
    q_groups groups = {0};
    pr_code rc = q_run_groups(database, plan, &samples, &groups, err);
    if (rc == PR_OK)
        rc = fill_table(database, plan, &samples, &groups, err);
    if (rc == PR_OK && plan->source)
        rc = q_listing_fill(database, plan->table, plan->source, &groups, err);
    if (rc == PR_OK)
        *ret_all = samples.all;
    q_samples_release(&samples);
    q_groups_release(&groups);
    return rc;
}

static pr_code
read_stored_sums(q_database *database, const q_plan *plan, q_groups *ret,
                 pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, plan->sums, &stmt, err);
    if (rc == PR_OK)
        rc = q_stored_sums_read(database, stmt, ret, err);
    sqlite3_finalize(stmt);
    return rc;
}

static pr_code
read_stored_tree(q_database *database, const q_plan *plan,
                 const q_samples *samples, q_groups *ret, pr_err *err)
{
    sqlite3_stmt *profiles, *children = NULL;
    int64_t least = share_of(samples->all.n, plan->above);
    pr_code rc = q_database_prepare(database, plan->profiles, &profiles, err);
    if (rc == PR_OK)
        rc = q_database_prepare(database, plan->tree, &children, err);
    if (rc == PR_OK)
        rc = q_stored_tree_read(database, profiles, children, least, ret, err);
    sqlite3_finalize(profiles);
    sqlite3_finalize(children);
    return rc;
}

/* The same from totals or trees that the database has. */
static pr_code
take_stored(q_database *database, const q_plan *plan, q_amount *ret_all,
            pr_err *err)
{
    q_samples samples = {0};
    q_groups groups = {0};
    pr_code rc = read_samples(database, plan, &samples, err);
    if (rc == PR_OK)
        rc = plan->tree
                 ? read_stored_tree(database, plan, &samples, &groups, err)
                 : read_stored_sums(database, plan, &groups, err);
    if (rc == PR_OK)
        rc = after_fold(plan, &samples, &groups, err);
    if (rc == PR_OK)
        rc = fill_table(database, plan, &samples, &groups, err);
    if (rc == PR_OK)
        *ret_all = samples.all;
    q_samples_release(&samples);
    q_groups_release(&groups);
    return rc;
}

/* ---- what the answer rests on ---- */

static int64_t
count_or_unknown(sqlite3_stmt *row, int column)
{
    return sqlite3_column_type(row, column) == SQLITE_NULL
               ? -1
               : sqlite3_column_int64(row, column);
}

static pr_code
read_basis(q_database *database, const q_amount *all, q_basis *ret, pr_err *err)
{
    static const char sql[] =
        "SELECT (SELECT sum(samples) FROM profile), CASE WHEN count(proven) +"
        " count(sleeping) + count(stopped) > 0 THEN total(proven) +"
        " total(sleeping) + total(stopped) END, sum(unproven), " Q_LOST
        ", (SELECT sum(unobserved_us) / 1e6 FROM profile) FROM thread";
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, sql, &stmt, err);
    if (rc != PR_OK)
        return rc;
    rc = q_database_step(database, stmt, err);
    if (rc == PR_OK) {
        int64_t samples = sqlite3_column_int64(stmt, 0);
        *ret = (q_basis){
            .samples = all ? all->n : samples,
            .all_samples = samples,
            .seconds = all ? (double)all->us / 1e6 : -1,
            .ran = all && database->knows_ran ? all->ran_n : -1,
            .proven = count_or_unknown(stmt, 1),
            .unproven = count_or_unknown(stmt, 2),
            .lost = count_or_unknown(stmt, 3),
            .unobserved_s = sqlite3_column_double(stmt, 4),
        };
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* The query without white space at its end. */
static char *
make_title(const char *text)
{
    int n = (int)strlen(text);
    while (n > 0 && strchr(" \t\r\n\v\f", text[n - 1]))
        n--;
    return sqlite3_mprintf("%.*s", n, text);
}

/* Takes over plan->table. */
static pr_code
answer(q_database *database, const char *text, q_plan *plan,
       const q_amount *all, q_result **ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, plan->answer, &stmt, err);
    if (rc != PR_OK)
        return rc;
    char *table = plan->table;
    plan->table = NULL;
    q_result *result;
    q_basis basis;
    rc = q_result_new(database, stmt, table, false, &result, err);
    if (rc != PR_OK)
        return rc;
    rc = plan->is_about_samples ? read_basis(database, all, &basis, err)
                                : PR_END;
    if (rc == PR_OK)
        q_result_set_basis(result, &basis);
    rc = rc == PR_END ? PR_OK : rc;
    if (rc == PR_OK && plan->note)
        rc = q_result_set_notes(result, plan->note, err);
    if (rc != PR_OK) {
        q_result_free(result);
        return rc;
    }
    q_result_set_title(result, make_title(text));
    *ret = result;
    return PR_OK;
}

pr_code
q_run_answer(q_database *database, const char *text, q_plan *plan,
             const q_samples *samples, const q_groups *groups, q_result **ret,
             pr_err *err)
{
    pr_code rc = fill_table(database, plan, samples, groups, err);
    return rc == PR_OK ? answer(database, text, plan, &samples->all, ret, err)
                       : rc;
}

/* ---- explain ---- */

/* The plan's texts as rows, in the order in which they run. */
static pr_code
explain(q_database *database, const char *text, const q_plan *plan,
        q_result **ret, pr_err *err)
{
    const struct {
        const char *name, *sql;
    } steps[] = {{"all", plan->all},
                 {"profiles", plan->profiles},
                 {"tree", plan->tree},
                 {"samples", plan->samples},
                 {"functions", plan->functions},
                 {"nodes", plan->nodes},
                 {"answer", plan->answer}};
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    const char *word = "";
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        if (!steps[i].sql)
            continue;
        sqlite3_str_appendf(sql, "%sSELECT %Q AS step, %Q AS sql", word,
                            steps[i].name, steps[i].sql);
        word = " UNION ALL ";
    }
    char *all = sqlite3_str_finish(sql);
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, all, &stmt, err);
    sqlite3_free(all);
    if (rc != PR_OK)
        return rc;
    q_result *result;
    rc = q_result_new(database, stmt, NULL, false, &result, err);
    if (rc != PR_OK)
        return rc;
    q_result_set_title(result, sqlite3_mprintf("%s", text));
    *ret = result;
    return PR_OK;
}

/* ---- totals without stacks ---- */

/* Are the totals of functions and of callers enough? */
static bool
is_of_totals(const q_query *query)
{
    q_verb verb = query->verb;
    if (verb == Q_TOP)
        return query->unit == Q_FUNCTION && q_select_is_whole(query);
    if (verb == Q_CALLERS || verb == Q_CALLEES)
        return query->split == Q_WHOLE && q_select_is_whole(query);
    return verb == Q_SUMMARY || verb == Q_PROFILES || verb == Q_HELP;
}

/* ---- interface ---- */

static pr_code
run_plan(q_database *database, const char *text, q_plan *plan, q_result **ret,
         pr_err *err)
{
    if (plan->shape == Q_SHAPE_PLAIN)
        return answer(database, text, plan, NULL, ret, err);
    q_amount all;
    pr_code rc =
        plan->shape == Q_SHAPE_READY    ? read_all(database, plan, &all, err)
        : plan->shape == Q_SHAPE_STORED ? take_stored(database, plan, &all, err)
                                        : fold(database, plan, &all, err);
    return rc == PR_OK ? answer(database, text, plan, &all, ret, err) : rc;
}

pr_code
q_run_query(q_database *database, const char *text, const q_query *query,
            q_result **ret, pr_err *err)
{
    q_plan plan;
    pr_code rc = q_plan_make(database, query, &plan, err);
    if (rc != PR_OK)
        return rc;
    rc = query->explain ? explain(database, text, &plan, ret, err)
                        : run_plan(database, text, &plan, ret, err);
    q_plan_release(&plan);
    return rc;
}

pr_code
q_run(q_database *database, const char *query, q_result **ret, pr_err *err)
{
    q_query parsed;
    pr_code rc = q_parse(query, &parsed, err);
    if (rc != PR_OK)
        return rc;
    rc = is_of_totals(&parsed)
             ? PR_OK
             : q_totals_refuse(database, "this question", err);
    if (rc != PR_OK) {
        q_query_release(&parsed);
        return rc;
    }
    q_database_begin(database);
    if (database->remote && parsed.verb != Q_HELP)
        rc = q_run_remote(database, query, &parsed, ret, err);
    else if (q_is_comparison(parsed.verb))
        rc = q_run_comparison(database, query, &parsed, ret, err);
    else
        rc = q_run_query(database, query, &parsed, ret, err);
    q_query_release(&parsed);
    return rc;
}

pr_code
q_run_sql(q_database *database, const char *sql, q_result **ret, pr_err *err)
{
    q_database_begin(database);
    sqlite3_stmt *stmt;
    pr_code rc = q_remote_refuse(database, "SQL", err);
    if (rc == PR_OK)
        rc = q_database_prepare_guarded(database, sql, &stmt, err);
    if (rc != PR_OK)
        return rc;
    return q_result_new(database, stmt, NULL, true, ret, err);
}

pr_code
q_run_stacks(q_database *database, const char *query, q_stack_fn take,
             void *context, pr_err *err)
{
    q_query parsed;
    q_plan plan;
    q_samples samples = {0};
    q_groups groups = {0};
    pr_code rc = q_remote_refuse(database, "stacks", err);
    if (rc == PR_OK)
        rc = q_totals_refuse(database, "a graph", err);
    if (rc == PR_OK)
        rc = q_parse(query, &parsed, err);
    if (rc != PR_OK)
        return rc;
    if (!parsed.has_stacks) {
        q_query_release(&parsed);
        return PR_FAIL(err, PR_USAGE, "the answer to the query is not stacks");
    }
    q_database_begin(database);
    rc = q_plan_stacks(database, &parsed, &plan, err);
    q_query_release(&parsed);
    if (rc != PR_OK)
        return rc;
    rc = q_run_groups(database, &plan, &samples, &groups, err);
    if (rc == PR_OK)
        rc = q_listing_stacks(database, &groups, plan.of_match, take, context,
                              err);
    q_samples_release(&samples);
    q_groups_release(&groups);
    q_plan_release(&plan);
    return rc;
}
