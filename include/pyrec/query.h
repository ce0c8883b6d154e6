/*
 * query.h - answer questions about profiles (spec/query.md).
 *
 * Units      Times are microseconds if their name ends in us, else seconds.
 * Ownership  Texts and structs that a function returns belong to the database
 *            or the result, and live as long as it does, but for
 *            q_value.text.
 * Threads    One thread at a time uses a database and its results, but for
 *            q_interrupt(); two databases are independent.
 */
#ifndef PYREC_QUERY_H
#define PYREC_QUERY_H

#include <pyrec/compare.h>
#include <pyrec/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct q_database q_database; /* opaque */
typedef struct q_result q_result;     /* opaque; freed before its database */

typedef enum q_type { Q_NULL = 0, Q_INTEGER, Q_REAL, Q_TEXT } q_type;

typedef struct q_value {
    q_type type;
    int64_t integer;
    double real;
    const char *text; /* UTF-8, borrowed until the next q_result_next() */
    size_t len;
} q_value;

/* Open `path` for questions; the caller closes *ret by q_close().  It is one of
 *  - a database of schema.h, opened read-only;
 *  - a server that has these tables, by its address (clickhouse://HOST/DB);
 *  - a profile file, which is converted into memory;
 *  - a folder of profiles.  Its database in the user's cache is brought up to
 *    date (conv_archive_open()); XDG_CACHE_HOME and HOME say where the cache
 *    is, and without one the profiles are converted into memory.
 * PR_USAGE for '-' and for a path that is not a regular file or a folder;
 * PR_FOREIGN for any other file, PR_NEWER for a schema of another version;
 * PR_CUT or PR_DAMAGED with *ret set: a part was read.  Other codes as
 * conv_run(). */
pr_code q_open(const char *path, q_database **ret, pr_err *err);
/* The same for n paths.  Several profile files, or folders of them, are
 * converted into memory, each file to a profile of its own.  memory: limit of
 * bytes as conv_opts.memory; 0: the default.  n 0: no tables, for questions of
 * the language alone, such as "help top". */
pr_code q_open_all(const char *const *path, size_t n, uint64_t memory,
                   q_database **ret, pr_err *err);
void q_close(q_database *database); /* takes NULL */

/* End the question that runs, soon and with PR_LIMIT.  Any thread and a signal
 * handler may call this. */
void q_interrupt(q_database *database);

/* all not 0: the answer to `summary` also lists all metadata. */
void q_show_all(q_database *database, int all);

/* Run a query text ("top 20 by self"); the caller frees *ret.  PR_USAGE with
 * the column of the fault in err->offset; PR_NAME with the candidates in the
 * hint; PR_LIMIT, PR_NOMEM, PR_DAMAGED. */
pr_code q_run(q_database *database, const char *query, q_result **ret,
              pr_err *err);

/* Run one SELECT; the caller frees *ret.  PR_USAGE for SQL that writes,
 * attaches or reads other files. */
pr_code q_run_sql(q_database *database, const char *sql, q_result **ret,
                  pr_err *err);

/* The rules of a check (spec/compare.md, 5); texts are the caller's.  NULL in
 * place of them stands for the defaults; an option that this version does not
 * know is PR_USAGE. */
typedef struct q_check_opts {
    size_t size;                          /* sizeof(q_check_opts) */
    const char *const *fail, *const *max; /* neither: the default rule */
    size_t n_fail, n_max;
    int64_t min_samples; /* of each side; -1: the default */
    int64_t min_runs;    /* of each side; -1: the default */
    int any_machine;     /* 1: compare runs of different hosts */
    int first_stage;     /* 1: the new side may have too few runs; the check
                          * then says whether more are needed */
} q_check_opts;

#define Q_CHECK_OPTS_INIT                                    \
    {                                                        \
        sizeof(q_check_opts), NULL, NULL, 0, 0, -1, -1, 0, 0 \
    }

typedef struct q_check_answer {
    q_result *rules; /* a row for each rule: its outcome, and the reason */
    q_result *diff;  /* all functions, as `diff` answers */
    q_result *top;   /* the first twenty of them */
    int needs_runs;  /* with first_stage, 1: only more runs can decide */
} q_check_answer;

/* Run a query that begins with "check".  PR_OK: all rules hold;
 * PR_REGRESSION: one failed; both with *ret set, whose results the caller
 * frees.  PR_INCOMPARABLE: err says why the sides do not compare, or that they
 * are too small for the rules.  PR_USAGE for a rule that is wrong. */
pr_code q_run_check(q_database *database, const char *query,
                    const q_check_opts *opts, q_check_answer *ret, pr_err *err);

/* The samples that an answer rests on.  A count that is not known is -1; all
 * are if the answer does not rest on samples. */
typedef struct q_basis {
    int64_t samples, all_samples; /* of the question; of the database */
    double seconds;               /* that the question's samples stand for;
                                   * < 0: it is not about samples */
    int64_t ran;                  /* of the question's samples: held the GIL or
                                   * were on a CPU */
    int64_t proven, unproven, lost; /* of the database */
    double unobserved_s; /* of the database: time that no sample stands for */
} q_basis;
const q_basis *q_result_basis(const q_result *result);

/* Shape of the result. */
size_t q_result_columns(const q_result *result);
const char *q_result_name(const q_result *result, size_t column);
/* The text of the query; "" for q_run_sql(). */
const char *q_result_title(const q_result *result);

/* The i-th line of the answer's head; NULL after the last. */
const char *q_result_note(const q_result *result, size_t i);

/* The comparison of a diff or check as a whole.  NULL for other answers. */
const conv_comparison *q_result_comparison(const q_result *result);

/* Call take() with the stacks of a query's answer, as the tree of their
 * functions: each call gets a stack in which samples ended, with the names and
 * files of its `depth` functions, the outermost first.  They are valid for the
 * call.  PR_USAGE for a query whose answer is not stacks (spec/query.md, 5). */
typedef void (*q_stack_fn)(void *context, const char *const *name,
                           const char *const *file, size_t depth,
                           int64_t samples, int64_t us);
pr_code q_run_stacks(q_database *database, const char *query, q_stack_fn take,
                     void *context, pr_err *err);

/* Go to the next row: PR_OK, or PR_END after the last; PR_LIMIT, PR_NOMEM,
 * PR_DAMAGED. */
pr_code q_result_next(q_result *result, pr_err *err);
q_value q_result_value(const q_result *result, size_t column);
void q_result_rewind(q_result *result); /* the first row is the next again */
void q_result_free(q_result *result);   /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
