/*
 * overview.h - what pyquery shows of a profile before it is asked anything.
 */
#ifndef QUERY_OVERVIEW_H
#define QUERY_OVERVIEW_H

#include "query/render.h"

/* What was recorded, how far to trust it, the first five functions, and three
 * questions worth asking next. */
pr_code q_overview(q_database *database, const q_look *look, FILE *out,
                   pr_err *err);

#endif
