/*
 * chart.h - the series of one function over builds as a picture.
 */
#ifndef QUERY_RENDER_CHART_H
#define QUERY_RENDER_CHART_H

#include <pyrec/query.h>
#include <stdio.h>

/* The answer to `history SERIES` as one SVG without scripts: a dot for each
 * build with its name and seconds in a tooltip, and a line for each level. */
pr_code q_render_chart(q_result *result, FILE *out, pr_err *err);

#endif
