/*
 * check.h - rules against a contrast.
 */
#ifndef QUERY_COMPARE_CHECK_H
#define QUERY_COMPARE_CHECK_H

#include "query/compare/contrast.h"

/* As q_run_check() of pyrec/query.h, of a parsed query. */
pr_code q_check_run(q_database *database, const char *text,
                    const q_query *query, const q_check_opts *opts,
                    q_check_answer *ret, pr_err *err);

#endif
