/*
 * filter.c - deltas without the hidden frames.
 *
 * For each thread shown[d] says how many of the outermost d frames are shown.
 * A delta that keeps d frames then keeps shown[d] of what the next sink has.
 * While no frame is hidden at all, shown[d] is d and only the depth is noted.
 */
#include "converter/model/filter.h"

#include <base/intern.h>

#include <stdlib.h>

typedef struct thread_stack {
    uint32_t *shown; /* [depth + 1], once tracked */
    size_t cap;
    size_t depth;
    bool tracked;
} thread_stack;

typedef struct filter {
    pr_sink sink;
    uint8_t *string_hidden, *frame_hidden;
    size_t n_strings, cap_strings, n_frames, cap_frames;
    bool any; /* a frame is hidden */
    thread_stack *threads;
    size_t n_threads, cap_threads;
    pr_list push; /* scratch */
} filter;

static filter *
filter_of(pr_sink *sink)
{
    return (filter *)sink;
}

static bool
is_internal(const char *file, size_t len)
{
    static const char suffix[] = "_sync_coordinator.py";
    size_t n = sizeof suffix - 1;
    return len >= n && memcmp(file + len - n, suffix, n) == 0;
}

static pr_code
filter_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    filter *f = filter_of(sink);
    if (!pr_grow(&f->string_hidden, &f->cap_strings, f->n_strings + 1, 1))
        return pr_no_memory(err);
    f->string_hidden[f->n_strings++] = is_internal(bytes, len);
    return PR_SINK_CALL(f->sink.next, string, bytes, len, err);
}

static pr_code
filter_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    filter *f = filter_of(sink);
    if (!pr_grow(&f->frame_hidden, &f->cap_frames, f->n_frames + 1, 1))
        return pr_no_memory(err);
    bool hidden = frame->file < f->n_strings && f->string_hidden[frame->file];
    f->frame_hidden[f->n_frames++] = hidden;
    f->any = f->any || hidden;
    return PR_SINK_CALL(f->sink.next, frame, frame, err);
}

static pr_code
filter_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    filter *f = filter_of(sink);
    if (!pr_grow(&f->threads, &f->cap_threads, f->n_threads + 1,
                 sizeof *f->threads))
        return pr_no_memory(err);
    f->threads[f->n_threads++] = (thread_stack){0};
    return PR_SINK_CALL(f->sink.next, thread, thread, err);
}

/* shown[0 .. depth + n_push] exists, and is right up to the present depth. */
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
hide(filter *f, thread_stack *stack, pr_delta *delta, pr_err *err)
{
    size_t need = delta->keep + (size_t)delta->n_push;
    if (!track(stack, need > stack->depth ? need : stack->depth))
        return pr_no_memory(err);
    f->push.n = 0;
    for (uint32_t i = 0; i < delta->n_push; i++) {
        uint32_t frame = delta->push[i];
        if (frame < f->n_frames && f->frame_hidden[frame])
            continue;
        pr_code rc = pr_list_add(&f->push, frame, err);
        if (rc != PR_OK)
            return rc;
    }
    for (uint32_t i = delta->n_push, d = delta->keep; i-- > 0; d++) {
        uint32_t frame = delta->push[i];
        bool hidden = frame < f->n_frames && f->frame_hidden[frame];
        stack->shown[d + 1] = stack->shown[d] + !hidden;
    }
    delta->keep = stack->shown[delta->keep];
    delta->n_push = (uint32_t)f->push.n;
    delta->push = f->push.at;
    return PR_OK;
}

static pr_code
filter_delta(pr_sink *sink, const pr_delta *told, pr_err *err)
{
    filter *f = filter_of(sink);
    pr_delta delta = *told;
    if (told->thread >= f->n_threads ||
        told->keep > f->threads[told->thread].depth)
        return PR_FAIL(err, PR_INTERNAL, "a stack was not told");
    thread_stack *stack = &f->threads[told->thread];
    if (f->any) {
        pr_code rc = hide(f, stack, &delta, err);
        if (rc != PR_OK)
            return rc;
    }
    stack->depth = told->keep + (size_t)told->n_push;
    return PR_SINK_CALL(f->sink.next, delta, &delta, err);
}

static void
free_filter(filter *f)
{
    for (size_t i = 0; i < f->n_threads; i++)
        free(f->threads[i].shown);
    free(f->threads);
    free(f->string_hidden);
    free(f->frame_hidden);
    pr_list_release(&f->push);
    free(f);
}

static pr_code
filter_finish(pr_sink *sink, pr_err *err)
{
    pr_sink *next = sink->next;
    free_filter(filter_of(sink));
    return next->ops->finish(next, err);
}

static void
filter_abort(pr_sink *sink)
{
    pr_sink *next = sink->next;
    free_filter(filter_of(sink));
    next->ops->abort(next);
}

static const pr_sink_ops filter_ops = {
    .string = filter_string,
    .frame = filter_frame,
    .thread = filter_thread,
    .delta = filter_delta,
    .finish = filter_finish,
    .abort = filter_abort,
};

pr_code
conv_filter_new(pr_sink *next, pr_sink **ret, pr_err *err)
{
    filter *f = calloc(1, sizeof *f);
    if (!f)
        return pr_no_memory(err);
    f->sink.ops = &filter_ops;
    f->sink.next = next;
    *ret = &f->sink;
    return PR_OK;
}
