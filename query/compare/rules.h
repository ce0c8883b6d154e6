/*
 * rules.h - the rules of a check (spec/compare.md, 5).
 */
#ifndef QUERY_COMPARE_RULES_H
#define QUERY_COMPARE_RULES_H

#include "query/compare/sides.h"

#include <pyrec/error.h>

typedef enum q_rule_subject {
    Q_RULE_FUNCTION = 0, /* self(NAME), total(NAME), ran(NAME) */
    Q_RULE_SECONDS,      /* of the whole run */
    Q_RULE_FACTOR,       /* common to all functions */
    Q_RULE_GC,           /* share of samples in collections */
    Q_RULE_MISSED,       /* share of ticks */
    Q_RULE_LOST,         /* share of samples */
    Q_RULE_UNOBSERVED    /* share of time */
} q_rule_subject;

typedef enum q_rule_unit {
    Q_IN_PERCENT = 0,
    Q_IN_POINTS,
    Q_IN_SECONDS
} q_rule_unit;

typedef struct q_rule {
    const char *text; /* the caller's */
    bool is_max;      /* about the new side; else about the change */
    q_rule_subject subject;
    unsigned measure; /* Q_SELF, ... of a function */
    char name[256];   /* of a function, or "*" */
    double limit;     /* as written: percent, points or seconds */
    q_rule_unit unit;
    bool significant;
} q_rule;

/* PR_USAGE with the rest of the text at the fault; *ret borrows `text`. */
pr_code q_rule_parse(const char *text, bool is_max, q_rule *ret, pr_err *err);

/* Does the name of the rule mean this function?  `reading` is from 0 up to
 * Q_RULE_READINGS, the exact ones first (spec/query.md, 4.5). */
enum { Q_RULE_READINGS = 7 };
bool q_rule_matches(const q_rule *rule, const q_sides *sides, size_t function,
                    unsigned reading);

#endif
