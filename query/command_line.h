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
    char *query;   /* NULL: none was given */
    bool all;      /* summary with what the recorder noted */
    bool follow;   /* a live view of a recording that is being made */
    bool talk;     /* questions typed one after the other */
    long recorder; /* process to be ended with the view; 0: none */
    bool keep;     /* and its file is not removed */
    bool no_pager;
} q_command;

/* PR_OK to go on; PR_END when all is done (--help, --version); PR_USAGE. */
pr_code q_command_parse(int argc, char **argv, q_command *ret, pr_err *err);
void q_command_release(q_command *command);

#endif
