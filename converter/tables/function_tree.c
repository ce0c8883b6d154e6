/*
 * function_tree.c - from the roots down, one row's children at a time.
 */
#include "converter/tables/function_tree.h"

#include "converter/tables/rows.h"

#include <stdlib.h>

/* A child of the row that is being divided: a function and its positions. */
typedef struct child {
    uint64_t n;
    uint32_t function;
    uint32_t head; /* of a chain of positions; position 0 ends it */
} child;

typedef struct choice {
    const conv_entry *e;
    const uint64_t *below;
    uint64_t least;
    conv_tree tree;
    uint32_t *next;    /* [position] the next one of its chain */
    uint32_t *slot_of; /* [function] its child + 1, 0: none */
    child *child;      /* of one row */
    size_t n, cap;
} choice;

static bool
add_child(choice *c, uint32_t position)
{
    const conv_model *model = c->e->model;
    uint32_t frame = model->nodes[c->e->index.node[position]].frame;
    uint32_t function = conv_model_frame(model, frame)->function;
    uint32_t at = c->slot_of[function];
    if (at == 0) {
        if (!pr_grow(&c->child, &c->cap, c->n + 1, sizeof *c->child))
            return false;
        c->child[c->n++] = (child){.function = function};
        c->slot_of[function] = at = (uint32_t)c->n;
    }
    child *to = &c->child[at - 1];
    to->n += c->below[position];
    c->next[position] = to->head;
    to->head = position;
    return true;
}

static bool
add_children(choice *c, uint32_t position)
{
    const conv_index *index = &c->e->index;
    uint32_t last = index->last[position];
    for (uint32_t p = position + 1; p <= last && p < index->n;
         p = index->last[p] + 1)
        if (c->below[p] && !add_child(c, p))
            return false;
    return true;
}

/* The children that are large enough become rows. */
static bool
keep_children(choice *c, uint32_t parent)
{
    conv_tree *t = &c->tree;
    for (size_t i = 0; i < c->n; i++) {
        const child *from = &c->child[i];
        c->slot_of[from->function] = 0;
        if (from->n < c->least)
            continue;
        if (t->n >= UINT32_MAX - 1 ||
            !pr_grow(&t->row, &t->cap, t->n + 1, sizeof *t->row))
            return false;
        t->row[t->n++] = (conv_tree_row){
            .parent = parent, .function = from->function, .head = from->head};
        for (uint32_t p = from->head; p; p = c->next[p])
            t->row_of[p] = (uint32_t)t->n;
    }
    c->n = 0;
    return true;
}

static bool
choose_all(choice *c)
{
    bool done = add_children(c, 0) && keep_children(c, PR_TABLE_NONE);
    for (uint32_t i = 0; done && i < c->tree.n; i++) {
        for (uint32_t p = c->tree.row[i].head; done && p; p = c->next[p])
            done = add_children(c, p);
        done = done && keep_children(c, i);
    }
    return done;
}

pr_code
conv_tree_choose(const conv_entry *entry, const uint64_t *below, conv_tree *ret,
                 pr_err *err)
{
    size_t n = entry->index.n;
    choice c = {
        .e = entry,
        .below = below,
        .least = below[0] / CONV_TREE_PARTS + (below[0] % CONV_TREE_PARTS != 0),
        .tree.row_of = calloc(n, sizeof *c.tree.row_of),
        .next = calloc(n, sizeof *c.next),
        .slot_of = calloc(entry->model->functions.n + 1, sizeof *c.slot_of)};
    bool done = c.tree.row_of && c.next && c.slot_of && choose_all(&c);
    free(c.next);
    free(c.slot_of);
    free(c.child);
    if (done) {
        *ret = c.tree;
        return PR_OK;
    }
    conv_tree_release(&c.tree);
    return pr_no_memory(err);
}

typedef struct tree_walk {
    const conv_entry *e;
    const conv_tree *tree;
    size_t at;
} tree_walk;

/* Rows are in order of their parents. */
static bool
next_row(void *context, int64_t *row)
{
    tree_walk *w = context;
    if (w->at == w->tree->n)
        return false;
    const conv_tree_row *r = &w->tree->row[w->at++];
    row[0] = w->e->profile;
    row[1] = r->parent == PR_TABLE_NONE ? 0 : (int64_t)r->parent + 1;
    row[2] = (int64_t)w->at;
    row[3] = w->e->function.at[r->function];
    conv_sums_fill(&r->sums, row + 4);
    return true;
}

pr_code
conv_tree_put(const conv_entry *entry, const conv_tree *tree, pr_err *err)
{
    tree_walk w = {entry, tree, 0};
    return conv_rows_insert(entry->tables->database, "tree_total", 12, next_row,
                            &w, err);
}

void
conv_tree_release(conv_tree *tree)
{
    free(tree->row_of);
    free(tree->row);
    *tree = (conv_tree){0};
}
