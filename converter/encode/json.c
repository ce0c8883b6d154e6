/*
 * json.c - commas, quotes, escapes.
 */
#include "converter/encode/json.h"

#include <base/buffer.h>
#include <base/quote.h>
#include <string.h>

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
    pr_buffer_reset(&json->text);
    pr_quote_json(&json->text, PR_JSON_UTF8, at, len);
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
    pr_buffer_release(&json->text);
}
