/*
 * overview.h - the first page about a profile, without a question.
 */
#ifndef QUERY_OVERVIEW_H
#define QUERY_OVERVIEW_H

#include "query/render/render.h"

/* The profile, how far to trust it, the first five functions, and three
 * questions worth asking next. */
pr_code q_overview(q_database *database, const q_render_opts *opts, FILE *out,
                   pr_err *err);

#endif
