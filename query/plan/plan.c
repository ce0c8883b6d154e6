/*
 * plan.c - the SQL of each verb.
 */
#include "query/plan/plan.h"

#include "query/fold/stored.h"
#include "query/plan/answers.h"
#include "query/plan/lookup.h"
#include "query/plan/select.h"

enum { MILLION = 1000000 };

static pr_code
copy_text(char *made, char **ret, pr_err *err)
{
    if (!made)
        return pr_no_memory(err);
    *ret = made;
    return PR_OK;
}

/* ---- functions and nodes ---- */

/* The key of a unit; modules and classes by the least of their files. */
static const char *const unit_keys[] = {
    [Q_FUNCTION] = "function.id",
    [Q_LINE] = "function.id",
    [Q_FILE] = "file_id",
    [Q_MODULE] = "min(file_id) OVER (PARTITION BY ifnull(module, path))",
    [Q_CLASS] = "min(file_id) OVER (PARTITION BY class)",
    [Q_TASK] = "function.id",
    [Q_OPCODE] = "0",
};

/* Names of tasks are frames of their own; only `per task` shows them alone. */
static const char *
hidden_of(q_unit unit)
{
    return unit == Q_TASK ? "kind <> 'task'" : "0";
}

static pr_code
make_functions(q_database *database, const q_query *query, const q_name *of,
               char **ret, pr_err *err)
{
    char *hidden, *match = NULL;
    pr_code rc = q_select_hidden(database, query, &hidden, err);
    if (rc == PR_OK && of->text)
        rc = q_find_functions(database, of, &match, err);
    if (rc != PR_OK) {
        sqlite3_free(hidden);
        return rc;
    }
    char *made =
        sqlite3_mprintf("SELECT function.id, %s, %s OR %s, %s FROM function"
                        " JOIN file ON file.id = file_id",
                        unit_keys[query->unit], hidden, hidden_of(query->unit),
                        match ? match : "0");
    sqlite3_free(hidden);
    sqlite3_free(match);
    return copy_text(made, ret, err);
}

static pr_code
make_nodes(const q_query *query, char **ret, pr_err *err)
{
    const char *text =
        query->unit == Q_LINE
            ? "SELECT id, last_id, function_id, line FROM node ORDER BY id"
        : query->unit == Q_OPCODE
            ? "SELECT node.id, last_id, node.function_id, opcode FROM node"
              " CROSS JOIN frame ON frame.id = frame_id ORDER BY node.id"
            : "SELECT id, last_id, function_id FROM node ORDER BY id";
    return copy_text(sqlite3_mprintf("%s", text), ret, err);
}

static pr_code
make_fold(q_database *database, const q_query *query, q_fold how, q_plan *plan,
          pr_err *err)
{
    static const q_name none = {NULL, 0};
    bool has_name = query->verb != Q_SOURCE && query->verb != Q_TOP;
    plan->shape = Q_SHAPE_FOLD;
    plan->has_runs = q_select_is_of_runs(query);
    plan->fold = how;
    plan->table = sqlite3_mprintf("temp.answer%u", ++database->n_answers);
    if (!plan->table)
        return pr_no_memory(err);
    pr_code rc = q_select_samples(database, query, true, &plan->samples, err);
    if (rc == PR_OK)
        rc = make_functions(database, query, has_name ? &query->of : &none,
                            &plan->functions, err);
    return rc == PR_OK ? make_nodes(query, &plan->nodes, err) : rc;
}

/* ---- stored totals ---- */

static pr_code
have_totals(q_database *database, const char *table, bool *ret, pr_err *err)
{
    int64_t there = 0;
    char *sql = sqlite3_mprintf("SELECT EXISTS (SELECT 1 FROM %s)", table);
    pr_code rc = q_database_integer(database, sql, &there, err);
    sqlite3_free(sql);
    if (rc == PR_OK)
        *ret = there != 0;
    return rc;
}

static pr_code
make_all(q_database *database, const q_query *query, q_plan *plan, pr_err *err)
{
    char *profiles;
    pr_code rc = q_select_profiles(database, query, &profiles, err);
    if (rc != PR_OK)
        return rc;
    plan->shape = Q_SHAPE_READY;
    plan->all = sqlite3_mprintf(
        "SELECT sum(samples), sum(weight_us), sum(ran_n), sum(ran_us)"
        " FROM profile WHERE %s",
        profiles);
    sqlite3_free(profiles);
    return plan->all ? PR_OK : pr_no_memory(err);
}

/* Sums over all profiles, or the totals of each, as a table of the fold. */
static const char sums_of_all[] =
    "(SELECT 0 AS split, function_id AS a, -1 AS b, self_n, self_us,"
    " self_ran_n, self_ran_us, total_n, total_us, total_ran_n, total_ran_us,"
    " (SELECT sum(samples) FROM profile) AS part_n,"
    " (SELECT sum(weight_us) FROM profile) AS part_us FROM function_sum)";

static pr_code
ready_profiles(q_database *database, const q_query *query, char **ret,
               pr_err *err)
{
    char *profiles;
    pr_code rc = q_select_profiles(database, query, &profiles, err);
    if (rc != PR_OK)
        return rc;
    char *made = sqlite3_mprintf(
        "(SELECT profile_id AS split, function_id AS a, -1 AS b,"
        " self_n, self_us, self_ran_n, self_ran_us, total_n,"
        " total_us, total_ran_n, total_ran_us, samples AS part_n,"
        " profile.weight_us AS part_us FROM function_total"
        " JOIN profile ON profile.id = profile_id WHERE %s)",
        profiles);
    sqlite3_free(profiles);
    return copy_text(made, ret, err);
}

/* ---- stored rows that the program adds up ---- */

/* The profiles of a question as the samples of its parts. */
static pr_code
make_stored(q_database *database, const q_query *query, q_plan *plan,
            pr_err *err)
{
    char *parts;
    pr_code rc = q_select_whole_parts(database, query, &parts, err);
    if (rc != PR_OK)
        return rc;
    plan->shape = Q_SHAPE_STORED;
    plan->table = sqlite3_mprintf("temp.answer%u", ++database->n_answers);
    plan->samples = sqlite3_mprintf(
        "SELECT 0, split, samples, weight_us, ran_n, ran_us FROM (%s)", parts);
    if (query->verb == Q_TREE) {
        plan->profiles = sqlite3_mprintf("SELECT id FROM (%s)", parts);
        plan->tree = sqlite3_mprintf(
            "SELECT id, function_id, self_n, self_us, self_ran_n, self_ran_us,"
            " total_n, total_us, total_ran_n, total_ran_us FROM tree_total"
            " WHERE profile_id = ?1 AND parent_id = ?2");
    } else /* each profile's rows lie together, in order */
        plan->sums = sqlite3_mprintf(
            "SELECT split, function_id, self_n, self_us, self_ran_n,"
            " self_ran_us, total_n, total_us, total_ran_n, total_ran_us"
            " FROM (%s) AS part CROSS JOIN function_total"
            " ON profile_id = part.id",
            parts);
    sqlite3_free(parts);
    bool made = plan->sums || (plan->tree && plan->profiles);
    return plan->table && plan->samples && made ? PR_OK : pr_no_memory(err);
}

#define SUMS                                          \
    "sum(self_n) AS self_n, sum(self_us) AS self_us," \
    " sum(total_n) AS total_n, sum(total_us) AS total_us"
/* Calls and samples do not add up; seconds do. */
#define SUMS_WITH_CALLS(id)                                             \
    "sum(self_n) FILTER (WHERE NOT " Q_COUNTS_CALLS(                    \
        id) ") AS self_n, sum(self_us) AS self_us, sum(total_n) FILTER" \
            " (WHERE NOT " Q_COUNTS_CALLS(                              \
                id) ") AS total_n, sum(total_us) AS total_us,"          \
                    " sum(total_n) FILTER (WHERE " Q_COUNTS_CALLS(      \
                        id) ") AS calls"

/* Functions of profiles some of which count calls. */
static pr_code
sum_with_calls(q_database *database, const q_query *query, char **ret,
               pr_err *err)
{
    char *parts;
    pr_code rc = q_select_whole_parts(database, query, &parts, err);
    if (rc != PR_OK)
        return rc;
    char *made = sqlite3_mprintf(
        "(SELECT split, function_id AS a, -1 AS b, " SUMS_WITH_CALLS(
            "part.id") ", part_us FROM (SELECT id, split, sum(weight_us) OVER"
                       " (PARTITION BY split) AS part_us FROM (%s)) AS part"
                       " CROSS JOIN function_total ON profile_id = part.id"
                       " GROUP BY split, function_id)",
        parts);
    sqlite3_free(parts);
    return copy_text(made, ret, err);
}

static pr_code
ready_edges(q_database *database, const q_query *query, bool of_calls,
            char **ret, pr_err *err)
{
    char *profiles, *functions = NULL;
    pr_code rc = q_select_profiles(database, query, &profiles, err);
    if (rc != PR_OK)
        return rc;
    rc = q_find_functions(database, &query->of, &functions, err);
    char *made = NULL;
    if (rc == PR_OK) {
        made = sqlite3_mprintf(
            "(SELECT 0 AS split, nullif(caller_id, 0) AS a, callee_id AS b, %s,"
            " (SELECT sum(samples) FROM profile WHERE %s) AS part_n,"
            " (SELECT sum(weight_us) FROM profile WHERE %s) AS part_us"
            " FROM profile CROSS JOIN edge_total ON profile_id = profile.id"
            " AND %s IN (SELECT function.id FROM function JOIN file"
            " ON file.id = file_id WHERE %s) WHERE %s"
            " GROUP BY caller_id, callee_id)",
            of_calls ? SUMS_WITH_CALLS("profile.id") : SUMS, profiles, profiles,
            query->verb == Q_CALLERS ? "callee_id" : "caller_id", functions,
            profiles);
        rc = made ? PR_OK : pr_no_memory(err);
    }
    sqlite3_free(profiles);
    sqlite3_free(functions);
    if (rc == PR_OK)
        *ret = made;
    return rc;
}

/* ---- verbs ---- */

/* Totals of whole profiles: sums over all, rows of each, or what the program
 * adds up. */
static pr_code
plan_top_with_calls(q_database *database, const q_query *query, q_plan *plan,
                    pr_err *err)
{
    char *table = NULL;
    pr_code rc = make_all(database, query, plan, err);
    if (rc == PR_OK)
        rc = sum_with_calls(database, query, &table, err);
    if (rc == PR_OK)
        rc = q_answer_units(database, query, table, true, &plan->answer, err);
    sqlite3_free(table);
    return rc;
}

static pr_code
plan_ready_top(q_database *database, const q_query *query, q_plan *plan,
               pr_err *err)
{
    bool all = query->split == Q_WHOLE && query->n_conditions == 0;
    char *table = NULL;
    pr_code rc = PR_OK;
    if (plan->of_calls)
        return plan_top_with_calls(database, query, plan, err);
    if (!all && query->split != Q_PER_PROFILE) {
        rc = make_stored(database, query, plan, err);
        return rc == PR_OK ? q_answer_units(database, query, plan->table, false,
                                            &plan->answer, err)
                           : rc;
    }
    rc = make_all(database, query, plan, err);
    if (rc == PR_OK && !all)
        rc = ready_profiles(database, query, &table, err);
    if (rc == PR_OK)
        rc = q_answer_units(database, query, all ? sums_of_all : table, false,
                            &plan->answer, err);
    sqlite3_free(table);
    return rc;
}

/* Units that a profile has only if they were recorded. */
static const struct recorded {
    q_unit unit;
    const char *some, *note;
} recorded[] = {
    {Q_OPCODE, "SELECT EXISTS (SELECT 1 FROM frame WHERE opcode IS NOT NULL)",
     "no opcodes were recorded: 'pyrec --opcodes' records them"},
    {Q_TASK, "SELECT EXISTS (SELECT 1 FROM function WHERE kind = 'task')",
     "no tasks were recorded: 'pyrec --async all' records them"},
};

/* Why an answer by this unit has no rows. */
static pr_code
note_unrecorded(q_database *database, q_unit unit, char **ret, pr_err *err)
{
    pr_code rc = PR_OK;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        int64_t some = 1;
        if (recorded[i].unit == unit)
            rc = q_database_integer(database, recorded[i].some, &some, err);
        if (rc == PR_OK && !some)
            rc = copy_text(sqlite3_mprintf("%s", recorded[i].note), ret, err);
    }
    return rc;
}

static pr_code
plan_top(q_database *database, const q_query *query, q_plan *plan, pr_err *err)
{
    bool ready = false;
    pr_code rc = PR_OK;
    if (query->unit == Q_FUNCTION && q_select_is_whole(query))
        rc = have_totals(database, "function_sum", &ready, err);
    if (rc != PR_OK || ready)
        return rc == PR_OK ? plan_ready_top(database, query, plan, err) : rc;
    rc = make_fold(database, query, Q_FOLD_UNITS, plan, err);
    if (rc == PR_OK)
        rc = note_unrecorded(database, query->unit, &plan->note, err);
    return rc == PR_OK ? q_answer_units(database, query, plan->table, false,
                                        &plan->answer, err)
                       : rc;
}

static pr_code
plan_edges(q_database *database, const q_query *query, q_plan *plan,
           pr_err *err)
{
    bool ready = false;
    char *table = NULL;
    pr_code rc = PR_OK;
    if (q_select_is_whole(query) && query->split == Q_WHOLE)
        rc = have_totals(database, "edge_total", &ready, err);
    if (rc == PR_OK && !ready) {
        rc = make_fold(database, query,
                       query->verb == Q_CALLERS ? Q_FOLD_CALLERS
                                                : Q_FOLD_CALLEES,
                       plan, err);
        return rc == PR_OK ? q_answer_edges(database, query, plan->table, true,
                                            false, &plan->answer, err)
                           : rc;
    }
    if (rc == PR_OK)
        rc = make_all(database, query, plan, err);
    if (rc == PR_OK)
        rc = ready_edges(database, query, plan->of_calls, &table, err);
    if (rc == PR_OK)
        rc = q_answer_edges(database, query, table, false, plan->of_calls,
                            &plan->answer, err);
    sqlite3_free(table);
    return rc;
}

/* Has the database all rows of this tree?  For several profiles it must have the
 * whole trees: a stack may be small in one of them. */
static pr_code
have_tree(q_database *database, const q_query *query, const q_plan *plan,
          bool *ret, pr_err *err)
{
    char *profiles;
    int64_t there = 0;
    if (query->of.text || query->split != Q_WHOLE ||
        plan->above < Q_STORED_TREE_ABOVE || !q_select_is_whole(query))
        return PR_OK;
    pr_code rc = q_select_profiles(database, query, &profiles, err);
    if (rc != PR_OK)
        return rc;
    char *sql = sqlite3_mprintf(
        "SELECT (count(*) = 1 OR max(samples) <= %d) AND EXISTS (SELECT 1 FROM"
        " tree_total WHERE parent_id = 0 AND profile_id IN (SELECT id FROM"
        " profile WHERE %s)) FROM profile WHERE %s",
        Q_STORED_TREE_SAMPLES, profiles, profiles);
    sqlite3_free(profiles);
    rc = q_database_integer(database, sql, &there, err);
    sqlite3_free(sql);
    *ret = there != 0;
    return rc;
}

static pr_code
plan_tree(q_database *database, const q_query *query, q_plan *plan, pr_err *err)
{
    bool ready = false;
    plan->after = Q_AFTER_ORDER;
    plan->above = query->above < 0 ? MILLION / 100 : query->above;
    pr_code rc = have_tree(database, query, plan, &ready, err);
    if (rc == PR_OK)
        rc = ready ? make_stored(database, query, plan, err)
                   : make_fold(database, query,
                               query->of.text ? Q_FOLD_TREE_OF : Q_FOLD_TREE,
                               plan, err);
    return rc == PR_OK
               ? q_answer_tree(database, query, plan->table, &plan->answer, err)
               : rc;
}

static pr_code
plan_bottomup(q_database *database, const q_query *query, q_plan *plan,
              pr_err *err)
{
    plan->after = query->of.text ? Q_AFTER_INVERT_OF : Q_AFTER_INVERT;
    plan->above = query->above < 0 ? MILLION / 100 : query->above;
    plan->depth = query->depth < 0 ? 8 : query->depth;
    pr_code rc = make_fold(database, query, Q_FOLD_TREE, plan, err);
    return rc == PR_OK
               ? q_answer_tree(database, query, plan->table, &plan->answer, err)
               : rc;
}

static pr_code
plan_stacks(q_database *database, const q_query *query, q_plan *plan,
            pr_err *err)
{
    plan->after = Q_AFTER_BEST;
    plan->limit = query->limit;
    plan->of_match = query->verb == Q_PATHS;
    pr_code rc = make_fold(database, query, Q_FOLD_TREE, plan, err);
    return rc == PR_OK ? q_answer_stacks(database, query, plan->table,
                                         &plan->answer, err)
                       : rc;
}

/* About `rows` buckets of 1, 2 or 5 times a power of ten. */
static pr_code
choose_width(q_database *database, int64_t rows, int64_t *ret, pr_err *err)
{
    static const int64_t steps[] = {1, 2, 5};
    int64_t end = 0, width = 1000;
    pr_code rc = q_select_end(database, &end, err);
    for (size_t i = 0; rc == PR_OK && end / width > rows; i++)
        width =
            steps[(i + 1) % 3] * (width / steps[i % 3]) * (i % 3 == 2 ? 10 : 1);
    if (rc == PR_OK)
        *ret = width;
    return rc;
}

/* The question with its parts of time; names stay the caller's. */
static pr_code
by_time(q_database *database, const q_query *query, int64_t width, q_query *ret,
        pr_err *err)
{
    *ret = *query;
    ret->split = Q_PER_TIME;
    ret->width_us = query->width_us ? query->width_us : width;
    if (ret->width_us == 0)
        return choose_width(database, 40, &ret->width_us, err);
    return PR_OK;
}

static pr_code
plan_timeline(q_database *database, const q_query *query, q_plan *plan,
              pr_err *err)
{
    q_query timed;
    pr_code rc = by_time(database, query, 0, &timed, err);
    if (rc != PR_OK)
        return rc;
    plan->shape = Q_SHAPE_PARTS;
    plan->has_runs = true;
    plan->width_us = timed.width_us;
    plan->table = sqlite3_mprintf("temp.answer%u", ++database->n_answers);
    if (!plan->table)
        return pr_no_memory(err);
    rc = q_select_samples(database, &timed, false, &plan->samples, err);
    return rc == PR_OK ? q_answer_timeline(database, plan->table,
                                           plan->width_us, &plan->answer, err)
                       : rc;
}

static pr_code
plan_hottest(q_database *database, const q_query *query, q_plan *plan,
             pr_err *err)
{
    q_query timed;
    pr_code rc = by_time(database, query, MILLION, &timed, err);
    if (rc != PR_OK)
        return rc;
    timed.unit = Q_FUNCTION;
    plan->width_us = timed.width_us;
    plan->keeps_parts = true;
    plan->limit = query->limit;
    rc = make_fold(database, &timed, Q_FOLD_UNITS, plan, err);
    return rc == PR_OK ? q_answer_hottest(database, plan->table, plan->width_us,
                                          &plan->answer, err)
                       : rc;
}

static pr_code
plan_waits(q_database *database, const q_query *query, q_plan *plan,
           pr_err *err)
{
    q_query states = *query;
    states.split = Q_PER_STATUS;
    states.unit = Q_FUNCTION;
    pr_code rc = make_fold(database, &states, Q_FOLD_UNITS, plan, err);
    return rc == PR_OK ? q_answer_waits(database, &states, plan->table,
                                        &plan->answer, err)
                       : rc;
}

static pr_code
plan_source(q_database *database, const q_query *query, q_plan *plan,
            pr_err *err)
{
    pr_code rc = q_find_functions(database, &query->of, &plan->source, err);
    if (rc == PR_OK)
        rc = make_fold(database, query, Q_FOLD_UNITS, plan, err);
    return rc == PR_OK
               ? q_answer_source(database, plan->table, &plan->answer, err)
               : rc;
}

/* The threads whose time was not all observed, the most first: an answer
 * without rows does not say that nothing is missing. */
static const char unobserved_sql[] =
    "SELECT group_concat(text, ', ') FROM (SELECT"
    " printf('%.3f s of %s', us / 1e6, replace(name, char(10), ' ')) AS text"
    " FROM (SELECT ifnull(name, 'thread ' || tid) AS name,"
    " sum(unobserved_us) AS us FROM thread GROUP BY 1)"
    " WHERE us > 0 ORDER BY us DESC, name LIMIT 3)";

static pr_code
note_unobserved(q_database *database, q_verb verb, char **ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, unobserved_sql, &stmt, err);
    if (rc == PR_OK)
        rc = q_database_step(database, stmt, err);
    if (rc == PR_OK && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
        rc = copy_text(
            sqlite3_mprintf("not observed: %s%s", sqlite3_column_text(stmt, 0),
                            verb == Q_GAPS ? "; only a pause of ten intervals"
                                             " and 100 ms is a gap"
                                           : ""),
            ret, err);
    sqlite3_finalize(stmt);
    return rc;
}

static pr_code
plan_plain(q_database *database, const q_query *query, q_plan *plan,
           pr_err *err)
{
    bool is_of_quality = query->verb == Q_GAPS || query->verb == Q_EVENTS ||
                         query->verb == Q_LOSSES;
    pr_code rc = PR_OK;
    plan->shape = Q_SHAPE_PLAIN;
    plan->is_about_samples = plan->is_about_samples && query->verb != Q_HELP;
    if (is_of_quality)
        rc = note_unobserved(database, query->verb, &plan->note, err);
    return rc == PR_OK ? q_answer_plain(database, query, &plan->answer, err)
                       : rc;
}

static pr_code (*const planners[])(q_database *, const q_query *, q_plan *,
                                   pr_err *) = {
    [Q_TOP] = plan_top,           [Q_CALLERS] = plan_edges,
    [Q_CALLEES] = plan_edges,     [Q_TREE] = plan_tree,
    [Q_BOTTOMUP] = plan_bottomup, [Q_STACKS] = plan_stacks,
    [Q_PATHS] = plan_stacks,      [Q_TIMELINE] = plan_timeline,
    [Q_HOTTEST] = plan_hottest,   [Q_LONGEST] = plan_plain,
    [Q_WAITS] = plan_waits,       [Q_TASKS] = plan_top,
    [Q_THREADS] = plan_plain,     [Q_PROCESSES] = plan_plain,
    [Q_PROFILES] = plan_plain,    [Q_GC] = plan_plain,
    [Q_GAPS] = plan_plain,        [Q_EVENTS] = plan_plain,
    [Q_LOSSES] = plan_plain,      [Q_SOURCE] = plan_source,
    [Q_SUMMARY] = plan_plain,     [Q_HELP] = plan_plain,
};

static pr_code
note_both(q_plan *plan, pr_err *err)
{
    return copy_text(
        sqlite3_mprintf("some profiles have samples, others count calls: shares"
                        " and order are those of the time"),
        &plan->note, err);
}

pr_code
q_plan_make(q_database *database, const q_query *query, q_plan *ret,
            pr_err *err)
{
    q_plan plan = {.depth = -1, .limit = -1};
    bool both = false;
    pr_code rc = PR_OK;
    if (query->split == Q_PER_LABEL)
        rc = q_check_label(database, &query->label, err);
    if (rc == PR_OK)
        rc = q_select_calls(database, query, &plan.of_calls, &both, err);
    plan.is_about_samples = !plan.of_calls;
    if (query->split == Q_PER_TIME)
        plan.width_us = query->width_us;
    if (rc == PR_OK)
        rc = planners[query->verb](database, query, &plan, err);
    if (rc == PR_OK && both && plan.shape == Q_SHAPE_READY)
        rc = note_both(&plan, err);
    if (rc != PR_OK) {
        q_plan_release(&plan);
        return rc;
    }
    *ret = plan;
    return PR_OK;
}

pr_code
q_plan_stacks(q_database *database, const q_query *query, q_plan *ret,
              pr_err *err)
{
    q_plan plan = {.depth = -1,
                   .limit = -1,
                   .after = Q_AFTER_ORDER,
                   .of_match = query->verb == Q_PATHS};
    bool is_part = query->verb == Q_TREE && query->of.text;
    pr_code rc = make_fold(database, query,
                           is_part ? Q_FOLD_TREE_OF : Q_FOLD_TREE, &plan, err);
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
    sqlite3_free(plan->all);
    sqlite3_free(plan->sums);
    sqlite3_free(plan->profiles);
    sqlite3_free(plan->tree);
    sqlite3_free(plan->samples);
    sqlite3_free(plan->functions);
    sqlite3_free(plan->nodes);
    sqlite3_free(plan->answer);
    sqlite3_free(plan->source);
    sqlite3_free(plan->table);
    sqlite3_free(plan->note);
    *plan = (q_plan){0};
}
