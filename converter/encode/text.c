/*
 * text.c - decoding by the table of the Unicode standard (3.9, table 3-7), and
 * the rules of the outputs on top of it.
 */
#include "converter/encode/text.h"

#include <stdlib.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

void
conv_text_append(conv_text *text, const char *at, size_t len)
{
    if (text->failed || len > SIZE_MAX - text->len ||
        !pr_grow(&text->at, &text->cap, text->len + len, 1)) {
        text->failed = true;
        return;
    }
    if (len)
        memcpy(text->at + text->len, at, len);
    text->len += len;
}

void
conv_text_puts(conv_text *text, const char *string)
{
    conv_text_append(text, string, strlen(string));
}

void
conv_text_u64(conv_text *text, uint64_t value)
{
    char digits[20];
    size_t i = sizeof digits;
    do {
        digits[--i] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    conv_text_append(text, digits + i, sizeof digits - i);
}

void
conv_text_i64(conv_text *text, int64_t value)
{
    if (value < 0)
        conv_text_append(text, "-", 1);
    conv_text_u64(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

/* The bounds of the second byte depend on the first one. */
static bool
second_fits(unsigned char first, unsigned char second, bool surrogates)
{
    unsigned char low = 0x80, high = 0xbf;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed && !surrogates)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    return second >= low && second <= high;
}

static size_t
length_by_first(unsigned char first)
{
    if (first < 0x80)
        return 1;
    if (first >= 0xc2 && first <= 0xdf)
        return 2;
    if (first >= 0xe0 && first <= 0xef)
        return 3;
    if (first >= 0xf0 && first <= 0xf4)
        return 4;
    return 0;
}

size_t
conv_text_char(const char *at, size_t len, bool surrogates, size_t *ret_bad)
{
    const unsigned char *p = (const unsigned char *)at;
    size_t want = length_by_first(p[0]), have = 1;
    while (have < want && have < len &&
           (have == 1 ? second_fits(p[0], p[1], surrogates)
                      : (p[have] & 0xc0) == 0x80))
        have++;
    *ret_bad = have;
    return have == want ? want : 0;
}

static bool
one_line(conv_text_rule rule)
{
    return rule == CONV_TEXT_LINE || rule == CONV_TEXT_FRAME;
}

/* What one byte below 0x80 becomes; NULL: itself. */
static const char *
special(conv_text_rule rule, unsigned char c)
{
    if (rule == CONV_TEXT_SQL && c == 0)
        return replacement;
    if (rule == CONV_TEXT_FRAME && c == ';')
        return ":";
    return one_line(rule) && (c < 0x20 || c == 0x7f) ? " " : NULL;
}

static size_t
plain_prefix(conv_text_rule rule, const char *at, size_t len)
{
    size_t n = 0;
    while (n < len && (unsigned char)at[n] < 0x80 &&
           !special(rule, (unsigned char)at[n]))
        n++;
    return n;
}

/* C1 controls and the line separators end a line for some readers. */
static bool
breaks_line(const char *at, size_t n)
{
    return (n == 2 && memcmp(at, "\xc2\x80", 2) >= 0 &&
            memcmp(at, "\xc2\x9f", 2) <= 0) ||
           (n == 3 && (memcmp(at, "\xe2\x80\xa8", 3) == 0 ||
                       memcmp(at, "\xe2\x80\xa9", 3) == 0));
}

void
conv_text_name(conv_text *text, conv_text_rule rule, const char *at, size_t len)
{
    bool changed = false;
    for (size_t i = 0; i < len;) {
        size_t n = plain_prefix(rule, at + i, len - i), bad = 1;
        conv_text_append(text, at + i, n);
        i += n;
        if (i == len)
            break;
        const char *instead = special(rule, (unsigned char)at[i]);
        if (!instead) {
            n = conv_text_char(at + i, len - i, rule == CONV_TEXT_SURROGATES,
                               &bad);
            if (n == 0)
                instead = replacement;
            else if (one_line(rule) && breaks_line(at + i, n))
                instead = " ";
        }
        changed = changed || instead;
        if (instead)
            conv_text_puts(text, instead);
        else
            conv_text_append(text, at + i, n);
        i += bad;
    }
    text->changed += changed;
}

void
conv_text_guard_count(conv_text *text, size_t from)
{
    if (text->failed)
        return;
    size_t i = text->len;
    while (i > from && text->at[i - 1] >= '0' && text->at[i - 1] <= '9')
        i--;
    if (i > from && text->at[i - 1] == '.')
        for (i--; i > from && text->at[i - 1] >= '0' && text->at[i - 1] <= '9';)
            i--;
    if (i > from && i < text->len && text->at[i] != '.' &&
        text->at[i - 1] == ' ') {
        text->at[i - 1] = '_';
        text->changed++;
    }
}

void
conv_text_reset(conv_text *text)
{
    text->len = 0;
}

void
conv_text_release(conv_text *text)
{
    free(text->at);
    *text = (conv_text){0};
}
