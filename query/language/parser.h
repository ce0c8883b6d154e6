/*
 * parser.h - parse a query text into a question (spec/query.md, "Grammar").
 */
#ifndef QUERY_LANGUAGE_PARSER_H
#define QUERY_LANGUAGE_PARSER_H

#include <pyrec/compare.h>
#include <pyrec/error.h>
#include <stdbool.h>

typedef enum q_verb {
    Q_TOP = 0, /* also "lines", "files", ...: top of another unit */
    Q_CALLERS,
    Q_CALLEES,
    Q_TREE,
    Q_BOTTOMUP,
    Q_STACKS,
    Q_PATHS,
    Q_TIMELINE,
    Q_HOTTEST,
    Q_LONGEST,
    Q_WAITS,
    Q_TASKS,
    Q_THREADS,
    Q_PROCESSES,
    Q_PROFILES,
    Q_GC,
    Q_GAPS,
    Q_EVENTS,
    Q_LOSSES,
    Q_SOURCE,
    Q_SUMMARY,
    Q_DIFF,
    Q_CHECK,
    Q_HISTORY,
    Q_HELP
} q_verb;

/* The unit that a row of top stands for. */
typedef enum q_unit {
    Q_FUNCTION = 0,
    Q_LINE,
    Q_FILE,
    Q_MODULE,
    Q_CLASS,
    Q_TASK,
    Q_OPCODE
} q_unit;

/* The parts of an answer, each with sums of its own; their rows come one part
 * after the other. */
typedef enum q_split {
    Q_WHOLE = 0,
    Q_PER_THREAD,
    Q_PER_PROCESS,
    Q_PER_PROFILE,
    Q_PER_LABEL,
    Q_PER_STATUS,
    Q_PER_TIME
} q_split;

typedef enum q_order {
    Q_BY_DEFAULT = 0,
    Q_BY_SELF,
    Q_BY_TOTAL,
    Q_BY_RAN,
    Q_BY_NAME
} q_order;

typedef enum q_format {
    Q_TABLE = 0,
    Q_CSV,
    Q_JSON,
    Q_MARKDOWN,
    Q_COLLAPSED,
    Q_SVG
} q_format;

/* The states of the samples that count; several: all must hold. */
enum {
    Q_WHERE_GIL = 1,
    Q_WHERE_CPU = 2,
    Q_WHERE_IDLE = 4,
    Q_WHERE_WAITING = 8,
    Q_WHERE_EXCEPTION = 16,
    Q_WHERE_MAIN = 32,
    Q_WHERE_NATIVE = 64,
    Q_WHERE_GC = 128,
    Q_WHERE_KINDS = 8
};

typedef enum q_field {
    Q_FIELD_FUNCTION = 0,
    Q_FIELD_FILE,
    Q_FIELD_MODULE,
    Q_FIELD_CLASS,
    Q_FIELD_LINE,
    Q_FIELD_DEPTH,
    Q_FIELD_TASK,
    Q_FIELD_THREAD,
    Q_FIELD_TID,
    Q_FIELD_PID,
    Q_FIELD_INTERP,
    Q_FIELD_HOST,
    Q_FIELD_LABEL
} q_field;

typedef enum q_operator {
    Q_EQUAL = 0,
    Q_NOT_EQUAL,
    Q_LESS,
    Q_GREATER,
    Q_LIKE /* a pattern with *, ?, [...] */
} q_operator;

/* A moment: microseconds since the start, millionths of the recording, a time
 * of day, or microseconds since 1970. */
typedef enum q_time_kind {
    Q_SINCE_START = 0,
    Q_SHARE,
    Q_CLOCK,
    Q_WALL
} q_time_kind;
typedef struct q_time {
    int64_t value;
    q_time_kind kind;
    bool short_form; /* of a time of day: without seconds */
} q_time;

/* A name, and its place in the query for messages; text NULL: none. */
typedef struct q_name {
    char *text;
    size_t at;
} q_name;

typedef struct q_condition {
    q_field field;
    q_operator op;
    q_name key; /* of a label */
    q_name value;
    int64_t number; /* of a field that is one */
} q_condition;

/* Choices of stacks and frames, by function or by class of file. */
typedef enum q_view_kind {
    Q_FOCUS = 0, /* only stacks that hold it */
    Q_IGNORE,    /* only stacks that do not */
    Q_HIDE,      /* frames that are not shown: their self is their caller's */
    Q_ONLY,      /* only frames of this class are shown */
    Q_WITHOUT    /* frames of this class are not shown */
} q_view_kind;

typedef struct q_view {
    q_view_kind kind;
    q_name name;
} q_view;

enum { Q_MAX_CONDITIONS = 16, Q_MAX_VIEWS = 16, Q_MAX_NOW = 4 };

typedef struct q_query {
    bool explain;
    q_verb verb;
    q_unit unit;
    q_order order;
    int64_t limit; /* rows; -1: all */
    q_name of;     /* the function or word after the verb */
    unsigned where;
    size_t where_at[Q_WHERE_KINDS];
    q_condition condition[Q_MAX_CONDITIONS];
    size_t n_conditions;
    q_view view[Q_MAX_VIEWS];
    size_t n_views;
    q_name thread;
    q_name in; /* glob on file names */
    q_split split;
    size_t split_at;
    q_name label;     /* Q_PER_LABEL: its key */
    int64_t width_us; /* Q_PER_TIME; 0: the verb chooses */
    bool has_range;
    q_time from, to;
    size_t to_at;
    int64_t depth; /* levels shown; -1: all */
    int64_t above; /* least share shown, in millionths; -1: the verb's own */
    q_name *side;  /* diff, check: the files of the base */
    size_t n_sides, cap_sides;
    q_condition now[Q_MAX_NOW]; /* diff, check: profiles of the new side */
    size_t n_now;
    conv_scale scale;
    q_name work; /* the label that holds a run's units of work */
    bool has_format;
    q_format format;
    size_t format_at;
    bool has_stacks; /* its answer can be collapsed or a flame graph */
} q_query;

/* PR_USAGE with err->offset at the fault.  The caller releases *ret. */
pr_code q_parse(const char *text, q_query *ret, pr_err *err);
void q_query_release(q_query *query);

#endif
