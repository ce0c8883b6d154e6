/*
 * lines.h - the lines of a text, each "stack number".
 */
#ifndef CONVERTER_IMPORT_LINES_H
#define CONVERTER_IMPORT_LINES_H

#include "converter/import/import.h"

typedef struct conv_lines {
    conv_content file;
    size_t at;       /* of the next line */
    size_t begin;    /* of this line */
    uint64_t number; /* of this line, from 1 */
    pr_text line;    /* without its end */
} conv_lines;

/* Go to the next line that is neither empty nor a comment ("#"); false:
 * none. */
bool conv_lines_next(conv_lines *lines);

/* Separate the number at the end of the line; false: none. */
bool conv_lines_number(pr_text line, pr_text *ret_stack, uint64_t *ret);

/* PR_DAMAGED with `what` and the place of the line. */
pr_code conv_lines_fail(const conv_lines *lines, const char *what, pr_err *err);

/* Is the head a text with a line that is neither empty nor a comment?  *ret
 * becomes that line; if it is longer than the head, its end is missing. */
bool conv_lines_first(conv_content head, conv_lines *ret);

/* The value of the first comment "# key: value"; false: none. */
bool conv_lines_comment(conv_content file, const char *key, pr_text *ret);

#endif
