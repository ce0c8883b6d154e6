/*
 * tally.c - entries of one node are linked; the links of a thread are undone
 * before the next one.
 */
#include "converter/model/tally.h"

#include <stdlib.h>

conv_state
conv_state_of(uint8_t status)
{
    if (status & PR_HAS_GIL)
        return CONV_STATE_GIL;
    if (status & PR_GIL_REQUESTED)
        return CONV_STATE_WAITING;
    if (status & PR_ON_CPU)
        return CONV_STATE_CPU;
    return status & PR_CPU_UNKNOWN ? CONV_STATE_UNKNOWN : CONV_STATE_IDLE;
}

const char *
conv_state_name(conv_state state)
{
    static const char *const names[CONV_STATES] = {
        [CONV_STATE_GIL] = "gil",         [CONV_STATE_WAITING] = "waiting",
        [CONV_STATE_CPU] = "cpu",         [CONV_STATE_IDLE] = "idle",
        [CONV_STATE_UNKNOWN] = "unknown",
    };
    return names[state];
}

static pr_code
add_run(conv_tally *tally, const conv_model_run *run, pr_err *err)
{
    uint32_t state = conv_state_of(run->status);
    uint32_t *link = &tally->first[run->node];
    while (*link && tally->entry[*link - 1].state != state)
        link = &tally->entry[*link - 1].next;
    if (!*link) {
        *link = (uint32_t)tally->n + 1; /* before the entries can move */
        if (tally->n >= UINT32_MAX - 1 ||
            !pr_grow(&tally->entry, &tally->cap, tally->n + 1,
                     sizeof *tally->entry))
            return pr_no_memory(err);
        tally->entry[tally->n++] =
            (conv_tally_entry){.node = run->node, .state = state};
        link = NULL;
    }
    conv_tally_entry *e =
        link ? &tally->entry[*link - 1] : &tally->entry[tally->n - 1];
    e->n += run->n;
    e->weight_us += run->weight_us;
    return PR_OK;
}

pr_code
conv_tally_thread(conv_tally *tally, const conv_model *model, uint32_t thread,
                  pr_err *err)
{
    if (!tally->first)
        tally->first = calloc(model->n_nodes, sizeof *tally->first);
    if (!tally->first)
        return pr_no_memory(err);
    for (size_t i = 0; i < tally->n; i++)
        tally->first[tally->entry[i].node] = 0;
    tally->n = 0;
    conv_cursor cursor;
    conv_model_run run;
    conv_cursor_init(&cursor, &model->threads[thread]);
    while (conv_cursor_next(&cursor, &run)) {
        pr_code rc = add_run(tally, &run, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

void
conv_tally_release(conv_tally *tally)
{
    free(tally->entry);
    free(tally->first);
    *tally = (conv_tally){0};
}
