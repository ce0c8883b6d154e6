/*
 * display.h - names of a profile as text for a terminal.
 *
 * Names are bytes of a stranger's program: they may hold control sequences,
 * lone surrogates, bytes that are no UTF-8, characters two cells wide.
 */
#ifndef QUERY_DISPLAY_H
#define QUERY_DISPLAY_H

#include <base/base.h>

typedef struct q_text {
    char *bytes;
    size_t len, cap;
    size_t width; /* cells of a terminal */
} q_text;

/* Append bytes as they are; they take one cell each. */
bool q_text_append(q_text *text, const char *bytes, size_t len);

/* Append a name: what a terminal would obey or not show becomes \n, \x1b,
 * \u202e.  Widths are those of the C.UTF-8 locale. */
bool q_text_append_name(q_text *text, const char *name, size_t len);

/* Append the end of a text that is shown already, at most `width` cells with
 * "…" in front of it. */
bool q_text_append_end(q_text *text, const char *shown, size_t len,
                       size_t width);

void q_text_release(q_text *text);

/* The first character of bytes[0 .. len-1], len > 0, lone surrogates in three
 * bytes included; returns its length, or 0 if it is no UTF-8. */
size_t q_utf8_decode(const char *bytes, size_t len, uint32_t *ret);

#endif
