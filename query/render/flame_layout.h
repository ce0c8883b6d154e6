/*
 * flame_layout.h - lay out stacks in pre-order as boxes side by side.
 */
#ifndef QUERY_RENDER_FLAME_LAYOUT_H
#define QUERY_RENDER_FLAME_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct q_flame_box {
    char *name, *file;
    size_t depth;
    int64_t first, samples; /* its place among all samples */
} q_flame_box;

typedef struct q_flame {
    q_flame_box *box;
    size_t n_boxes, cap_boxes;
    size_t *open; /* boxes of the last stack, outermost first */
    size_t n_open, cap_open;
    size_t levels;
    int64_t samples;
    bool failed; /* out of memory */
} q_flame;

/* A q_stack_fn; the context is a q_flame. */
void q_flame_add(void *context, const char *const *name,
                 const char *const *file, size_t depth, int64_t samples,
                 int64_t us);
void q_flame_release(q_flame *flame);

#endif
