/*
 * render.h - a result as text.
 *
 * Nothing is cut short in any format.  The table is for people: names are
 * shown as display.h says, seconds and percentages are rounded, a column
 * "function" is indented by a column "depth".  The others are for programs:
 * csv (RFC 4180 with LF) and json hold every value whole; markdown is a table
 * whose names cannot be taken for markup.
 */
#ifndef QUERY_RENDER_H
#define QUERY_RENDER_H

#include <pyrec/query.h>
#include <stdio.h>

typedef enum q_format { Q_TABLE = 0, Q_CSV, Q_JSON, Q_MARKDOWN } q_format;

/* Write all rows of the result.  PR_OK, or the first failure of the result
 * or of `out`. */
pr_code q_render(q_result *result, q_format format, FILE *out, pr_err *err);

/* The query and a caret below the byte `at` of it, in two lines. */
void q_render_fault(const char *query, uint64_t at, FILE *out);

#endif
