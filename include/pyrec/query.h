/*
 * query.h - ask a profile database (spec/query.md).
 */
#ifndef PYREC_QUERY_H
#define PYREC_QUERY_H

#include <pyrec/compare.h>
#include <pyrec/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct q_database q_database; /* opaque; one thread at a time */
typedef struct q_result q_result;     /* opaque; dies before its database */

typedef enum q_type { Q_NULL = 0, Q_INTEGER, Q_REAL, Q_TEXT } q_type;

typedef struct q_value {
    q_type type;
    int64_t integer;
    double real;
    const char *text; /* UTF-8, borrowed until the next q_result_next() */
    size_t len;
} q_value;

/* Open a database of schema.h, read-only; or a profile file, or several, or
 * folders of them, each a profile of its own, which are converted into memory.
 * A folder alone has a database in the user's cache, which is brought up to
 * date (conv_archive_open(); the environment's XDG_CACHE_HOME and HOME say
 * where the cache is; without one it is converted into memory).  PR_FOREIGN for
 * anything else, PR_NEWER for a schema of another version; PR_CUT or PR_DAMAGED
 * with *ret set: a part was read. */
pr_code q_open(const char *path, q_database **ret, pr_err *err);
/* memory: as conv_opts has it, for profiles; 0: the default.  n 0: no tables,
 * for questions of the language alone, such as "help top". */
pr_code q_open_all(const char *const *path, size_t n, uint64_t memory,
                   q_database **ret, pr_err *err);
void q_close(q_database *database); /* takes NULL */

/* From any thread or a signal handler: the question that runs ends soon with
 * PR_LIMIT. */
void q_interrupt(q_database *database);

/* summary also lists all that the recorders noted. */
void q_show_all(q_database *database, int all);

/* Run a query text ("top 20 by self").  PR_USAGE with the column of the fault
 * in err->offset; PR_NAME with the candidates in the hint. */
pr_code q_run(q_database *database, const char *query, q_result **ret,
              pr_err *err);

/* Run one SELECT.  Anything that writes, attaches or reads other files is
 * PR_USAGE. */
pr_code q_run_sql(q_database *database, const char *sql, q_result **ret,
                  pr_err *err);

/* The rules of a check (spec/compare.md, 5); texts are the caller's. */
typedef struct q_check_opts {
    size_t size;                          /* sizeof(q_check_opts) */
    const char *const *fail, *const *max; /* neither: the default rule */
    size_t n_fail, n_max;
    int64_t min_samples; /* of each side; -1: the default */
    int64_t min_runs;    /* of each side; -1: the default */
    int any_machine;     /* 1: runs of several hosts compare */
    int first_stage;     /* 1: the new side may have too few runs; the check
                          * then says whether more are needed */
} q_check_opts;

#define Q_CHECK_OPTS_INIT                                    \
    {                                                        \
        sizeof(q_check_opts), NULL, NULL, 0, 0, -1, -1, 0, 0 \
    }

typedef struct q_check_answer {
    q_result *rules; /* a row for each rule: did it fail, and why */
    q_result *diff;  /* the functions, as `diff` answers: all of them */
    q_result *top;   /* ... and the first twenty */
    int needs_runs;  /* first_stage: 1: only more runs can decide */
} q_check_answer;

/* Run a query that begins with "check".  PR_OK: all rules hold;
 * PR_REGRESSION: one failed; both with *ret set, whose results the caller
 * frees.  PR_INCOMPARABLE: err says why the sides do not compare, or that they
 * are too small for the rules.  PR_USAGE for a rule that is wrong. */
pr_code q_run_check(q_database *database, const char *query,
                    const q_check_opts *opts, q_check_answer *ret, pr_err *err);

/* The samples that an answer rests on.  A count that the profile does not know
 * is -1. */
typedef struct q_basis {
    int64_t samples, all_samples; /* asked about; in the database */
    double seconds;               /* that these samples stand for; < 0: the
                                   * question is not about samples */
    int64_t ran;                  /* of them: held the GIL or were on a CPU */
    int64_t proven, unproven, lost;
    double unobserved_s; /* time that no sample stands for */
} q_basis;
const q_basis *q_result_basis(const q_result *result);

/* Shape of the result. */
size_t q_result_columns(const q_result *result);
const char *q_result_name(const q_result *result, size_t column);
/* The query, or "" (SQL). */
const char *q_result_title(const q_result *result);

/* Lines that belong into the head of the answer; NULL after the last. */
const char *q_result_note(const q_result *result, size_t i);

/* The comparison of a diff or check as a whole.  NULL for other answers. */
const conv_comparison *q_result_comparison(const q_result *result);

/* The stacks of the answer to a query, as the tree of their functions: each
 * call gets one stack that samples ended in, names from the outermost in.
 * PR_USAGE for a query whose answer is not stacks (spec/query.md, 5). */
typedef void (*q_stack_fn)(void *context, const char *const *name,
                           const char *const *file, size_t depth,
                           int64_t samples, int64_t us);
pr_code q_run_stacks(q_database *database, const char *query, q_stack_fn take,
                     void *context, pr_err *err);

/* PR_OK and the next row; PR_END after the last. */
pr_code q_result_next(q_result *result, pr_err *err);
q_value q_result_value(const q_result *result, size_t column);
void q_result_rewind(q_result *result); /* the first row is the next again */
void q_result_free(q_result *result);   /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
