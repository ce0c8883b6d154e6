/*
 * sqlite.h - the database that a conversion makes.
 */
#ifndef CONVERTER_TARGET_SQLITE_H
#define CONVERTER_TARGET_SQLITE_H

#include "converter/target/table.h"

struct sqlite3;

/* Open the output, an empty file that only this program sees. */
pr_code conv_sqlite_open(const char *path, struct sqlite3 **ret, pr_err *err);

#endif
