/*
 * verbs.h - the verbs of the language: one row each, and one plan in plan.c.
 */
#ifndef QUERY_LANGUAGE_VERBS_H
#define QUERY_LANGUAGE_VERBS_H

#include "query/language/parser.h"

/* The clauses that a verb takes, as bits. */
enum {
    Q_CLAUSE_BY = 1,
    Q_CLAUSE_PER = 2,
    Q_CLAUSE_WHERE = 4,
    Q_CLAUSE_THREAD = 8,
    Q_CLAUSE_RANGE = 16, /* between, first, last */
    Q_CLAUSE_IN = 32,
    Q_CLAUSE_DEPTH = 64,
    Q_CLAUSE_ABOVE = 128,
    Q_CLAUSE_CLASS = 256, /* only, without */
    Q_CLAUSE_FOCUS = 512, /* focus, ignore */
    Q_CLAUSE_HIDE = 1024,
    Q_CLAUSE_AS = 2048,
    Q_CLAUSE_TO = 4096,
    Q_CLAUSE_SCALE = 8192, /* scale, unit */
    /* parts and units that may follow `per` */
    Q_PER_A_UNIT = 1 << 14,   /* function, line, file, ... */
    Q_PER_AN_OWNER = 1 << 15, /* thread, process, profile, status, label */
    Q_PER_A_SPAN = 1 << 16,   /* second, 100ms */
    Q_PER_A_BUILD = 1 << 17,  /* profile, label */
    /* formats that may follow `as`, besides those of rows: table, csv, json
     * and markdown, which every verb has */
    Q_AS_STACKS = 1 << 18, /* collapsed, svg: the stacks of the answer */
    Q_AS_CHART = 1 << 19,  /* svg, if the query names a function */
    /* choose samples */
    Q_CLAUSES_SAMPLES =
        Q_CLAUSE_WHERE | Q_CLAUSE_THREAD | Q_CLAUSE_RANGE | Q_CLAUSE_FOCUS,
    /* choose samples and frames */
    Q_CLAUSES_FRAMES = Q_CLAUSES_SAMPLES | Q_CLAUSE_HIDE | Q_CLAUSE_CLASS,
    /* of a comparison */
    Q_CLAUSES_SIDES = Q_CLAUSES_FRAMES | Q_CLAUSE_TO | Q_CLAUSE_SCALE
};

typedef struct q_verb_info {
    const char *word;
    q_verb verb;
    q_unit unit;
    q_order order;
    int limit;        /* rows if the query names no number; 0: takes none */
    const char *link; /* the word between verb and name; "": none; "...":
                       * the verb takes files; NULL: it takes no name */
    bool needs_name;
    unsigned clauses;
    const char *help;    /* the answer, described in one line */
    const char *example; /* a query that begins with it */
} q_verb_info;

/* Verbs whose answers query/compare makes. */
bool q_is_comparison(q_verb verb);

/* The i-th verb, in the order of the help; NULL past the end. */
const q_verb_info *q_verb_get(size_t i);

#endif
