/*
 * frame_filter.c - deltas without the hidden frames.
 *
 * Hidden are the frames of CPython 3.15's own profiler, which stand at the
 * bottom of every stack that it recorded of a script it ran itself
 * (Lib/profiling/sampling/constants.py _INTERNAL_FRAME_SUFFIXES; its own
 * outputs hide them, too), and those that the options name.
 *
 * For each thread shown[d] says how many of the outermost d frames are shown.
 * A delta that keeps d frames then keeps shown[d] of what the next sink has.
 * While no frame is hidden at all, shown[d] is d and only the depth is noted.
 */
#include "converter/filter/stages.h"

#include "converter/filter/name_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct thread_stack {
    uint32_t *shown; /* [depth + 1], once tracked */
    size_t cap;
    size_t depth;
    bool tracked;
} thread_stack;

typedef struct frame_filter {
    pr_sink sink;
    const conv_filters *filters;
    bool hide_internal;
    conv_filtered *filtered;
    conv_called_names names;
    uint8_t *matched; /* [filters->hide.n] */
    uint8_t *hidden;  /* [n_frames] */
    size_t n_frames, cap_frames;
    bool any; /* a frame is hidden */
    thread_stack *threads;
    size_t n_threads, cap_threads;
    pr_list push; /* scratch */
} frame_filter;

static frame_filter *
filter_of(pr_sink *sink)
{
    return (frame_filter *)sink;
}

static bool
is_internal(pr_bytes file)
{
    static const char suffix[] = "_sync_coordinator.py";
    size_t n = sizeof suffix - 1;
    return file.len >= n && memcmp(file.at + file.len - n, suffix, n) == 0;
}

static bool
is(pr_bytes text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.at, word, text.len) == 0;
}

static bool
is_hidden(frame_filter *f, const conv_called *called)
{
    if (f->hide_internal && is_internal(called->file))
        return true;
    if (f->filters->hide_native && is(called->file, PR_SYNTHETIC_FILE) &&
        is(called->name, PR_NATIVE_FUNC))
        return true;
    return conv_name_means(&f->filters->hide, called, f->matched);
}

static pr_code
hide_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    frame_filter *f = filter_of(sink);
    pr_code rc = conv_called_names_add(&f->names, bytes, len, err);
    return rc == PR_OK ? PR_SINK_CALL(sink->next, string, bytes, len, err) : rc;
}

static pr_code
hide_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    frame_filter *f = filter_of(sink);
    conv_called called;
    pr_code rc = conv_called_names_get(&f->names, frame, &called, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&f->hidden, &f->cap_frames, f->n_frames + 1, 1))
        return pr_no_memory(err);
    bool hidden = is_hidden(f, &called);
    f->hidden[f->n_frames++] = hidden;
    f->any = f->any || hidden;
    return PR_SINK_CALL(sink->next, frame, frame, err);
}

static pr_code
hide_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    frame_filter *f = filter_of(sink);
    if (!pr_grow(&f->threads, &f->cap_threads, f->n_threads + 1,
                 sizeof *f->threads))
        return pr_no_memory(err);
    f->threads[f->n_threads++] = (thread_stack){0};
    return PR_SINK_CALL(sink->next, thread, thread, err);
}

/* shown[0 .. depth] exists, and is right up to the present depth. */
static bool
track(thread_stack *stack, size_t depth)
{
    if (!pr_grow(&stack->shown, &stack->cap, depth + 1, sizeof *stack->shown))
        return false;
    if (!stack->tracked)
        for (uint32_t d = 0; d <= stack->depth && d <= depth; d++)
            stack->shown[d] = d;
    stack->tracked = true;
    return true;
}

static pr_code
hide_pushed(frame_filter *f, thread_stack *stack, pr_delta *delta, pr_err *err)
{
    size_t need = delta->keep + (size_t)delta->n_push;
    if (!track(stack, need > stack->depth ? need : stack->depth))
        return pr_no_memory(err);
    f->push.n = 0;
    for (uint32_t i = 0; i < delta->n_push; i++) {
        uint32_t frame = delta->push[i];
        if (frame >= f->n_frames)
            return PR_FAIL(err, PR_INTERNAL, "a delta has an unknown frame");
        pr_code rc =
            f->hidden[frame] ? PR_OK : pr_list_add(&f->push, frame, err);
        if (rc != PR_OK)
            return rc;
    }
    for (uint32_t i = delta->n_push, d = delta->keep; i-- > 0; d++)
        stack->shown[d + 1] = stack->shown[d] + !f->hidden[delta->push[i]];
    delta->keep = stack->shown[delta->keep];
    delta->n_push = (uint32_t)f->push.n;
    delta->push = f->push.at;
    return PR_OK;
}

static pr_code
hide_delta(pr_sink *sink, const pr_delta *whole, pr_err *err)
{
    frame_filter *f = filter_of(sink);
    pr_delta delta = *whole;
    if (whole->thread >= f->n_threads ||
        whole->keep > f->threads[whole->thread].depth)
        return PR_FAIL(err, PR_INTERNAL, "a delta keeps too many frames");
    thread_stack *stack = &f->threads[whole->thread];
    if (f->any) {
        pr_code rc = hide_pushed(f, stack, &delta, err);
        if (rc != PR_OK)
            return rc;
    }
    stack->depth = whole->keep + (size_t)whole->n_push;
    return PR_SINK_CALL(sink->next, delta, &delta, err);
}

static pr_sink *
end_filter(pr_sink *sink)
{
    frame_filter *f = filter_of(sink);
    pr_sink *next = sink->next;
    for (size_t i = 0; i < f->n_threads; i++)
        free(f->threads[i].shown);
    free(f->threads);
    free(f->hidden);
    free(f->matched);
    conv_called_names_release(&f->names);
    pr_list_release(&f->push);
    free(f);
    return next;
}

static pr_code
hide_finish(pr_sink *sink, pr_err *err)
{
    frame_filter *f = filter_of(sink);
    for (size_t i = 0; i < f->filters->hide.n; i++)
        if (!f->matched[i])
            snprintf(f->filtered->unmatched, sizeof f->filtered->unmatched,
                     "%s", f->filters->hide.at[i]);
    pr_sink *next = end_filter(sink);
    return next->ops->finish(next, err);
}

static void
hide_abort(pr_sink *sink)
{
    pr_sink *next = end_filter(sink);
    next->ops->abort(next);
}

static const pr_sink_ops hide_ops = {
    .string = hide_string,
    .frame = hide_frame,
    .thread = hide_thread,
    .delta = hide_delta,
    .finish = hide_finish,
    .abort = hide_abort,
};

pr_code
conv_frame_filter(const conv_filters *filters, bool hide_internal,
                  conv_filtered *filtered, pr_sink *next, pr_sink **ret,
                  pr_err *err)
{
    frame_filter *f = calloc(1, sizeof *f);
    uint8_t *matched = calloc(filters->hide.n + 1, 1);
    if (!f || !matched) {
        free(f);
        free(matched);
        return pr_no_memory(err);
    }
    f->sink = (pr_sink){&hide_ops, next};
    f->filters = filters;
    f->hide_internal = hide_internal;
    f->filtered = filtered;
    f->matched = matched;
    *ret = &f->sink;
    return PR_OK;
}
