/*
 * usage.h - faults of a command line, in the same words in every program.
 */
#ifndef BASE_USAGE_H
#define BASE_USAGE_H

#include <pyrec/error.h>

/* PR_USAGE: getopt_long() returned `found`, '?' (no such option) or ':' (its
 * value is missing), for the argument `option`. */
pr_code pr_usage_option(const char *program, int found, const char *option,
                        pr_err *err);

/* PR_USAGE: `value` is none that --`option` takes; the hint is the caller's. */
pr_code pr_usage_value(const char *option, const char *value, pr_err *err);

#endif
