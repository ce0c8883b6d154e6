/*
 * diff.h - a contrast as an answer.
 */
#ifndef QUERY_COMPARE_DIFF_H
#define QUERY_COMPARE_DIFF_H

#include "query/compare/contrast.h"

/* One row a function, marked ones first; of the measure of the query's order,
 * which must have been compared.  limit: rows, -1 for all. */
pr_code q_diff_answer(q_database *database, const char *title,
                      const q_query *query, int64_t limit,
                      const q_contrast *contrast, q_result **ret, pr_err *err);

#endif
