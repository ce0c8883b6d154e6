/*
 * query.h - ask a profile database (spec/query.md).
 */
#ifndef PYREC_QUERY_H
#define PYREC_QUERY_H

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

/* Open a database of schema.h, read-only, or a profile file, which is
 * converted into memory.  PR_FOREIGN for anything else, PR_NEWER for a newer
 * schema; PR_CUT or PR_DAMAGED with *ret set: the profile was partly had. */
pr_code q_open(const char *path, q_database **ret, pr_err *err);
void q_close(q_database *database); /* takes NULL */

/* Run a query text ("top 20 by self").  PR_USAGE with the column of the fault
 * in err->offset; PR_NAME with the candidates in the hint. */
pr_code q_run(q_database *database, const char *query, q_result **ret,
              pr_err *err);

/* Run one SELECT.  Anything that writes, attaches or reads other files is
 * PR_USAGE. */
pr_code q_run_sql(q_database *database, const char *sql, q_result **ret,
                  pr_err *err);

/* Shape of the result. */
size_t q_result_columns(const q_result *result);
const char *q_result_name(const q_result *result, size_t column);
/* One line that says what was asked of what, or "" (SQL). */
const char *q_result_title(const q_result *result);

/* PR_OK and the next row; PR_END after the last. */
pr_code q_result_next(q_result *result, pr_err *err);
q_value q_result_value(const q_result *result, size_t column);
void q_result_free(q_result *result); /* takes NULL */

#ifdef __cplusplus
}
#endif
#endif
