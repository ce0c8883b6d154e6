/*
 * listing.h - the parts of an answer besides sums: the lines of a source, the
 * names of a stack.
 */
#ifndef QUERY_FOLD_LISTING_H
#define QUERY_FOLD_LISTING_H

#include "query/database/database.h"
#include "query/fold/fold.h"

/* Make and fill TABLE_source(function_id, line, text) for the functions of the
 * condition, with the lines of the files on this machine.  It reads only
 * regular files of moderate size; without the file the table gets the lines
 * that have samples, with text NULL. */
pr_code q_listing_fill(q_database *database, const char *table,
                       const char *condition, const q_groups *groups,
                       pr_err *err);

/* Call take() with each stack of the tree in which samples ended (`of`: with
 * each stack that leads to an outermost match, with all of its samples). */
pr_code q_listing_stacks(q_database *database, const q_groups *groups, bool of,
                         q_stack_fn take, void *context, pr_err *err);

#endif
