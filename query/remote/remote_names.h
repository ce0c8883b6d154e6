/*
 * remote_names.h - a server's names in the memory of a question.
 *
 * The tables file, function and label get the server's; profile and thread get
 * one row each, which stands for all of its profiles.
 */
#ifndef QUERY_REMOTE_REMOTE_NAMES_H
#define QUERY_REMOTE_REMOTE_NAMES_H

#include "query/database/database.h"
#include "query/remote/engine.h"

#include <base/intern.h>

/* *ret: the identities of functions (int64_t); that of place i has the id i + 1
 * in the table.  PR_NAME: the server has no profile. */
pr_code q_remote_names_read(q_database *database, const q_engine *engine,
                            void *connection, pr_set *ret, pr_err *err);

/* The identities of the functions that a condition of lookup.h chooses; the
 * caller frees *ret. */
pr_code q_remote_names_choose(q_database *database, const char *condition,
                              int64_t **ret, size_t *ret_n, pr_err *err);

/* The value of a label for a part of the answer. */
pr_code q_remote_names_part(q_database *database, const char *key, int64_t part,
                            const pr_field *value, pr_err *err);

#endif
