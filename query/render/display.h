/*
 * display.h - text and the cells of a terminal that it takes.
 */
#ifndef QUERY_RENDER_DISPLAY_H
#define QUERY_RENDER_DISPLAY_H

#include <stdbool.h>
#include <stddef.h>

typedef struct q_text {
    char *bytes;
    size_t len, cap;
    size_t width; /* cells of a terminal */
} q_text;

/* Append bytes unchanged; each takes one cell. */
bool q_text_append(q_text *text, const char *bytes, size_t len);

/* Append a name as a terminal may get it (base/terminal.h). */
bool q_text_append_name(q_text *text, const char *name, size_t len);

/* The same, with all that Markdown would take as markup escaped. */
bool q_text_append_markdown(q_text *text, const char *name, size_t len);

/* Append the end of a text that may be shown, at most `width` cells with "…"
 * before it. */
bool q_text_append_end(q_text *text, const char *shown, size_t len,
                       size_t width);

void q_text_release(q_text *text);

#endif
