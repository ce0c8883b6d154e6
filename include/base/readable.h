/*
 * readable.h - the files that a user names to be read.
 */
#ifndef BASE_READABLE_H
#define BASE_READABLE_H

#include <pyrec/error.h>
#include <sys/stat.h>

/* PR_USAGE: the path is '-', a habit of other programs for standard input.  A
 * file of that name is './-'. */
pr_code pr_refuse_stdin(const char *path, pr_err *err);

/* PR_USAGE unless the file of this name, of which stat() gave `st`, is a regular
 * one: a pipe or a device cannot be read from its end. */
pr_code pr_refuse_stream(const char *path, const struct stat *st, pr_err *err);

#endif
