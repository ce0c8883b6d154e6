/*
 * page_tree.h - the stacks that a page holds.
 *
 * A screen shows some thousand frames, a profile may have millions of stacks.
 * The tree keeps the heaviest of them.  The samples of a stack that it leaves
 * out go to a node of its nearest kept ancestor, with the function in which
 * they ended: so the self time of every function stays exact, and only frames
 * in between are missing.
 */
#ifndef CONVERTER_PAGE_PAGE_TREE_H
#define CONVERTER_PAGE_PAGE_TREE_H

#include "converter/model/model.h"

typedef struct conv_page_node {
    uint32_t parent;   /* less than its own number; node 0 is the empty stack */
    uint32_t function; /* of the model; node 0 has none */
    int32_t line;      /* or PR_NO_LINE */
} conv_page_node;

typedef struct conv_page_tree {
    conv_page_node *node;
    size_t n;      /* nodes */
    size_t n_kept; /* later nodes stand for stacks that are left out */
    uint32_t *of;  /* [node of the model] its node here */
    size_t n_left_out;
    uint64_t left_out_us; /* weight of samples in stacks that are left out */
    uint64_t *total_us; /* [function] exact, if stacks are left out; or NULL */
} conv_page_tree;

pr_code conv_page_tree_build(const conv_model *model, conv_page_tree *ret,
                             pr_err *err);
void conv_page_tree_release(conv_page_tree *tree);

#endif
