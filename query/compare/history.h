/*
 * history.h - functions over many builds.
 */
#ifndef QUERY_COMPARE_HISTORY_H
#define QUERY_COMPARE_HISTORY_H

#include "query/compare/sides.h"

/* Without a name one row a function, those that changed first; with one, one
 * row a build. */
pr_code q_history_run(q_database *database, const char *text,
                      const q_query *query, q_result **ret, pr_err *err);

#endif
