/*
 * utf8.h - one character after another.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PR_MALFORMED UINT32_MAX

typedef struct pr_char {
    uint32_t point; /* a Unicode code point, or PR_MALFORMED */
    uint32_t len;   /* its bytes; of a malformed one, those that one U+FFFD
                     * replaces: the longest beginning of a character, else 1.
                     * Python's bytes.decode("utf-8", "replace") does so. */
} pr_char;

/* The character at the beginning of at[0 .. len-1], len > 0, by table 3-7 of
 * the Unicode standard.  surrogates: U+D800 to U+DFFF in three bytes are
 * characters, too, as CPython's "surrogatepass" has it. */
pr_char pr_utf8_next(const char *at, size_t len, bool surrogates);

#endif
