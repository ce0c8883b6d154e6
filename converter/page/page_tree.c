/*
 * page_tree.c - the heaviest stacks, by a threshold of weight.
 */
#include "converter/page/page_tree.h"

#include "converter/model/index.h"

#include <stdlib.h>

enum {
    KEPT_MAX = 200000,     /* nodes that are drawn frame by frame */
    LEFT_OUT_MAX = 120000, /* nodes that stand for others */
    STEPS = 8,             /* of the threshold between powers of two */
    BUCKETS = 64 * STEPS
};

/* The node that stands for samples below `ancestor` that end in `function`. */
typedef struct ending {
    uint32_t ancestor, function;
} ending;

typedef struct build {
    const conv_model *model;
    conv_index index;
    conv_total *self; /* [position] */
    uint64_t *below;  /* [position] weight there and below */
    uint32_t *kept;   /* [position] its nearest kept ancestor's node, or own */
    pr_set endings;
    conv_page_tree tree;
} build;

/* ---- the threshold ---- */

/* Larger weights have larger buckets: STEPS of them for each doubling. */
static unsigned
bucket_of(uint64_t weight)
{
    if (weight == 0)
        return 0;
    unsigned power = 63u - (unsigned)__builtin_clzll(weight);
    uint64_t rest = weight - (UINT64_C(1) << power);
    uint64_t step = power >= 3 ? rest >> (power - 3) : rest << (3 - power);
    return power * STEPS + (unsigned)step;
}

/* The least bucket such that KEPT_MAX positions at most lie there or above. */
static unsigned
least_kept(const build *b)
{
    if (b->index.n <= KEPT_MAX)
        return 0;
    uint32_t count[BUCKETS] = {0};
    for (size_t i = 1; i < b->index.n; i++)
        count[bucket_of(b->below[i])]++;
    size_t n = 0;
    unsigned bucket = BUCKETS;
    while (bucket > 0 && n + count[bucket - 1] <= KEPT_MAX)
        n += count[--bucket];
    return bucket;
}

/* ---- nodes ---- */

static void
add_kept(build *b, uint32_t position)
{
    const conv_model *m = b->model;
    const conv_frame *f =
        conv_model_frame(m, m->nodes[b->index.node[position]].frame);
    uint32_t parent = b->kept[b->index.parent[position]];
    b->kept[position] = (uint32_t)b->tree.n;
    b->tree.node[b->tree.n++] = (conv_page_node){parent, f->function, f->line};
}

/* Kept positions in pre-order; each other position has its ancestor's node. */
static void
keep_heaviest(build *b)
{
    unsigned least = least_kept(b);
    b->tree.node[b->tree.n++] = (conv_page_node){0, UINT32_MAX, PR_NO_LINE};
    for (uint32_t p = 1; p < b->index.n; p++) {
        if (bucket_of(b->below[p]) >= least)
            add_kept(b, p);
        else
            b->kept[p] = b->kept[b->index.parent[p]];
    }
    b->tree.n_kept = b->tree.n;
}

static bool
is_kept(const build *b, uint32_t position)
{
    return position == 0 ||
           b->kept[position] != b->kept[b->index.parent[position]];
}

/* Samples end at this position, and it is left out. */
static pr_code
leave_out(build *b, uint32_t position, pr_err *err)
{
    const conv_model *m = b->model;
    uint32_t node = b->index.node[position], id;
    ending e = {b->kept[position],
                conv_model_frame(m, m->nodes[node].frame)->function};
    if (b->endings.n >= LEFT_OUT_MAX)
        e.ancestor = 0;
    pr_code rc = pr_set_add(&b->endings, &e, &id, err);
    b->tree.of[node] = (uint32_t)(b->tree.n_kept + id);
    b->tree.left_out_us += b->self[position].weight_us;
    b->tree.n_left_out++;
    return rc;
}

static pr_code
map_nodes(build *b, pr_err *err)
{
    pr_code rc = PR_OK;
    for (uint32_t p = 0; p < b->index.n && rc == PR_OK; p++) {
        if (is_kept(b, p))
            b->tree.of[b->index.node[p]] = b->kept[p];
        else if (b->self[p].n)
            rc = leave_out(b, p, err);
    }
    return rc;
}

static pr_code
add_endings(build *b, pr_err *err)
{
    size_t n = b->tree.n_kept + b->endings.n;
    conv_page_node *node = realloc(b->tree.node, n * sizeof *node);
    if (!node)
        return pr_no_memory(err);
    b->tree.node = node;
    const ending *e = b->endings.item;
    for (size_t i = 0; i < b->endings.n; i++)
        node[b->tree.n++] =
            (conv_page_node){e[i].ancestor, e[i].function, PR_NO_LINE};
    return PR_OK;
}

/* ---- totals ---- */

static void
add_below(build *b)
{
    for (size_t i = 0; i < b->index.n; i++)
        b->below[i] = b->self[i].weight_us;
    for (size_t i = b->index.n; i-- > 1;)
        b->below[b->index.parent[i]] += b->below[i];
}

/* Frames that are left out would be missing in the totals of functions. */
static pr_code
add_totals(build *b, pr_err *err)
{
    const conv_model *m = b->model;
    if (b->tree.n_left_out == 0)
        return PR_OK;
    conv_index first;
    pr_code rc = conv_index_build(m, &first, err);
    if (rc != PR_OK)
        return rc;
    b->tree.total_us = calloc(m->functions.n + 1, sizeof *b->tree.total_us);
    for (size_t p = 1; b->tree.total_us && p < first.n; p++)
        if (first.first[p] & CONV_FIRST_FUNCTION)
            b->tree.total_us[conv_model_frame(m, m->nodes[first.node[p]].frame)
                                 ->function] += b->below[p];
    conv_index_release(&first);
    return b->tree.total_us ? PR_OK : pr_no_memory(err);
}

static pr_code
build_tree(build *b, pr_err *err)
{
    size_t n = b->index.n;
    size_t most = n < KEPT_MAX ? n : KEPT_MAX;
    b->below = calloc(n, sizeof *b->below);
    b->kept = calloc(n, sizeof *b->kept);
    b->tree.of = calloc(b->model->n_nodes, sizeof *b->tree.of);
    b->tree.node = calloc(most + 1, sizeof *b->tree.node);
    if (!b->below || !b->kept || !b->tree.of || !b->tree.node)
        return pr_no_memory(err);
    add_below(b);
    keep_heaviest(b);
    pr_code rc = map_nodes(b, err);
    if (rc == PR_OK)
        rc = add_endings(b, err);
    if (rc == PR_OK)
        rc = add_totals(b, err);
    return rc;
}

pr_code
conv_page_tree_build(const conv_model *model, conv_page_tree *ret, pr_err *err)
{
    build b = {.model = model, .endings = {.size = sizeof(ending)}};
    pr_code rc = conv_index_order(model, &b.index, err);
    if (rc == PR_OK)
        rc = conv_index_self(model, &b.index, &b.self, err);
    if (rc == PR_OK)
        rc = build_tree(&b, err);
    if (rc == PR_OK)
        *ret = b.tree;
    else
        conv_page_tree_release(&b.tree);
    pr_set_release(&b.endings);
    conv_index_release(&b.index);
    free(b.self);
    free(b.below);
    free(b.kept);
    return rc;
}

void
conv_page_tree_release(conv_page_tree *tree)
{
    free(tree->node);
    free(tree->of);
    free(tree->total_us);
    *tree = (conv_page_tree){0};
}
