/*
 * open.h - open a file of another profiler, by its content or by the name of
 * its import.
 */
#ifndef CONVERTER_IMPORT_OPEN_H
#define CONVERTER_IMPORT_OPEN_H

#include "converter/import/foreign_stacks.h"

/* from: the name of an import; NULL: the import that recognises the content.
 * *ret becomes NULL if no import does, or if `path` is not a regular file that
 * can be read: it may then be a profile of pyrec, or no input at all.  PR_CUT
 * with stacks: the file ends too early.  PR_DAMAGED, PR_USAGE, PR_LIMIT (1 GiB,
 * and 256 times the size of a gzip file), PR_NOMEM, PR_IO. */
pr_code conv_import_open(const char *path, const char *from, conv_stacks **ret,
                         pr_err *err);

#endif
