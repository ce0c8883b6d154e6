/*
 * quote.h - names of the target in text and JSON.
 *
 * Names are UTF-8 with lone surrogates kept and may hold any character; what
 * is written here is valid UTF-8 on one line.
 */
#ifndef RECORDER_QUOTE_H
#define RECORDER_QUOTE_H

#include <stddef.h>
#include <stdio.h>

/* For a terminal: control characters as \n, \x1b, surrogates as \udce9. */
void rec_quote_text(FILE *to, const char *bytes, size_t len);

/* A JSON string with its quotes (RFC 8259); surrogates as \udce9. */
void rec_quote_json(FILE *to, const char *bytes, size_t len);

#endif
