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

/* function[SIDES * function + side], whole[side] */
static void
add_thread(const conv_model *model, const conv_thread *thread, int side,
           conv_measure *function, conv_measure *whole)
{
    conv_cursor cursor;
    conv_model_run run;
    conv_cursor_init(&cursor, thread);
    while (conv_cursor_next(&cursor, &run)) {
        add_run(&whole[side], &run);
        if (run.node == 0)
            continue;
        uint32_t id =
            conv_model_frame(model, model->nodes[run.node].frame)->function;
        add_run(&function[SIDES * id + (uint32_t)side], &run);
    }
}

pr_code
conv_page_changes_find(const conv_model *model, uint32_t n_base,
                       conv_page_changes *ret, pr_err *err)
{
    size_t n = model->functions.n;
    conv_page_changes c = {.opts = CONV_COMPARE_OPTS_INIT};
    conv_measure whole[SIDES] = {{0, 0}, {0, 0}};
    conv_measure *function = calloc(SIDES * n + 1, sizeof *function);
    c.change = calloc(n + 1, sizeof *c.change);
    pr_code rc = function && c.change ? PR_OK : pr_no_memory(err);
    for (size_t i = 0; rc == PR_OK && i < model->n_threads; i++)
        add_thread(model, &model->threads[i],
                   model->threads[i].process < n_base ? BASE : NEW, function,
                   whole);
    const conv_sides sides = {1, 1, n, function, whole, NULL};
    if (rc == PR_OK)
        rc = conv_compare(&sides, &c.opts, c.change, &c.whole, err);
    free(function);
    if (rc != PR_OK) {
        conv_page_changes_release(&c);
        return rc;
    }
    size_t tested = c.whole.n_tested ? c.whole.n_tested : 1;
    bool centred = c.whole.scale == CONV_SCALE_CENTRED && c.whole.factor > 0;
    c.centre = centred ? c.whole.factor : 1;
    c.z = conv_t_quantile(c.opts.alpha / 2 / (double)tested, INFINITY);
    c.between_sd = CONV_ONE_RUN_SD;
    *ret = c;
    return PR_OK;
}

void
conv_page_changes_release(conv_page_changes *changes)
{
    free(changes->change);
    *changes = (conv_page_changes){0};
}
