/*
 * settled_filter.c - samples are left out from a moment on: the end of a range,
 * or in a file that grows, where they will be read again with what follows them.
 *
 * The first one of a thread ends the time of the sample before it.
 */
#include "converter/filter/stages.h"

#include <base/array.h>

#include <stdlib.h>

typedef struct settled_filter {
    pr_sink sink;
    uint64_t until_us;
    conv_skip skip;
    bool *past; /* [thread] it has had such a sample */
    size_t n_threads, cap_threads;
} settled_filter;

static settled_filter *
filter_of(pr_sink *sink)
{
    return (settled_filter *)sink;
}

static pr_code
settled_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    settled_filter *f = filter_of(sink);
    if (!pr_grow(&f->past, &f->cap_threads, f->n_threads + 1, sizeof *f->past))
        return pr_no_memory(err);
    f->past[f->n_threads++] = false;
    return PR_SINK_CALL(sink->next, thread, thread, err);
}

static pr_code
settled_delta(pr_sink *sink, const pr_delta *whole, pr_err *err)
{
    settled_filter *f = filter_of(sink);
    pr_delta delta = *whole;
    if (whole->thread >= f->n_threads)
        return PR_FAIL(err, PR_INTERNAL,
                       "a thread was used before it was sent");
    if (f->past[whole->thread])
        return PR_OK;
    delta.n = 0;
    while (delta.n < whole->n && whole->time_us[delta.n] < f->until_us)
        delta.n++;
    pr_code rc = delta.n || whole->n == 0
                     ? PR_SINK_CALL(sink->next, delta, &delta, err)
                     : PR_OK;
    if (rc != PR_OK || delta.n == whole->n)
        return rc;
    f->past[whole->thread] = true;
    if (f->skip.skip)
        f->skip.skip(f->skip.context, whole->thread, whole->time_us[delta.n]);
    return PR_OK;
}

static pr_sink *
end_filter(pr_sink *sink)
{
    settled_filter *f = filter_of(sink);
    pr_sink *next = sink->next;
    free(f->past);
    free(f);
    return next;
}

static pr_code
settled_finish(pr_sink *sink, pr_err *err)
{
    pr_sink *next = end_filter(sink);
    return next->ops->finish(next, err);
}

static void
settled_abort(pr_sink *sink)
{
    pr_sink *next = end_filter(sink);
    next->ops->abort(next);
}

static const pr_sink_ops settled_ops = {
    .thread = settled_thread,
    .delta = settled_delta,
    .finish = settled_finish,
    .abort = settled_abort,
};

pr_code
conv_settled_filter(uint64_t until_us, const conv_skip *skip, pr_sink *next,
                    pr_sink **ret, pr_err *err)
{
    settled_filter *f = calloc(1, sizeof *f);
    if (!f)
        return pr_no_memory(err);
    f->sink = (pr_sink){&settled_ops, next};
    f->until_us = until_us;
    f->skip = skip ? *skip : (conv_skip){NULL, NULL};
    *ret = &f->sink;
    return PR_OK;
}
