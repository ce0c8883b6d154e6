/*
 * columns.h - the columns of an answer that a person sees, with their order and
 * form; a program gets all columns (spec/query.md, "Answers").
 */
#ifndef QUERY_RENDER_COLUMNS_H
#define QUERY_RENDER_COLUMNS_H

#include <pyrec/query.h>
#include <stdbool.h>

typedef enum q_role {
    Q_ROLE_TEXT = 0,
    Q_ROLE_FUNCTION, /* indented by a column `depth` */
    Q_ROLE_PATH,     /* shortened, with a column `line` after it */
    Q_ROLE_PROFILE,  /* the path of a profile: shortened */
    Q_ROLE_STACK,
    Q_ROLE_SOURCE, /* a line of code: leading space counts */
    Q_ROLE_COUNT,
    Q_ROLE_SECONDS,
    Q_ROLE_PERCENT,
    Q_ROLE_CHANGE, /* percents with a sign */
    Q_ROLE_CHANCE  /* p of a test */
} q_role;

typedef struct q_column {
    const char *title;
    q_role role;
    size_t source;       /* column of the result */
    bool may_be_missing; /* left out if no row has a value */
    int rank;            /* a table that does not fit loses the highest ranks */
} q_column;

/* Choose the columns of a table for people, at most `cap`; returns their
 * number.  A result of SQL keeps all its columns. */
size_t q_columns_choose(const q_result *result, q_column *ret, size_t cap);

/* The result's column of that name, or the number of columns. */
size_t q_columns_find(const q_result *result, const char *name);

#endif
