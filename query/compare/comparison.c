/*
 * comparison.c - the verbs that compare, by name.
 */
#include "query/compare/check.h"
#include "query/compare/diff.h"
#include "query/compare/history.h"
#include "query/database/result.h"
#include "query/database/server.h"
#include "query/plan/run.h"

static pr_code
fail_to_explain(pr_err *err)
{
    return PR_FAIL_AT(err, PR_USAGE, 0,
                      "'explain' shows SQL, and a comparison has none");
}

static pr_code
run_diff(q_database *database, const char *text, const q_query *query,
         q_result **ret, pr_err *err)
{
    q_contrast contrast;
    pr_code rc = q_contrast_make(database, query, &contrast, err);
    if (rc != PR_OK)
        return rc;
    rc = q_contrast_measure(&contrast, q_contrast_of_order(query), query->scale,
                            err);
    if (rc == PR_OK)
        rc = q_diff_answer(database, text, query, query->limit, &contrast, ret,
                           err);
    q_contrast_release(&contrast);
    return rc;
}

/* With the default rule; its outcome is a row. */
static pr_code
run_check(q_database *database, const char *text, const q_query *query,
          q_result **ret, pr_err *err)
{
    q_check_opts opts = Q_CHECK_OPTS_INIT;
    q_check_answer answer = {0};
    pr_err failed = PR_ERR_INIT;
    pr_code rc = q_check_run(database, text, query, &opts, &answer, &failed);
    if (rc != PR_OK && rc != PR_REGRESSION) {
        if (err)
            *err = failed;
        return rc;
    }
    q_result_free(answer.diff);
    q_result_free(answer.top);
    *ret = answer.rules;
    return PR_OK;
}

pr_code
q_run_comparison(q_database *database, const char *text, const q_query *query,
                 q_result **ret, pr_err *err)
{
    if (query->explain)
        return fail_to_explain(err);
    if (query->verb == Q_CHECK)
        return run_check(database, text, query, ret, err);
    if (query->verb == Q_HISTORY)
        return q_history_run(database, text, query, ret, err);
    return run_diff(database, text, query, ret, err);
}

pr_code
q_run_check(q_database *database, const char *query, const q_check_opts *opts,
            q_check_answer *ret, pr_err *err)
{
    q_query parsed;
    pr_code rc = q_remote_refuse(database, "a check", err);
    if (rc == PR_OK)
        rc = q_parse(query, &parsed, err);
    if (rc != PR_OK)
        return rc;
    if (parsed.verb != Q_CHECK)
        rc = PR_FAIL_AT(err, PR_USAGE, 0, "the query is not a check");
    else if (parsed.explain)
        rc = fail_to_explain(err);
    else
        rc = q_check_run(database, query, &parsed, opts, ret, err);
    q_query_release(&parsed);
    return rc;
}
