/*
 * trail.h - the text of one stack after the other.
 *
 * Walks a tree by parents; what a stack shares with the one before is kept, so
 * a step costs the nodes that changed.
 */
#ifndef CONVERTER_TRAIL_H
#define CONVERTER_TRAIL_H

#include "converter/intern.h"
#include "converter/text.h"

/* Append what a node adds to the text of its parent; outermost: its parent is
 * the root. */
typedef void (*conv_trail_put)(const void *context, uint32_t node,
                               bool outermost, conv_text *text);

typedef struct conv_trail {
    /* set by the user; node 0 is the root, of depth 0 and without text */
    const uint32_t *parent; /* of node i: parent[i * stride] */
    size_t stride;
    const uint32_t *depth; /* [node] */
    conv_trail_put put;
    const void *context;
    /* the present stack */
    conv_text text;
    conv_list path; /* its nodes, outermost first */
    size_t *end;    /* [path.n] where each one's text ends */
    size_t cap_end;
    conv_list pending; /* scratch */
} conv_trail;

pr_code conv_trail_set(conv_trail *trail, uint32_t node, pr_err *err);
void conv_trail_release(conv_trail *trail);

#endif
