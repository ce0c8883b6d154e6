/*
 * fold.h - from samples per node to self and total per function, line, ...
 *
 * Node ids are pre-order numbers: the nodes below one are the ids up to its
 * last_id.  So the samples at or below a node are the difference of two
 * prefix sums, whatever the size of the subtree; and a node is the outermost
 * of its key on its stack if its id lies beyond the last_id of the key's
 * previous outermost node.  Both together give totals in one pass over the
 * tree: each sample counts once per key, however often the key is on its
 * stack.
 *
 * Ids and numbers come from a file.  Nothing here is indexed by them; a
 * number that cannot be is PR_DAMAGED; sums cannot overflow (F1: the sum of
 * all is checked, F2: outermost nodes of one key do not overlap).
 */
#ifndef QUERY_FOLD_H
#define QUERY_FOLD_H

#include "query/database.h"

#include <base/hash_table.h>
#include <pyrec/error.h>
#include <stddef.h>
#include <stdint.h>

typedef struct q_amount {
    int64_t n;  /* samples */
    int64_t us; /* the time they stand for */
} q_amount;

/* Samples by the node they ended in, in order of node. */
typedef struct q_weights {
    int64_t *node;
    q_amount *before; /* [len + 1]: what stands before each, then all */
    size_t len, cap_node, cap_before;
} q_weights;

/* What a row of an answer counts.  For a tree: in pre-order of the output. */
typedef struct q_group {
    int64_t a, b;    /* its key */
    int64_t last;    /* of its latest outermost node */
    uint32_t parent; /* tree: group of the caller, or PR_TABLE_NONE */
    uint32_t depth;  /* tree: 0 at a root */
    q_amount self, total;
} q_group;

typedef struct q_groups {
    q_group *group;
    size_t len, cap;
    pr_table table;
} q_groups;

/* stmt yields (node_id, n, weight_us) in order of node_id. */
pr_code q_weights_read(q_database *database, sqlite3_stmt *stmt, q_weights *ret,
                       pr_err *err);
void q_weights_release(q_weights *weights);

/* stmt yields (id, last_id, a[, b]) in order of id: each key (a, b) is a group.
 * A part that is NULL or not there counts as -1. */
pr_code q_fold_flat(q_database *database, sqlite3_stmt *stmt,
                    const q_weights *weights, q_groups *ret, pr_err *err);

/* stmt yields (id, last_id, a, is_root) in order of id: groups are the stacks
 * of keys from each root on; without a root above it a node is left out, and
 * so are groups of less than `least_n` samples.  Brothers follow each other by
 * total. */
pr_code q_fold_tree(q_database *database, sqlite3_stmt *stmt,
                    const q_weights *weights, int64_t least_n, q_groups *ret,
                    pr_err *err);

void q_groups_release(q_groups *groups);

#endif
