/*
 * stored.h - totals and trees that the database keeps, as groups
 * (spec/schema.md, function_total and tree_total).
 */
#ifndef QUERY_FOLD_STORED_H
#define QUERY_FOLD_STORED_H

#include "query/fold/fold.h"

/* The database has all rows of a tree above this share, in millionths. */
enum { Q_STORED_TREE_ABOVE = 1000 };

/* stmt yields (split, a, the four amounts of self, of total), in any order and
 * a key any number of times.  PR_DAMAGED: a number that cannot be. */
pr_code q_stored_sums_read(q_database *database, sqlite3_stmt *stmt,
                           q_groups *ret, pr_err *err);

/* stmt yields (id, parent_id, function_id, the four amounts of self, of total)
 * in order of id.  PR_DAMAGED: a row that does not stand on an earlier one. */
pr_code q_stored_tree_read(q_database *database, sqlite3_stmt *stmt,
                           q_groups *ret, pr_err *err);

#endif
