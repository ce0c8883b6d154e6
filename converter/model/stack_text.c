/*
 * stack_text.c - back to the common ancestor, then on to the new stack.
 */
#include "converter/model/stack_text.h"

#include <base/array.h>
#include <base/buffer.h>
#include <stdlib.h>

/* Cut the path back to what it shares with that of `node`; the rest goes to
 * `pending`, innermost first. */
static pr_code
find_shared(conv_stack_text *trail, uint32_t node, pr_err *err)
{
    pr_list *path = &trail->path;
    trail->pending.n = 0;
    for (;; node = trail->parent[node * trail->stride]) {
        uint32_t depth = trail->depth[node];
        if (depth == 0 || (depth <= path->n && path->at[depth - 1] == node)) {
            path->n = depth;
            return PR_OK;
        }
        pr_code rc = pr_list_add(&trail->pending, node, err);
        if (rc != PR_OK)
            return rc;
    }
}

pr_code
conv_stack_text_set(conv_stack_text *trail, uint32_t node, pr_err *err)
{
    pr_list *path = &trail->path;
    pr_code rc = find_shared(trail, node, err);
    if (rc != PR_OK)
        return rc;
    trail->text.len = path->n ? trail->end[path->n - 1] : 0;
    for (size_t i = trail->pending.n; i-- > 0;) {
        uint32_t next = trail->pending.at[i];
        trail->put(trail->context, next, path->n == 0, &trail->text);
        rc = pr_list_add(path, next, err);
        if (rc != PR_OK)
            return rc;
        if (!pr_grow(&trail->end, &trail->cap_end, path->n, sizeof *trail->end))
            return pr_no_memory(err);
        trail->end[path->n - 1] = trail->text.len;
    }
    if (trail->text.failed)
        return pr_no_memory(err);
    return PR_OK;
}

void
conv_stack_text_release(conv_stack_text *trail)
{
    pr_buffer_release(&trail->text);
    pr_list_release(&trail->path);
    pr_list_release(&trail->pending);
    free(trail->end);
}
