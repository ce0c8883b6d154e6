/*
 * import.h - an import as the converter knows it.
 *
 * An import is one file with one conv_import, and one line of imports.h.  It
 * reads a file of another profiler into stacks (foreign_stacks.h).
 */
#ifndef CONVERTER_IMPORT_IMPORT_H
#define CONVERTER_IMPORT_IMPORT_H

#include "converter/import/foreign_stacks.h"

#include <pyrec/convert.h>
#include <stdbool.h>

/* The content of a file, without its gzip layer. */
typedef struct conv_content {
    const uint8_t *bytes;
    size_t n;
} conv_content;

/* Bytes at the beginning of a file by which imports recognise it. */
enum { CONV_IMPORT_HEAD = 65536 };

typedef struct conv_import {
    conv_import_info info;
    /* Is it a file of this kind, as far as its first CONV_IMPORT_HEAD bytes
     * show?  whole: the file has only these. */
    bool (*matches)(conv_content head, bool whole);
    /* Read the file into the stacks and *facts.  PR_DAMAGED: it is not a file
     * of this kind (err says where); PR_USAGE: it holds no samples; PR_CUT: it
     * ends too early, and the stacks have all before its end. */
    pr_code (*read)(conv_content file, conv_stacks *stacks,
                    conv_stacks_facts *facts, pr_err *err);
} conv_import;

#endif
