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
conv_json_u64(conv_json *json, uint64_t value)
{
    conv_text_reset(&json->text);
    conv_text_u64(&json->text, value);
    put_scratch(json);
}

void
conv_json_release(conv_json *json)
{
    conv_text_release(&json->text);
}
