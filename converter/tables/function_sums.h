/*
 * function_sums.h - function_sum: the totals of each function over all
 * profiles of a database.
 *
 * The sums are loaded from the database, grow by each profile, and are written
 * once.
 */
#ifndef CONVERTER_TABLES_FUNCTION_SUMS_H
#define CONVERTER_TABLES_FUNCTION_SUMS_H

#include "converter/tables/amounts.h"

struct sqlite3;

typedef struct conv_function_sums {
    pr_set ids;      /* uint32_t: ids of rows of function */
    conv_sums *sums; /* [ids.n] */
    size_t cap;
    bool changed;
} conv_function_sums;

/* Load the sums.  PR_DAMAGED: an id that cannot exist. */
pr_code conv_function_sums_load(struct sqlite3 *database,
                                conv_function_sums *sums, pr_err *err);
pr_code conv_function_sums_add(conv_function_sums *sums, uint32_t function,
                               const conv_sums *more, pr_err *err);
/* Subtract the totals of a profile, which the database has, from the sums. */
pr_code conv_function_sums_remove(struct sqlite3 *database,
                                  conv_function_sums *sums, int64_t profile,
                                  pr_err *err);
/* Write the rows of all functions that have samples, if any has changed. */
pr_code conv_function_sums_put(struct sqlite3 *database,
                               const conv_function_sums *sums, pr_err *err);
void conv_function_sums_release(conv_function_sums *sums);

#endif
