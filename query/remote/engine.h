/*
 * engine.h - the questions of pyquery to a server that holds the tables of many
 * profiles.
 *
 * The server adds up; pyquery does the rest, so that an answer is that of a
 * local database: it finds the functions that a name means, computes shares,
 * orders and shows.  A question takes at most eight statements: the engine
 * writes each in its own SQL, and the columns of their rows are the same for
 * all engines.
 *
 * E1  No text of a query is in a statement as it is.  An engine writes it so
 *     that no byte of it can end a literal; all else in a statement is numbers.
 * E2  Rows come from a server that is not trusted: the caller checks each.
 * E3  A statement answers about all profiles that it selects, or fails.  No
 *     answer leaves out a part of the server's data.
 *
 * An identity (profile, file, function) is the content hash of spec/schema.md
 * 1.2 as a signed decimal number.  Amounts are four numbers: samples,
 * microseconds, and of them those that ran (n, us, ran_n, ran_us).
 */
#ifndef QUERY_REMOTE_ENGINE_H
#define QUERY_REMOTE_ENGINE_H

#include "query/language/parser.h"

#include <base/buffer.h>
#include <base/text_rows.h>
#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The samples to add up, and the parts of the answer. */
typedef struct q_remote_question {
    /* Only these of its parts count:
     * verb       Q_TOP, Q_CALLERS or Q_CALLEES
     * where      of Q_WHERE_GIL, CPU, IDLE, WAITING, EXCEPTION
     * condition  of the fields host, label and pid, with = and <>
     * split      Q_WHOLE, or Q_PER_LABEL with the key `label`: only profiles
     *            with the label count, its values are the parts
     * from, to   if has_range: both Q_WALL (of each profile the samples with
     *            from <= profile.wall_us + time < to; of those without
     *            wall_us none), or both Q_SINCE_START and not negative */
    const q_query *query;
    /* The answer is that of the server's small tables (remote_tables.h); the
     * verb is another one. */
    bool is_listing;
    /* Without where, range and a pid: the stored totals of whole profiles
     * (function_total, edge_total) have the answer. */
    bool is_whole;
    /* callers, callees: the functions that the name means */
    const int64_t *function;
    size_t n_functions;
} q_remote_question;

typedef struct q_engine {
    const char *scheme;       /* "clickhouse": addresses are SCHEME://... */
    const char *other_scheme; /* "clickhouses", which has TLS; NULL: none */

    /* Opens a connection to the address, and loads the library for it.
     * *interrupted, which a signal handler sets, ends a statement with
     * PR_LIMIT.  PR_USAGE: not an address, or one that holds a password. */
    pr_code (*open)(const char *address, const volatile bool *interrupted,
                    void **ret, pr_err *err);
    void (*close)(void *connection); /* takes NULL */

    /* Runs one SELECT and hands out its rows (text_rows.h).  PR_IO with what
     * the server says: rows that were handed out before are void. */
    pr_code (*ask)(void *connection, const pr_buffer *sql, pr_take_row take,
                   void *context, pr_err *err);

    /* Each writes one SELECT; its rows have these columns. */

    /* One row: (version) of the tables (spec/fleet.md). */
    void (*put_version)(pr_buffer *sql);
    /* One row, over all profiles: (profiles, samples, unobserved_us, proven,
     * unproven, lost, knows_ran, knows_cpu, knows_waiting).  proven: of
     * threads, proven + sleeping + stopped; NULL where no thread has the count.
     * knows_ran to knows_waiting: 1 if it is so of any profile. */
    void (*put_basis)(pr_buffer *sql);
    /* (file, path, base, module, class) of all files, each once. */
    void (*put_files)(pr_buffer *sql);
    /* (function, file, qualname, name, first_line, kind), the same. */
    void (*put_functions)(pr_buffer *sql);
    /* (key): the keys of labels, each once. */
    void (*put_labels)(pr_buffer *sql);
    /* These columns of all rows of a table whose first column is `profile`;
     * " GROUP BY ..." and " ORDER BY ..." may follow. */
    void (*put_rows)(const char *table, const char *columns, pr_buffer *sql);

    /* Each row is a part: (part, amounts of its samples).  part: the value of
     * the label, or empty.  A sample without a stack counts here, and in no
     * sum. */
    void (*put_parts)(const q_remote_question *question, pr_buffer *sql);
    /* (part, function, amounts of self, amounts of total): a row for each
     * function that a sample of the part holds.  total counts a sample once,
     * however often the function is on its stack (spec/query.md 2). */
    void (*put_sums)(const q_remote_question *question, pr_buffer *sql);
    /* (part, caller, callee, amounts of self, of total): edges into the
     * functions (callers), or out of them (callees).  caller 0: the callee was
     * a root.  self: the samples whose innermost frame is the callee of the
     * edge; total counts a sample once.  Where is_whole the amounts that ran
     * may be 0. */
    void (*put_edges)(const q_remote_question *question, pr_buffer *sql);
} q_engine;

/* The engine of an address; NULL: it is not the address of a server. */
const q_engine *q_engine_of(const char *address);

/* One line of engine.c each. */
extern const q_engine q_clickhouse, q_postgres;

#endif
