/*
 * json_in.c - a cursor over the text.
 */
#include "converter/import/json_in.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 64 };

static bool
fail(conv_json_in *in, const char *fault)
{
    if (!in->fault)
        in->fault = fault;
    return false;
}

static void
skip_space(conv_json_in *in)
{
    while (in->at < in->end && (*in->at == ' ' || *in->at == '\n' ||
                                *in->at == '\t' || *in->at == '\r'))
        in->at++;
}

char
conv_json_in_kind(conv_json_in *in)
{
    if (in->fault)
        return 0;
    skip_space(in);
    if (in->at == in->end)
        return 0;
    char c = (char)*in->at;
    return c == '-' || (c >= '0' && c <= '9') ? '0' : c;
}

static bool
take(conv_json_in *in, char wanted, const char *fault)
{
    if (conv_json_in_kind(in) == 0 || (char)*in->at != wanted)
        return fail(in, fault);
    in->at++;
    return true;
}

/* ---- brackets ---- */

bool
conv_json_in_enter(conv_json_in *in, char bracket)
{
    return take(in, bracket,
                bracket == '{' ? "an object is missing" : "a list is missing");
}

/* Before the next element: false at the bracket that closes. */
static bool
go_on(conv_json_in *in, bool *first, char closing)
{
    char c = conv_json_in_kind(in);
    if (c == closing) {
        in->at++;
        return false;
    }
    if (c == 0)
        return fail(in, "the file ends too early");
    if (!*first && !take(in, ',', "a comma is missing"))
        return false;
    *first = false;
    return true;
}

bool
conv_json_in_item(conv_json_in *in, bool *first)
{
    return go_on(in, first, ']');
}

bool
conv_json_in_member(conv_json_in *in, bool *first, pr_buffer *key)
{
    return go_on(in, first, '}') && conv_json_in_string(in, key) &&
           take(in, ':', "a colon is missing");
}

/* ---- strings ---- */

static bool
hex4(conv_json_in *in, unsigned *ret)
{
    *ret = 0;
    if (in->end - in->at < 4)
        return fail(in, "an escape is cut");
    for (int i = 0; i < 4; i++) {
        static const char digits[] = "0123456789abcdef";
        char c = (char)*in->at++;
        c = c >= 'A' && c <= 'F' ? (char)(c - 'A' + 'a') : c;
        const char *digit = c ? strchr(digits, c) : NULL;
        if (!digit)
            return fail(in, "an escape is wrong");
        *ret = *ret << 4 | (unsigned)(digit - digits);
    }
    return true;
}

static void
put_utf8(pr_buffer *text, unsigned c)
{
    if (c < 0x80) {
        pr_buffer_char(text, (char)c);
    } else if (c < 0x800) {
        pr_buffer_char(text, (char)(0xc0 | c >> 6));
        pr_buffer_char(text, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        pr_buffer_char(text, (char)(0xe0 | c >> 12));
        pr_buffer_char(text, (char)(0x80 | (c >> 6 & 0x3f)));
        pr_buffer_char(text, (char)(0x80 | (c & 0x3f)));
    } else {
        pr_buffer_char(text, (char)(0xf0 | c >> 18));
        pr_buffer_char(text, (char)(0x80 | (c >> 12 & 0x3f)));
        pr_buffer_char(text, (char)(0x80 | (c >> 6 & 0x3f)));
        pr_buffer_char(text, (char)(0x80 | (c & 0x3f)));
    }
}

/* After "\u": one code unit, or two that make a character. */
static bool
unicode_escape(conv_json_in *in, pr_buffer *text)
{
    unsigned c, low;
    if (!hex4(in, &c))
        return false;
    if (c >> 10 == 0xd800 >> 10 && in->end - in->at >= 6 && in->at[0] == '\\' &&
        in->at[1] == 'u') {
        const uint8_t *after_high = in->at;
        in->at += 2;
        if (!hex4(in, &low))
            return false;
        if (low >> 10 == 0xdc00 >> 10)
            c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
        else
            in->at = after_high;
    }
    put_utf8(text, c);
    return true;
}

static bool
escape(conv_json_in *in, pr_buffer *text)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    char c = in->at < in->end ? (char)*in->at++ : '\0';
    const char *found = c ? strchr(from, c) : NULL;
    if (c == 'u')
        return unicode_escape(in, text);
    if (!found)
        return fail(in, "an escape is wrong");
    pr_buffer_char(text, to[found - from]);
    return true;
}

bool
conv_json_in_string(conv_json_in *in, pr_buffer *ret)
{
    pr_buffer_reset(ret);
    if (!take(in, '"', "a string is missing"))
        return false;
    for (;;) {
        const uint8_t *from = in->at;
        while (in->at < in->end && *in->at != '"' && *in->at != '\\')
            in->at++;
        pr_buffer_append(ret, (const char *)from, (size_t)(in->at - from));
        if (in->at == in->end)
            return fail(in, "a string does not end");
        if (*in->at++ == '"')
            return ret->failed ? fail(in, "out of memory") : true;
        if (!escape(in, ret))
            return false;
    }
}

static bool
skip_string(conv_json_in *in)
{
    in->at++;
    while (in->at < in->end && *in->at != '"')
        in->at += *in->at == '\\' && in->end - in->at > 1 ? 2 : 1;
    if (in->at == in->end)
        return fail(in, "a string does not end");
    in->at++;
    return true;
}

/* ---- the rest ---- */

/* A short integer, as nearly all numbers of a profile are. */
static bool
small_number(conv_json_in *in, double *ret)
{
    const uint8_t *p = in->at;
    uint32_t value = 0;
    for (int i = 0; i < 9 && p < in->end && *p >= '0' && *p <= '9'; i++)
        value = value * 10 + (uint32_t)(*p++ - '0');
    if (p == in->at || p == in->end || (*p != ',' && *p != ']' && *p != '}'))
        return false;
    in->at = p;
    *ret = value;
    return true;
}

bool
conv_json_in_number(conv_json_in *in, double *ret)
{
    char text[NUMBER_MAX + 1], *end;
    size_t n = 0;
    if (conv_json_in_kind(in) != '0')
        return fail(in, "a number is missing");
    if (small_number(in, ret))
        return true;
    while (n < NUMBER_MAX && in->at + n < in->end && in->at[n] &&
           strchr("+-.0123456789eE", in->at[n]))
        n++;
    memcpy(text, in->at, n);
    text[n] = '\0';
    *ret = strtod(text, &end);
    if (end != text + n || !(*ret <= 1e308 && *ret >= -1e308))
        return fail(in, "a number is wrong");
    in->at += n;
    return true;
}

/* Does the byte end a number, true, false or null? */
static bool
ends_word(uint8_t c)
{
    return c == ',' || c == ']' || c == '}' || c <= ' ' || c == ':' ||
           c == '"' || c == '[' || c == '{';
}

static bool
skip_word(conv_json_in *in)
{
    const uint8_t *from = in->at;
    while (in->at < in->end && !ends_word(*in->at))
        in->at++;
    return in->at > from ? true : fail(in, "a value is missing");
}

static bool
skip_token(conv_json_in *in, size_t *depth)
{
    char c = conv_json_in_kind(in);
    switch (c) {
    case 0:
        return fail(in, "the file ends too early");
    case '"':
        return skip_string(in);
    case '{':
    case '[':
        ++*depth;
        break;
    case '}':
    case ']':
    case ',':
    case ':':
        if (*depth == 0)
            return fail(in, "a value is missing");
        *depth -= c == '}' || c == ']';
        break;
    default:
        return skip_word(in);
    }
    in->at++;
    return true;
}

/* Brackets are matched by their number alone: a caller that needs what is
 * inside reads it. */
bool
conv_json_in_skip(conv_json_in *in)
{
    size_t depth = 0;
    do
        if (!skip_token(in, &depth))
            return false;
    while (depth);
    return true;
}

bool
conv_json_in_is(const pr_buffer *text, const char *word)
{
    size_t n = strlen(word);
    return text->len == n && memcmp(text->at, word, n) == 0;
}

pr_code
conv_json_in_end(const conv_json_in *in, pr_err *err)
{
    if (!in->fault)
        return PR_OK;
    return PR_FAIL_AT(err, PR_DAMAGED, (uint64_t)(in->at - in->begin), "%s",
                      in->fault);
}
