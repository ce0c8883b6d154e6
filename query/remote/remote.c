/*
 * remote.c - a question to a server: names, sums, answer.
 */
#include "query/database/server.h"

#include "query/plan/answers.h"
#include "query/plan/lookup.h"
#include "query/plan/run.h"
#include "query/plan/select.h"
#include "query/remote/question.h"
#include "query/remote/remote_names.h"
#include "query/remote/remote_row.h"
#include "query/remote/remote_tables.h"

#include <stdlib.h>

struct q_remote {
    const q_engine *engine;
    void *connection;
};

enum {
    VERSION = 2,   /* of the tables (spec/fleet.md) */
    FIRST_PART = 2 /* a part of a label is a profile beside the one of all */
};

/* The parts that a question gathers. */
typedef struct gathered {
    q_database *database;
    q_remote_question question;
    pr_set functions; /* of remote_names.h */
    pr_strings parts; /* a part's place is its number less `first` */
    int64_t first;
    q_samples samples;
    q_groups groups;
} gathered;

/* ---- connections ---- */

bool
q_remote_is_address(const char *path)
{
    return q_engine_of(path) != NULL;
}

static pr_code
ask(const q_remote *remote, const pr_buffer *sql, pr_take_row take,
    void *context, pr_err *err)
{
    return sql->failed ? pr_no_memory(err)
                       : remote->engine->ask(remote->connection, sql, take,
                                             context, err);
}

static pr_code
take_version(void *context, const pr_field *field, size_t n, pr_err *err)
{
    int64_t *version = context;
    return n == 1 && pr_field_integer(&field[0], version)
               ? PR_OK
               : PR_FAIL(err, PR_DAMAGED,
                         "the server's tables have no version");
}

static pr_code
check_version(const q_remote *remote, pr_err *err)
{
    pr_buffer sql = {0};
    int64_t version = 0;
    remote->engine->put_version(&sql);
    pr_code rc = ask(remote, &sql, take_version, &version, err);
    pr_buffer_release(&sql);
    if (rc != PR_OK || version == VERSION)
        return rc;
    return PR_FAIL(err, PR_NEWER,
                   "the server's tables have version %lld, this program knows"
                   " %d",
                   (long long)version, VERSION);
}

pr_code
q_remote_open(const char *address, const volatile bool *interrupted,
              q_remote **ret, pr_err *err)
{
    q_remote *remote = calloc(1, sizeof *remote);
    if (!remote)
        return pr_no_memory(err);
    remote->engine = q_engine_of(address);
    pr_code rc =
        remote->engine->open(address, interrupted, &remote->connection, err);
    if (rc == PR_OK)
        rc = check_version(remote, err);
    if (rc == PR_OK)
        *ret = remote;
    else
        q_remote_close(remote);
    return rc;
}

void
q_remote_close(q_remote *remote)
{
    if (!remote)
        return;
    remote->engine->close(remote->connection);
    free(remote);
}

pr_code
q_remote_refuse(const q_database *database, const char *what, pr_err *err)
{
    return database->remote ? q_remote_question_refuse(what, PR_NO_OFFSET, err)
                            : PR_OK;
}

/* ---- rows ---- */

/* A profile that arrived between two statements may bring a function or a
 * label's value. */
static pr_code
fail_changed(pr_err *err)
{
    PR_FAIL(err, PR_IO, "the server got profiles during the question");
    pr_err_hint(err, "ask again");
    return PR_IO;
}

static bool
read_amount(const pr_field *field, q_amount *ret)
{
    return pr_field_integer(&field[0], &ret->n) &&
           pr_field_integer(&field[1], &ret->us) &&
           pr_field_integer(&field[2], &ret->ran_n) &&
           pr_field_integer(&field[3], &ret->ran_us);
}

static pr_code
take_part(void *context, const pr_field *field, size_t n, pr_err *err)
{
    gathered *g = context;
    const q_query *query = g->question.query;
    q_amount amount;
    uint32_t place;
    size_t had = g->parts.n;
    if (n != 5 || !field[0].at || !read_amount(&field[1], &amount) ||
        !q_amount_add(&g->samples.all, &amount))
        return q_remote_row_fail(err);
    pr_code rc =
        pr_strings_add(&g->parts, field[0].at, field[0].len, &place, err);
    if (rc != PR_OK)
        return rc;
    if (g->parts.n == had)
        return q_remote_row_fail(err);
    if (!pr_grow(&g->samples.entry, &g->samples.cap, g->samples.len + 1,
                 sizeof *g->samples.entry))
        return pr_no_memory(err);
    int64_t part = g->first + place;
    g->samples.entry[g->samples.len++] = (q_entry){part, 0, amount};
    return query->split == Q_PER_LABEL
               ? q_remote_names_part(g->database, query->label.text, part,
                                     &field[0], err)
               : PR_OK;
}

/* The number of a part that take_part() met; false: none. */
static bool
find_part(gathered *g, const pr_field *field, int64_t *ret)
{
    uint32_t place;
    size_t had = g->parts.n;
    if (!field->at ||
        pr_strings_add(&g->parts, field->at, field->len, &place, NULL) !=
            PR_OK ||
        g->parts.n != had)
        return false;
    *ret = g->first + place;
    return true;
}

/* The id of a function; false: the names have none. */
static bool
find_function(const gathered *g, const pr_field *field, int64_t *ret)
{
    int64_t hash;
    if (!pr_field_integer(field, &hash))
        return false;
    uint32_t place = pr_set_find(&g->functions, &hash);
    *ret = (int64_t)place + 1;
    return place != PR_TABLE_NONE;
}

/* Both amounts to the group of the key. */
static pr_code
add_group(gathered *g, int64_t part, int64_t a, int64_t b,
          const pr_field *amounts, pr_err *err)
{
    q_amount self, total;
    if (!read_amount(amounts, &self) || !read_amount(amounts + 4, &total))
        return q_remote_row_fail(err);
    uint32_t place = q_groups_find(&g->groups, part, a, b, PR_TABLE_NONE);
    if (place == PR_TABLE_NONE)
        return pr_no_memory(err);
    q_group *group = &g->groups.group[place];
    return q_amount_add(&group->self, &self) &&
                   q_amount_add(&group->total, &total)
               ? PR_OK
               : q_remote_row_fail(err);
}

static pr_code
take_sum(void *context, const pr_field *field, size_t n, pr_err *err)
{
    gathered *g = context;
    int64_t part, function;
    if (n != 10)
        return q_remote_row_fail(err);
    if (!find_part(g, &field[0], &part) ||
        !find_function(g, &field[1], &function))
        return fail_changed(err);
    return add_group(g, part, function, -1, &field[2], err);
}

static pr_code
take_edge(void *context, const pr_field *field, size_t n, pr_err *err)
{
    gathered *g = context;
    int64_t part, caller = -1, callee, hash;
    if (n != 11 || !pr_field_integer(&field[1], &hash))
        return q_remote_row_fail(err);
    if (!find_part(g, &field[0], &part) ||
        (hash != 0 && !find_function(g, &field[1], &caller)) ||
        !find_function(g, &field[2], &callee))
        return fail_changed(err);
    return add_group(g, part, caller, callee, &field[3], err);
}

/* ---- the question ---- */

/* Which functions `of` means. */
static pr_code
resolve(gathered *g, int64_t **ret, pr_err *err)
{
    char *condition;
    size_t n;
    pr_code rc =
        q_find_functions(g->database, &g->question.query->of, &condition, err);
    if (rc != PR_OK)
        return rc;
    rc = q_remote_names_choose(g->database, condition, ret, &n, err);
    sqlite3_free(condition);
    if (rc == PR_OK) {
        g->question.function = *ret;
        g->question.n_functions = n;
    }
    return rc;
}

static pr_code
add_up(const q_remote *remote, gathered *g, pr_err *err)
{
    const q_engine *engine = remote->engine;
    bool edges = g->question.query->verb != Q_TOP;
    pr_buffer sql = {0};
    engine->put_parts(&g->question, &sql);
    pr_code rc = ask(remote, &sql, take_part, g, err);
    pr_buffer_reset(&sql);
    if (rc == PR_OK) {
        (edges ? engine->put_edges : engine->put_sums)(&g->question, &sql);
        rc = ask(remote, &sql, edges ? take_edge : take_sum, g, err);
    }
    pr_buffer_release(&sql);
    return rc;
}

/* The SQL of the answer over the plan's table, as plan.c makes it. */
static pr_code
make_answer(const gathered *g, q_plan *plan, pr_err *err)
{
    q_database *database = g->database;
    const q_query *query = g->question.query;
    plan->is_about_samples = true;
    plan->table = sqlite3_mprintf("temp.answer%u", ++database->n_answers);
    if (!plan->table)
        return pr_no_memory(err);
    return query->verb == Q_TOP ? q_answer_units(database, query, plan->table,
                                                 false, &plan->answer, err)
                                : q_answer_edges(database, query, plan->table,
                                                 !g->question.is_whole, false,
                                                 &plan->answer, err);
}

static pr_code
gather(const q_remote *remote, gathered *g, pr_err *err)
{
    const q_query *query = g->question.query;
    int64_t *functions = NULL;
    pr_code rc = q_remote_names_read(g->database, remote->engine,
                                     remote->connection, &g->functions, err);
    if (rc == PR_OK)
        rc = q_select_check_states(g->database, query, err);
    if (rc == PR_OK && query->split == Q_PER_LABEL)
        rc = q_check_label(g->database, &query->label, err);
    if (rc == PR_OK && query->verb != Q_TOP)
        rc = resolve(g, &functions, err);
    if (rc == PR_OK)
        rc = add_up(remote, g, err);
    free(functions);
    return rc;
}

static void
release(gathered *g)
{
    pr_set_release(&g->functions);
    pr_strings_release(&g->parts);
    q_samples_release(&g->samples);
    q_groups_release(&g->groups);
}

/* The sums of a server as an answer. */
static pr_code
run_sums(q_database *database, const char *text,
         const q_remote_question *question, q_result **ret, pr_err *err)
{
    bool by_label = question->query->split == Q_PER_LABEL;
    gathered g = {.database = database,
                  .question = *question,
                  .functions.size = sizeof(int64_t),
                  .first = by_label ? FIRST_PART : 0};
    q_plan plan = {0};
    pr_code rc = gather(database->remote, &g, err);
    if (rc == PR_OK)
        rc = make_answer(&g, &plan, err);
    if (rc == PR_OK)
        rc = q_run_answer(database, text, &plan, &g.samples, &g.groups, ret,
                          err);
    q_plan_release(&plan);
    release(&g);
    return rc;
}

pr_code
q_run_remote(q_database *database, const char *text, const q_query *query,
             q_result **ret, pr_err *err)
{
    const q_remote *remote = database->remote;
    q_remote_question question;
    pr_code rc = q_remote_question_make(query, &question, err);
    if (rc != PR_OK)
        return rc;
    if (!question.is_listing)
        return run_sums(database, text, &question, ret, err);
    rc =
        q_remote_tables_read(database, remote->engine, remote->connection, err);
    return rc == PR_OK ? q_run_query(database, text, query, ret, err) : rc;
}
