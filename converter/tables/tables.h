/*
 * tables.h - the tables of schema.h in an open SQLite database.
 *
 * Each profile gets nodes, threads and runs of its own, in one range of ids; it
 * shares names with the others.  So a new profile changes no row that the
 * database has.
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

/* take() gets the rows of a large table in place of the database, with the
 * columns of schema.h.  The database has the profile, its threads and names at
 * that time. */
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

/* Begin a transaction, which keeps other writers out: make the tables in an
 * empty database, or load the names and ids of one that has them.
 * PR_FOREIGN: a database of something else, or not a database; PR_NEWER: its
 * schema is newer, or older, than this one. */
pr_code conv_tables_begin(struct sqlite3 *database, conv_tables *ret,
                          pr_err *err);

/* After conv_tables_begin() has made the tables in a file that no other
 * program uses, without journal and in locking mode normal: large tables are
 * written as pages.  After a failure the database may have a part of the
 * rows. */
pr_code conv_tables_use_pages(conv_tables *tables, pr_err *err);

/* Add rows to a large table, their ids ascending. */
pr_code conv_tables_fill(conv_tables *tables, conv_large table,
                         conv_rows_next next, void *context, pr_err *err);

/* Add the profile of a finished model that came from `source`.  If the database
 * has this very profile, *ret_added becomes false and nothing changes.
 * *ret_profile becomes its id in either case.  Adds to *names_changed. */
pr_code conv_tables_add(conv_tables *tables, const conv_model *model,
                        const char *source, int64_t *ret_profile,
                        bool *ret_added, uint64_t *names_changed, pr_err *err);

/* End the transaction, which adds all of it, or with `keep` false nothing.
 * Releases *tables in any case. */
pr_code conv_tables_end(conv_tables *tables, bool keep, pr_err *err);

#endif
