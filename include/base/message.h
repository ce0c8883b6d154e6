/*
 * message.h - the messages of the programs on stderr, in one form.
 *
 *     pyconv: error: cannot open 'run.bin': No such file or directory
 *     pyconv: hint: does its folder exist?
 */
#ifndef BASE_MESSAGE_H
#define BASE_MESSAGE_H

#include <base/buffer.h>
#include <pyrec/error.h>
#include <stdio.h>

/* "PROGRAM: KIND: TEXT" on a line; KIND is "warning", "hint" or the like, or
 * NULL for a plain note.  Names and paths in the text are shown as a terminal
 * may get them (terminal.h). */
void pr_message(FILE *to, const char *program, const char *kind,
                const char *format, ...) __attribute__((format(printf, 4, 5)));

/* "PROGRAM: next: COMMAND", the whole of it; its words are quoted for a shell
 * (quote.h), since a user pastes it. */
void pr_message_next(FILE *to, const char *program, const pr_buffer *command);

/* The failure, and the remedy on a second line if the record has one. */
void pr_message_error(FILE *to, const char *program, const pr_err *err);

/* The same where an answer was given, though not of all: a note at PR_CUT (the
 * recording is not finished), a warning at PR_DAMAGED, else an error. */
void pr_message_partial(FILE *to, const char *program, const pr_err *err);

#endif
