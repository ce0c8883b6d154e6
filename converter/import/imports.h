/*
 * imports.h - the imports, in the order of their tries at a file: one line
 * each.
 *
 * X(NAME) stands for the conv_import `conv_import_NAME` of NAME_in.c.
 */
#ifndef CONVERTER_IMPORT_IMPORTS_H
#define CONVERTER_IMPORT_IMPORTS_H

#include "converter/import/import.h"

#define CONV_IMPORTS(X) \
    X(pstats)           \
    X(speedscope)       \
    X(pprof)            \
    X(mojo)             \
    X(austin)           \
    X(collapsed)

#define CONV_IMPORT_DECLARE(name) extern const conv_import conv_import_##name;
CONV_IMPORTS(CONV_IMPORT_DECLARE)
#undef CONV_IMPORT_DECLARE

#endif
