/*
 * overview.h - the first page about a profile, without a question.
 */
#ifndef QUERY_OVERVIEW_H
#define QUERY_OVERVIEW_H

#include "query/render/render.h"

/* Write the profile, the proof of its samples, the first five functions, and
 * three further questions. */
pr_code q_overview(q_database *database, const q_render_opts *opts, FILE *out,
                   pr_err *err);

#endif
