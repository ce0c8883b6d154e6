/*
 * fold.h - fold samples per node into self and total per function, line, ...
 *
 * Node ids are pre-order numbers: the nodes below one are the ids up to its
 * last_id.  One walk in order of id keeps the path of open nodes; when it
 * leaves a node, it has the samples that ended at or below it.  A node is the
 * outermost of its key on its stack if its id lies beyond the last_id of the
 * key's previous outermost node, so that each sample counts once per key,
 * however often the key is on its stack.  A hidden node is left out of the
 * view: the samples that ended in it count as self of its caller.
 *
 * Ids and numbers come from a file.  No array is indexed by them; an impossible
 * number is PR_DAMAGED; sums cannot overflow (F1: the sum of
 * all is checked, F2: each sample flows up one path, F3: outermost nodes of
 * one key do not overlap).
 */
#ifndef QUERY_FOLD_FOLD_H
#define QUERY_FOLD_FOLD_H

#include "query/database/database.h"

#include <base/hash_table.h>
#include <pyrec/error.h>
#include <stddef.h>
#include <stdint.h>

typedef struct q_amount {
    int64_t n;             /* samples */
    int64_t us;            /* the time that they stand for */
    int64_t ran_n, ran_us; /* of them: held the GIL or were on a CPU */
} q_amount;

/* False: an impossible number, or a sum that does not fit. */
bool q_amount_add(q_amount *sum, const q_amount *more);

/* Read the four columns of a row from `column` on, unchecked. */
q_amount q_amount_read(sqlite3_stmt *row, int column);

/* Samples of one part that ended in one node. */
typedef struct q_entry {
    int64_t split, node;
    q_amount amount;
} q_entry;

/* The samples of a question, in order of (split, node). */
typedef struct q_samples {
    q_entry *entry;
    size_t len, cap;
    pr_table table; /* of entries by key, after one came out of order */
    bool hashed;
    q_amount all;
} q_samples;

/* stmt yields (node, split, n, us, ran_n, ran_us) in any order. */
pr_code q_samples_read(q_database *database, sqlite3_stmt *stmt, q_samples *ret,
                       pr_err *err);

/* stmt yields (node, t0, t1, n, us, ran, from, to, split): runs of evenly
 * spaced samples, of which those in [from, to) count.  A width divides them
 * into buckets of so many microseconds, and `split` becomes the number of the
 * bucket.  PR_LIMIT: too many buckets. */
pr_code q_samples_read_runs(q_database *database, sqlite3_stmt *stmt,
                            int64_t width, q_samples *ret, pr_err *err);

/* Keep only the `n` parts in which most samples ran (`ran`), or most are. */
pr_code q_samples_keep_parts(q_samples *samples, size_t n, bool ran,
                             pr_err *err);
void q_samples_release(q_samples *samples);

/* The facts about a node before the fold. */
typedef struct q_node {
    int64_t id, last;
    int64_t a, b;  /* its key */
    uint32_t skip; /* place of the first node beyond `last` */
    bool hidden, match;
} q_node;

typedef struct q_nodes {
    q_node *node;
    size_t len, cap;
} q_nodes;

/* functions yields (id, a, hidden, match); nodes yields (id, last_id,
 * function_id[, b]) in order of id; b is -1 if it is NULL or missing.
 * Nodes without a sample at or below them are left out. */
pr_code q_nodes_read(q_database *database, sqlite3_stmt *functions,
                     sqlite3_stmt *nodes, const q_samples *samples,
                     q_nodes *ret, pr_err *err);
void q_nodes_release(q_nodes *nodes);

/* The amounts of a row of an answer.  For a tree: in pre-order of the
 * output. */
typedef struct q_group {
    int64_t split, a, b; /* its key */
    int64_t last;        /* of its latest outermost node */
    uint32_t parent;     /* tree: group of the caller, or PR_TABLE_NONE */
    uint32_t depth;      /* tree: 0 at a root */
    bool match;          /* tree: the outermost match on its path */
    bool below_match;    /* tree: a group above it matches */
    q_amount self, total;
} q_group;

typedef struct q_groups {
    q_group *group;
    size_t len, cap;
    pr_table table;
} q_groups;

typedef enum q_fold {
    Q_FOLD_UNITS,   /* groups are (split, a, b) */
    Q_FOLD_CALLERS, /* groups are edges (a: caller or -1, b: callee) into ... */
    Q_FOLD_CALLEES, /* ... and out of the nodes that match */
    Q_FOLD_TREE,    /* groups are the stacks of a, from the roots on */
    Q_FOLD_TREE_OF  /* the same, from the outermost nodes on that match */
} q_fold;

pr_code q_fold_all(const q_samples *samples, const q_nodes *nodes, q_fold how,
                   q_groups *ret, pr_err *err);

/* The place of the group of a key; a new group is made without samples.
 * PR_TABLE_NONE: out of memory. */
uint32_t q_groups_find(q_groups *groups, int64_t split, int64_t a, int64_t b,
                       uint32_t parent);

/* Add a group for each part of the samples, with the key (part, -1, Q_PART)
 * and all of its samples as self. */
enum { Q_PART = -2 };
pr_code q_groups_add_parts(q_groups *groups, const q_samples *samples,
                           pr_err *err);

/* Put a tree in the order of its output, siblings by total, without the groups
 * that have less than `least_n` samples. */
pr_code q_groups_order(q_groups *groups, int64_t least_n, pr_err *err);

/* Turn an ordered tree into that of callers: from the function in which samples
 * end (`of`: from the outermost that matches, with all samples below it) to the
 * roots, at most `depth` levels.  In order as q_groups_order(). */
pr_code q_groups_invert(q_groups *groups, bool of, int64_t depth,
                        int64_t least_n, pr_err *err);

void q_groups_release(q_groups *groups);

#endif
