/*
 * sides.h - the two sides of a comparison, read from databases.
 *
 * A run is one recording: the profiles of its process tree together.  A
 * function is a path and a qualified name, whatever its line.
 */
#ifndef QUERY_COMPARE_SIDES_H
#define QUERY_COMPARE_SIDES_H

#include "query/compare/roots.h"
#include "query/database/database.h"
#include "query/language/parser.h"

#include <base/intern.h>
#include <pyrec/compare.h>

/* The facts of one run.  Texts are owned; NULL: unknown. */
typedef struct q_run_facts {
    char *source, *recording, *host, *python, *mode, *capture, *time;
    int64_t interval_us, wall_us, duration_us, unobserved_us; /* < 0: unknown */
    int64_t lost; /* samples; of its profiles together */
    double missed_percent, error_percent; /* < 0: unknown */
    bool knows_ran;
    char *label; /* the value of the query's `per label KEY` */
    double work; /* 0: no such label, or not a number above 0 */
} q_run_facts;

enum { Q_SELF = 0, Q_TOTAL, Q_RAN, Q_MEASURES }; /* Q_RAN: of self */

typedef struct q_sides {
    size_t n_base, n_new;
    q_run_facts *run; /* [n_base + n_new]: the base first */
    size_t cap_runs;
    pr_strings key; /* path, a byte 0, qualified name: function f is key f */
    bool *is_gc;    /* [function]: a collection */
    size_t cap_gc;
    conv_measure *of[Q_MEASURES];    /* [function][run] */
    conv_measure *whole[Q_MEASURES]; /* [run]; Q_SELF and Q_TOTAL are equal */
    double *work;                    /* [run], or NULL */
    q_roots roots; /* folders of the base that stand elsewhere now */
} q_sides;

/* Read the profiles that the query selects. `base` may be `now`: then the
 * conditions on labels and hosts choose the base, and those of `to`, or all
 * others, are the new side.  PR_NAME if a side is empty. */
pr_code q_sides_read(q_database *base, q_database *now, const q_query *query,
                     q_sides *ret, pr_err *err);
/* All profiles that the query selects, as a base without a new side. */
pr_code q_sides_read_all(q_database *database, const q_query *query,
                         q_sides *ret, pr_err *err);
void q_sides_release(q_sides *sides);

/* The sides for conv_compare(), with the arrays of `sides`. */
conv_sides q_sides_measure(const q_sides *sides, unsigned measure);

pr_bytes q_sides_path(const q_sides *sides, size_t function);
pr_bytes q_sides_name(const q_sides *sides, size_t function);

#endif
