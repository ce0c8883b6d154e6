/*
 * render.h - a result as text.
 *
 * The table is for people: names are shown as display.h says, with the end of
 * those that do not fit; columns.h chooses what is shown.  The others are for
 * programs: csv (RFC 4180 with LF) and json hold every column and value whole;
 * markdown is a table whose names cannot be taken for markup.
 */
#ifndef QUERY_RENDER_RENDER_H
#define QUERY_RENDER_RENDER_H

#include "query/language/parser.h"
#include <pyrec/query.h>
#include <stdio.h>

typedef struct q_render_opts {
    q_format format;
    size_t width; /* of the table, in cells; 0: as wide as it gets */
    bool colour;  /* and bars */
} q_render_opts;

/* Write all rows of the result; Q_SVG: of one series (chart.h).  PR_OK, or the
 * first failure of the result or of `out`. */
pr_code q_render(q_result *result, const q_render_opts *opts, FILE *out,
                 pr_err *err);

/* Write the samples of a query, collapsed or as a flame graph. */
pr_code q_render_stacks(q_database *database, const char *query,
                        q_format format, FILE *out, pr_err *err);

/* The query and a caret below the byte `at` of it, in two lines. */
void q_render_fault(const char *query, uint64_t at, FILE *out);

#endif
