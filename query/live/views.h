/*
 * views.h - the query of the screen: a view and the choices that keys make.
 */
#ifndef QUERY_LIVE_VIEWS_H
#define QUERY_LIVE_VIEWS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum q_view_of {
    Q_VIEW_TOP = 0,
    Q_VIEW_LINES,
    Q_VIEW_THREADS,
    Q_VIEW_TREE,
    Q_VIEW_WAITS,
    Q_VIEW_OWN, /* the query of the command line */
    Q_VIEWS
} q_view_of;

typedef struct q_choices {
    q_view_of view;
    size_t order, state, window; /* places in the lists of views.c */
    char thread[128];            /* empty: all */
    const char *own;             /* query of the command line, or NULL */
} q_choices;

/* The query in words; false: it does not fit. */
bool q_choices_query(const q_choices *choices, size_t rows, char *buf,
                     size_t size);

/* Take the key; false: it makes no choice. */
bool q_choices_key(q_choices *choices, int key);

#endif
