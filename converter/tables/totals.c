/*
 * totals.c - node_self, function_total, edge_total, tree_total: the answers to
 * the commonest questions, of all samples of a profile.
 *
 * One walk over the tree in pre-order: the samples that end at or below a node
 * are known when the walk leaves it, so a path of sums is all that is kept.
 */
#include "converter/tables/entry.h"

#include "converter/tables/function_tree.h"
#include "converter/tables/rows.h"

#include <stdlib.h>
#include <string.h>

/* ---- samples by stack, thread and status ---- */

/* Those of one stack are a chain, the latest thread first.  There are as many
 * as stacks, so they are packed. */
typedef struct self_total {
    uint64_t n_status; /* samples << 8 | status */
    uint64_t weight_us;
    uint32_t thread;
    uint32_t next; /* place + 1 in the chain, 0 at its end */
} self_total;

static uint64_t
samples_of(const self_total *item)
{
    return item->n_status >> 8;
}

static uint8_t
status_of(const self_total *item)
{
    return (uint8_t)item->n_status;
}

typedef struct selves {
    uint32_t *head; /* [position] place + 1 of the chain's begin */
    self_total *item;
    size_t n, cap;
} selves;

static bool
add_self(selves *s, uint32_t position, uint32_t thread,
         const conv_model_run *run)
{
    for (uint32_t at = s->head[position]; at; at = s->item[at - 1].next) {
        self_total *item = &s->item[at - 1];
        if (item->thread != thread)
            break;
        if (status_of(item) != run->status)
            continue;
        item->n_status += run->n << 8;
        item->weight_us += run->weight_us;
        return true;
    }
    if (s->n >= UINT32_MAX - 1 ||
        !pr_grow(&s->item, &s->cap, s->n + 1, sizeof *s->item))
        return false;
    s->item[s->n++] = (self_total){run->n << 8 | run->status, run->weight_us,
                                   thread, s->head[position]};
    s->head[position] = (uint32_t)s->n;
    return true;
}

static pr_code
collect_selves(const conv_entry *e, selves *s, pr_err *err)
{
    s->head = calloc(e->index.n, sizeof *s->head);
    if (!s->head)
        return pr_no_memory(err);
    for (uint32_t i = 0; i < e->model->n_threads; i++) {
        conv_cursor cursor;
        conv_model_run run;
        conv_cursor_init(&cursor, &e->model->threads[i]);
        while (conv_cursor_next(&cursor, &run))
            if (!add_self(s, e->index.position[run.node], i, &run))
                return pr_no_memory(err);
    }
    return PR_OK;
}

typedef struct self_walk {
    const conv_entry *e;
    const selves *s;
    size_t position; /* the next one */
    uint32_t at;     /* in the chain of the one before */
} self_walk;

static bool
next_self(void *context, int64_t *row)
{
    self_walk *w = context;
    while (w->at == 0) {
        if (w->position == w->e->index.n)
            return false;
        w->at = w->s->head[w->position++];
    }
    const self_total *item = &w->s->item[w->at - 1];
    size_t position = w->position - 1;
    w->at = item->next;
    row[0] = ++w->e->tables->node_self;
    row[1] = position ? w->e->node0 + (int64_t)position : 0;
    row[2] = w->e->thread0 + (int64_t)item->thread;
    row[3] = status_of(item);
    row[4] = conv_row_limit(samples_of(item));
    row[5] = conv_row_limit(item->weight_us);
    return true;
}

/* ---- totals per function and edge ---- */

typedef struct edge_key {
    uint32_t callee, caller; /* functions of the model; NO_CALLER: a root */
} edge_key;
#define NO_CALLER UINT32_MAX

/* A node that the walk is in, or the empty stack. */
typedef struct step {
    conv_amount self, below;
    uint32_t position, function, edge;
} step;

struct conv_entry_totals {
    const conv_entry *e;
    selves selves;
    conv_tree tree;
    conv_sums *function; /* [function of the model] */
    pr_set edges;        /* edge_key */
    conv_sums *edge;     /* [edges.n] */
    size_t cap_edge;
    step *path;
    size_t depth, cap_path;
};
typedef struct conv_entry_totals totals;

/* Ran: held the GIL or was on a CPU. */
static conv_amount
self_of(const selves *s, uint32_t position)
{
    conv_amount sum = {0};
    for (uint32_t at = s->head[position]; at; at = s->item[at - 1].next) {
        const self_total *item = &s->item[at - 1];
        uint64_t n = samples_of(item);
        bool ran = status_of(item) & (PR_HAS_GIL | PR_ON_CPU);
        conv_amount_add(&sum, &(conv_amount){n, item->weight_us, ran ? n : 0,
                                             ran ? item->weight_us : 0});
    }
    return sum;
}

static bool
find_edge(totals *t, uint32_t callee, uint32_t caller, uint32_t *ret,
          pr_err *err)
{
    const edge_key key = {callee, caller};
    if (pr_set_add(&t->edges, &key, ret, err) != PR_OK)
        return false;
    size_t had = t->cap_edge;
    if (!pr_grow(&t->edge, &t->cap_edge, t->edges.n, sizeof *t->edge))
        return false;
    memset(t->edge + had, 0, (t->cap_edge - had) * sizeof *t->edge);
    return true;
}

static void
leave(totals *t)
{
    const step *s = &t->path[--t->depth];
    uint8_t first = t->e->index.first[s->position];
    conv_tree_add(&t->tree, s->position, &s->self, &s->below);
    conv_amount_add(&t->function[s->function].self, &s->self);
    conv_amount_add(&t->edge[s->edge].self, &s->self);
    if (first & CONV_FIRST_FUNCTION)
        conv_amount_add(&t->function[s->function].total, &s->below);
    /* no other node of a stack has the edge of its root */
    if ((first & CONV_FIRST_EDGE) || t->depth == 0)
        conv_amount_add(&t->edge[s->edge].total, &s->below);
    if (t->depth)
        conv_amount_add(&t->path[t->depth - 1].below, &s->below);
}

static bool
enter(totals *t, uint32_t position, const conv_amount *self, pr_err *err)
{
    const conv_model *model = t->e->model;
    uint32_t frame = model->nodes[t->e->index.node[position]].frame;
    uint32_t function = conv_model_frame(model, frame)->function;
    uint32_t caller = t->depth ? t->path[t->depth - 1].function : NO_CALLER;
    uint32_t edge;
    if (!find_edge(t, function, caller, &edge, err) ||
        !pr_grow(&t->path, &t->cap_path, t->depth + 1, sizeof *t->path))
        return false;
    t->path[t->depth++] = (step){*self, *self, position, function, edge};
    return true;
}

/* The stacks of functions that become rows, from the samples below each. */
static pr_code
choose_tree(totals *t, const selves *s, pr_err *err)
{
    const conv_index *index = &t->e->index;
    uint64_t *below = calloc(index->n, sizeof *below);
    if (!below)
        return pr_no_memory(err);
    for (uint32_t p = (uint32_t)index->n; p-- > 0;) {
        for (uint32_t at = s->head[p]; at; at = s->item[at - 1].next)
            below[p] += samples_of(&s->item[at - 1]);
        if (p)
            below[index->parent[p]] += below[p];
    }
    pr_code rc = conv_tree_choose(t->e, below, &t->tree, err);
    free(below);
    return rc;
}

static pr_code
add_up(totals *t, const selves *s, pr_err *err)
{
    const conv_index *index = &t->e->index;
    t->function = calloc(t->e->model->functions.n + 1, sizeof *t->function);
    if (!t->function)
        return pr_no_memory(err);
    for (uint32_t p = 1; p < index->n; p++) {
        conv_amount self = self_of(s, p);
        while (t->depth >= index->depth[p])
            leave(t);
        if (!enter(t, p, &self, err))
            return pr_no_memory(err);
    }
    while (t->depth)
        leave(t);
    return PR_OK;
}

/* What a file without stacks states: calls, and primitive ones of its own. */
static pr_code
take_stated(totals *t, pr_err *err)
{
    const conv_stated *stated = &t->e->model->stated;
    for (size_t i = 0; i < stated->keys.n; i++) {
        const conv_stated_key key = conv_stated_key_of(stated, i);
        const conv_stated_sum *sum = &stated->sum[i];
        const conv_sums sums = {
            .self = {sum->primitive_calls, conv_stated_us(sum->self_s), 0, 0},
            .total = {sum->calls, conv_stated_us(sum->total_s), 0, 0}};
        uint32_t edge;
        if (key.caller == CONV_ANY_CALLER)
            t->function[key.function] = sums;
        else if (find_edge(t, key.function, key.caller, &edge, err))
            t->edge[edge] = sums;
        else
            return pr_no_memory(err);
    }
    return PR_OK;
}

/* Rows in the order of their primary key: the tables grow at their ends. */
typedef struct order {
    uint32_t a, b; /* the key: ids of rows */
    uint32_t at;   /* what it is the key of */
} order;

static int
compare_orders(const void *x, const void *y)
{
    const order *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

typedef struct total_walk {
    const totals *t;
    order *order;
    size_t n, at;
} total_walk;

static bool
next_function(void *context, int64_t *row)
{
    total_walk *w = context;
    if (w->at == w->n)
        return false;
    const order *o = &w->order[w->at++];
    const conv_sums *s = &w->t->function[o->at];
    row[0] = w->t->e->profile;
    row[1] = o->a;
    conv_sums_fill(s, row + 2);
    return true;
}

static bool
next_edge(void *context, int64_t *row)
{
    total_walk *w = context;
    if (w->at == w->n)
        return false;
    const order *o = &w->order[w->at++];
    const conv_sums *s = &w->t->edge[o->at];
    row[0] = w->t->e->profile;
    row[1] = o->a;
    row[2] = o->b;
    row[3] = conv_row_limit(s->self.n);
    row[4] = conv_row_limit(s->self.us);
    row[5] = conv_row_limit(s->total.n);
    row[6] = conv_row_limit(s->total.us);
    return true;
}

/* Functions without a sample have no row. */
static pr_code
put_functions(const totals *t, pr_err *err)
{
    size_t n = t->e->model->functions.n;
    total_walk w = {.t = t, .order = calloc(n + 1, sizeof *w.order)};
    if (!w.order)
        return pr_no_memory(err);
    for (uint32_t i = 0; i < n; i++)
        if (t->function[i].total.n)
            w.order[w.n++] = (order){t->e->function.at[i], 0, i};
    qsort(w.order, w.n, sizeof *w.order, compare_orders);
    pr_code rc = conv_tables_fill(t->e->tables, CONV_FUNCTION_TOTAL,
                                  next_function, &w, err);
    for (size_t i = 0; i < w.n && rc == PR_OK; i++)
        rc = conv_function_sums_add(&t->e->tables->function_sums, w.order[i].a,
                                    &t->function[w.order[i].at], err);
    free(w.order);
    return rc;
}

/* A root's caller is 0. */
static pr_code
put_edges(const totals *t, pr_err *err)
{
    total_walk w = {.t = t, .order = calloc(t->edges.n + 1, sizeof *w.order)};
    if (!w.order)
        return pr_no_memory(err);
    const edge_key *keys = t->edges.item;
    for (uint32_t i = 0; i < t->edges.n; i++) {
        uint32_t caller =
            keys[i].caller == NO_CALLER ? 0 : t->e->function.at[keys[i].caller];
        if (t->edge[i].total.n)
            w.order[w.n++] =
                (order){t->e->function.at[keys[i].callee], caller, i};
    }
    qsort(w.order, w.n, sizeof *w.order, compare_orders);
    pr_code rc =
        conv_tables_fill(t->e->tables, CONV_EDGE_TOTAL, next_edge, &w, err);
    free(w.order);
    return rc;
}

pr_code
conv_entry_add_up(const conv_entry *e, conv_entry_totals **ret, pr_err *err)
{
    totals *t = calloc(1, sizeof *t);
    if (!t)
        return pr_no_memory(err);
    *t = (totals){.e = e, .edges.size = sizeof(edge_key)};
    pr_code rc = collect_selves(e, &t->selves, err);
    if (rc == PR_OK)
        rc = choose_tree(t, &t->selves, err);
    if (rc == PR_OK)
        rc = add_up(t, &t->selves, err);
    if (rc == PR_OK)
        rc = take_stated(t, err);
    if (rc == PR_OK)
        *ret = t;
    else
        conv_entry_free_totals(t);
    return rc;
}

pr_code
conv_entry_put_totals(conv_entry *e, const conv_entry_totals *t, pr_err *err)
{
    self_walk w = {.e = e, .s = &t->selves};
    pr_code rc =
        conv_tables_fill(e->tables, CONV_NODE_SELF, next_self, &w, err);
    if (rc == PR_OK)
        rc = put_functions(t, err);
    if (rc == PR_OK)
        rc = put_edges(t, err);
    return rc == PR_OK && !e->tables->taker ? conv_tree_put(e, &t->tree, err)
                                            : rc;
}

void
conv_entry_free_totals(conv_entry_totals *t)
{
    if (!t)
        return;
    conv_tree_release(&t->tree);
    free(t->selves.head);
    free(t->selves.item);
    free(t->function);
    free(t->edge);
    free(t->path);
    pr_set_release(&t->edges);
    free(t);
}
