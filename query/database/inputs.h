/*
 * inputs.h - the files of a question: a folder stands for its profiles.
 */
#ifndef QUERY_DATABASE_INPUTS_H
#define QUERY_DATABASE_INPUTS_H

#include <pyrec/error.h>
#include <stddef.h>

typedef struct q_inputs {
    char **path;
    size_t n, cap;
} q_inputs;

/* A folder becomes its files that end in ".bin", in order of name; PR_NAME if
 * it has none. */
pr_code q_inputs_expand(const char *const *path, size_t n, q_inputs *ret,
                        pr_err *err);
/* Add the files that a pattern matches, or its text as a name if it matches
 * none.  at: its place in the query. */
pr_code q_inputs_match(const char *pattern, uint64_t at, q_inputs *ret,
                       pr_err *err);
void q_inputs_release(q_inputs *inputs);

#endif
