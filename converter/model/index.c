/*
 * index.c - all passes run over arrays in order of node or position; none
 * recurses, none compares stacks.
 */
#include "converter/model/index.h"

#include <stdlib.h>
#include <string.h>

static void *
array(size_t n, size_t size)
{
    return calloc(n ? n : 1, size);
}

/* ---- order ---- */

/* M2 of model.h: parents come first.  So one pass from the end gives the size
 * of each subtree, and one from the start deals each node the next free
 * position of its parent. */
static bool
order_nodes(const conv_model *model, conv_index *index)
{
    size_t n = model->n_nodes;
    uint32_t *size = array(n, sizeof *size), *next = array(n, sizeof *next);
    if (!size || !next) {
        free(size);
        free(next);
        return false;
    }
    for (size_t i = n; i-- > 0;) {
        size[i]++;
        if (i)
            size[model->nodes[i].parent] += size[i];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = model->nodes[i].parent;
        uint32_t at = i ? next[parent] : 0;
        if (i)
            next[parent] += size[i];
        next[i] = at + 1;
        index->position[i] = at;
        index->node[at] = i;
        index->last[at] = at + size[i] - 1;
        index->parent[at] = index->position[parent];
        index->depth[at] = i ? index->depth[index->parent[at]] + 1 : 0;
    }
    free(size);
    free(next);
    return true;
}

/* ---- first occurrences ---- */

#define NO_UNIT UINT32_MAX

bool
conv_index_mark_first(const conv_index *index, const uint32_t *unit,
                      size_t n_units, uint8_t *mark, uint8_t bit)
{
    uint32_t deepest = 0;
    for (size_t p = 0; p < index->n; p++)
        if (index->depth[p] > deepest)
            deepest = index->depth[p];
    uint32_t *active = array(n_units, sizeof *active);
    uint32_t *path = array((size_t)deepest + 1, sizeof *path);
    if (active && path) {
        uint32_t top = 0;
        for (size_t p = 1; p < index->n; p++) {
            for (; top >= index->depth[p]; top--)
                if (path[top] != NO_UNIT)
                    active[path[top]]--;
            path[++top] = unit[p];
            if (unit[p] != NO_UNIT && active[unit[p]]++ == 0)
                mark[p] |= bit;
        }
    }
    bool done = active && path;
    free(active);
    free(path);
    return done;
}

static uint32_t
frame_at(const conv_model *model, const conv_index *index, size_t position)
{
    return model->nodes[index->node[position]].frame;
}

static uint32_t
unit_at(const conv_model *model, const conv_index *index,
        const conv_units *units, size_t position)
{
    uint32_t frame = frame_at(model, index, position);
    return units->of_frame ? units->of_frame[frame] : frame;
}

/* unit[position] becomes the unit itself; position 0 has none. */
static void
units_of(const conv_model *model, const conv_index *index,
         const conv_units *units, uint32_t *unit)
{
    unit[0] = NO_UNIT;
    for (size_t p = 1; p < index->n; p++)
        unit[p] = unit_at(model, index, units, p);
}

/* (*ret)[frame]: its function. */
static bool
functions_of_frames(const conv_model *model, uint32_t **ret)
{
    uint32_t *function = array(model->frames.n, sizeof *function);
    if (!function)
        return false;
    for (uint32_t i = 0; i < model->frames.n; i++)
        function[i] = conv_model_frame(model, i)->function;
    *ret = function;
    return true;
}

typedef struct line_key {
    uint32_t function;
    int32_t line;
} line_key;

/* unit[position] becomes a number for (function, line). */
static pr_code
lines_of(const conv_model *model, const conv_index *index, uint32_t *unit,
         size_t *ret_n, pr_err *err)
{
    pr_set lines = {.size = sizeof(line_key)};
    pr_list of_frame = {0};
    pr_code rc = PR_OK;
    for (uint32_t i = 0; i < model->frames.n && rc == PR_OK; i++) {
        const conv_frame *frame = conv_model_frame(model, i);
        const line_key key = {frame->function, frame->line};
        uint32_t id = 0;
        rc = pr_set_add(&lines, &key, &id, err);
        if (rc == PR_OK)
            rc = pr_list_add(&of_frame, id, err);
    }
    for (size_t p = 1; p < index->n && rc == PR_OK; p++)
        unit[p] = of_frame.at[frame_at(model, index, p)];
    *ret_n = lines.n;
    pr_set_release(&lines);
    pr_list_release(&of_frame);
    return rc;
}

/* unit[position] becomes the edge that leads there; roots have none. */
static pr_code
edges_of(const conv_model *model, const conv_index *index,
         const conv_units *units, pr_set *edges, uint32_t *unit, pr_err *err)
{
    for (size_t p = 1; p < index->n; p++) {
        uint32_t parent = index->parent[p];
        unit[p] = NO_UNIT;
        if (parent == 0)
            continue;
        const conv_edge_key key = {unit_at(model, index, units, parent),
                                   unit_at(model, index, units, p)};
        pr_code rc = pr_set_add(edges, &key, &unit[p], err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

static pr_code
mark_all(const conv_model *model, conv_index *index,
         const conv_units *functions, uint32_t *unit, pr_err *err)
{
    units_of(model, index, functions, unit);
    if (!conv_index_mark_first(index, unit, functions->n, index->first,
                               CONV_FIRST_FUNCTION))
        return pr_no_memory(err);
    size_t n = 0;
    pr_code rc = lines_of(model, index, unit, &n, err);
    if (rc == PR_OK &&
        !conv_index_mark_first(index, unit, n, index->first, CONV_FIRST_LINE))
        return pr_no_memory(err);
    pr_set edges = {.size = sizeof(conv_edge_key)};
    if (rc == PR_OK)
        rc = edges_of(model, index, functions, &edges, unit, err);
    if (rc == PR_OK && !conv_index_mark_first(index, unit, edges.n,
                                              index->first, CONV_FIRST_EDGE))
        rc = pr_no_memory(err);
    pr_set_release(&edges);
    return rc;
}

pr_code
conv_index_order(const conv_model *model, conv_index *ret, pr_err *err)
{
    size_t n = model->n_nodes;
    conv_index index = {.n = n,
                        .position = array(n, sizeof *index.position),
                        .node = array(n, sizeof *index.node),
                        .last = array(n, sizeof *index.last),
                        .parent = array(n, sizeof *index.parent),
                        .depth = array(n, sizeof *index.depth)};
    if (!index.position || !index.node || !index.last || !index.parent ||
        !index.depth || !order_nodes(model, &index)) {
        conv_index_release(&index);
        return pr_no_memory(err);
    }
    *ret = index;
    return PR_OK;
}

pr_code
conv_index_build(const conv_model *model, conv_index *ret, pr_err *err)
{
    conv_index index;
    pr_code rc = conv_index_order(model, &index, err);
    if (rc != PR_OK)
        return rc;
    uint32_t *unit = array(index.n, sizeof *unit), *function = NULL;
    index.first = array(index.n, sizeof *index.first);
    if (!index.first || !unit || !functions_of_frames(model, &function))
        rc = pr_no_memory(err);
    if (rc == PR_OK) {
        const conv_units functions = {model->functions.n, function};
        rc = mark_all(model, &index, &functions, unit, err);
    }
    free(unit);
    free(function);
    if (rc == PR_OK)
        *ret = index;
    else
        conv_index_release(&index);
    return rc;
}

void
conv_index_release(conv_index *index)
{
    free(index->position);
    free(index->node);
    free(index->last);
    free(index->parent);
    free(index->depth);
    free(index->first);
    *index = (conv_index){0};
}

/* ---- totals ---- */

static void
add(conv_total *to, conv_total what)
{
    to->n += what.n;
    to->weight_us += what.weight_us;
}

pr_code
conv_index_self(const conv_model *model, const conv_index *index,
                conv_total **ret, pr_err *err)
{
    conv_total *self = array(index->n, sizeof *self);
    if (!self)
        return pr_no_memory(err);
    for (size_t i = 0; i < model->n_threads; i++) {
        conv_cursor cursor;
        conv_model_run run;
        conv_cursor_init(&cursor, &model->threads[i]);
        while (conv_cursor_next(&cursor, &run))
            add(&self[index->position[run.node]],
                (conv_total){run.n, run.weight_us});
    }
    *ret = self;
    return PR_OK;
}

/* In place: from what ends at each position to what ends there or below. */
static void
include_below(const conv_index *index, conv_total *total)
{
    for (size_t p = index->n; p-- > 1;)
        add(&total[index->parent[p]], total[p]);
}

/* Working space of one build: values and units by position. */
typedef struct scratch {
    conv_total *self, *below; /* samples that end there; there or below */
    uint32_t *unit;
    uint8_t *mark;
} scratch;

static void
release_scratch(scratch *s)
{
    free(s->self);
    free(s->below);
    free(s->unit);
    free(s->mark);
}

static pr_code
prepare_scratch(const conv_model *model, const conv_index *index, scratch *s,
                pr_err *err)
{
    pr_code rc = conv_index_self(model, index, &s->self, err);
    if (rc != PR_OK)
        return rc;
    s->below = array(index->n, sizeof *s->below);
    s->unit = array(index->n, sizeof *s->unit);
    s->mark = array(index->n, sizeof *s->mark);
    if (!s->below || !s->unit || !s->mark)
        return pr_no_memory(err);
    memcpy(s->below, s->self, index->n * sizeof *s->below);
    include_below(index, s->below);
    return PR_OK;
}

static pr_code
total_units(const conv_model *model, const conv_index *index,
            const conv_units *units, scratch *s, conv_totals *totals,
            pr_err *err)
{
    totals->n = units->n;
    totals->self = array(totals->n, sizeof *totals->self);
    totals->total = array(totals->n, sizeof *totals->total);
    if (!totals->self || !totals->total)
        return pr_no_memory(err);
    units_of(model, index, units, s->unit);
    if (!conv_index_mark_first(index, s->unit, totals->n, s->mark, 1))
        return pr_no_memory(err);
    for (size_t p = 1; p < index->n; p++) {
        add(&totals->self[s->unit[p]], s->self[p]);
        if (s->mark[p])
            add(&totals->total[s->unit[p]], s->below[p]);
    }
    return PR_OK;
}

static pr_code
total_edges(const conv_model *model, const conv_index *index,
            const conv_units *units, scratch *s, conv_totals *totals,
            pr_err *err)
{
    pr_code rc = edges_of(model, index, units, &totals->edges, s->unit, err);
    if (rc != PR_OK)
        return rc;
    totals->edge = array(totals->edges.n, sizeof *totals->edge);
    memset(s->mark, 0, index->n);
    if (!totals->edge ||
        !conv_index_mark_first(index, s->unit, totals->edges.n, s->mark, 1))
        return pr_no_memory(err);
    for (size_t p = 1; p < index->n; p++) {
        if (s->unit[p] == NO_UNIT)
            continue;
        conv_edge_totals *edge = &totals->edge[s->unit[p]];
        add(&edge->self, s->self[p]);
        add(&edge->every, s->below[p]);
        if (s->mark[p])
            add(&edge->total, s->below[p]);
    }
    return PR_OK;
}

pr_code
conv_totals_of(const conv_model *model, const conv_index *index,
               const conv_units *units, conv_totals *ret, pr_err *err)
{
    conv_totals totals = {.edges.size = sizeof(conv_edge_key)};
    scratch s = {0};
    pr_code rc = prepare_scratch(model, index, &s, err);
    if (rc == PR_OK)
        rc = total_units(model, index, units, &s, &totals, err);
    if (rc == PR_OK)
        rc = total_edges(model, index, units, &s, &totals, err);
    release_scratch(&s);
    if (rc == PR_OK)
        *ret = totals;
    else
        conv_totals_release(&totals);
    return rc;
}

/* The sums that the file states: of its own, the primitive calls. */
static pr_code
take_stated(const conv_model *model, conv_totals *t, pr_err *err)
{
    const conv_stated *stated = &model->stated;
    t->n = model->functions.n;
    t->self = array(t->n, sizeof *t->self);
    t->total = array(t->n, sizeof *t->total);
    t->edge = array(stated->keys.n, sizeof *t->edge);
    if (!t->self || !t->total || !t->edge)
        return pr_no_memory(err);
    pr_code rc = PR_OK;
    for (size_t i = 0; i < stated->keys.n && rc == PR_OK; i++) {
        const conv_stated_key key = conv_stated_key_of(stated, i);
        const conv_stated_sum *sum = &stated->sum[i];
        const conv_total self = {sum->primitive_calls,
                                 conv_stated_us(sum->self_s)};
        const conv_total total = {sum->calls, conv_stated_us(sum->total_s)};
        uint32_t id;
        if (key.caller == CONV_ANY_CALLER) {
            t->self[key.function] = self;
            t->total[key.function] = total;
            continue;
        }
        rc = pr_set_add(&t->edges,
                        &(const conv_edge_key){key.caller, key.function}, &id,
                        err);
        if (rc == PR_OK)
            t->edge[id] = (conv_edge_totals){total, self, total};
    }
    return rc;
}

static pr_code
totals_stated(const conv_model *model, conv_totals *ret, pr_err *err)
{
    conv_totals totals = {.edges.size = sizeof(conv_edge_key)};
    pr_code rc = take_stated(model, &totals, err);
    if (rc == PR_OK)
        *ret = totals;
    else
        conv_totals_release(&totals);
    return rc;
}

pr_code
conv_totals_build(const conv_model *model, const conv_index *index,
                  conv_unit kind, conv_totals *ret, pr_err *err)
{
    if (model->is_totals)
        return totals_stated(model, ret, err);
    if (kind == CONV_UNIT_FRAME)
        return conv_totals_of(
            model, index, &(const conv_units){model->frames.n, NULL}, ret, err);
    uint32_t *function;
    if (!functions_of_frames(model, &function))
        return pr_no_memory(err);
    const conv_units functions = {model->functions.n, function};
    pr_code rc = conv_totals_of(model, index, &functions, ret, err);
    free(function);
    return rc;
}

void
conv_totals_release(conv_totals *totals)
{
    free(totals->self);
    free(totals->total);
    free(totals->edge);
    pr_set_release(&totals->edges);
    *totals = (conv_totals){0};
}
