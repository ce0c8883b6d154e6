/*
 * page_changes.c - the self time of each function on both sides, compared.
 */
#include "converter/page/page_changes.h"

#include "converter/compare/distribution.h"

#include <math.h>
#include <stdlib.h>

enum { BASE, NEW, SIDES };

static void
add_run(conv_measure *measure, const conv_model_run *run)
{
    measure->n += (int64_t)run->n;
    measure->us += (int64_t)run->weight_us;
}

/* The measures are [SIDES * function + side]. */
typedef struct sums {
    conv_measure *function; /* self */
    conv_measure *on_stack; /* n is 1: the side has the function on a stack */
    conv_measure whole[SIDES];
    uint8_t *marked; /* [node]: bit `side` is set if mark_stack() was there */
} sums;

/* Mark the function of a node, and those of its callers, as on a stack of this
 * side.  A node that is marked has marked its callers. */
static void
mark_stack(const conv_model *model, uint32_t node, int side, sums *s)
{
    uint8_t mark = (uint8_t)(1 << side);
    for (; node && !(s->marked[node] & mark);
         node = model->nodes[node].parent) {
        uint32_t id =
            conv_model_frame(model, model->nodes[node].frame)->function;
        s->marked[node] |= mark;
        s->on_stack[SIDES * id + (uint32_t)side] = (conv_measure){1, 0};
    }
}

static void
add_thread(const conv_model *model, const conv_thread *thread, int side,
           sums *s)
{
    conv_cursor cursor;
    conv_model_run run;
    conv_cursor_init(&cursor, thread);
    while (conv_cursor_next(&cursor, &run)) {
        add_run(&s->whole[side], &run);
        if (run.node == 0)
            continue;
        uint32_t id =
            conv_model_frame(model, model->nodes[run.node].frame)->function;
        add_run(&s->function[SIDES * id + (uint32_t)side], &run);
        mark_stack(model, run.node, side, s);
    }
}

static pr_code
add_up(const conv_model *model, uint32_t n_base, sums *s, pr_err *err)
{
    size_t n = model->functions.n;
    s->function = calloc(SIDES * n + 1, sizeof *s->function);
    s->on_stack = calloc(SIDES * n + 1, sizeof *s->on_stack);
    s->marked = calloc(model->n_nodes + 1, 1);
    if (!s->function || !s->on_stack || !s->marked)
        return pr_no_memory(err);
    for (size_t i = 0; i < model->n_threads; i++)
        add_thread(model, &model->threads[i],
                   model->threads[i].process < n_base ? BASE : NEW, s);
    return PR_OK;
}

static void
release(sums *s)
{
    free(s->function);
    free(s->on_stack);
    free(s->marked);
}

pr_code
conv_page_changes_find(const conv_model *model, uint32_t n_base,
                       conv_page_changes *ret, pr_err *err)
{
    size_t n = model->functions.n;
    conv_page_changes c = {.opts = CONV_COMPARE_OPTS_INIT};
    sums s = {0};
    c.change = calloc(n + 1, sizeof *c.change);
    pr_code rc = c.change ? add_up(model, n_base, &s, err) : pr_no_memory(err);
    const conv_sides sides = {.n_base = 1,
                              .n_new = 1,
                              .n_functions = n,
                              .function = s.function,
                              .on_stack = s.on_stack,
                              .whole = s.whole};
    if (rc == PR_OK)
        rc = conv_compare(&sides, &c.opts, c.change, &c.whole, err);
    release(&s);
    if (rc != PR_OK) {
        conv_page_changes_release(&c);
        return rc;
    }
    size_t tested = c.whole.n_tested ? c.whole.n_tested : 1;
    bool centred = c.whole.scale == CONV_SCALE_CENTRED && c.whole.factor > 0;
    c.centre = centred ? c.whole.factor : 1;
    c.z = conv_t_quantile(c.opts.alpha / 2 / (double)tested, INFINITY);
    c.between_sd = hypot(CONV_ONE_RUN_SD, c.whole.common_sd);
    *ret = c;
    return PR_OK;
}

void
conv_page_changes_release(conv_page_changes *changes)
{
    free(changes->change);
    *changes = (conv_page_changes){0};
}
