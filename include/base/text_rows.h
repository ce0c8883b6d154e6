/*
 * text_rows.h - rows of text that a server answers with, in the form that
 * PostgreSQL's COPY and ClickHouse's TabSeparated share: values end with a
 * tab, rows with a newline, a backslash escapes both and itself, \N is NULL.
 */
#ifndef BASE_TEXT_ROWS_H
#define BASE_TEXT_ROWS_H

#include <pyrec/error.h>
#include <stddef.h>

/* A value; at NULL: SQL's NULL. */
typedef struct pr_field {
    const char *at; /* not terminated; valid until the call returns */
    size_t len;
} pr_field;

/* Takes one row.  Any result but PR_OK ends the rows and is passed on. */
typedef pr_code (*pr_take_row)(void *context, const pr_field *field, size_t n,
                               pr_err *err);

/* Hands out the rows of a text, which is changed on the way.  PR_DAMAGED: the
 * text ends within a row, or a row has more than 64 values. */
pr_code pr_rows_read(char *text, size_t len, pr_take_row take, void *context,
                     pr_err *err);

/* The value as a whole number; false: it is not one. */
int pr_field_integer(const pr_field *field, int64_t *ret);

#endif
