/*
 * wrap.h - a long text on several lines of a terminal.
 */
#ifndef QUERY_RENDER_WRAP_H
#define QUERY_RENDER_WRAP_H

#include <stddef.h>
#include <stdio.h>

typedef struct q_wrap {
    size_t width;  /* cells of a line; 0: any number */
    size_t indent; /* cells before a line that is not the first */
    size_t at;     /* cells of the first line that are taken already */
    size_t bold;   /* bytes of the text that are emphasised */
} q_wrap;

/* Write the text, which may be shown as it is, with line breaks between its
 * words, and within a word that is longer than a line. */
void q_write_wrapped(const char *text, size_t len, const q_wrap *how,
                     FILE *out);

#endif
