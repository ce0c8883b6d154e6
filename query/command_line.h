/*
 * command_line.h - the command line of pyquery.
 */
#ifndef QUERY_COMMAND_LINE_H
#define QUERY_COMMAND_LINE_H

#include "query/parser.h"

typedef struct q_command {
    q_format format;
    const char *sql;
    const char *const *path;
    size_t n_paths;
    char *query; /* NULL: none was given */
    bool all;    /* summary with what the recorder noted */
    bool no_pager;
} q_command;

/* PR_OK to go on; PR_END when all is done (--help, --version); PR_USAGE. */
pr_code q_command_parse(int argc, char **argv, q_command *ret, pr_err *err);
void q_command_release(q_command *command);

#endif
