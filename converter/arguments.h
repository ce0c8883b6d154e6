/*
 * arguments.h - the command line of pyconv.
 */
#ifndef CONVERTER_ARGUMENTS_H
#define CONVERTER_ARGUMENTS_H

#include <pyrec/convert.h>
#include <stdbool.h>

typedef enum arg_action {
    ARG_CONVERT,
    ARG_FOLLOW,
    ARG_INTO,
    ARG_INFO,
    ARG_VERIFY,
    ARG_LIST
} arg_action;

typedef struct arguments {
    arg_action action;
    uint64_t given;              /* bit i: row i of the options */
    const char *target, *output; /* NULL: not given */
    conv_opts conv;
    bool quiet;
    const char **names;       /* memory of the lists of conv.filters */
    const char *const *input; /* in argv */
    size_t n_inputs;
    char *const *argv; /* while they are parsed */
    int argc;
} arguments;

/* Parse the command line.  PR_OK to go on; PR_END when help or version is
 * printed and nothing is left to do; PR_USAGE with the reason in *err. */
pr_code arg_parse(int argc, char **argv, arguments *ret, pr_err *err);
void arg_release(arguments *args);

#endif
