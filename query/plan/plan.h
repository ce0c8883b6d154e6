/*
 * plan.h - plan a question as SQL.
 *
 * Most questions take four statements and a fold: the samples of the question,
 * by node; the functions with their keys; the nodes; and, over the table that
 * the fold fills, the answer.  The texts hold all values, so that any SQLite
 * can run them; "explain" shows them.  The database has the sums of the
 * commonest questions, those of whole profiles.
 */
#ifndef QUERY_PLAN_PLAN_H
#define QUERY_PLAN_PLAN_H

#include "query/database/database.h"
#include "query/fold/fold.h"
#include "query/language/parser.h"

typedef enum q_shape {
    Q_SHAPE_PLAIN = 0, /* `answer` alone */
    Q_SHAPE_READY,     /* `all` and `answer`: the database has the sums */
    Q_SHAPE_STORED,    /* `samples` by part, `tree` or `sums`, `answer` */
    Q_SHAPE_PARTS,     /* `samples` and `answer`: by part, without nodes */
    Q_SHAPE_FOLD
} q_shape;

/* The step between a tree and its table. */
typedef enum q_after {
    Q_AFTER_NOTHING = 0,
    Q_AFTER_ORDER,
    Q_AFTER_INVERT,    /* from where samples ended */
    Q_AFTER_INVERT_OF, /* from the functions that match */
    Q_AFTER_BEST       /* the stacks of the best `limit` groups */
} q_after;

typedef struct q_plan {
    q_shape shape;
    char *all;  /* ready: one row (n, us, ran_n, ran_us) of all samples */
    char *sums; /* of q_stored_sums_read() */
    char *profiles, *tree;   /* of q_stored_tree_read() */
    char *samples;           /* of q_samples_read() or _read_runs() */
    char *functions, *nodes; /* of q_nodes_read() */
    char *answer;            /* over the table */
    q_fold fold;
    q_after after;
    bool has_runs;    /* `samples` is for q_samples_read_runs() */
    int64_t width_us; /* of a bucket of time; 0: none */
    bool keeps_parts; /* only the best `limit` parts count, each as a group */
    int64_t above;    /* tree: least share of a row, in millionths */
    int64_t depth;    /* tree: levels */
    int64_t limit;
    bool is_about_samples;
    bool of_calls; /* a profile of the question counts calls, not samples */
    bool of_match; /* stacks: of groups that match, by total */
    char *note;    /* a line for the head of the answer; NULL: none */
    char *source;  /* Q_SOURCE: a condition over `function JOIN file` */
    char *table;   /* temp.answer1, with the columns of Q_ANSWER_COLUMNS */
} q_plan;

/* part_n, part_us: all samples of the row's part. */
#define Q_ANSWER_COLUMNS                                                    \
    "place INTEGER PRIMARY KEY, split, parent, depth, match, a, b, self_n," \
    " self_us, self_ran_n, self_ran_us, total_n, total_us, total_ran_n,"    \
    " total_ran_us, part_n, part_us"

/* Make the plan.  It needs the database to look up names. */
pr_code q_plan_make(q_database *database, const q_query *query, q_plan *ret,
                    pr_err *err);
void q_plan_release(q_plan *plan);

/* Plan the tree of the stacks in the question's answer: those of all its
 * samples; for `tree from NAME` those from NAME on; with of_match those that
 * `paths` leads to.  The question has stacks (q_query). */
pr_code q_plan_stacks(q_database *database, const q_query *query, q_plan *ret,
                      pr_err *err);

#endif
