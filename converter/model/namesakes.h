/*
 * namesakes.h - functions that differ in their first line alone, as lambdas and
 * comprehensions of one file often do.
 *
 * An output that identifies a function by its file and name has to add the line
 * to keep them apart.
 */
#ifndef CONVERTER_MODEL_NAMESAKES_H
#define CONVERTER_MODEL_NAMESAKES_H

#include "converter/model/model.h"

/* (*ret)[function]: 1 if another function has its file and name.  The caller
 * frees it.  PR_NOMEM. */
pr_code conv_namesakes(const conv_model *model, uint8_t **ret, pr_err *err);

#endif
