/*
 * run.c - from a query text to its result: parse, plan, fold, answer.
 */
#include "query/fold.h"
#include "query/plan.h"
#include "query/result.h"

static pr_code
insert_group(q_database *database, sqlite3_stmt *stmt, size_t place,
             const q_group *g, pr_err *err)
{
    const int64_t values[] = {(int64_t)place, g->a,       g->b,
                              g->depth,       g->self.n,  g->self.us,
                              g->total.n,     g->total.us};
    for (int i = 0; i < 8; i++)
        sqlite3_bind_int64(stmt, i + 1, values[i]);
    pr_code rc = q_database_step(database, stmt, err);
    sqlite3_reset(stmt);
    return rc == PR_END ? PR_OK : rc;
}

/* The groups as the plan's table. */
static pr_code
fill_table(q_database *database, const q_plan *plan, const q_groups *groups,
           pr_err *err)
{
    char *create =
        sqlite3_mprintf("CREATE TABLE %s(" Q_ANSWER_COLUMNS ")", plan->table);
    char *insert =
        sqlite3_mprintf("INSERT INTO %s VALUES(?,?,?,?,?,?,?,?)", plan->table);
    sqlite3_stmt *stmt = NULL;
    pr_code rc = q_database_exec(database, create, err);
    if (rc == PR_OK)
        rc = q_database_prepare(database, insert, &stmt, err);
    if (rc == PR_OK) /* one transaction, or each row pays for its own */
        rc = q_database_exec(database, "BEGIN", err);
    for (size_t i = 0; rc == PR_OK && i < groups->len; i++)
        rc = insert_group(database, stmt, i, &groups->group[i], err);
    sqlite3_finalize(stmt);
    sqlite3_free(create);
    sqlite3_free(insert);
    if (!sqlite3_get_autocommit(database->sqlite)) {
        pr_code ended = q_database_exec(database, "COMMIT", err);
        rc = rc == PR_OK ? ended : rc;
    }
    return rc;
}

static pr_code
read_samples(q_database *database, const q_plan *plan, q_weights *ret,
             pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, plan->samples, &stmt, err);
    if (rc != PR_OK)
        return rc;
    rc = q_weights_read(database, stmt, ret, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* The least number that is at least so many millionths of n; in two parts, so
 * that nothing overflows. */
static int64_t
part_of(int64_t n, int64_t millionths)
{
    return n / 1000000 * millionths +
           (n % 1000000 * millionths + 999999) / 1000000;
}

static pr_code
fold_nodes(q_database *database, const q_plan *plan, const q_weights *weights,
           q_groups *ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, plan->nodes, &stmt, err);
    if (rc != PR_OK)
        return rc;
    int64_t all_n = weights->before[weights->len].n;
    rc = plan->shape == Q_SHAPE_TREE
             ? q_fold_tree(database, stmt, weights, part_of(all_n, plan->above),
                           ret, err)
             : q_fold_flat(database, stmt, weights, ret, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* Of all samples, where the database has the sums. */
static pr_code
read_sums(q_database *database, const q_plan *plan, q_amount *ret_all,
          pr_err *err)
{
    q_weights weights = {0};
    pr_code rc = read_samples(database, plan, &weights, err);
    if (rc != PR_OK)
        return rc;
    *ret_all = weights.before[weights.len];
    q_weights_release(&weights);
    return PR_OK;
}

/* Samples and nodes into the table; *ret_all is what the question is about. */
static pr_code
fold(q_database *database, const q_plan *plan, q_amount *ret_all, pr_err *err)
{
    q_weights weights = {0};
    q_groups groups = {0};
    pr_code rc = read_samples(database, plan, &weights, err);
    if (rc != PR_OK)
        return rc;
    rc = fold_nodes(database, plan, &weights, &groups, err);
    if (rc == PR_OK)
        rc = fill_table(database, plan, &groups, err);
    if (rc == PR_OK)
        *ret_all = weights.before[weights.len];
    q_weights_release(&weights);
    q_groups_release(&groups);
    return rc;
}

/* "; recorded: 9 proven, 1 unproven, 2 lost; 0.290 s unobserved", as far as
 * the row of make_title() knows it. */
static void
add_truth(sqlite3_str *title, sqlite3_stmt *row)
{
    if (sqlite3_column_int64(row, 5) > 0) /* any is not NULL */
        sqlite3_str_appendf(
            title, "; recorded: %lld proven, %lld unproven, %lld lost",
            sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2),
            sqlite3_column_int64(row, 3));
    double unobserved = sqlite3_column_double(row, 4);
    if (unobserved > 0)
        sqlite3_str_appendf(title, "; %.3f s unobserved", unobserved);
}

/* "top 20 by self: 120 of 480 samples, 0.12 s", and how true they are. */
static pr_code
make_title(q_database *database, const char *text, const q_amount *all,
           char **ret, pr_err *err)
{
    static const char sql[] =
        "SELECT sum(samples), total(proven) + total(sleeping) +"
        " total(stopped), sum(unproven), sum(lost),"
        " sum(unobserved_us) / 1e6, count(proven) +"
        " count(sleeping) + count(stopped) + count(unproven) + count(lost)"
        " FROM thread";
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, sql, &stmt, err);
    if (rc != PR_OK)
        return rc;
    rc = q_database_step(database, stmt, err);
    if (rc == PR_OK) {
        sqlite3_str *title = sqlite3_str_new(database->sqlite);
        long long samples = sqlite3_column_int64(stmt, 0);
        sqlite3_str_appendall(title, text);
        if (all)
            sqlite3_str_appendf(title, ": %lld of %lld samples, %.3f s",
                                (long long)all->n, samples,
                                (double)all->us / 1e6);
        else
            sqlite3_str_appendf(title, ": %lld samples", samples);
        add_truth(title, stmt);
        *ret = sqlite3_str_finish(title);
    }
    sqlite3_finalize(stmt);
    return rc;
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
    if (all)
        sqlite3_bind_int64(stmt, sqlite3_bind_parameter_index(stmt, ":all"),
                           all->n);
    char *table = plan->table, *title = NULL;
    plan->table = NULL;
    q_result *result;
    rc = q_result_new(database, stmt, table, false, &result, err);
    if (rc != PR_OK)
        return rc;
    rc = make_title(database, text, all, &title, err);
    if (rc != PR_OK) {
        q_result_free(result);
        return rc;
    }
    q_result_set_title(result, title);
    *ret = result;
    return PR_OK;
}

/* The plan's texts as rows, in the order in which they run. */
static pr_code
explain(q_database *database, const char *text, const q_plan *plan,
        q_result **ret, pr_err *err)
{
    sqlite3_str *sql = sqlite3_str_new(database->sqlite);
    if (plan->samples)
        sqlite3_str_appendf(sql,
                            "SELECT 'samples' AS step, %Q AS sql UNION ALL ",
                            plan->samples);
    if (plan->nodes)
        sqlite3_str_appendf(sql, "SELECT 'nodes' AS step, %Q AS sql UNION ALL ",
                            plan->nodes);
    sqlite3_str_appendf(sql, "SELECT 'answer' AS step, %Q AS sql",
                        plan->answer);
    char *steps = sqlite3_str_finish(sql);
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, steps, &stmt, err);
    sqlite3_free(steps);
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

static pr_code
run_plan(q_database *database, const char *text, q_plan *plan, q_result **ret,
         pr_err *err)
{
    if (plan->shape == Q_SHAPE_PLAIN)
        return answer(database, text, plan, NULL, ret, err);
    q_amount all;
    pr_code rc = plan->shape == Q_SHAPE_READY
                     ? read_sums(database, plan, &all, err)
                     : fold(database, plan, &all, err);
    if (rc != PR_OK)
        return rc;
    return answer(database, text, plan, &all, ret, err);
}

pr_code
q_run(q_database *database, const char *query, q_result **ret, pr_err *err)
{
    q_query parsed;
    pr_code rc = q_parse(query, &parsed, err);
    if (rc != PR_OK)
        return rc;
    q_database_begin(database);
    q_plan plan;
    rc = q_plan_make(database, &parsed, &plan, err);
    if (rc == PR_OK) {
        rc = parsed.explain ? explain(database, query, &plan, ret, err)
                            : run_plan(database, query, &plan, ret, err);
        q_plan_release(&plan);
    }
    q_query_release(&parsed);
    return rc;
}

pr_code
q_run_sql(q_database *database, const char *sql, q_result **ret, pr_err *err)
{
    q_database_begin(database);
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare_guarded(database, sql, &stmt, err);
    if (rc != PR_OK)
        return rc;
    return q_result_new(database, stmt, NULL, true, ret, err);
}
