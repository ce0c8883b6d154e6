/*
 * stack_order.c - ranks by sorting parts once and siblings by numbers.
 *
 * A part that ends a line compares as itself; one that is followed by others
 * compares as itself with ';' after it ("f:1" < "f:12", but "f:12;g" < "f:1;g").
 * So each part has two keys, and each node up to two places among its
 * siblings: that of its own line and that of the lines below it.
 */
#include "converter/model/stack_order.h"

#include <base/buffer.h>
#include <stdlib.h>
#include <string.h>

static const conv_stack_order_node *
node_at(const conv_stack_order *lines, size_t i)
{
    return (const conv_stack_order_node *)lines->nodes.item + i;
}

pr_code
conv_stack_order_init(conv_stack_order *lines, pr_err *err)
{
    *lines = (conv_stack_order){.nodes.size = sizeof(conv_stack_order_node)};
    const conv_stack_order_node empty = {UINT32_MAX, UINT32_MAX};
    uint32_t id;
    pr_code rc = pr_set_add(&lines->nodes, &empty, &id, err);
    return rc == PR_OK ? pr_list_add(&lines->depth, 0, err) : rc;
}

void
conv_stack_order_release(conv_stack_order *lines)
{
    pr_strings_release(&lines->parts);
    pr_set_release(&lines->nodes);
    pr_list_release(&lines->depth);
}

pr_code
conv_stack_order_split(conv_stack_order *lines, const char *text, size_t len,
                       pr_list *ret, pr_err *err)
{
    for (;;) {
        const char *semicolon = len ? memchr(text, ';', len) : NULL;
        size_t n = semicolon ? (size_t)(semicolon - text) : len;
        uint32_t part;
        pr_code rc = pr_strings_add(&lines->parts, text, n, &part, err);
        if (rc == PR_OK)
            rc = pr_list_add(ret, part, err);
        if (rc != PR_OK || !semicolon)
            return rc;
        text += n + 1;
        len -= n + 1;
    }
}

pr_code
conv_stack_order_child(conv_stack_order *lines, uint32_t parent, uint32_t part,
                       uint32_t *ret, pr_err *err)
{
    const conv_stack_order_node key = {parent, part};
    pr_code rc = pr_set_add(&lines->nodes, &key, ret, err);
    if (rc != PR_OK || *ret < lines->depth.n)
        return rc;
    return pr_list_add(&lines->depth, lines->depth.at[parent] + 1, err);
}

pr_code
conv_stack_order_append(conv_stack_order *lines, uint32_t parent, uint32_t part,
                        uint32_t *ret, pr_err *err)
{
    pr_set *nodes = &lines->nodes;
    if (nodes->n >= UINT32_MAX ||
        !pr_grow(&nodes->item, &nodes->cap, nodes->n + 1, nodes->size))
        return pr_no_memory(err);
    ((conv_stack_order_node *)nodes->item)[nodes->n] =
        (conv_stack_order_node){parent, part};
    *ret = (uint32_t)nodes->n++;
    return pr_list_add(&lines->depth, lines->depth.at[parent] + 1, err);
}

/* ---- ranks ---- */

/* A part and what follows it: nothing or ';'. */
typedef struct part_key {
    const pr_strings *parts;
    uint32_t part;
    bool inner;
} part_key;

static int
compare_parts(const void *a_key, const void *b_key)
{
    const part_key *a = a_key, *b = b_key;
    pr_bytes x = pr_strings_get(a->parts, a->part);
    pr_bytes y = pr_strings_get(b->parts, b->part);
    size_t n = x.len < y.len ? x.len : y.len;
    int order = n ? memcmp(x.at, y.at, n) : 0;
    if (order != 0)
        return order;
    /* the byte at place n: one of the longer part, ';', or the end */
    int p = n < x.len ? (unsigned char)x.at[n] : a->inner ? ';' : -1;
    int q = n < y.len ? (unsigned char)y.at[n] : b->inner ? ';' : -1;
    return (p > q) - (p < q);
}

/* key[2 * part + inner]: the place of each part among all. */
static uint32_t *
rank_parts(const pr_strings *parts)
{
    size_t n = 2 * parts->n;
    part_key *sorted = calloc(n + 1, sizeof *sorted);
    uint32_t *key = calloc(n + 1, sizeof *key);
    if (!sorted || !key) {
        free(sorted);
        free(key);
        return NULL;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = (part_key){parts, (uint32_t)(i / 2), i % 2 != 0};
    qsort(sorted, n, sizeof *sorted, compare_parts);
    for (size_t i = 0; i < n; i++)
        key[2 * (size_t)sorted[i].part + sorted[i].inner] = (uint32_t)i;
    free(sorted);
    return key;
}

/* A node among its siblings. */
typedef struct place {
    uint32_t key, node;
    bool inner;
} place;

static int
compare_places(const void *a_place, const void *b_place)
{
    const place *a = a_place, *b = b_place;
    return (a->key > b->key) - (a->key < b->key);
}

/* Arrays over the nodes. */
typedef struct ranking {
    const conv_stack_order *lines;
    uint32_t *key;   /* of the parts */
    uint32_t *size;  /* nodes of the subtree */
    uint32_t *start; /* [n+1] first child in `child` */
    uint32_t *child; /* grouped by parent */
    uint32_t *below; /* rank of the first line below */
    uint32_t *rank;
    place *places; /* scratch, for the widest node */
} ranking;

static bool
allocate(ranking *r, size_t n)
{
    r->key = rank_parts(&r->lines->parts);
    r->size = calloc(n, sizeof *r->size);
    r->start = calloc(n + 2, sizeof *r->start);
    r->child = calloc(n, sizeof *r->child);
    r->below = calloc(n, sizeof *r->below);
    r->rank = calloc(n, sizeof *r->rank);
    return r->key && r->size && r->start && r->child && r->below && r->rank;
}

/* Parents have smaller ids: sizes from the end, children by counting. */
static bool
group_children(ranking *r, size_t n)
{
    uint32_t widest = 0;
    for (size_t i = n; i-- > 1;) {
        uint32_t parent = node_at(r->lines, i)->parent;
        r->size[i]++;
        r->size[parent] += r->size[i];
        uint32_t width = ++r->start[parent + 2];
        widest = width > widest ? width : widest;
    }
    for (size_t i = 2; i < n + 2; i++)
        r->start[i] += r->start[i - 1];
    for (size_t i = 1; i < n; i++)
        r->child[r->start[node_at(r->lines, i)->parent + 1]++] = (uint32_t)i;
    r->places = calloc(2 * (size_t)widest + 1, sizeof *r->places);
    return r->places != NULL;
}

static void
rank_children(ranking *r, uint32_t parent)
{
    size_t n = 0;
    for (uint32_t i = r->start[parent]; i < r->start[parent + 1]; i++) {
        uint32_t node = r->child[i];
        const uint32_t *key =
            r->key + 2 * (size_t)node_at(r->lines, node)->part;
        r->places[n++] = (place){key[0], node, false};
        if (r->size[node] > 1)
            r->places[n++] = (place){key[1], node, true};
    }
    if (r->start[parent + 1] - r->start[parent] > 1)
        qsort(r->places, n, sizeof *r->places, compare_places);
    uint32_t next = r->below[parent];
    for (size_t i = 0; i < n; i++) {
        uint32_t node = r->places[i].node;
        if (r->places[i].inner) {
            r->below[node] = next;
            next += r->size[node] - 1;
        } else {
            r->rank[node] = next++;
        }
    }
}

pr_code
conv_stack_order_rank(const conv_stack_order *lines, uint32_t **ret,
                      pr_err *err)
{
    size_t n = lines->nodes.n;
    ranking r = {.lines = lines};
    bool good = allocate(&r, n) && group_children(&r, n);
    if (good) {
        r.below[0] = 1; /* rank 0 is the empty line */
        for (uint32_t i = 0; i < n; i++)
            rank_children(&r, i);
        *ret = r.rank;
    } else {
        free(r.rank);
    }
    free(r.key);
    free(r.size);
    free(r.start);
    free(r.child);
    free(r.below);
    free(r.places);
    return good ? PR_OK : pr_no_memory(err);
}

/* ---- text ---- */

static void
put_part(const void *context, uint32_t node, bool outermost, pr_buffer *text)
{
    const conv_stack_order *lines = context;
    pr_bytes part = pr_strings_get(&lines->parts, node_at(lines, node)->part);
    if (!outermost)
        pr_buffer_append(text, ";", 1);
    pr_buffer_append(text, part.at, part.len);
}

conv_stack_text
conv_stack_order_trail(const conv_stack_order *lines)
{
    return (conv_stack_text){
        .parent = lines->nodes.item,
        .stride = sizeof(conv_stack_order_node) / sizeof(uint32_t),
        .depth = lines->depth.at,
        .put = put_part,
        .context = lines,
    };
}
