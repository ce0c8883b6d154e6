/*
 * open.h - a file of another profiler, by its content or by name.
 */
#ifndef CONVERTER_IMPORT_OPEN_H
#define CONVERTER_IMPORT_OPEN_H

#include "converter/import/foreign_stacks.h"

/* from: the name of an import; NULL: the import that recognises the content.
 * *ret becomes NULL if there is none, or if the path is not that of a regular
 * file that can be read: then the file may be a profile of our own, or is
 * nothing.  PR_CUT with stacks: the file ends too early.  PR_DAMAGED, PR_USAGE,
 * PR_LIMIT (1 GiB, and 256 times the size of a gzip file), PR_NOMEM, PR_IO. */
pr_code conv_import_open(const char *path, const char *from, conv_stacks **ret,
                         pr_err *err);

#endif
