/*
 * command_line.h - the command line of pyquery.
 */
#ifndef QUERY_COMMAND_LINE_H
#define QUERY_COMMAND_LINE_H

#include "query/language/parser.h"

#include <pyrec/query.h>

typedef struct q_command {
    q_format format;
    const char *sql;
    const char *const *path;
    size_t n_paths;    /* 0: the query asks for help alone */
    char *query;       /* NULL: none was given */
    bool all;          /* summary with all metadata */
    bool follow;       /* a live view of a recording that is being made */
    const char *title; /* of the view; NULL: the file */
    bool talk;         /* questions typed one after the other */
    long recorder;     /* process to be ended with the view; 0: none */
    bool keep;         /* and its file is not removed */
    bool no_pager;
    uint64_t memory; /* to read profiles; 0: the default */
    bool is_series;  /* the query is the history of one function */
    bool is_summary;
    bool two_formats; /* the query asks for another one than an option */
    bool has_check_option;
    bool is_check; /* the query is a check; the next fields belong to it */
    q_check_opts check;
    const char **fail, **max;               /* the lists of `check` */
    const char *summary, *json, *benchmark; /* files; NULL: none */
    const char *more; /* a command that records more runs, or NULL */
} q_command;

/* PR_OK to go on; PR_END when all is done (--help, --version); PR_USAGE. */
pr_code q_command_parse(int argc, char **argv, q_command *ret, pr_err *err);

/* Read the parts of the query that the command needs: its verb, and its format
 * ("as csv").  False: the query is wrong. */
bool q_command_read_query(q_command *command);

void q_command_release(q_command *command);

#endif
