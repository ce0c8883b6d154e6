/*
 * escape.h - a name as the markup of one format needs it.
 *
 * All begin with CONV_TEXT_LINE of text.h: valid UTF-8 on one line.  What
 * markup adds around a character shows the same name, so it is not counted as
 * a change.
 */
#ifndef CONVERTER_ENCODE_ESCAPE_H
#define CONVERTER_ENCODE_ESCAPE_H

#include "converter/encode/text.h"

/* XML 1.0, content or attribute value: & < > " ' as entities; U+FFFE and
 * U+FFFF, which no document may hold, become U+FFFD. */
void conv_escape_xml(conv_text *text, const char *at, size_t len);

/* GitHub Flavored Markdown, in a table or not: the characters that may begin
 * markup get a backslash, & and < become entities. */
void conv_escape_markdown(conv_text *text, const char *at, size_t len);

/* A field of RFC 4180, in quotes where it needs them.  A name that a
 * spreadsheet would take for a formula (= + - @ first) begins with ', which is
 * a change. */
void conv_escape_csv(conv_text *text, const char *at, size_t len);

#endif
