/*
 * buffer.c - appending to a text.
 */
#include <base/buffer.h>

#include <base/array.h>
#include <base/decimal.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for `len` bytes more; false: the text has failed. */
static bool
make_room(pr_buffer *text, size_t len)
{
    if (text->failed || len > SIZE_MAX - text->len ||
        !pr_grow(&text->at, &text->cap, text->len + len, 1))
        text->failed = true;
    return !text->failed;
}

void
pr_buffer_append_on(pr_buffer *text, const char *at, size_t len)
{
    if (!make_room(text, len))
        return;
    memcpy(text->at + text->len, at, len);
    text->len += len;
}

void
pr_buffer_puts(pr_buffer *text, const char *string)
{
    pr_buffer_append(text, string, strlen(string));
}

void
pr_buffer_char(pr_buffer *text, char c)
{
    pr_buffer_append(text, &c, 1);
}

void
pr_buffer_u64(pr_buffer *text, uint64_t value)
{
    if (make_room(text, PR_DIGITS)) {
        char *end = pr_put_digits(text->at + text->len, value);
        text->len = (size_t)(end - text->at);
    }
}

void
pr_buffer_i64(pr_buffer *text, int64_t value)
{
    if (value < 0)
        pr_buffer_char(text, '-');
    pr_buffer_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void
pr_buffer_vprintf(pr_buffer *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n < 0)
        text->failed = true;
    else if (make_room(text, (size_t)n + 1)) { /* vsnprintf() ends with NUL */
        vsnprintf(text->at + text->len, (size_t)n + 1, format, again);
        text->len += (size_t)n;
    }
    va_end(again);
}

void
pr_buffer_printf(pr_buffer *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pr_buffer_vprintf(text, format, args);
    va_end(args);
}

void
pr_buffer_reset(pr_buffer *text)
{
    text->len = 0;
}

void
pr_buffer_release(pr_buffer *text)
{
    free(text->at);
    *text = (pr_buffer){0};
}
