/*
 * grid.h - a result as a table for people, or in markdown.
 */
#ifndef QUERY_RENDER_GRID_H
#define QUERY_RENDER_GRID_H

#include "query/render/render.h"

pr_code q_render_table(q_result *result, const q_render_opts *opts, FILE *out,
                       pr_err *err);

/* The name as text that markdown does not take for markup. */
pr_code q_write_markdown(const char *name, FILE *out, pr_err *err);

#endif
