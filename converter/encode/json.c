/*
 * json.c - commas, quotes, escapes.
 */
#include "converter/encode/json.h"

static void
put_escape(conv_text *text, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    switch (c) {
    case '"':
        conv_text_puts(text, "\\\"");
        return;
    case '\\':
        conv_text_puts(text, "\\\\");
        return;
    case '\n':
        conv_text_puts(text, "\\n");
        return;
    default: {
        const char code[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        conv_text_append(text, code, sizeof code);
    }
    }
}

void
conv_json_quote(conv_text *text, const char *at, size_t len)
{
    uint64_t changed = text->changed;
    size_t from = 0;
    conv_text_append(text, "\"", 1);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)at[i];
        if (c >= 0x20 && c != '"' && c != '\\' && c != 0x7f)
            continue;
        conv_text_name(text, CONV_TEXT_UTF8, at + from, i - from);
        put_escape(text, c);
        from = i + 1;
    }
    conv_text_name(text, CONV_TEXT_UTF8, at + from, len - from);
    conv_text_append(text, "\"", 1);
    text->changed = changed + (text->changed > changed); /* one name */
}

static void
put_unit(conv_text *text, uint32_t unit)
{
    static const char hex[] = "0123456789abcdef";
    const char code[6] = {'\\',
                          'u',
                          hex[unit >> 12 & 15],
                          hex[unit >> 8 & 15],
                          hex[unit >> 4 & 15],
                          hex[unit & 15]};
    conv_text_append(text, code, sizeof code);
}

/* A character of n bytes in valid UTF-8, as one or two units of UTF-16. */
static void
put_character(conv_text *text, const unsigned char *at, size_t n)
{
    uint32_t c = at[0] & (0xffu >> (n + 1));
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (at[i] & 0x3f);
    if (c >= 0x10000) {
        put_unit(text, 0xd800 + ((c - 0x10000) >> 10));
        c = 0xdc00 + ((c - 0x10000) & 0x3ff);
    }
    put_unit(text, c);
}

static void
put_ascii(conv_text *text, unsigned char c)
{
    static const char named[] = "\b\t\n\f\r", letters[] = "btnfr";
    const char *found = c ? strchr(named, c) : NULL;
    if (found) {
        const char code[2] = {'\\', letters[found - named]};
        conv_text_append(text, code, sizeof code);
    } else if (c < 0x20 || c == 0x7f || c == '"' || c == '\\') {
        put_escape(text, c);
    } else {
        conv_text_append(text, (const char *)&c, 1);
    }
}

void
conv_json_quote_ascii(conv_text *text, const char *at, size_t len)
{
    bool changed = false;
    conv_text_append(text, "\"", 1);
    for (size_t i = 0; i < len;) {
        size_t bad = 1;
        if ((unsigned char)at[i] < 0x80) {
            put_ascii(text, (unsigned char)at[i++]);
            continue;
        }
        size_t n = conv_text_char(at + i, len - i, false, &bad);
        if (n)
            put_character(text, (const unsigned char *)at + i, n);
        else
            conv_text_puts(text, "\\ufffd");
        changed = changed || n == 0;
        i += bad;
    }
    conv_text_append(text, "\"", 1);
    text->changed += changed;
}

static void
begin_value(conv_json *json)
{
    if (json->needs_comma)
        conv_out_write(json->out, ",", 1);
    json->needs_comma = true;
}

void
conv_json_open(conv_json *json, char bracket)
{
    begin_value(json);
    conv_out_write(json->out, &bracket, 1);
    json->needs_comma = false;
}

void
conv_json_close(conv_json *json, char bracket)
{
    conv_out_write(json->out, &bracket, 1);
    json->needs_comma = true;
}

void
conv_json_key(conv_json *json, const char *key)
{
    begin_value(json);
    conv_out_write(json->out, "\"", 1);
    conv_out_puts(json->out, key);
    conv_out_write(json->out, "\":", 2);
    json->needs_comma = false;
}

void
conv_json_raw(conv_json *json, const char *at, size_t len)
{
    begin_value(json);
    conv_out_write(json->out, at, len);
}

static void
put_scratch(conv_json *json)
{
    conv_json_raw(json, json->text.at, json->text.len);
}

void
conv_json_string(conv_json *json, const char *at, size_t len)
{
    conv_text_reset(&json->text);
    conv_json_quote(&json->text, at, len);
    put_scratch(json);
}

void
conv_json_literal(conv_json *json, const char *string)
{
    conv_json_string(json, string, strlen(string));
}

enum { DIGITS = 24 };

/* The digits and what follows them end at `end`; returns their beginning. */
static char *
put_digits(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

/* A number ends at `end`; there is room for a comma before `at`. */
static void
put_number(conv_json *json, char *at, const char *end)
{
    if (json->needs_comma)
        *--at = ',';
    json->needs_comma = true;
    conv_out_write(json->out, at, (size_t)(end - at));
}

void
conv_json_u64(conv_json *json, uint64_t value)
{
    char text[DIGITS], *end = text + DIGITS;
    put_number(json, put_digits(end, value), end);
}

void
conv_json_ms(conv_json *json, uint64_t us)
{
    char text[DIGITS + 4], *end = text + sizeof text, *at = end;
    uint64_t rest = us % 1000;
    if (rest) {
        for (int i = 0; i < 3; i++, rest /= 10)
            *--at = (char)('0' + rest % 10);
        *--at = '.';
        while (end[-1] == '0')
            end--;
    }
    put_number(json, put_digits(at, us / 1000), end);
}

void
conv_json_release(conv_json *json)
{
    conv_text_release(&json->text);
}
