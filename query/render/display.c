/*
 * display.c - quoting and measuring.
 */
#include "query/render/display.h"

#include <base/array.h>
#include <base/quote.h>
#include <base/terminal.h>
#include <base/utf8.h>
#include <stdlib.h>
#include <string.h>

bool
q_text_append(q_text *text, const char *bytes, size_t len)
{
    if (!pr_grow(&text->bytes, &text->cap, text->len + len + 1, 1))
        return false;
    memcpy(text->bytes + text->len, bytes, len);
    text->len += len;
    text->bytes[text->len] = '\0';
    text->width += len;
    return true;
}

void
q_text_release(q_text *text)
{
    free(text->bytes);
    *text = (q_text){0};
}

/* Takes the buffer. */
static bool
append_shown(q_text *text, pr_buffer *shown)
{
    size_t width = shown->len ? pr_terminal_width(shown->at, shown->len) : 0;
    bool done = !shown->failed &&
                q_text_append(text, shown->len ? shown->at : "", shown->len);
    if (done)
        text->width = text->width - shown->len + width;
    pr_buffer_release(shown);
    return done;
}

bool
q_text_append_name(q_text *text, const char *name, size_t len)
{
    pr_buffer shown = {0};
    pr_quote_terminal(&shown, name, len);
    return append_shown(text, &shown);
}

bool
q_text_append_markdown(q_text *text, const char *name, size_t len)
{
    pr_buffer shown = {0};
    pr_quote_markdown(&shown, name, len);
    return append_shown(text, &shown);
}

/* Where the last `width` cells of a shown text begin; *ret_width becomes how
 * many there are. */
static size_t
find_end(const char *shown, size_t len, size_t width, size_t *ret_width)
{
    size_t total = pr_terminal_width(shown, len), at = 0;
    while (at < len && total > width) {
        uint32_t n = pr_utf8_next(shown + at, len - at, false).len;
        total -= pr_terminal_width(shown + at, n);
        at += n;
    }
    *ret_width = total;
    return at;
}

bool
q_text_append_end(q_text *text, const char *shown, size_t len, size_t width)
{
    static const char dots[] = "\xe2\x80\xa6";
    size_t kept = 0, before = text->width;
    size_t at = find_end(shown, len, width ? width - 1 : 0, &kept);
    if (!q_text_append(text, dots, sizeof dots - 1) ||
        !q_text_append(text, shown + at, len - at))
        return false;
    text->width = before + 1 + kept;
    return true;
}
