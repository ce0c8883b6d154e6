/*
 * records.h - the files of an archive (spec/schema.md, "Archives").
 *
 * The database is one of schema.h with three more tables.  All functions but
 * conv_records_load() run in the transaction of conv_tables_begin().
 */
#ifndef CONVERTER_ARCHIVE_RECORDS_H
#define CONVERTER_ARCHIVE_RECORDS_H

#include "converter/archive/folder.h"
#include "converter/tables/tables.h"

/* Read the files of the database, in order of name; a database that is not an
 * archive so far has none. */
pr_code conv_records_load(struct sqlite3 *database, conv_files *ret,
                          pr_err *err);

/* Make the tables that are missing. */
pr_code conv_records_create(struct sqlite3 *database, pr_err *err);

/* Put the state of a file into the database: its mark, its profile (0: none),
 * and its problem, or NULL. */
pr_code conv_records_put(struct sqlite3 *database, const conv_file *file,
                         const pr_err *problem, pr_err *err);
pr_code conv_records_drop(struct sqlite3 *database, const char *name,
                          pr_err *err);

/* Note the rows of a profile that was just added: those past `before` and up to
 * `after`. */
pr_code conv_records_own(int64_t profile, const conv_tables *before,
                         const conv_tables *after, pr_err *err);

/* Remove the rows of a profile, which is that of no file now; *ret_gone becomes
 * true.  If another file has the same profile, it stays under that file's
 * name, with *ret_gone false. */
pr_code conv_records_release(conv_tables *tables, int64_t profile,
                             bool *ret_gone, pr_err *err);

/* Remove the functions and files of which no profile has samples, at the end of
 * a transaction. */
pr_code conv_records_prune(conv_tables *tables, pr_err *err);

/* Count the files with a problem, with the code and the sentence of the first
 * one in *problem, and the profiles in *ret_profiles. */
pr_code conv_records_problems(struct sqlite3 *database, int64_t *ret,
                              int64_t *ret_profiles, pr_err *problem,
                              pr_err *err);

#endif
