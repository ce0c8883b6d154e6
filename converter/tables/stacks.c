/*
 * stacks.c - node and run: the tree of stacks, and when each was seen.
 */
#include "converter/tables/entry.h"

/* Where a walk over the model stands that makes rows. */
typedef struct walk {
    const conv_entry *e;
    size_t i;
    conv_cursor cursor; /* runs of thread i */
} walk;

static bool
next_node(void *context, int64_t *row)
{
    walk *w = context;
    const conv_entry *e = w->e;
    const conv_index *index = &e->index;
    size_t p = ++w->i; /* the empty stack has no row */
    if (p >= index->n)
        return false;
    uint32_t id = e->model->nodes[index->node[p]].frame;
    const conv_frame *frame = conv_model_frame(e->model, id);
    row[0] = e->node0 + (int64_t)p;
    row[1] = index->parent[p] ? e->node0 + index->parent[p] : CONV_NULL;
    row[2] = e->node0 + index->last[p];
    row[3] = index->depth[p];
    row[4] = e->frame.at[id];
    row[5] = e->function.at[frame->function];
    row[6] = frame->line < 0 ? CONV_NULL : frame->line;
    row[7] = (index->first[p] & CONV_FIRST_FUNCTION) != 0;
    row[8] = (index->first[p] & CONV_FIRST_LINE) != 0;
    row[9] = (index->first[p] & CONV_FIRST_EDGE) != 0;
    return true;
}

pr_code
conv_entry_put_nodes(conv_entry *e, pr_err *err)
{
    walk w = {.e = e};
    return conv_tables_fill(e->tables, CONV_NODE, next_node, &w, err);
}

/* The next run, of this thread or a later one. */
static bool
take_run(walk *w, conv_model_run *run)
{
    const conv_model *model = w->e->model;
    while (!conv_cursor_next(&w->cursor, run)) {
        if (++w->i >= model->n_threads)
            return false;
        conv_cursor_init(&w->cursor, &model->threads[w->i]);
    }
    return true;
}

static bool
next_run(void *context, int64_t *row)
{
    walk *w = context;
    const conv_entry *e = w->e;
    conv_model_run run;
    if (!take_run(w, &run))
        return false;
    uint32_t position = e->index.position[run.node];
    row[0] = ++e->tables->run;
    row[1] = e->thread0 + (int64_t)w->i;
    row[2] = position ? e->node0 + position : 0;
    row[3] = run.status;
    row[4] = conv_row_limit(run.first_us);
    row[5] = conv_row_limit(run.last_us);
    row[6] = conv_row_limit(run.n);
    row[7] = conv_row_limit(run.weight_us);
    return true;
}

pr_code
conv_entry_put_runs(conv_entry *e, pr_err *err)
{
    walk w = {.e = e};
    if (e->model->n_threads == 0)
        return PR_OK;
    conv_cursor_init(&w.cursor, &e->model->threads[0]);
    return conv_tables_fill(e->tables, CONV_RUN, next_run, &w, err);
}
