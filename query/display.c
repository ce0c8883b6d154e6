/*
 * display.c - decoding, escaping, measuring.
 */
#include "query/display.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

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

size_t
q_utf8_decode(const char *bytes, size_t len, uint32_t *ret)
{
    static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char lead = (unsigned char)bytes[0];
    size_t n = lead < 0x80   ? 1
               : lead < 0xc0 ? 0
               : lead < 0xe0 ? 2
               : lead < 0xf0 ? 3
               : lead < 0xf5 ? 4
                             : 0;
    if (n == 0 || n > len)
        return 0;
    uint32_t c = n == 1 ? lead : lead & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        unsigned char next = (unsigned char)bytes[i];
        if ((next & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (next & 0x3f);
    }
    if (c < least[n] || c > 0x10ffff)
        return 0;
    *ret = c;
    return n;
}

/* Without a shape of their own, but with an effect on others. */
static bool
is_invisible(uint32_t c)
{
    return c == 0xad || c == 0x61c || (c >= 0x200b && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) ||
           c == 0xfeff || (c >= 0xfff9 && c <= 0xfffb) ||
           (c >= 0xe0000 && c <= 0xe0fff);
}

static bool
append_escape(q_text *text, uint32_t c)
{
    char escape[16];
    int n;
    switch (c) {
    case '\n':
        return q_text_append(text, "\\n", 2);
    case '\r':
        return q_text_append(text, "\\r", 2);
    case '\t':
        return q_text_append(text, "\\t", 2);
    default:
        n = snprintf(escape, sizeof escape,
                     c < 0x100     ? "\\x%02x"
                     : c < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
                     c);
        return q_text_append(text, escape, (size_t)n);
    }
}

static bool
append_character(q_text *text, const char *bytes, size_t n, uint32_t c)
{
    bool shown = c >= 0x20 && c != 0x7f && !(c >= 0x80 && c < 0xa0) &&
                 !(c >= 0xd800 && c < 0xe000) && !is_invisible(c);
    int width = shown ? wcwidth((wchar_t)c) : -1;
    if (width < 0)
        return append_escape(text, c);
    if (!q_text_append(text, bytes, n))
        return false;
    text->width = text->width - n + (size_t)width;
    return true;
}

static bool
append_characters(q_text *text, const char *name, size_t len)
{
    for (size_t i = 0; i < len;) {
        uint32_t c = (unsigned char)name[i];
        size_t n = q_utf8_decode(name + i, len - i, &c);
        bool done = n ? append_character(text, name + i, n, c)
                      : append_escape(text, (unsigned char)name[i]);
        if (!done)
            return false;
        i += n ? n : 1;
    }
    return true;
}

bool
q_text_append_name(q_text *text, const char *name, size_t len)
{
    bool plain = true;
    for (size_t i = 0; i < len && plain; i++)
        plain = name[i] >= 0x20 && name[i] < 0x7f;
    if (plain)
        return q_text_append(text, name, len);
    /* wcwidth() knows only the characters of the thread's locale */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t old = uselocale(utf8); /* no change if there is none */
    bool done = append_characters(text, name, len);
    uselocale(old);
    if (utf8)
        freelocale(utf8);
    return done;
}

static size_t
width_of(uint32_t c)
{
    int width = c < 0x80 ? 1 : wcwidth((wchar_t)c);
    return width < 0 ? 0 : (size_t)width;
}

/* Where the last `width` cells begin; *ret_width becomes how many there are. */
static size_t
find_end(const char *shown, size_t len, size_t width, size_t *ret_width)
{
    size_t total = 0, at = 0;
    uint32_t c = 0;
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        n = q_utf8_decode(shown + i, len - i, &c);
        total += n ? width_of(c) : 1;
    }
    while (at < len && total > width) {
        size_t n = q_utf8_decode(shown + at, len - at, &c);
        total -= n ? width_of(c) : 1;
        at += n ? n : 1;
    }
    *ret_width = total;
    return at;
}

bool
q_text_append_end(q_text *text, const char *shown, size_t len, size_t width)
{
    static const char dots[] = "\xe2\x80\xa6";
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t old = uselocale(utf8);
    size_t kept = 0;
    size_t at = find_end(shown, len, width ? width - 1 : 0, &kept);
    uselocale(old);
    if (utf8)
        freelocale(utf8);
    size_t before = text->width;
    if (!q_text_append(text, dots, sizeof dots - 1) ||
        !q_text_append(text, shown + at, len - at))
        return false;
    text->width = before + 1 + kept;
    return true;
}
