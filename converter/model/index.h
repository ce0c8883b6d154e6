/*
 * index.h - numbers over a model's tree: order, extent, totals.
 *
 * Built again after the model has grown.  Positions are pre-order numbers: 0 is
 * the empty stack, a stack comes before all stacks that begin with it, children
 * come in order of first appearance, and the stacks below position p are
 * exactly p + 1 .. last[p].
 */
#ifndef CONVERTER_MODEL_INDEX_H
#define CONVERTER_MODEL_INDEX_H

#include "converter/model/model.h"

/* Bits of a node: no ancestor has the same function; the same function and
 * line; the same edge from a calling to a called function.  A sum of totals
 * over the nodes with a bit counts each sample once, however often it
 * recurses. */
enum { CONV_FIRST_FUNCTION = 1, CONV_FIRST_LINE = 2, CONV_FIRST_EDGE = 4 };

typedef struct conv_index {
    size_t n;           /* positions, the empty stack included */
    uint32_t *position; /* [node] */
    uint32_t *node;     /* [position] */
    uint32_t *last;     /* [position] */
    uint32_t *parent;   /* [position] */
    uint32_t *depth;    /* [position], 0 for the empty stack */
    uint8_t *first;     /* [position] CONV_FIRST_*; NULL without them */
} conv_index;

pr_code conv_index_build(const conv_model *model, conv_index *ret, pr_err *err);
/* The same without `first`, which costs two thirds of the time. */
pr_code conv_index_order(const conv_model *model, conv_index *ret, pr_err *err);
void conv_index_release(conv_index *index);

typedef struct conv_total {
    uint64_t n, weight_us;
} conv_total;

/* The unit of the sums: functions, frames, or a unit from a table. */
typedef enum conv_unit { CONV_UNIT_FUNCTION, CONV_UNIT_FRAME } conv_unit;

typedef struct conv_units {
    size_t n;
    const uint32_t *of_frame; /* [frame] its unit; NULL: frames are units */
} conv_units;

typedef struct conv_edge_key {
    uint32_t caller, callee; /* units */
} conv_edge_key;

typedef struct conv_edge_totals {
    conv_total total; /* samples that hold the edge, each once */
    conv_total self;  /* samples that end with it */
    conv_total every; /* each occurrence in each sample */
} conv_edge_totals;

typedef struct conv_totals {
    size_t n;               /* units */
    conv_total *self;       /* [unit] samples that end there */
    conv_total *total;      /* [unit] samples that hold it, each once */
    pr_set edges;           /* conv_edge_key */
    conv_edge_totals *edge; /* [edges.n] */
} conv_totals;

/* The samples of all threads that end at each position: (*ret)[index->n], which
 * the caller frees.  PR_NOMEM. */
pr_code conv_index_self(const conv_model *model, const conv_index *index,
                        conv_total **ret, pr_err *err);

/* Add up self and total of each unit.  A model of totals (CONV_UNIT_FUNCTION)
 * gives the sums of its file: calls as n of total, primitive calls as n of
 * self. */
pr_code conv_totals_build(const conv_model *model, const conv_index *index,
                          conv_unit unit, conv_totals *ret, pr_err *err);
pr_code conv_totals_of(const conv_model *model, const conv_index *index,
                       const conv_units *units, conv_totals *ret, pr_err *err);
void conv_totals_release(conv_totals *totals);

/* mark[position] |= bit where no ancestor has the unit of the position.
 * unit[position] UINT32_MAX: it has none.  False: out of memory. */
bool conv_index_mark_first(const conv_index *index, const uint32_t *unit,
                           size_t n_units, uint8_t *mark, uint8_t bit);

static inline conv_edge_key
conv_totals_edge(const conv_totals *totals, size_t i)
{
    return ((const conv_edge_key *)totals->edges.item)[i];
}

#endif
