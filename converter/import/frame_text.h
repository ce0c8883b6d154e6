/*
 * frame_text.h - read the spellings of frames and threads in text formats.
 *
 *   name (file:line), name (file)    pyconv, py-spy, austin 1
 *   file:name:line                   CPython, austin 2 to 4
 *   NAME (tid), NAME (tid, interpreter N), COMMAND (pid N)    pyconv
 *
 * Texts of results point into the argument.
 */
#ifndef CONVERTER_IMPORT_FRAME_TEXT_H
#define CONVERTER_IMPORT_FRAME_TEXT_H

#include "converter/import/foreign_stacks.h"

/* A name alone: a function of an unknown file, or <native> or <GC>. */
conv_place conv_frame_text_name(pr_text name);

/* "name (file:line)"; without parentheses a name alone.
 * first: the line is the function's first one. */
conv_place conv_frame_text_parens(pr_text text, bool first);

/* "file:name:line"; without two colons a name alone.  The name has no colon:
 * it begins after the last but one. */
conv_place conv_frame_text_colons(pr_text text);

/* false: the text has another spelling. */
bool conv_frame_text_thread(pr_text text, conv_owner *ret);
bool conv_frame_text_process(pr_text text, conv_owner *ret);

/* Read a number; false unless the text is decimal or hexadecimal digits alone,
 * at least one, and the number fits 64 bits. */
bool conv_frame_text_number(pr_text text, unsigned base, uint64_t *ret);

bool conv_frame_text_begins(pr_text text, const char *word);
/* The text without its first n bytes. */
pr_text conv_frame_text_after(pr_text text, size_t n);
/* The place of the first byte c, or the length of the text. */
size_t conv_frame_text_find(pr_text text, char c);

#endif
