/*
 * run.h - the samples of a question by group, before they become an answer.
 */
#ifndef QUERY_PLAN_RUN_H
#define QUERY_PLAN_RUN_H

#include "query/plan/plan.h"

/* Make the groups of a plan that folds, and the samples in them. */
pr_code q_run_groups(q_database *database, const q_plan *plan,
                     q_samples *ret_samples, q_groups *ret_groups, pr_err *err);

/* Make the answer of a plan to these groups.  Takes over plan->table, which
 * becomes a table of them.  `text` is the query. */
pr_code q_run_answer(q_database *database, const char *text, q_plan *plan,
                     const q_samples *samples, const q_groups *groups,
                     q_result **ret, pr_err *err);

/* The answer to a query, but a comparison, from the tables of the database. */
pr_code q_run_query(q_database *database, const char *text,
                    const q_query *query, q_result **ret, pr_err *err);

/* ---- in query/compare ---- */

/* The answers to diff, check and history. */
pr_code q_run_comparison(q_database *database, const char *text,
                         const q_query *query, q_result **ret, pr_err *err);

/* ---- in query/remote ---- */

/* The answer to a query, as from q_run().  PR_USAGE: a server does not answer
 * this query; the hint names a way that does. */
pr_code q_run_remote(q_database *database, const char *text,
                     const q_query *query, q_result **ret, pr_err *err);

#endif
