/*
 * export.h - the tables of schema.h for other engines.
 *
 * Keys are content hashes (spec/schema.md 1.2) and numbers within a profile, so
 * that the rows of many machines unite in one place in any order, and the hash
 * of a profile shows that the place has it already.  Each engine writes the
 * rows of one profile at a time in its own format.
 */
#ifndef CONVERTER_TABLES_EXPORT_H
#define CONVERTER_TABLES_EXPORT_H

#include "converter/model/model.h"

#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;

/* The version of these tables; another version has other columns or
 * meanings. */
enum { CONV_EXPORT_VERSION = 2, CONV_EXPORT_TABLES = 14 };

typedef struct conv_export_table {
    const char *name;
    const char *columns; /* "NAME TYPE, ...": bigint, integer, smallint, text */
    const char *key;     /* its columns, as a list of SQL */
    const char *rows;    /* a SELECT of the columns in conv_export_open()'s
                          * database */
    const char *nullable; /* the columns that may be NULL, as a list */
} conv_export_table;

/* `profile` is the first.  Profiles share `file` and `function`; all others
 * have the profile's hash in their first column. */
extern const conv_export_table conv_export_tables[CONV_EXPORT_TABLES];

/* Put the profile of a finished model into a new database in memory, which the
 * caller closes.  Adds to *names_changed. */
pr_code conv_export_open(const conv_model *model, const char *source,
                         uint64_t *names_changed, struct sqlite3 **ret,
                         pr_err *err);

/* An integer of a row; a hash is its 8 bytes as a signed number. */
int64_t conv_export_integer(struct sqlite3_stmt *row, int column);

#endif
