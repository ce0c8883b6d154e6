/*
 * answers.h - the last statement of a plan, which makes the rows of the answer.
 */
#ifndef QUERY_PLAN_ANSWERS_H
#define QUERY_PLAN_ANSWERS_H

#include "query/database/database.h"
#include "query/language/parser.h"

/* Statements over a table of the fold, or over a sub-select with its columns
 * but for place, parent, depth and match.  of_calls: some profiles count calls;
 * the sub-select has a column `calls`, its self_n and total_n are samples, and
 * no state of a thread is known. */
pr_code q_answer_units(q_database *database, const q_query *query,
                       const char *table, bool of_calls, char **ret,
                       pr_err *err);
pr_code q_answer_edges(q_database *database, const q_query *query,
                       const char *table, bool has_ran, bool of_calls,
                       char **ret, pr_err *err);
pr_code q_answer_tree(q_database *database, const q_query *query,
                      const char *table, char **ret, pr_err *err);
pr_code q_answer_stacks(q_database *database, const q_query *query,
                        const char *table, char **ret, pr_err *err);
pr_code q_answer_timeline(q_database *database, const char *table,
                          int64_t width_us, char **ret, pr_err *err);
pr_code q_answer_hottest(q_database *database, const char *table,
                         int64_t width_us, char **ret, pr_err *err);
pr_code q_answer_waits(q_database *database, const q_query *query,
                       const char *table, char **ret, pr_err *err);
pr_code q_answer_source(q_database *database, const char *table, char **ret,
                        pr_err *err);

/* The statements that need no table. */
pr_code q_answer_plain(q_database *database, const q_query *query, char **ret,
                       pr_err *err);

#endif
