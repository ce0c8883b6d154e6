/*
 * records.h - what an archive knows of its files (spec/schema.md, "Archives").
 *
 * The database is one of schema.h with three more tables.  All of this runs
 * in the transaction of conv_tables_begin(), but for conv_records_load().
 */
#ifndef CONVERTER_ARCHIVE_RECORDS_H
#define CONVERTER_ARCHIVE_RECORDS_H

#include "converter/archive/folder.h"
#include "converter/tables/tables.h"

/* The files of the database, in order of name; none, if it is not an archive
 * so far. */
pr_code conv_records_load(struct sqlite3 *database, conv_files *ret,
                          pr_err *err);

/* Make the tables that are not there. */
pr_code conv_records_create(struct sqlite3 *database, pr_err *err);

/* The file is in the database as it was with this mark: its profile, or NULL
 * for none, and what is wrong with it, or NULL. */
pr_code conv_records_put(struct sqlite3 *database, const conv_file *file,
                         const pr_err *problem, pr_err *err);
pr_code conv_records_drop(struct sqlite3 *database, const char *name,
                          pr_err *err);

/* The rows of a profile that was just added: those past `before` and up to
 * `after`. */
pr_code conv_records_own(int64_t profile, const conv_tables *before,
                         const conv_tables *after, pr_err *err);

/* No file is this profile any more: its rows go.  If another file is the same
 * one, it stays under that file's name. */
pr_code conv_records_release(conv_tables *tables, int64_t profile,
                             bool *ret_gone, pr_err *err);

/* Functions and files that no profile has samples of go.  The last act of a
 * transaction. */
pr_code conv_records_prune(conv_tables *tables, pr_err *err);

/* How many files have a problem, and the first one of them: its code and
 * sentence in *problem.  *ret_profiles: how many profiles there are. */
pr_code conv_records_problems(struct sqlite3 *database, int64_t *ret,
                              int64_t *ret_profiles, pr_err *problem,
                              pr_err *err);

#endif
