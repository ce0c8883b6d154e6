/*
 * lookup.h - the functions and threads that a name in a query means
 * (spec/query.md, "Names").
 */
#ifndef QUERY_PLAN_LOOKUP_H
#define QUERY_PLAN_LOOKUP_H

#include "query/database/database.h"
#include "query/language/parser.h"

/* The name as a condition of SQL over `function JOIN file`; the caller frees
 * it with sqlite3_free().  PR_NAME if it means nothing or several things that
 * a longer name would distinguish; the hint lists them. */
pr_code q_find_functions(q_database *database, const q_name *name, char **ret,
                         pr_err *err);

/* All functions that the name means in a clause, as pyconv's options mean it
 * (spec/convert.md 3.2). */
pr_code q_find_all_functions(q_database *database, const q_name *name,
                             char **ret, pr_err *err);

/* The same over `thread`. */
pr_code q_find_threads(q_database *database, const q_name *name, char **ret,
                       pr_err *err);

/* The files that the pattern of `in` means, over `file`. */
pr_code q_find_files(q_database *database, const q_name *pattern, char **ret,
                     pr_err *err);

/* PR_NAME unless a profile has a label of this key. */
pr_code q_check_label(q_database *database, const q_name *key, pr_err *err);

#endif
