/*
 * plan.h - a question into SQL.
 *
 * Most questions take three statements and a fold between them: the samples
 * they are about, by node; the nodes with their keys; and, over the table
 * that the fold fills, the answer.  The texts hold all values and run as they
 * are in any SQLite, which is what "explain" shows.  What is asked most, top
 * of all samples, has its sums in the database and needs no fold.
 */
#ifndef QUERY_PLAN_H
#define QUERY_PLAN_H

#include "query/database.h"
#include "query/parser.h"

typedef enum q_shape {
    Q_SHAPE_PLAIN = 0, /* only `answer` is there */
    Q_SHAPE_READY,     /* `samples` and `answer`: the database has the sums */
    Q_SHAPE_FLAT,      /* q_fold_flat() */
    Q_SHAPE_TREE       /* q_fold_tree() */
} q_shape;

typedef struct q_plan {
    q_shape shape;
    char *samples; /* (node_id, n, weight_us) in order of node_id; if the sums
                    * are ready, one row with those of all samples */
    char *nodes;   /* what the fold of the shape wants */
    char *answer;  /* over the table; :all is the number of samples */
    int64_t above; /* tree: least share of a row, in millionths */
    char *table;   /* temp.answer1, with the columns of Q_ANSWER_COLUMNS */
} q_plan;

#define Q_ANSWER_COLUMNS                                                \
    "place INTEGER PRIMARY KEY, a, b, depth, self_n, self_us, total_n," \
    " total_us"

/* Names are looked up, which is why a plan needs the database. */
pr_code q_plan_make(q_database *database, const q_query *query, q_plan *ret,
                    pr_err *err);
void q_plan_release(q_plan *plan);

#endif
