/*
 * select.h - the samples and frames of a question as SQL.
 *
 * Everything that comes from the query text passes through %Q.
 */
#ifndef QUERY_PLAN_SELECT_H
#define QUERY_PLAN_SELECT_H

#include "query/database/database.h"
#include "query/language/parser.h"

/* Is the question about all samples and all frames of whole profiles?  Then the
 * stored totals have the answer. */
bool q_select_is_whole(const q_query *query);

/* The query's conditions on whole profiles, as one condition over `profile`;
 * "1" for none.  Conditions on samples are left to q_select_samples(). */
pr_code q_select_profiles(q_database *database, const q_query *query,
                          char **ret, pr_err *err);

/* Those profiles as (id, split, samples, weight_us, ran_n, ran_us). */
pr_code q_select_whole_parts(q_database *database, const q_query *query,
                             char **ret, pr_err *err);

/* Does a profile of the question count calls, which are not samples?  *ret_both:
 * another one does not. */
pr_code q_select_calls(q_database *database, const q_query *query, bool *ret,
                       bool *ret_both, pr_err *err);

/* PR_USAGE if the query has a condition on a state that no profile knows. */
pr_code q_select_check_states(q_database *database, const q_query *query,
                              pr_err *err);

/* Are the samples chosen by time, so that single runs count? */
bool q_select_is_of_runs(const q_query *query);

/* The statement of q_samples_read(), or that of q_samples_read_runs() if the
 * question is of runs.  nodes: false, the node is 0 in all rows. */
pr_code q_select_samples(q_database *database, const q_query *query, bool nodes,
                         char **ret, pr_err *err);

/* "FROM ... WHERE ..." of runs or, without a range, of node_self: the columns
 * are node_id, thread_id, status, n, weight_us.  runs: always of runs, whole
 * ones. */
pr_code q_select_source(q_database *database, const q_query *query, bool runs,
                        sqlite3_str *sql, pr_err *err);

/* A condition over `function JOIN file` of the frames that are hidden; "0" for
 * none. */
pr_code q_select_hidden(q_database *database, const q_query *query, char **ret,
                        pr_err *err);

/* An addend over `profile` that puts its times on the clock of the first
 * profile. */
#define Q_SHIFT "ifnull(wall_us - (SELECT min(wall_us) FROM profile), 0)"

/* The number of lost samples: those of threads, and those of a process of which
 * no thread is known, as in a damaged part of a file; NULL: not known. */
#define Q_LOST                                                             \
    "(SELECT sum(n) FROM (SELECT lost AS n FROM thread UNION ALL SELECT n" \
    " FROM loss WHERE thread_id IS NULL))"

/* The end of the longest recording, in microseconds since its start. */
pr_code q_select_end(q_database *database, int64_t *ret, pr_err *err);

/* The text of a sqlite3_str as a string, or the code of its failure. */
pr_code q_finish_text(sqlite3_str *text, char **ret, pr_err *err);

#endif
