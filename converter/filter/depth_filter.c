/*
 * depth_filter.c - a stack that is too deep loses its middle.
 *
 * A stack deeper than the limit keeps its outermost half and its innermost
 * half, around one frame that stands for the rest.  That frame and its two
 * names come first of all, so an id after the filter is the id before it and
 * a constant.
 */
#include "converter/filter/stages.h"

#include <base/intern.h>

#include <stdlib.h>

enum { OWN_STRINGS = 2, OWN_FRAMES = 1 };

typedef struct thread_stack {
    pr_list frames; /* as they came, outermost first */
    bool cut;       /* the last delta was too deep */
    size_t depth;   /* of the last delta that was passed on */
} thread_stack;

typedef struct depth_filter {
    pr_sink sink;
    size_t head, tail; /* frames that stay */
    thread_stack *threads;
    size_t n_threads, cap_threads;
    pr_list push; /* scratch */
} depth_filter;

static depth_filter *
filter_of(pr_sink *sink)
{
    return (depth_filter *)sink;
}

static pr_code
depth_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    static const char name[] = "<frames left out>";
    static const pr_frame frame = {.file = 0,
                                   .func = 1,
                                   .line = PR_NO_LINE,
                                   .end_line = PR_NO_LINE,
                                   .column = PR_NO_LINE,
                                   .end_column = PR_NO_LINE,
                                   .opcode = PR_NO_OPCODE};
    pr_sink *next = sink->next;
    pr_code rc = PR_SINK_CALL(next, start, start, err);
    if (rc == PR_OK)
        rc = PR_SINK_CALL(next, string, PR_SYNTHETIC_FILE, 1, err);
    if (rc == PR_OK)
        rc = PR_SINK_CALL(next, string, name, sizeof name - 1, err);
    return rc == PR_OK ? PR_SINK_CALL(next, frame, &frame, err) : rc;
}

static pr_code
depth_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    pr_frame moved = *frame;
    moved.file += OWN_STRINGS;
    moved.func += OWN_STRINGS;
    return PR_SINK_CALL(sink->next, frame, &moved, err);
}

static pr_code
depth_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    depth_filter *f = filter_of(sink);
    if (!pr_grow(&f->threads, &f->cap_threads, f->n_threads + 1,
                 sizeof *f->threads))
        return pr_no_memory(err);
    f->threads[f->n_threads++] = (thread_stack){0};
    return PR_SINK_CALL(sink->next, thread, thread, err);
}

static pr_code
update_stack(thread_stack *stack, const pr_delta *delta, pr_err *err)
{
    pr_code rc = PR_OK;
    stack->frames.n = delta->keep;
    for (uint32_t i = delta->n_push; i-- > 0 && rc == PR_OK;)
        rc = pr_list_add(&stack->frames, delta->push[i] + OWN_FRAMES, err);
    return rc;
}

/* How many of the frames that were passed on last stay: keep frames were on
 * the stack before. */
static size_t
frames_that_stay(const depth_filter *f, const thread_stack *stack, size_t keep)
{
    size_t depth = stack->frames.n, limit = f->head + f->tail;
    if (!stack->cut && depth <= limit)
        return keep;
    if (!stack->cut || depth <= limit || keep < f->head)
        return keep < f->head ? keep : f->head;
    size_t from = depth - f->tail; /* the innermost half begins there */
    bool same_place = depth == stack->depth && keep > from;
    return f->head + 1 + (same_place ? keep - from : 0);
}

/* The frames from number `from` on of what is shown, innermost first. */
static pr_code
collect(depth_filter *f, const thread_stack *stack, size_t from, pr_err *err)
{
    size_t depth = stack->frames.n, limit = f->head + f->tail;
    bool cut = depth > limit;
    size_t shown = cut ? limit + 1 : depth;
    pr_code rc = PR_OK;
    f->push.n = 0;
    for (size_t i = shown; i-- > from && rc == PR_OK;) {
        uint32_t frame = 0; /* the one that stands for others */
        if (!cut || i < f->head)
            frame = stack->frames.at[i];
        else if (i > f->head)
            frame = stack->frames.at[depth - (shown - i)];
        rc = pr_list_add(&f->push, frame, err);
    }
    return rc;
}

static pr_code
depth_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    depth_filter *f = filter_of(sink);
    if (delta->thread >= f->n_threads ||
        delta->keep > f->threads[delta->thread].frames.n)
        return PR_FAIL(err, PR_INTERNAL, "a delta keeps too many frames");
    thread_stack *stack = &f->threads[delta->thread];
    pr_code rc = update_stack(stack, delta, err);
    if (rc != PR_OK)
        return rc;
    pr_delta shown = *delta;
    shown.keep = (uint32_t)frames_that_stay(f, stack, delta->keep);
    rc = collect(f, stack, shown.keep, err);
    if (rc != PR_OK)
        return rc;
    shown.n_push = (uint32_t)f->push.n;
    shown.push = f->push.at;
    stack->cut = stack->frames.n > f->head + f->tail;
    stack->depth = stack->frames.n;
    return PR_SINK_CALL(sink->next, delta, &shown, err);
}

static pr_sink *
end_filter(pr_sink *sink)
{
    depth_filter *f = filter_of(sink);
    pr_sink *next = sink->next;
    for (size_t i = 0; i < f->n_threads; i++)
        pr_list_release(&f->threads[i].frames);
    free(f->threads);
    pr_list_release(&f->push);
    free(f);
    return next;
}

static pr_code
depth_finish(pr_sink *sink, pr_err *err)
{
    pr_sink *next = end_filter(sink);
    return next->ops->finish(next, err);
}

static void
depth_abort(pr_sink *sink)
{
    pr_sink *next = end_filter(sink);
    next->ops->abort(next);
}

static const pr_sink_ops depth_ops = {
    .start = depth_start,
    .frame = depth_frame,
    .thread = depth_thread,
    .delta = depth_delta,
    .finish = depth_finish,
    .abort = depth_abort,
};

pr_code
conv_depth_filter(uint32_t max_depth, pr_sink *next, pr_sink **ret, pr_err *err)
{
    depth_filter *f = calloc(1, sizeof *f);
    if (!f)
        return pr_no_memory(err);
    f->sink = (pr_sink){&depth_ops, next};
    f->head = ((size_t)max_depth + 1) / 2;
    f->tail = max_depth - f->head;
    *ret = &f->sink;
    return PR_OK;
}
