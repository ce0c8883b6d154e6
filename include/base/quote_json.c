/*
 * quote_json.c - strings of JSON.
 */
#include <base/quote.h>

#include <base/terminal.h>
#include <base/utf8.h>

#include <string.h>

static bool
is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* \u and the 16 bits in hexadecimal. */
static void
append_unit(pr_buffer *text, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    const char code[6] = {'\\',
                          'u',
                          hex[unit >> 12 & 15],
                          hex[unit >> 8 & 15],
                          hex[unit >> 4 & 15],
                          hex[unit & 15]};
    pr_buffer_append(text, code, sizeof code);
}

static void
append_escape(pr_buffer *text, uint32_t point)
{
    static const char named[] = "\"\\\b\t\n\f\r", letters[] = "\"\\btnfr";
    const char *found =
        point && point < 0x80 ? strchr(named, (int)point) : NULL;
    if (found) {
        pr_buffer_append(text, (char[]){'\\', letters[found - named]}, 2);
    } else if (point < 0x10000) {
        append_unit(text, point);
    } else { /* as two halves of UTF-16 */
        append_unit(text, 0xd800 + ((point - 0x10000) >> 10));
        append_unit(text, 0xdc00 + (point & 0x3ff));
    }
}

/* One character that is not plain, at the beginning of at[0 .. len-1]. */
static pr_char
append_character(pr_buffer *text, pr_json style, const char *at, size_t len)
{
    pr_char c = pr_utf8_next(at, len, style == PR_JSON_SURROGATES);
    uint32_t point = c.point == PR_MALFORMED ? 0xfffd : c.point;
    bool as_it_is =
        style != PR_JSON_ASCII && point > 0x7f && pr_is_shown(point);
    if (!as_it_is)
        append_escape(text, point);
    else if (c.point == PR_MALFORMED)
        pr_buffer_puts(text, "\xef\xbf\xbd");
    else
        pr_buffer_append(text, at, c.len);
    return c;
}

void
pr_quote_json(pr_buffer *text, pr_json style, const char *at, size_t len)
{
    bool changed = false;
    pr_buffer_char(text, '"');
    for (size_t i = 0; i < len;) {
        size_t from = i;
        while (i < len && is_plain((unsigned char)at[i]))
            i++;
        pr_buffer_append(text, at + from, i - from);
        if (i == len)
            break;
        pr_char c = append_character(text, style, at + i, len - i);
        changed = changed || c.point == PR_MALFORMED;
        i += c.len;
    }
    pr_buffer_char(text, '"');
    text->changed += changed;
}

void
pr_print_json(FILE *to, pr_json style, const char *at, size_t len)
{
    pr_buffer text = {0};
    pr_quote_json(&text, style, at, len);
    if (!text.failed)
        fwrite(text.at, 1, text.len, to);
    pr_buffer_release(&text);
}
