/*
 * json.c - commas, quotes, escapes.
 */
#include "converter/encode/json.h"

#include <base/buffer.h>
#include <base/decimal.h>
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

/* Room for a comma, which is put, and a number with a point. */
static char *
begin_number(conv_json *json)
{
    char *p = conv_out_reserve(json->out, PR_DIGITS + 6);
    if (json->needs_comma)
        *p++ = ',';
    json->needs_comma = true;
    return p;
}

void
conv_json_u64(conv_json *json, uint64_t value)
{
    char *p = begin_number(json);
    conv_out_advance(json->out, pr_put_digits(p, value));
}

void
conv_json_ms(conv_json *json, uint64_t us)
{
    char *p = pr_put_digits(begin_number(json), us / 1000);
    unsigned rest = (unsigned)(us % 1000);
    if (rest) {
        *p++ = '.';
        for (unsigned part = 100; rest; rest %= part, part /= 10)
            *p++ = (char)('0' + rest / part);
    }
    conv_out_advance(json->out, p);
}

void
conv_json_release(conv_json *json)
{
    pr_buffer_release(&json->text);
}
