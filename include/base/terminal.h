/*
 * terminal.h - a text as a terminal may get it.
 *
 * A name or a path comes from an untrusted program; a terminal would obey the
 * control sequences in it.  Everything of that kind goes through here before it
 * reaches one.
 */
#ifndef BASE_TERMINAL_H
#define BASE_TERMINAL_H

#include <base/buffer.h>
#include <stdio.h>

/* For a terminal, on one line.  Control characters, surrogates, characters
 * without a shape and those that change the direction of writing (the general
 * categories Cc, Cf, Cs, Zl and Zp and Default_Ignorable_Code_Point of Unicode)
 * become \n, \x1b, \u202e, \U000e0001; bytes that are not UTF-8 \xff: a change
 * that `changed` counts. */
void pr_quote_terminal(pr_buffer *text, const char *at, size_t len);
/* The same, onto a stream. */
void pr_print_terminal(FILE *to, const char *at, size_t len);
/* The same, into a buffer, terminated and cut at a whole character. */
void pr_snprint_terminal(char *to, size_t size, const char *at, size_t len);

/* How many cells of a terminal a quoted text takes. */
size_t pr_terminal_width(const char *at, size_t len);

/* May a terminal get this code point as it is? */
bool pr_is_shown(uint32_t point);

#endif
