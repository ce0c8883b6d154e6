/*
 * quote.c - escape what must not be written as it is.
 */
#include "recorder/quote.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { BROKEN = 0x110000 }; /* no code point */

/* The code point at p and its length; BROKEN and 1 where there is none. */
static uint32_t
next_point(const uint8_t *p, size_t len, size_t *ret_len)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *p < 0x80   ? 1
               : *p < 0xc0 ? 0
               : *p < 0xe0 ? 2
               : *p < 0xf0 ? 3
               : *p < 0xf8 ? 4
                           : 0;
    *ret_len = 1;
    if (n == 0 || n > len)
        return BROKEN;
    uint32_t c = n == 1 ? *p : *p & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80)
            return BROKEN;
        c = c << 6 | (p[i] & 63);
    }
    if (c < smallest[n] || c > 0x10ffff)
        return BROKEN;
    *ret_len = n;
    return c;
}

/* What must not reach a terminal: C0, DEL, C1, and what turns the direction
 * of writing. */
static bool
is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029 ||
           (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static bool
is_surrogate(uint32_t c)
{
    return c >= 0xd800 && c < 0xe000;
}

void
rec_quote_text(FILE *to, const char *bytes, size_t len)
{
    const uint8_t *p = (const uint8_t *)bytes;
    size_t n;
    for (size_t at = 0; at < len; at += n) {
        uint32_t c = next_point(p + at, len - at, &n);
        if (c == '\n')
            fputs("\\n", to);
        else if (c == BROKEN)
            fprintf(to, "\\x%02x", p[at]);
        else if (is_surrogate(c) || (is_control(c) && c > 0xff))
            fprintf(to, "\\u%04x", (unsigned)c);
        else if (is_control(c))
            fprintf(to, "\\x%02x", (unsigned)c);
        else
            fwrite(p + at, 1, n, to);
    }
}

void
rec_quote_json(FILE *to, const char *bytes, size_t len)
{
    const uint8_t *p = (const uint8_t *)bytes;
    size_t n;
    fputc('"', to);
    for (size_t at = 0; at < len; at += n) {
        uint32_t c = next_point(p + at, len - at, &n);
        if (c == '"' || c == '\\')
            fprintf(to, "\\%c", (int)c);
        else if (c == BROKEN)
            fputs("\\ufffd", to);
        else if (is_control(c) || is_surrogate(c))
            fprintf(to, "\\u%04x", (unsigned)c);
        else
            fwrite(p + at, 1, n, to);
    }
    fputc('"', to);
}
