/*
 * lines.h - texts of stacks, ordered without building them.
 *
 * A tree over the ';'-separated parts of lines: a line is a node, so equal
 * lines are equal nodes, and the order of all lines as plain text follows from
 * the order of siblings.  Memory is that of the distinct parts and nodes; the
 * lines themselves may be a hundred times as long.
 */
#ifndef CONVERTER_LINES_H
#define CONVERTER_LINES_H

#include "converter/intern.h"
#include "converter/trail.h"

typedef struct conv_lines_node {
    uint32_t parent, part;
} conv_lines_node;

typedef struct conv_lines {
    conv_strings parts;
    conv_set nodes;  /* conv_lines_node; 0 is the empty line */
    conv_list depth; /* [nodes.n] parts of the line */
} conv_lines;

pr_code conv_lines_init(conv_lines *lines, pr_err *err);
void conv_lines_release(conv_lines *lines);

/* Append the ids of the text's parts to the list; one unless it holds ';'. */
pr_code conv_lines_split(conv_lines *lines, const char *text, size_t len,
                         conv_list *ret, pr_err *err);

/* The line `parent` with one part more. */
pr_code conv_lines_child(conv_lines *lines, uint32_t parent, uint32_t part,
                         uint32_t *ret, pr_err *err);

/* rank[node], ascending in the order of the lines as bytes.  The caller frees
 * it. */
pr_code conv_lines_rank(const conv_lines *lines, uint32_t **ret, pr_err *err);

/* For the texts of finished lines.  Released by conv_trail_release(). */
conv_trail conv_lines_trail(const conv_lines *lines);

#endif
