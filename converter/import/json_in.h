/*
 * json_in.h - read JSON (RFC 8259), in one pass over its text.
 *
 * The caller reads the values that it expects, and skips the others.  Each
 * function returns false at the end, and always after a fault, which is then in
 * `fault`.  Nothing recurses, however deep the text is nested.
 */
#ifndef CONVERTER_IMPORT_JSON_IN_H
#define CONVERTER_IMPORT_JSON_IN_H

#include <base/buffer.h>
#include <pyrec/error.h>

typedef struct conv_json_in {
    const uint8_t *begin, *at, *end;
    const char *fault; /* NULL: none so far */
} conv_json_in;

/* The kind of the next value: '{', '[', '"', '0' for a number, 't', 'f', 'n'; 0
 * at the end. */
char conv_json_in_kind(conv_json_in *in);

/* Enter an array or an object; then, while conv_json_in_item() of an array or
 * conv_json_in_member() of an object is true, read an element.  The latter
 * reads the key of the member. */
bool conv_json_in_enter(conv_json_in *in, char bracket);
bool conv_json_in_item(conv_json_in *in, bool *first);
bool conv_json_in_member(conv_json_in *in, bool *first, pr_buffer *key);

/* Read the next value.  A string is UTF-8; lone surrogates stay. */
bool conv_json_in_string(conv_json_in *in, pr_buffer *ret);
bool conv_json_in_number(conv_json_in *in, double *ret);
bool conv_json_in_skip(conv_json_in *in);

/* Is the text of the buffer that word? */
bool conv_json_in_is(const pr_buffer *text, const char *word);

/* PR_DAMAGED with the fault and its place, or PR_OK. */
pr_code conv_json_in_end(const conv_json_in *in, pr_err *err);

#endif
