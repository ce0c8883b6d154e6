/*
 * live.h - a screen that shows the present state of a recording.
 *
 * The screen knows neither files nor SQL: it calls a source for news, and for
 * answers as text.
 */
#ifndef QUERY_LIVE_LIVE_H
#define QUERY_LIVE_LIVE_H

#include <pyrec/error.h>
#include <stdbool.h>

typedef struct q_news {
    bool has_samples; /* the recording has samples */
    bool ended;       /* the recording is whole: nothing will follow */
    double silent_s;  /* since the file last grew */
} q_news;

typedef struct q_live_source {
    void *context;
    /* Check whether the recording grew.  Fails only if it cannot be read. */
    pr_code (*renew)(void *context, q_news *ret, pr_err *err);
    /* The answer as a table of at most `width` cells; the caller frees. */
    pr_code (*answer)(void *context, const char *query, size_t width,
                      char **ret, pr_err *err);
} q_live_source;

/* Show the screen until the user quits.  `query` NULL: the functions that ran
 * most.  PR_USAGE without a terminal. */
pr_code q_live_run(const q_live_source *source, const char *name,
                   const char *query, pr_err *err);

#endif
