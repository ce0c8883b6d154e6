/*
 * question.c - the verbs and clauses that a server answers.
 */
#include "query/remote/question.h"

#include "query/language/verbs.h"
#include "query/plan/select.h"

pr_code
q_remote_question_refuse(const char *what, uint64_t at, pr_err *err)
{
    PR_FAIL_AT(err, PR_USAGE, at, "a server does not answer %s", what);
    pr_err_hint(err, "ask the folder of the profiles, or a database of 'pyconv"
                     " --to sqlite'");
    return PR_USAGE;
}

static const char *
word_of(const q_query *query)
{
    const q_verb_info *v;
    for (size_t i = 0; (v = q_verb_get(i)) != NULL; i++)
        if (v->verb == query->verb && v->unit == query->unit)
            return v->word;
    return "this unit";
}

/* Verbs whose answer needs no stacks. */
static bool
is_listing(const q_query *query)
{
    static const q_verb verbs[] = {Q_THREADS, Q_PROCESSES, Q_PROFILES, Q_GC,
                                   Q_GAPS,    Q_EVENTS,    Q_LOSSES};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (query->verb == verbs[i])
            return true;
    return false;
}

static pr_code
check_verb(const q_query *query, pr_err *err)
{
    bool edges = query->verb == Q_CALLERS || query->verb == Q_CALLEES;
    if (query->explain)
        return q_remote_question_refuse("explain", 0, err);
    if (is_listing(query))
        return PR_OK;
    if (!edges && (query->verb != Q_TOP || query->unit != Q_FUNCTION))
        return q_remote_question_refuse(word_of(query), 0, err);
    if (query->split != Q_WHOLE && query->split != Q_PER_LABEL)
        return q_remote_question_refuse("by these parts", query->split_at, err);
    return PR_OK;
}

static pr_code
check_condition(const q_condition *c, pr_err *err)
{
    uint64_t at = c->value.text ? c->value.at : PR_NO_OFFSET;
    if (c->field != Q_FIELD_HOST && c->field != Q_FIELD_LABEL &&
        c->field != Q_FIELD_PID)
        return q_remote_question_refuse("a condition but on label, host or pid",
                                        at, err);
    if (c->op != Q_EQUAL && c->op != Q_NOT_EQUAL)
        return q_remote_question_refuse("a condition but with = or !=", at,
                                        err);
    return PR_OK;
}

static pr_code
check_states(const q_query *query, pr_err *err)
{
    const unsigned others =
        query->where & (Q_WHERE_MAIN | Q_WHERE_NATIVE | Q_WHERE_GC);
    for (unsigned i = 0; i < Q_WHERE_KINDS; i++)
        if (others & 1u << i)
            return q_remote_question_refuse("main, native and gc",
                                            query->where_at[i], err);
    return PR_OK;
}

static pr_code
check_views(const q_query *query, pr_err *err)
{
    if (query->n_views)
        return q_remote_question_refuse("a choice of stacks or frames",
                                        query->view[0].name.at, err);
    if (query->thread.text)
        return q_remote_question_refuse("about one thread", query->thread.at,
                                        err);
    return PR_OK;
}

static pr_code
check_range(const q_query *query, pr_err *err)
{
    const q_time *from = &query->from, *to = &query->to;
    bool dates = from->kind == Q_WALL && to->kind == Q_WALL;
    bool spans = from->kind == Q_SINCE_START && to->kind == Q_SINCE_START &&
                 from->value >= 0 && to->value >= 0;
    if (!query->has_range)
        return PR_OK;
    if (is_listing(query))
        return q_remote_question_refuse("for these rows in a range of time",
                                        query->to_at, err);
    if (!dates && !spans) {
        PR_FAIL_AT(err, PR_USAGE, query->to_at,
                   "a server needs dates, or spans since the start");
        pr_err_hint(err, "between 2026-01-31 12:00 and 13:00, or between 0s and"
                         " 5s");
        return PR_USAGE;
    }
    return from->value < to->value
               ? PR_OK
               : PR_FAIL_AT(err, PR_USAGE, query->to_at,
                            "the range ends before it begins");
}

pr_code
q_remote_question_make(const q_query *query, q_remote_question *ret,
                       pr_err *err)
{
    pr_code rc = check_verb(query, err);
    for (size_t i = 0; i < query->n_conditions && rc == PR_OK; i++)
        rc = check_condition(&query->condition[i], err);
    if (rc == PR_OK)
        rc = check_states(query, err);
    if (rc == PR_OK)
        rc = check_views(query, err);
    if (rc == PR_OK)
        rc = check_range(query, err);
    if (rc != PR_OK)
        return rc;
    /* edges are stored for whole profiles, not by part (plan.c) */
    bool stored = query->verb == Q_TOP || query->split == Q_WHOLE;
    *ret = (q_remote_question){.query = query,
                               .is_listing = is_listing(query),
                               .is_whole = stored && q_select_is_whole(query)};
    return PR_OK;
}
