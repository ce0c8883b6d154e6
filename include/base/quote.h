/*
 * quote.h - a name as each kind of output holds it.
 *
 * Names are bytes of an untrusted program: usually UTF-8, but lone surrogates,
 * NUL, control sequences and arbitrary bytes are legal.  There is one rule for
 * each kind of output, and this file holds them all.  Each function appends to
 * a text, and counts the name in `changed` if the reader of the output cannot
 * get the name's bytes back from it.
 */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

#include <base/buffer.h>
#include <stdio.h>

typedef enum pr_quote {
    /* Valid UTF-8.  Malformed bytes become U+FFFD (pr_char). */
    PR_QUOTE_UTF8,
    /* The same, but lone surrogates stay (Python's "surrogatepass"). */
    PR_QUOTE_SURROGATES,
    /* UTF-8, and NUL becomes U+FFFD: SQLite's functions end a text there. */
    PR_QUOTE_SQL,
    /* UTF-8 on one line: control characters become spaces. */
    PR_QUOTE_LINE,
    /* The same, and one frame of a collapsed stack: ';' becomes ':'. */
    PR_QUOTE_FRAME
} pr_quote;

void pr_quote_name(pr_buffer *text, pr_quote rule, const char *at, size_t len);

/* A collapsed stack whose last frame ends in space and number looks like one
 * with two counts (flamegraph.pl takes "f 12 3" so): replace that space of the
 * text that begins at `from` by '_'. */
void pr_quote_count(pr_buffer *text, size_t from);

typedef enum pr_json {
    /* For every reader: malformed bytes and lone surrogates become U+FFFD. */
    PR_JSON_UTF8,
    /* Lone surrogates are escaped: Python's and JavaScript's readers take them,
     * strict ones do not. */
    PR_JSON_SURROGATES,
    /* As PR_JSON_UTF8, in ASCII as Python's json.dumps() writes it. */
    PR_JSON_ASCII
} pr_json;

/* A JSON string, its quotes included (RFC 8259).  What a terminal must not get
 * (terminal.h) is escaped. */
void pr_quote_json(pr_buffer *text, pr_json style, const char *at, size_t len);
void pr_print_json(FILE *to, pr_json style, const char *at, size_t len);

/* The rules for markup begin with that for a terminal: one line of UTF-8, with
 * control characters as escapes.  What markup adds around a character shows the
 * same name, so it is not counted as a change. */

/* XML 1.0, content or attribute value: & < > " ' as entities. */
void pr_quote_xml(pr_buffer *text, const char *at, size_t len);
void pr_print_xml(FILE *to, const char *at, size_t len);

/* GitHub Flavored Markdown, in a table or not: the characters that may begin
 * markup get a backslash, & and < become entities. */
void pr_quote_markdown(pr_buffer *text, const char *at, size_t len);

/* A field of RFC 4180, in quotes where it needs them; a record is one line.  A
 * name that a spreadsheet would take for a formula (= + - @ first) begins with
 * ', which is a change. */
void pr_quote_csv(pr_buffer *text, const char *at, size_t len);

/* A word of a command that a user pastes into a shell: plain if the shell takes
 * nothing in it for syntax, else in single quotes.  A name with a character
 * that a terminal must not get (terminal.h) is in $'...' (POSIX.1-2024; bash,
 * zsh, ksh), so the command is one line. */
void pr_quote_shell(pr_buffer *text, const char *at, size_t len);

/* The same of a path; a program takes one that begins with '-' for a file. */
void pr_quote_path(pr_buffer *text, const char *at, size_t len);

#endif
