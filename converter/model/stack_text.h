/*
 * stack_text.h - the texts of stacks, one after the other.
 *
 * A step keeps the part of the text that the stack shares with the last one, so
 * it costs only the nodes that changed.
 */
#ifndef CONVERTER_MODEL_STACK_TEXT_H
#define CONVERTER_MODEL_STACK_TEXT_H

#include <base/buffer.h>
#include <base/intern.h>

/* Append to the parent's text the part of a node; outermost: its parent is the
 * root. */
typedef void (*conv_stack_text_put)(const void *context, uint32_t node,
                                    bool outermost, pr_buffer *text);

typedef struct conv_stack_text {
    /* set by the user; node 0 is the root, of depth 0 and without text */
    const uint32_t *parent; /* of node i: parent[i * stride] */
    size_t stride;
    const uint32_t *depth; /* [node] */
    conv_stack_text_put put;
    const void *context;
    /* the present stack */
    pr_buffer text;
    pr_list path; /* its nodes, outermost first */
    size_t *end;  /* [path.n] where each one's text ends */
    size_t cap_end;
    pr_list pending; /* scratch */
} conv_stack_text;

pr_code conv_stack_text_set(conv_stack_text *trail, uint32_t node, pr_err *err);
void conv_stack_text_release(conv_stack_text *trail);

#endif
