/*
 * json.h - write JSON, value by value, to an output.
 *
 * The functions place commas; the caller opens and closes in order.  Strings
 * are the target's bytes, as pr_quote_json() writes them.
 */
#ifndef CONVERTER_ENCODE_JSON_H
#define CONVERTER_ENCODE_JSON_H

#include "converter/encode/outfile.h"

#include <base/buffer.h>

typedef struct conv_json {
    conv_outfile *out;
    pr_buffer text;   /* scratch; its count of changed names is the emitter's */
    bool needs_comma; /* before the next value or key */
} conv_json;

void conv_json_open(conv_json *json, char bracket);   /* { or [ */
void conv_json_close(conv_json *json, char bracket);  /* } or ] */
void conv_json_key(conv_json *json, const char *key); /* needs no escapes */
void conv_json_string(conv_json *json, const char *at, size_t len);
void conv_json_literal(conv_json *json, const char *string);
void conv_json_u64(conv_json *json, uint64_t value);
/* Microseconds as a number of milliseconds: 1500 is 1.5. */
void conv_json_ms(conv_json *json, uint64_t us);
/* A value that is JSON already. */
void conv_json_raw(conv_json *json, const char *at, size_t len);
void conv_json_release(conv_json *json);

#endif
