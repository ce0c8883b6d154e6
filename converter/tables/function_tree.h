/*
 * function_tree.h - tree_total: the stacks of functions that hold at least one
 * in CONV_TREE_PARTS of a profile's samples.
 *
 * Nodes that differ only in lines become one row.  The walk goes down from the
 * roots, and not below a stack that is too small, so that its cost depends on
 * the rows and their children, not on the nodes.
 */
#ifndef CONVERTER_TABLES_FUNCTION_TREE_H
#define CONVERTER_TABLES_FUNCTION_TREE_H

#include "converter/tables/amounts.h"
#include "converter/tables/entry.h"

enum { CONV_TREE_PARTS = 10000 };

typedef struct conv_tree_row {
    uint32_t parent;   /* a row before it; PR_TABLE_NONE: a root */
    uint32_t function; /* of the model */
    uint32_t head;     /* its first position */
    conv_sums sums;
} conv_tree_row;

typedef struct conv_tree {
    uint32_t *row_of; /* [position] row + 1, 0: none */
    conv_tree_row *row;
    size_t n, cap;
} conv_tree;

/* Choose the rows; below[position]: samples that end there or below. */
pr_code conv_tree_choose(const conv_entry *entry, const uint64_t *below,
                         conv_tree *ret, pr_err *err);

/* Add the samples that ended at a position, and those at or below it. */
static inline void
conv_tree_add(conv_tree *tree, uint32_t position, const conv_amount *self,
              const conv_amount *below)
{
    uint32_t at = tree->row_of[position];
    if (at == 0)
        return;
    conv_amount_add(&tree->row[at - 1].sums.self, self);
    conv_amount_add(&tree->row[at - 1].sums.total, below);
}

pr_code conv_tree_put(const conv_entry *entry, const conv_tree *tree,
                      pr_err *err);
void conv_tree_release(conv_tree *tree);

#endif
