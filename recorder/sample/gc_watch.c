/*
 * gc_watch.c - collections while recording (gc_watch.h).
 */
#include "recorder/sample/gc_watch.h"

#include <base/array.h>
#include <stdlib.h>

void
rec_gc_watch_release(rec_gc_watch *watch)
{
    free(watch->v);
    *watch = (rec_gc_watch){0};
}

static rec_gc_watched *
watched_of(rec_gc_watch *watch, const rec_interp *interp)
{
    for (size_t i = 0; i < watch->n; i++)
        if (watch->v[i].address == interp->address &&
            watch->v[i].gc.interp == interp->id)
            return &watch->v[i];
    if (!pr_grow(&watch->v, &watch->cap, watch->n + 1, sizeof *watch->v))
        return NULL;
    watch->v[watch->n] =
        (rec_gc_watched){interp->address, {.interp = interp->id}};
    return &watch->v[watch->n++];
}

static pr_code
emit_event(void *context, const pr_gc_event *event, pr_err *err)
{
    pr_sink *sink = context;
    return PR_SINK_CALL(sink, gc, event, err);
}

pr_code
rec_gc_watch_poll(rec_gc_watch *watch, const rec_threads_table *table,
                  uint64_t start_us, pr_sink *sink, pr_err *err)
{
    for (size_t i = 0; i < table->n_interps; i++) {
        const rec_interp *interp = &table->interp[i];
        rec_gc_watched *w = watched_of(watch, interp);
        if (!w)
            return pr_no_memory(err);
        pr_err why = PR_ERR_INIT;
        pr_code code =
            rec_gc_poll(&w->gc, &table->runtime->layout, table->memory,
                        interp->address, start_us, emit_event, sink, &why);
        if (code == PR_OK || code == PR_TORN)
            continue;
        if (err && err->code == PR_OK)
            *err = why;
        return code;
    }
    return PR_OK;
}

uint64_t
rec_gc_watch_lost(const rec_gc_watch *watch)
{
    uint64_t lost = 0;
    for (size_t i = 0; i < watch->n; i++)
        lost += watch->v[i].gc.lost;
    return lost;
}
