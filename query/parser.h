/*
 * parser.h - a query text into a question (spec/query.md, "Grammar").
 *
 * Verbs and clauses are tables in parser.c: a verb says which name it takes,
 * which clauses it accepts and what it means without them.
 */
#ifndef QUERY_PARSER_H
#define QUERY_PARSER_H

#include <pyrec/error.h>
#include <stdbool.h>

typedef enum q_verb {
    Q_TOP = 0, /* also "lines" and "files": top at another level */
    Q_CALLERS,
    Q_CALLEES,
    Q_TREE,
    Q_THREADS,
    Q_SUMMARY
} q_verb;

typedef enum q_level { Q_FUNCTION = 0, Q_LINE, Q_FILE } q_level;

typedef enum q_order { Q_BY_SELF = 0, Q_BY_TOTAL, Q_BY_NAME } q_order;

/* Which samples are looked at; several: all must hold. */
enum {
    Q_WHERE_GIL = 1,
    Q_WHERE_CPU = 2,
    Q_WHERE_IDLE = 4,
    Q_WHERE_WAITING = 8,
    Q_WHERE_EXCEPTION = 16,
    Q_WHERE_MAIN = 32,
    Q_WHERE_KINDS = 6
};

/* A moment: microseconds since the start, or millionths of the recording. */
typedef struct q_time {
    int64_t value;
    bool is_share;
} q_time;

/* A name as written and where, for messages about it; text NULL: none. */
typedef struct q_name {
    char *text;
    size_t at;
} q_name;

typedef struct q_query {
    bool explain;
    q_verb verb;
    q_level level;
    q_order order;
    int64_t limit; /* rows; -1: all */
    q_name of;     /* the function a verb is about */
    unsigned where;
    size_t where_at; /* of the first condition that needs the CPU state */
    q_name thread;
    q_name in; /* glob on file names */
    bool has_range;
    q_time from, to;
    size_t to_at;
    int64_t depth; /* tree: levels shown; -1: all */
    int64_t above; /* tree: least share shown, in millionths */
} q_query;

/* PR_USAGE with err->offset at the fault. The caller releases *ret. */
pr_code q_parse(const char *text, q_query *ret, pr_err *err);
void q_query_release(q_query *query);

#endif
