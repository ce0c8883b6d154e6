/*
 * text.h - a name of the target as an output shows it.
 *
 * Names are the target's bytes: usually UTF-8, but lone surrogates, NUL, and
 * plain rubbish are legal.  Each function appends to a buffer and counts a name
 * as changed when what was written is not what the target has.
 */
#ifndef CONVERTER_ENCODE_TEXT_H
#define CONVERTER_ENCODE_TEXT_H

#include <base/base.h>

typedef struct conv_text {
    char *at; /* not terminated */
    size_t len, cap;
    bool failed;      /* out of memory; what is there is not whole */
    uint64_t changed; /* names that had to be changed */
} conv_text;

typedef enum conv_text_rule {
    /* Valid UTF-8.  What is not becomes U+FFFD, byte runs cut as Python's
     * bytes.decode("utf-8", "replace") cuts them. */
    CONV_TEXT_UTF8,
    /* The same, but lone surrogates stay (Python's "surrogatepass"). */
    CONV_TEXT_SURROGATES,
    /* UTF-8, and NUL becomes U+FFFD: SQLite's functions end a text there. */
    CONV_TEXT_SQL,
    /* UTF-8 on one line: control characters become spaces. */
    CONV_TEXT_LINE,
    /* The same, and one frame of a collapsed stack: ';' becomes ':'. */
    CONV_TEXT_FRAME
} conv_text_rule;

void conv_text_append(conv_text *text, const char *at, size_t len);
void conv_text_puts(conv_text *text, const char *string);
void conv_text_u64(conv_text *text, uint64_t value);
void conv_text_i64(conv_text *text, int64_t value);
void conv_text_name(conv_text *text, conv_text_rule rule, const char *at,
                    size_t len);

/* A collapsed stack whose last frame ends in space and number looks like one
 * with two counts (flamegraph.pl takes "f 12 3" so): from `from` on, replace
 * that space by '_'. */
void conv_text_guard_count(conv_text *text, size_t from);

void conv_text_reset(conv_text *text); /* empty; keeps memory and count */
void conv_text_release(conv_text *text);

/* How many bytes at `at` are one whole character; 0: none that begins here
 * is, and *ret_bad bytes are to be replaced by one U+FFFD. */
size_t conv_text_char(const char *at, size_t len, bool surrogates,
                      size_t *ret_bad);

#endif
