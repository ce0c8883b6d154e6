/*
 * sqlite.h - the tables of schema.h into an open database.
 */
#ifndef CONVERTER_TARGET_SQLITE_H
#define CONVERTER_TARGET_SQLITE_H

#include "converter/target/table.h"

struct sqlite3;

/* The profile of the job into an empty database; on failure there is none. */
pr_code conv_sqlite_fill(struct sqlite3 *database, conv_job *job, pr_err *err);

#endif
