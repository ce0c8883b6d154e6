/*
 * json.h - JSON as it comes, onto an output.
 *
 * The emitter places commas; the caller opens and closes in order.  Strings are
 * the target's bytes: what is no UTF-8 becomes U+FFFD, control characters are
 * escaped.
 */
#ifndef CONVERTER_ENCODE_JSON_H
#define CONVERTER_ENCODE_JSON_H

#include "converter/encode/outfile.h"
#include "converter/encode/text.h"

typedef struct conv_json {
    conv_outfile *out;
    conv_text text;   /* scratch; its count of changed names is the emitter's */
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

/* Append the string as JSON text in ASCII, quotes included, as Python's
 * json.dumps() writes it. */
void conv_json_quote_ascii(conv_text *text, const char *at, size_t len);

/* Append the string as JSON text, quotes included. */
void conv_json_quote(conv_text *text, const char *at, size_t len);

#endif
