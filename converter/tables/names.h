/*
 * names.h - files, functions and frames: each once in a database.
 *
 * The identity of a file is the hash of its path, that of a function
 * conv_model_function_hash(), that of a frame all its columns.
 */
#ifndef CONVERTER_TABLES_NAMES_H
#define CONVERTER_TABLES_NAMES_H

#include "converter/model/model.h"

struct sqlite3;

typedef struct conv_names {
    pr_set files;     /* uint64_t hash */
    pr_set functions; /* uint64_t hash */
    pr_set frames;    /* conv_frame with the function's id in the database */
    pr_list file_id, function_id, frame_id; /* [set.n] ids of rows */
} conv_names;

/* Load the names of the database.  PR_DAMAGED: an id that cannot exist. */
pr_code conv_names_load(struct sqlite3 *database, conv_names *names,
                        pr_err *err);

/* Add the names of the model; *ret_frame[frame of the model] becomes the id of
 * its row, *ret_function[function] likewise. */
pr_code conv_names_add(struct sqlite3 *database, conv_names *names,
                       const conv_model *model, pr_list *ret_function,
                       pr_list *ret_frame, uint64_t *names_changed,
                       pr_err *err);

void conv_names_release(conv_names *names);

#endif
