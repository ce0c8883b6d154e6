/*
 * renames.h - functions that are gone and new ones that may be the same.
 */
#ifndef QUERY_COMPARE_RENAMES_H
#define QUERY_COMPARE_RENAMES_H

#include "query/compare/contrast.h"

/* Find, by the comparison of that measure, the function of the other side that
 * each function may be, or SIZE_MAX.  ret[functions] is the caller's. */
pr_code q_renames_find(const q_contrast *contrast, unsigned measure,
                       size_t *ret, pr_err *err);

#endif
