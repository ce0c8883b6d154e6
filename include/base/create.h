/*
 * create.h - making the files that a user names.
 */
#ifndef BASE_CREATE_H
#define BASE_CREATE_H

#include <pyrec/error.h>

/* PR_IO: a file cannot be created, with the errno `sys` and what may help. */
pr_code pr_fail_to_create(const char *path, int sys, pr_err *err);

#endif
