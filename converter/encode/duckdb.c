/*
 * duckdb.c - the functions of libduckdb.so by their names (duckdb.h).
 */
#include "converter/encode/duckdb.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the C interface of DuckDB (duckdb.h of 1.5 and 2.0) ---- */

typedef void
    *handle;       /* a database, a connection, a configuration, an appender */
typedef int state; /* 0: success */

typedef struct result {
    uint64_t counts[3];
    void *columns;
    char *message;
    void *internal;
} result;

/* name, what it returns, its parameters */
#define FUNCTIONS(X)                                                          \
    X(create_config, state, (handle *))                                       \
    X(set_config, state, (handle, const char *, const char *))                \
    X(destroy_config, void, (handle *))                                       \
    X(open_ext, state, (const char *, handle *, handle, char **))             \
    X(close, void, (handle *))                                                \
    X(free, void, (void *))                                                   \
    X(connect, state, (handle, handle *))                                     \
    X(disconnect, void, (handle *))                                           \
    X(query, state, (handle, const char *, result *))                         \
    X(result_error, const char *, (result *))                                 \
    X(rows_changed, uint64_t, (result *))                                     \
    X(destroy_result, void, (result *))                                       \
    X(appender_create, state, (handle, const char *, const char *, handle *)) \
    X(append_null, state, (handle))                                           \
    X(append_int64, state, (handle, int64_t))                                 \
    X(append_varchar_length, state, (handle, const char *, uint64_t))         \
    X(appender_end_row, state, (handle))                                      \
    X(appender_close, state, (handle))                                        \
    X(appender_error, const char *, (handle))                                 \
    X(appender_destroy, state, (handle *))

typedef struct library {
#define FUNCTION(name, returns, parameters) returns(*name) parameters;
    FUNCTIONS(FUNCTION)
#undef FUNCTION
} library;

struct conv_duckdb {
    library call;
    handle database, connection;
};

struct conv_duckdb_rows {
    const library *call;
    handle appender;
    bool failed;
};

static const char file_name[] = "libduckdb.so";

/* ---- loading ---- */

/* A function's address from dlsym(), which POSIX lets be a data pointer. */
static bool
find(void *file, const char *name, void *ret)
{
    void *found = dlsym(file, name);
    memcpy(ret, &found, sizeof found);
    return found != NULL;
}

/* The library stays loaded: its threads may outlive the database. */
static pr_code
load(library *ret, pr_err *err)
{
    void *file = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
        PR_FAIL(err, PR_IO, "cannot load DuckDB: %s", dlerror());
        pr_err_hint(err,
                    "install %s (https://duckdb.org/install, 'C/C++');"
                    " LD_LIBRARY_PATH may name its folder",
                    file_name);
        return PR_IO;
    }
#define FUNCTION(name, returns, parameters)       \
    if (!find(file, "duckdb_" #name, &ret->name)) \
        return PR_FAIL(err, PR_IO, "%s lacks duckdb_%s", file_name, #name);
    FUNCTIONS(FUNCTION)
#undef FUNCTION
    return PR_OK;
}

/* Its first line; later ones are a picture of the statement. */
static pr_code
fail(const char *message, pr_err *err)
{
    if (!message)
        message = "it does not say why";
    return PR_FAIL(err, PR_IO, "DuckDB failed: %.*s",
                   (int)strcspn(message, "\n"), message);
}

/* ---- a database ---- */

static pr_code
configure(const library *call, int threads, handle *ret, pr_err *err)
{
    char number[16];
    snprintf(number, sizeof number, "%d", threads > 0 ? threads : 1);
    const char *const options[][2] = {
        {"threads", number},
        {"memory_limit", "1GB"},
        {"autoinstall_known_extensions", "false"},
        {"autoload_known_extensions", "false"},
    };
    if (call->create_config(ret) != 0)
        return pr_no_memory(err);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (call->set_config(*ret, options[i][0], options[i][1]) != 0) {
            call->destroy_config(ret);
            return PR_FAIL(err, PR_IO, "DuckDB has no option %s",
                           options[i][0]);
        }
    return PR_OK;
}

static pr_code
open_database(conv_duckdb *duckdb, const char *path, int threads, pr_err *err)
{
    const library *call = &duckdb->call;
    handle config;
    char *message = NULL;
    pr_code rc = configure(call, threads, &config, err);
    if (rc != PR_OK)
        return rc;
    if (call->open_ext(path, &duckdb->database, config, &message) != 0)
        rc = fail(message, err);
    else if (call->connect(duckdb->database, &duckdb->connection) != 0)
        rc = fail(NULL, err);
    call->free(message);
    call->destroy_config(&config);
    return rc;
}

pr_code
conv_duckdb_open(const char *path, int threads, conv_duckdb **ret, pr_err *err)
{
    conv_duckdb *duckdb = calloc(1, sizeof *duckdb);
    if (!duckdb)
        return pr_no_memory(err);
    pr_code rc = load(&duckdb->call, err);
    if (rc != PR_OK) {
        free(duckdb);
        return rc;
    }
    rc = open_database(duckdb, path, threads, err);
    if (rc == PR_OK)
        *ret = duckdb;
    else
        conv_duckdb_close(duckdb);
    return rc;
}

void
conv_duckdb_close(conv_duckdb *duckdb)
{
    if (!duckdb)
        return;
    if (duckdb->connection)
        duckdb->call.disconnect(&duckdb->connection);
    if (duckdb->database)
        duckdb->call.close(&duckdb->database);
    free(duckdb);
}

pr_code
conv_duckdb_run(conv_duckdb *duckdb, const char *sql, uint64_t *ret_changed,
                pr_err *err)
{
    const library *call = &duckdb->call;
    result answer = {{0}, NULL, NULL, NULL};
    pr_code rc = PR_OK;
    if (call->query(duckdb->connection, sql, &answer) != 0)
        rc = fail(call->result_error(&answer), err);
    else if (ret_changed)
        *ret_changed = call->rows_changed(&answer);
    call->destroy_result(&answer);
    return rc;
}

/* ---- rows ---- */

pr_code
conv_duckdb_rows_open(conv_duckdb *duckdb, const char *table,
                      conv_duckdb_rows **ret, pr_err *err)
{
    const library *call = &duckdb->call;
    conv_duckdb_rows *rows = calloc(1, sizeof *rows);
    if (!rows)
        return pr_no_memory(err);
    rows->call = call;
    if (call->appender_create(duckdb->connection, NULL, table,
                              &rows->appender) != 0) {
        pr_code rc = fail(call->appender_error(rows->appender), err);
        call->appender_destroy(&rows->appender);
        free(rows);
        return rc;
    }
    *ret = rows;
    return PR_OK;
}

void
conv_duckdb_null(conv_duckdb_rows *rows)
{
    rows->failed |= rows->call->append_null(rows->appender) != 0;
}

void
conv_duckdb_integer(conv_duckdb_rows *rows, int64_t value)
{
    rows->failed |= rows->call->append_int64(rows->appender, value) != 0;
}

void
conv_duckdb_text(conv_duckdb_rows *rows, const char *text, size_t n)
{
    rows->failed |=
        rows->call->append_varchar_length(rows->appender, text, n) != 0;
}

pr_code
conv_duckdb_put(conv_duckdb_rows *rows, pr_err *err)
{
    if (!rows->failed && rows->call->appender_end_row(rows->appender) == 0)
        return PR_OK;
    return fail(rows->call->appender_error(rows->appender), err);
}

pr_code
conv_duckdb_rows_close(conv_duckdb_rows *rows, pr_err *err)
{
    pr_code rc = PR_OK;
    if (rows->call->appender_close(rows->appender) != 0)
        rc = fail(rows->call->appender_error(rows->appender), err);
    rows->call->appender_destroy(&rows->appender);
    free(rows);
    return rc;
}
