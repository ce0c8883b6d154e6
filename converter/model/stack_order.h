/*
 * stack_order.h - texts of stacks, ordered without building them.
 *
 * A tree over the ';'-separated parts of lines: a line is a node, so equal
 * lines are equal nodes, and the order of all lines as plain text follows from
 * the order of siblings.  Memory is that of the distinct parts and nodes; the
 * lines themselves may be a hundred times as long.
 */
#ifndef CONVERTER_MODEL_STACK_ORDER_H
#define CONVERTER_MODEL_STACK_ORDER_H

#include "converter/model/stack_text.h"
#include <base/intern.h>

typedef struct conv_stack_order_node {
    uint32_t parent, part;
} conv_stack_order_node;

typedef struct conv_stack_order {
    pr_strings parts;
    pr_set nodes;  /* conv_stack_order_node; 0 is the empty line */
    pr_list depth; /* [nodes.n] parts of the line */
} conv_stack_order;

pr_code conv_stack_order_init(conv_stack_order *lines, pr_err *err);
void conv_stack_order_release(conv_stack_order *lines);

/* Append the ids of the text's parts to the list: one id unless it holds
 * ';'. */
pr_code conv_stack_order_split(conv_stack_order *lines, const char *text,
                               size_t len, pr_list *ret, pr_err *err);

/* The line of `parent` with one more part. */
pr_code conv_stack_order_child(conv_stack_order *lines, uint32_t parent,
                               uint32_t part, uint32_t *ret, pr_err *err);

/* The same without a search: the caller knows that it is a new line.  Not
 * together with conv_stack_order_child(). */
pr_code conv_stack_order_append(conv_stack_order *lines, uint32_t parent,
                                uint32_t part, uint32_t *ret, pr_err *err);

/* rank[node], ascending in the order of the lines as bytes.  The caller frees
 * it. */
pr_code conv_stack_order_rank(const conv_stack_order *lines, uint32_t **ret,
                              pr_err *err);

/* The means to walk the texts of all lines, after the last line was added.  The
 * caller frees it by conv_stack_text_release(). */
conv_stack_text conv_stack_order_trail(const conv_stack_order *lines);

#endif
