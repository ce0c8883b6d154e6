/*
 * printed.h - what is printed: all of it is written to where it belongs, or a
 * failure says why it is not.
 */
#ifndef BASE_PRINTED_H
#define BASE_PRINTED_H

#include <pyrec/error.h>
#include <stdio.h>

/* The first call of main().  A file that is opened while a standard descriptor
 * is closed would get its number, and what is printed: a closed one becomes one
 * that can be neither read nor written (EBADF), and is closed again by exec. */
void pr_hold_standard(void);

/* Write what is printed to `to` so far.  PR_IO, "cannot write WHAT", if that or
 * an earlier write has failed. */
pr_code pr_flush(FILE *to, const char *what, pr_err *err);

/* The exit status of a program that would end with `status`: that of PR_IO, with
 * a message, if not all that it printed is written to stdout.  A program that
 * would end with that status has named its failure. */
int pr_finish_stdout(const char *program, int status);

#endif
