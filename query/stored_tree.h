/*
 * stored_tree.h - the large stacks of functions of a profile, as the database
 * keeps them (spec/schema.md, tree_total).
 */
#ifndef QUERY_STORED_TREE_H
#define QUERY_STORED_TREE_H

#include "query/fold.h"

/* A tree with all rows above this share, in millionths, is in the database. */
enum { Q_STORED_TREE_ABOVE = 1000 };

/* stmt yields (id, parent_id, function_id, the four amounts of self, of total)
 * in order of id.  PR_DAMAGED: a row that does not stand on an earlier one. */
pr_code q_stored_tree_read(q_database *database, sqlite3_stmt *stmt,
                           q_groups *ret, pr_err *err);

#endif
