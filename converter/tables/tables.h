/*
 * tables.h - the tables of schema.h in an open SQLite database.
 *
 * Each profile that is added gets nodes, threads and runs of its own, in one
 * range of ids; names it shares with the others.  So adding a profile changes
 * no row that is there.
 */
#ifndef CONVERTER_TABLES_TABLES_H
#define CONVERTER_TABLES_TABLES_H

#include "converter/tables/function_sums.h"
#include "converter/tables/names.h"
#include "converter/tables/pages.h"

struct sqlite3;

/* The tables with a row for each node, run, function or edge of a profile. */
typedef enum conv_large {
    CONV_NODE,
    CONV_RUN,
    CONV_NODE_SELF,
    CONV_FUNCTION_TOTAL,
    CONV_EDGE_TOTAL
} conv_large;

/* Takes the rows of a large table in place of the database, their columns as
 * schema.h has them.  The profile, its threads and names are there then. */
typedef struct conv_tables_taker {
    pr_code (*take)(void *context, conv_large table, conv_rows_next next,
                    void *rows, pr_err *err);
    void *context;
} conv_tables_taker;

typedef struct conv_tables {
    struct sqlite3 *database;
    conv_pages *pages; /* of the large tables; NULL: they get rows */
    const conv_tables_taker *taker; /* NULL: the database gets all rows; may be
                                     * set after conv_tables_begin(), and
                                     * tree_total has no rows then */
    conv_names names;
    conv_function_sums function_sums;
    /* the greatest ids in use */
    int64_t profile, process, thread, node, run, node_self, event, task, loss;
} conv_tables;

/* Begin to add: the tables are made in an empty database and learnt from one
 * that has them, in one transaction, which keeps other writers out.
 * PR_FOREIGN: a database of something else, or not a database; PR_NEWER: its
 * schema is newer, or older, than this one. */
pr_code conv_tables_begin(struct sqlite3 *database, conv_tables *ret,
                          pr_err *err);

/* After conv_tables_begin() has made the tables in a file that no other
 * program uses, without journal and in locking mode normal: large tables are
 * written as pages.  The rows that are added are all there at the end or, if
 * it fails, in part. */
pr_code conv_tables_use_pages(conv_tables *tables, pr_err *err);

/* Add rows to a large table, their ids ascending. */
pr_code conv_tables_fill(conv_tables *tables, conv_large table,
                         conv_rows_next next, void *context, pr_err *err);

/* Add the profile of a finished model that came from `source`.  *ret_added
 * becomes false, and nothing is done, if the database has this very profile.
 * *ret_profile becomes its id in either case.  Adds to *names_changed. */
pr_code conv_tables_add(conv_tables *tables, const conv_model *model,
                        const char *source, int64_t *ret_profile,
                        bool *ret_added, uint64_t *names_changed, pr_err *err);

/* End the transaction: all that was added is there, or with `keep` false none
 * of it.  Releases *tables in any case. */
pr_code conv_tables_end(conv_tables *tables, bool keep, pr_err *err);

#endif
