/*
 * sample_filter.c - only the samples that are asked for.
 *
 * A sample is wanted by its thread, its status and the frames on its stack.
 * For each thread the filter keeps the stack in front of it, how many frames
 * of it the next sink has in common, and for each depth how many frames up to
 * there are in focus and to be ignored.
 */
#include "converter/filter/stages.h"

#include "converter/filter/name_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOCUS = 1, IGNORE = 2 };

/* Frames in focus and ignored, among the outermost ones. */
typedef struct tally {
    uint32_t focus, ignore;
} tally;

typedef struct thread_state {
    pr_list stack; /* outermost first */
    tally *upto;   /* [stack.n + 1] */
    size_t cap;
    size_t common; /* outermost frames that the next sink has, too */
    bool wanted, is_main;
    bool skipped; /* the last sample was left out */
} thread_state;

typedef struct sample_filter {
    pr_sink sink;
    const conv_filters *filters;
    conv_skip skip;
    conv_filtered *filtered;
    pr_start start;
    conv_called_names names;
    uint8_t *kind; /* [n_frames] FOCUS, IGNORE */
    size_t n_frames, cap_frames;
    thread_state *threads;
    uint64_t *tid;
    size_t n_threads, cap_threads, cap_tid;
    uint8_t *matched; /* threads, focus, ignore: in this order */
    uint64_t seen, passed, cpu_known;
    pr_list push; /* scratch */
} sample_filter;

static sample_filter *
filter_of(pr_sink *sink)
{
    return (sample_filter *)sink;
}

static pr_code
sample_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    sample_filter *f = filter_of(sink);
    f->start = *start;
    pr_code rc = PR_SINK_CALL(sink->next, start, start, err);
    if (rc != PR_OK || f->skip.skip)
        return rc;
    return PR_SINK_CALL(sink->next, meta, CONV_META_FILTERED, "1", 1, err);
}

/* ---- names ---- */

static uint8_t *
matched_focus(const sample_filter *f)
{
    return f->matched + f->filters->threads.n;
}

static uint8_t *
matched_ignore(const sample_filter *f)
{
    return matched_focus(f) + f->filters->focus.n;
}

static pr_code
sample_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    sample_filter *f = filter_of(sink);
    pr_code rc = conv_called_names_add(&f->names, bytes, len, err);
    return rc == PR_OK ? PR_SINK_CALL(sink->next, string, bytes, len, err) : rc;
}

static pr_code
sample_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    sample_filter *f = filter_of(sink);
    conv_called called;
    pr_code rc = conv_called_names_get(&f->names, frame, &called, err);
    if (rc != PR_OK)
        return rc;
    if (!pr_grow(&f->kind, &f->cap_frames, f->n_frames + 1, 1))
        return pr_no_memory(err);
    unsigned kind = 0;
    if (conv_name_means(&f->filters->focus, &called, matched_focus(f)))
        kind |= FOCUS;
    if (conv_name_means(&f->filters->ignore, &called, matched_ignore(f)))
        kind |= IGNORE;
    f->kind[f->n_frames++] = (uint8_t)kind;
    return PR_SINK_CALL(sink->next, frame, frame, err);
}

static void
name_thread(sample_filter *f, uint32_t thread, pr_bytes name)
{
    thread_state *t = &f->threads[thread];
    t->wanted = f->filters->threads.n == 0 ||
                conv_name_means_thread(&f->filters->threads, name,
                                       f->tid[thread], t->is_main, f->matched);
}

static pr_code
sample_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    sample_filter *f = filter_of(sink);
    size_t n = f->n_threads;
    if (!pr_grow(&f->threads, &f->cap_threads, n + 1, sizeof *f->threads) ||
        !pr_grow(&f->tid, &f->cap_tid, n + 1, sizeof *f->tid))
        return pr_no_memory(err);
    f->threads[n] = (thread_state){.is_main = thread->is_main != 0};
    f->tid[n] = thread->tid;
    f->n_threads++;
    name_thread(f, (uint32_t)n, (pr_bytes){thread->name, thread->name_len});
    return PR_SINK_CALL(sink->next, thread, thread, err);
}

static pr_code
sample_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
              pr_err *err)
{
    sample_filter *f = filter_of(sink);
    if (thread >= f->n_threads)
        return PR_FAIL(err, PR_INTERNAL, "a name of an unknown thread");
    name_thread(f, thread, (pr_bytes){name, len});
    return PR_SINK_CALL(sink->next, rename, thread, name, len, err);
}

/* ---- samples ---- */

static pr_code
update_stack(const sample_filter *f, thread_state *t, const pr_delta *delta,
             pr_err *err)
{
    size_t depth = delta->keep + (size_t)delta->n_push;
    if (!pr_grow(&t->upto, &t->cap, depth + 1, sizeof *t->upto))
        return pr_no_memory(err);
    t->upto[0] = (tally){0, 0};
    t->stack.n = delta->keep;
    if (t->common > delta->keep)
        t->common = delta->keep;
    for (uint32_t i = delta->n_push; i-- > 0;) {
        uint32_t frame = delta->push[i];
        if (frame >= f->n_frames)
            return PR_FAIL(err, PR_INTERNAL, "a delta has an unknown frame");
        const tally *below = &t->upto[t->stack.n];
        t->upto[t->stack.n + 1] =
            (tally){below->focus + ((f->kind[frame] & FOCUS) != 0),
                    below->ignore + ((f->kind[frame] & IGNORE) != 0)};
        pr_code rc = pr_list_add(&t->stack, frame, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

static bool
stack_wanted(const sample_filter *f, const thread_state *t)
{
    const tally *all = &t->upto[t->stack.n];
    return t->wanted && all->ignore == 0 &&
           (f->filters->focus.n == 0 || all->focus > 0);
}

static bool
status_wanted(const sample_filter *f, const thread_state *t, uint8_t status)
{
    enum { RUNS = PR_HAS_GIL | PR_ON_CPU, OFF = RUNS | PR_CPU_UNKNOWN };
    uint32_t where = f->filters->where;
    if ((where & CONV_WHERE_GIL) && !(status & PR_HAS_GIL))
        return false;
    if ((where & CONV_WHERE_CPU) && !(status & PR_ON_CPU))
        return false;
    if ((where & CONV_WHERE_IDLE) && (status & OFF))
        return false;
    if ((where & CONV_WHERE_WAITING) && !(status & PR_GIL_REQUESTED))
        return false;
    if ((where & CONV_WHERE_EXCEPTION) && !(status & PR_HAS_EXCEPTION))
        return false;
    return !(where & CONV_WHERE_MAIN) || t->is_main ||
           (status & PR_MAIN_THREAD);
}

/* Samples from .. to - 1 of the delta, on the present stack. */
static pr_code
pass(sample_filter *f, thread_state *t, const pr_delta *delta, uint32_t from,
     uint32_t to, pr_err *err)
{
    pr_delta part = {.thread = delta->thread,
                     .keep = (uint32_t)t->common,
                     .n = to - from,
                     .time_us = delta->time_us + from,
                     .status = delta->status + from};
    f->push.n = 0;
    for (size_t i = t->stack.n; i-- > t->common;) {
        pr_code rc = pr_list_add(&f->push, t->stack.at[i], err);
        if (rc != PR_OK)
            return rc;
    }
    part.n_push = (uint32_t)f->push.n;
    part.push = f->push.at;
    t->common = t->stack.n;
    t->skipped = false;
    f->passed += part.n;
    return PR_SINK_CALL(f->sink.next, delta, &part, err);
}

static void
leave_out(const sample_filter *f, thread_state *t, uint32_t thread,
          uint64_t time_us)
{
    if (!t->skipped && f->skip.skip)
        f->skip.skip(f->skip.context, thread, time_us);
    t->skipped = true;
}

static pr_code
sample_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    sample_filter *f = filter_of(sink);
    if (delta->thread >= f->n_threads ||
        delta->keep > f->threads[delta->thread].stack.n)
        return PR_FAIL(err, PR_INTERNAL, "a delta keeps too many frames");
    thread_state *t = &f->threads[delta->thread];
    pr_code rc = update_stack(f, t, delta, err);
    bool stack = rc == PR_OK && stack_wanted(f, t);
    uint32_t from = 0;
    for (uint32_t i = 0; i < delta->n && rc == PR_OK; i++) {
        uint8_t status = delta->status[i];
        f->cpu_known += !(status & PR_CPU_UNKNOWN);
        if (stack && status_wanted(f, t, status))
            continue;
        if (i > from)
            rc = pass(f, t, delta, from, i, err);
        leave_out(f, t, delta->thread, delta->time_us[i]);
        from = i + 1;
    }
    f->seen += delta->n;
    return rc == PR_OK && delta->n > from
               ? pass(f, t, delta, from, delta->n, err)
               : rc;
}

/* ---- the end ---- */

static pr_sink *
end_filter(pr_sink *sink)
{
    sample_filter *f = filter_of(sink);
    pr_sink *next = sink->next;
    for (size_t i = 0; i < f->n_threads; i++) {
        pr_list_release(&f->threads[i].stack);
        free(f->threads[i].upto);
    }
    free(f->threads);
    free(f->tid);
    free(f->kind);
    free(f->matched);
    conv_called_names_release(&f->names);
    pr_list_release(&f->push);
    free(f);
    return next;
}

/* Refuse a condition that no sample can answer: a count of 0 would be wrong.
 * The count of GIL requests: CPython 3.15 Include/cpython/pystate.h
 * gil_requested. */
static pr_code
check_answers(const sample_filter *f, pr_err *err)
{
    uint32_t where = f->filters->where;
    if ((where & (CONV_WHERE_CPU | CONV_WHERE_IDLE)) && f->seen &&
        !f->cpu_known) {
        PR_FAIL(err, PR_USAGE, "the profile does not say what was on a CPU");
        pr_err_hint(err, "record it with a mode that keeps the CPU state");
        return PR_USAGE;
    }
    if ((where & CONV_WHERE_WAITING) && f->start.python[0] == 3 &&
        f->start.python[1] < 15)
        return PR_FAIL(err, PR_USAGE,
                       "Python %d.%d does not say which threads wait for the "
                       "GIL",
                       f->start.python[0], f->start.python[1]);
    return PR_OK;
}

static const char *
unmatched_name(const sample_filter *f)
{
    const conv_name_list *names[] = {&f->filters->threads, &f->filters->focus,
                                     &f->filters->ignore};
    const uint8_t *matched = f->matched;
    for (size_t list = 0; list < sizeof names / sizeof *names; list++)
        for (size_t i = 0; i < names[list]->n; i++)
            if (!*matched++)
                return names[list]->at[i];
    return NULL;
}

static pr_code
check_left(const sample_filter *f, pr_err *err)
{
    const char *name = unmatched_name(f);
    if (name)
        snprintf(f->filtered->unmatched, sizeof f->filtered->unmatched, "%s",
                 name);
    if (f->passed || !f->seen)
        return PR_OK;
    if (name)
        PR_FAIL(err, PR_NAME, "nothing in the profile is called '%s'", name);
    else
        PR_FAIL(err, PR_NAME, "the filters leave no sample");
    bool of_thread = name && f->filters->threads.n > 0 &&
                     memchr(f->matched, 0, f->filters->threads.n);
    pr_err_hint(err, "'pyquery FILE %s' shows the names",
                of_thread ? "threads" : "\"top 20 by total\"");
    return PR_NAME;
}

static pr_code
sample_finish(pr_sink *sink, pr_err *err)
{
    sample_filter *f = filter_of(sink);
    pr_code rc = check_answers(f, err);
    if (rc == PR_OK)
        rc = check_left(f, err);
    pr_sink *next = end_filter(sink);
    if (rc == PR_OK)
        return next->ops->finish(next, err);
    next->ops->abort(next);
    return rc;
}

static void
sample_abort(pr_sink *sink)
{
    pr_sink *next = end_filter(sink);
    next->ops->abort(next);
}

static const pr_sink_ops sample_ops = {
    .start = sample_start,
    .string = sample_string,
    .frame = sample_frame,
    .thread = sample_thread,
    .rename = sample_rename,
    .delta = sample_delta,
    .finish = sample_finish,
    .abort = sample_abort,
};

pr_code
conv_sample_filter(const conv_filters *filters, const conv_skip *skip,
                   conv_filtered *filtered, pr_sink *next, pr_sink **ret,
                   pr_err *err)
{
    sample_filter *f = calloc(1, sizeof *f);
    uint8_t *matched = calloc(
        filters->threads.n + filters->focus.n + filters->ignore.n + 1, 1);
    if (!f || !matched) {
        free(f);
        free(matched);
        return pr_no_memory(err);
    }
    f->sink = (pr_sink){&sample_ops, next};
    f->filters = filters;
    f->skip = skip ? *skip : (conv_skip){NULL, NULL};
    f->filtered = filtered;
    f->matched = matched;
    *ret = &f->sink;
    return PR_OK;
}
