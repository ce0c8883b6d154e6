/*
 * views.c - keys to words of the query language.
 */
#include "query/live/views.h"

#include <stdio.h>
#include <string.h>

static const char *const orders[] = {"ran", "self", "total", "name"};
static const char order_keys[] = "rstn";
static const char *const states[] = {"",     "gil",       "cpu", "waiting",
                                     "idle", "exception", "main"};
static const char *const windows[] = {"", "5s", "30s"};

enum {
    N_STATES = sizeof states / sizeof *states,
    N_WINDOWS = sizeof windows / sizeof *windows
};

/* A name as one word of a query. */
static size_t
quote(const char *name, char *buf, size_t size)
{
    size_t n = 0;
    if (size < 3)
        return 0;
    buf[n++] = '"';
    for (; *name && n + 3 < size; name++) {
        if (*name == '"')
            buf[n++] = '"';
        buf[n++] = *name;
    }
    buf[n++] = '"';
    buf[n] = '\0';
    return n;
}

bool
q_choices_query(const q_choices *c, size_t rows, char *buf, size_t size)
{
    char verb[64], thread[300] = "";
    if (c->view == Q_VIEW_OWN)
        return snprintf(buf, size, "%s", c->own) < (int)size;
    switch (c->view) {
    case Q_VIEW_LINES:
        snprintf(verb, sizeof verb, "lines %zu by %s", rows, orders[c->order]);
        break;
    case Q_VIEW_THREADS:
        snprintf(verb, sizeof verb, "threads");
        break;
    case Q_VIEW_TREE:
        snprintf(verb, sizeof verb, "tree above 1%%");
        break;
    case Q_VIEW_WAITS:
        snprintf(verb, sizeof verb, "waits %zu", rows);
        break;
    case Q_VIEW_TOP:
    case Q_VIEW_OWN:
    case Q_VIEWS:
        snprintf(verb, sizeof verb, "top %zu by %s", rows, orders[c->order]);
        break;
    }
    if (c->thread[0])
        quote(c->thread, thread, sizeof thread);
    int n =
        snprintf(buf, size, "%s%s%s%s%s%s%s", verb, c->state ? " where " : "",
                 states[c->state], thread[0] ? " thread " : "", thread,
                 c->window ? " last " : "", windows[c->window]);
    return n >= 0 && (size_t)n < size;
}

bool
q_choices_key(q_choices *c, int key)
{
    const char *order = key > 0 && key < 128 ? strchr(order_keys, key) : NULL;
    if (order && *order)
        c->order = (size_t)(order - order_keys);
    else if (key >= '1' && key < '1' + Q_VIEW_OWN)
        c->view = (q_view_of)(key - '1');
    else if (key == '0' && c->own)
        c->view = Q_VIEW_OWN;
    else if (key == 'f')
        c->state = (c->state + 1) % N_STATES;
    else if (key == 'w')
        c->window = (c->window + 1) % N_WINDOWS;
    else
        return false;
    return true;
}
