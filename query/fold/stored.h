/*
 * stored.h - totals and trees that the database keeps, as groups
 * (spec/schema.md, function_total and tree_total).
 */
#ifndef QUERY_FOLD_STORED_H
#define QUERY_FOLD_STORED_H

#include "query/fold/fold.h"

/* The database has all rows of a tree above this share, in millionths; so it
 * has the whole tree of a profile of at most so many samples. */
enum { Q_STORED_TREE_ABOVE = 100, Q_STORED_TREE_SAMPLES = 10000 };

/* stmt yields (split, a, the four amounts of self, of total), in any order and
 * a key any number of times.  PR_DAMAGED: an impossible number. */
pr_code q_stored_sums_read(q_database *database, sqlite3_stmt *stmt,
                           q_groups *ret, pr_err *err);

/* profiles yields ids; children, given a profile and the id of a row or 0,
 * yields (id, function_id, the four amounts of self, of total) of the rows that
 * are called from it.  The trees are added up from the roots on: rows on a
 * stack with less than least_n samples are not read.  PR_DAMAGED: an impossible
 * number, or a row whose parent is not an earlier one. */
pr_code q_stored_tree_read(q_database *database, sqlite3_stmt *profiles,
                           sqlite3_stmt *children, int64_t least_n,
                           q_groups *ret, pr_err *err);

#endif
