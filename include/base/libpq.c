/*
 * libpq.c - libpq is loaded here; rows come by COPY.
 */
#include <base/libpq.h>

#include <dlfcn.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* ---- libpq's interface (libpq-fe.h of soname 5, PostgreSQL 8.2 and later) */

enum { CONNECTED = 0, COMMAND_DONE = 1, COPY_OUT = 3 };

/* PQconninfoOption */
typedef struct option {
    char *keyword, *variable, *built_in, *value, *label, *display;
    int size;
} option;

/* name, what it returns, its parameters */
#define FUNCTIONS(X)                                    \
    X(conninfoParse, option *, (const char *, char **)) \
    X(conninfoFree, void, (option *))                   \
    X(connectdb, void *, (const char *))                \
    X(finish, void, (void *))                           \
    X(status, int, (const void *))                      \
    X(errorMessage, char *, (const void *))             \
    X(setClientEncoding, int, (void *, const char *))   \
    X(sendQuery, int, (void *, const char *))           \
    X(socket, int, (const void *))                      \
    X(consumeInput, int, (void *))                      \
    X(isBusy, int, (void *))                            \
    X(getResult, void *, (void *))                      \
    X(resultStatus, int, (const void *))                \
    X(resultErrorMessage, char *, (const void *))       \
    X(clear, void, (void *))                            \
    X(getCopyData, int, (void *, char **, int))         \
    X(freemem, void, (void *))                          \
    X(getCancel, void *, (void *))                      \
    X(cancel, int, (void *, char *, int))               \
    X(freeCancel, void, (void *))

typedef struct library {
#define FUNCTION(name, returns, parameters) returns(*name) parameters;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
} library;

struct pr_postgres {
    library call;
    void *connection;
    const volatile bool *interrupted;
};

enum { POLL_MS = 100 };

/* ---- the library ---- */

static bool
find(void *file, const char *name, void *function)
{
    void *found = dlsym(file, name);
    memcpy(function, &found, sizeof found); /* POSIX: dlsym() */
    return found != NULL;
}

static pr_code
load(library *ret, pr_err *err)
{
    void *file = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        PR_FAIL(err, PR_IO, "libpq cannot be loaded");
        pr_err_hint(err, "install it: Debian's package is libpq5");
        return PR_IO;
    }
#define FUNCTION(name, returns, parameters)  \
    if (!find(file, "PQ" #name, &ret->name)) \
        return PR_FAIL(err, PR_IO, "libpq lacks PQ%s", #name);
    FUNCTIONS(FUNCTION)
#undef FUNCTION
    return PR_OK;
}

/* The first line of what the server or libpq says. */
static pr_code
fail(const char *message, pr_err *err)
{
    return PR_FAIL(err, PR_IO, "PostgreSQL: %.*s", (int)strcspn(message, "\n"),
                   message);
}

/* ---- statements ---- */

/* Wait for bytes of the server. */
static pr_code
wait_for(pr_postgres *p, pr_err *err)
{
    struct pollfd fd = {p->call.socket(p->connection), POLLIN, 0};
    while (poll(&fd, 1, POLL_MS) <= 0)
        if (p->interrupted && *p->interrupted)
            return PR_FAIL(err, PR_LIMIT, "the question was interrupted");
    return p->call.consumeInput(p->connection)
               ? PR_OK
               : fail(p->call.errorMessage(p->connection), err);
}

static pr_code
next_result(pr_postgres *p, void **ret, pr_err *err)
{
    pr_code rc = PR_OK;
    while (rc == PR_OK && p->call.isBusy(p->connection))
        rc = wait_for(p, err);
    if (rc == PR_OK)
        *ret = p->call.getResult(p->connection);
    return rc;
}

/* Results up to the first that has another status or the last; *copies: the
 * server begins to send rows. */
static pr_code
read_results(pr_postgres *p, bool *copies, pr_err *err)
{
    pr_code rc;
    void *result = NULL;
    *copies = false;
    while ((rc = next_result(p, &result, err)) == PR_OK && result) {
        int status = p->call.resultStatus(result);
        *copies = status == COPY_OUT;
        if (!*copies && status != COMMAND_DONE)
            rc = fail(p->call.resultErrorMessage(result), err);
        p->call.clear(result);
        if (rc != PR_OK || *copies)
            break;
    }
    return rc;
}

static pr_code
read_rows(pr_postgres *p, pr_take_row take, void *context, pr_err *err)
{
    pr_code rc = PR_OK;
    while (rc == PR_OK) {
        char *row = NULL;
        int n = p->call.getCopyData(p->connection, &row, 1);
        if (n < 0)
            return n == -1 ? PR_OK
                           : fail(p->call.errorMessage(p->connection), err);
        rc = n == 0 ? wait_for(p, err)
                    : pr_rows_read(row, (size_t)n, take, context, err);
        p->call.freemem(row);
    }
    return rc;
}

static void
cancel_statement(pr_postgres *p)
{
    char why[256];
    void *cancel = p->call.getCancel(p->connection);
    if (cancel)
        p->call.cancel(cancel, why, sizeof why);
    p->call.freeCancel(cancel);
}

/* The results that are left, so that the connection can be used again. */
static void
drop_results(pr_postgres *p)
{
    for (void *result; (result = p->call.getResult(p->connection));) {
        bool copies = p->call.resultStatus(result) == COPY_OUT;
        char *row = NULL;
        p->call.clear(result);
        while (copies && p->call.getCopyData(p->connection, &row, 0) > 0)
            p->call.freemem(row);
    }
}

static pr_code
run(pr_postgres *p, const char *sql, pr_take_row take, void *context,
    pr_err *err)
{
    bool copies = false;
    if (!p->call.sendQuery(p->connection, sql))
        return fail(p->call.errorMessage(p->connection), err);
    pr_code rc = read_results(p, &copies, err);
    if (rc == PR_OK && copies) {
        rc = read_rows(p, take, context, err);
        if (rc == PR_OK) /* a failure of the server comes after the rows */
            rc = read_results(p, &copies, err);
    }
    if (rc != PR_OK && rc != PR_IO) /* the server did not end it */
        cancel_statement(p);
    if (rc != PR_OK)
        drop_results(p);
    return rc;
}

/* ---- connecting ---- */

static pr_code
check_address(const library *call, const char *address, pr_err *err)
{
    char *message = NULL;
    bool has_password = false;
    option *options = call->conninfoParse(address, &message);
    if (!options) {
        PR_FAIL(err, PR_USAGE, "%.*s",
                message ? (int)strcspn(message, "\n") : 14,
                message ? message : "not an address");
        call->freemem(message);
        return PR_USAGE;
    }
    for (const option *o = options; o->keyword; o++)
        has_password |= o->value && strstr(o->keyword, "password") != NULL;
    call->conninfoFree(options);
    if (!has_password)
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "an address must not hold a password");
    pr_err_hint(err, "put it into PGPASSWORD or ~/.pgpass");
    return PR_USAGE;
}

static pr_code
connect_to(pr_postgres *p, const char *address, pr_err *err)
{
    /* Joins by hash are linear in the rows, whatever the server guesses of
     * their number; compiling a statement costs more than running it. */
    static const char session[] = "SET default_transaction_read_only = on;"
                                  " SET search_path = pg_catalog;"
                                  " SET enable_nestloop = off;"
                                  " SET enable_mergejoin = off;"
                                  " SET jit = off";
    pr_code rc = check_address(&p->call, address, err);
    if (rc != PR_OK)
        return rc;
    p->connection = p->call.connectdb(address);
    if (!p->connection)
        return pr_no_memory(err);
    if (p->call.status(p->connection) != CONNECTED ||
        p->call.setClientEncoding(p->connection, "UTF8") != 0)
        return fail(p->call.errorMessage(p->connection), err);
    return run(p, session, NULL, NULL, err);
}

pr_code
pr_postgres_open(const char *address, const volatile bool *interrupted,
                 pr_postgres **ret, pr_err *err)
{
    pr_postgres *p = calloc(1, sizeof *p);
    if (!p)
        return pr_no_memory(err);
    p->interrupted = interrupted;
    pr_code rc = load(&p->call, err);
    if (rc == PR_OK)
        rc = connect_to(p, address, err);
    if (rc == PR_OK)
        *ret = p;
    else
        pr_postgres_close(p);
    return rc;
}

void
pr_postgres_close(pr_postgres *p)
{
    if (!p)
        return;
    if (p->connection)
        p->call.finish(p->connection);
    free(p); /* the library stays: TLS has work to do at the exit */
}

/* ---- interface ---- */

pr_code
pr_postgres_ask(pr_postgres *p, const char *select, size_t len,
                pr_take_row take, void *context, pr_err *err)
{
    pr_buffer sql = {0};
    pr_buffer_puts(&sql, "COPY (");
    pr_buffer_append(&sql, select, len);
    pr_buffer_append(&sql, ") TO STDOUT", sizeof ") TO STDOUT");
    pr_code rc =
        sql.failed ? pr_no_memory(err) : run(p, sql.at, take, context, err);
    pr_buffer_release(&sql);
    return rc;
}

void
pr_postgres_put_text(pr_buffer *sql, const char *at, size_t len)
{
    static const char digits[] = "0123456789abcdef";
    pr_buffer_puts(sql, "convert_from(decode('");
    for (size_t i = 0; i < len; i++) {
        pr_buffer_char(sql, digits[(unsigned char)at[i] >> 4]);
        pr_buffer_char(sql, digits[at[i] & 15]);
    }
    pr_buffer_puts(sql, "', 'hex'), 'UTF8')");
}
