/*
 * follow.h - a live view over a recording that another process makes.
 */
#ifndef QUERY_FOLLOW_H
#define QUERY_FOLLOW_H

#include <pyrec/query.h>

/* Show the view until the user quits, with `title` above it.  `query` NULL: the
 * functions that ran most. */
pr_code q_follow(const char *path, const char *title, const char *query,
                 pr_err *err);

#endif
