/*
 * buffer.h - bytes that grow.
 *
 * Appending never fails at once: a text that ran out of memory says so with
 * `failed` and takes no more, so that a caller checks once.
 * Ownership  the caller's storage, zero-initialised; release frees contents.
 */
#ifndef BASE_BUFFER_H
#define BASE_BUFFER_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct pr_buffer {
    char *at; /* not terminated */
    size_t len, cap;
    bool failed;      /* out of memory: the text is not whole */
    uint64_t changed; /* names that quote.h had to change */
} pr_buffer;

static inline void pr_buffer_append(pr_buffer *text, const char *at,
                                    size_t len);
void pr_buffer_puts(pr_buffer *text, const char *string);
void pr_buffer_char(pr_buffer *text, char c);
void pr_buffer_u64(pr_buffer *text, uint64_t value); /* in decimal */
void pr_buffer_i64(pr_buffer *text, int64_t value);
void pr_buffer_printf(pr_buffer *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void pr_buffer_vprintf(pr_buffer *text, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

void pr_buffer_reset(pr_buffer *text); /* empty; keeps memory and count */
void pr_buffer_release(pr_buffer *text);

/* Append where the room does not suffice: pr_buffer_append() calls it. */
void pr_buffer_append_on(pr_buffer *text, const char *at, size_t len);

static inline void
pr_buffer_append(pr_buffer *text, const char *at, size_t len)
{
    if (len > text->cap - text->len || text->failed) {
        pr_buffer_append_on(text, at, len);
    } else if (len) {
        memcpy(text->at + text->len, at, len);
        text->len += len;
    }
}

/* The bytes from `from` on, of which there may be none; never NULL.  A buffer
 * that nothing was appended to has no memory, and C adds nothing, not even 0,
 * to NULL. */
static inline const char *
pr_buffer_from(const pr_buffer *text, size_t from)
{
    return text->at ? text->at + from : "";
}

#endif
