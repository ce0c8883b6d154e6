/*
 * json_in.h - JSON (RFC 8259) as it is read, in one pass over its text.
 *
 * The caller asks for what it expects; what it does not want it skips.  Each
 * function returns false at the end, and for good after a fault, which is
 * then in `fault`.  Nothing recurses, however deep the text is nested.
 */
#ifndef CONVERTER_IMPORT_JSON_IN_H
#define CONVERTER_IMPORT_JSON_IN_H

#include <base/buffer.h>
#include <pyrec/error.h>

typedef struct conv_json_in {
    const uint8_t *begin, *at, *end;
    const char *fault; /* NULL: none so far */
} conv_json_in;

/* '{', '[', '"', '0' for a number, 't', 'f', 'n'; 0 at the end. */
char conv_json_in_kind(conv_json_in *in);

/* Enter an array or an object, then `while (more)` take each element; the key
 * of a member is taken by more() of an object. */
bool conv_json_in_enter(conv_json_in *in, char bracket);
bool conv_json_in_item(conv_json_in *in, bool *first);
bool conv_json_in_member(conv_json_in *in, bool *first, pr_buffer *key);

/* The value that follows.  A string is UTF-8; lone surrogates stay. */
bool conv_json_in_string(conv_json_in *in, pr_buffer *ret);
bool conv_json_in_number(conv_json_in *in, double *ret);
bool conv_json_in_skip(conv_json_in *in);

/* Is the text of the buffer that word? */
bool conv_json_in_is(const pr_buffer *text, const char *word);

/* PR_DAMAGED with the fault and its place, or PR_OK. */
pr_code conv_json_in_end(const conv_json_in *in, pr_err *err);

#endif
