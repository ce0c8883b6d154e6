/*
 * database.h - an open profile database.
 *
 * A database file is not trusted: its schema may hold views, triggers and
 * expressions with side effects, its pages may be damaged, its values may be
 * anything.
 *  D1 An open database has the tables of schema.h, as tables and not as views.
 *  D2 pyquery never writes to it; its own tables are in SQLite's temp database,
 *     in memory.
 *  D3 Every statement has a bounded number of steps.
 *  D4 The user's SQL runs under an authorizer that permits only reads.
 */
#ifndef QUERY_DATABASE_DATABASE_H
#define QUERY_DATABASE_DATABASE_H

#include <pyrec/convert.h>
#include <pyrec/query.h>
#include <sqlite3.h>
#include <stdbool.h>

struct q_database {
    sqlite3 *sqlite;
    struct q_remote *remote; /* the server that has the tables; NULL: none */
    uint64_t ticks;          /* of Q_STEPS_PER_TICK, in this question */
    uint64_t max_ticks;
    uint64_t memory;    /* for the profiles that a question opens */
    unsigned n_answers; /* temp tables made, for their names */
    bool guarded;       /* D4 holds now */
    bool knows_ran;     /* some profile says whether threads ran */
    bool has_totals;    /* some profile has totals and no stacks */
    bool counts_calls;  /* ... of calls, which are not samples */
    bool shows_all;     /* q_show_all() */
    volatile bool interrupted;
};

/* SQLite's own steps between two checks of the limit. */
#define Q_STEPS_PER_TICK 100000

/* Begin a question: its steps count from here. */
void q_database_begin(q_database *database);

/* Record a failed call of SQLite; `doing` is the action that failed. */
pr_code q_database_fail(q_database *database, int rc, const char *doing,
                        pr_err *err);

/* Prepare or run SQL of pyquery, which quotes all text from outside. */
pr_code q_database_prepare(q_database *database, const char *sql,
                           sqlite3_stmt **ret, pr_err *err);
pr_code q_database_exec(q_database *database, const char *sql, pr_err *err);

/* PR_OK at a row, PR_END after the last. */
pr_code q_database_step(q_database *database, sqlite3_stmt *stmt, pr_err *err);

/* Run SQL of pyquery with one integer as its result; NULL counts as 0. */
pr_code q_database_integer(q_database *database, const char *sql, int64_t *ret,
                           pr_err *err);

/* Conditions: the profile of this id has totals and no stacks; it counts calls,
 * which are not samples. */
#define Q_HAS_META(id, key, value)                           \
    "EXISTS (SELECT 1 FROM meta WHERE meta.profile_id = " id \
    " AND key = '" key "' AND value = '" value "')"
#define Q_HAS_TOTALS(id)   Q_HAS_META(id, CONV_META_CONTENT, "totals")
#define Q_COUNTS_CALLS(id) Q_HAS_META(id, CONV_META_COUNTS, "calls")

/* PR_USAGE if a profile has totals in place of stacks, which `what` needs. */
pr_code q_totals_refuse(const q_database *database, const char *what,
                        pr_err *err);

/* Prepare SQL of the user: one statement that only reads. */
pr_code q_database_prepare_guarded(q_database *database, const char *sql,
                                   sqlite3_stmt **ret, pr_err *err);

#endif
