/*
 * entry.h - one profile on its way into the tables.
 */
#ifndef CONVERTER_TABLES_ENTRY_H
#define CONVERTER_TABLES_ENTRY_H

#include "converter/model/index.h"
#include "converter/tables/tables.h"

typedef struct conv_entry {
    conv_tables *tables;
    const conv_model *model;
    const char *source;
    uint64_t hash; /* identity of the profile */
    conv_index index;
    pr_list function, frame; /* [id of the model] id of the row */
    int64_t profile;
    int64_t process0;       /* process i of the model is row process0 + i */
    int64_t thread0, node0; /* thread i is row thread0 + i, position p of the
                             * index is node0 + p; the empty stack is 0 */
    uint64_t names_changed;
} conv_entry;

/* The identity: a hash of all that the model holds of the recording. */
uint64_t conv_entry_hash(const conv_model *model);

pr_code conv_entry_put_profile(conv_entry *entry, pr_err *err);
pr_code conv_entry_put_meta(conv_entry *entry, pr_err *err);
pr_code conv_entry_put_threads(conv_entry *entry, pr_err *err);
pr_code conv_entry_put_nodes(conv_entry *entry, pr_err *err);
pr_code conv_entry_put_runs(conv_entry *entry, pr_err *err);

/* The sums of all samples, from the model and the index alone, for node_self,
 * function_total, edge_total and tree_total. */
typedef struct conv_entry_totals conv_entry_totals;
pr_code conv_entry_add_up(const conv_entry *entry, conv_entry_totals **ret,
                          pr_err *err);
pr_code conv_entry_put_totals(conv_entry *entry,
                              const conv_entry_totals *totals, pr_err *err);
void conv_entry_free_totals(conv_entry_totals *totals); /* takes NULL */

pr_code conv_entry_put_events(conv_entry *entry, pr_err *err);
pr_code conv_entry_put_tasks(conv_entry *entry, pr_err *err);
pr_code conv_entry_put_opcodes(conv_entry *entry, pr_err *err);

#endif
