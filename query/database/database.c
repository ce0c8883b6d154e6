/*
 * database.c - opening, guarding and stepping (D1-D4 of database.h).
 */
#include "query/database/database.h"

#include "query/database/cache.h"
#include "query/database/inputs.h"
#include "query/database/server.h"

#include <base/readable.h>
#include <base/words.h>
#include <errno.h>
#include <fcntl.h>
#include <pyrec/schema.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_VALUE = 64 * 1024 * 1024, /* bytes of one value or row */
    MAX_EXPRESSION_DEPTH = 200,
    MAX_PATTERN = 1000,
    MAX_TICKS = 50000,  /* 5e9 steps: a minute or two */
    PATIENCE_MS = 10000 /* for a program that adds to the database */
};

static int
count_ticks(void *context)
{
    q_database *database = context;
    return ++database->ticks > database->max_ticks || database->interrupted;
}

void
q_database_begin(q_database *database)
{
    database->ticks = 0;
    database->interrupted = false;
}

void
q_interrupt(q_database *database)
{
    database->interrupted = true;
}

void
q_show_all(q_database *database, int all)
{
    database->shows_all = all != 0;
}

/* D4.  Attaching, pragmas, writing and schema changes are other actions. */
static int
authorize(void *context, int action, const char *a, const char *b,
          const char *c, const char *d)
{
    const q_database *database = context;
    (void)a;
    (void)c;
    (void)d;
    if (!database->guarded)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return b && sqlite3_stricmp(b, "load_extension") == 0 ? SQLITE_DENY
                                                              : SQLITE_OK;
    default:
        return SQLITE_DENY;
    }
}

static pr_code
code_of(int rc)
{
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return PR_NOMEM;
    case SQLITE_CORRUPT:
        return PR_DAMAGED;
    case SQLITE_NOTADB:
        return PR_FOREIGN;
    case SQLITE_AUTH:
    case SQLITE_READONLY:
        return PR_USAGE;
    case SQLITE_TOOBIG:
    case SQLITE_INTERRUPT:
        return PR_LIMIT;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_PERM:
        return PR_IO;
    default:
        return PR_INTERNAL;
    }
}

pr_code
q_database_fail(q_database *database, int rc, const char *doing, pr_err *err)
{
    pr_code code = code_of(rc);
    if ((rc & 0xff) == SQLITE_INTERRUPT && database->interrupted)
        return PR_FAIL(err, code, "%s was interrupted", doing);
    if ((rc & 0xff) == SQLITE_INTERRUPT)
        return PR_FAIL(err, code, "%s takes more steps than are allowed",
                       doing);
    return PR_FAIL(err, code, "%s: %s", doing,
                   sqlite3_errmsg(database->sqlite));
}

pr_code
q_database_prepare(q_database *database, const char *sql, sqlite3_stmt **ret,
                   pr_err *err)
{
    if (!sql)
        return pr_no_memory(err);
    int rc = sqlite3_prepare_v2(database->sqlite, sql, -1, ret, NULL);
    if (rc == SQLITE_OK)
        return PR_OK;
    *ret = NULL;
    return q_database_fail(database, rc, "the question", err);
}

pr_code
q_database_step(q_database *database, sqlite3_stmt *stmt, pr_err *err)
{
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW)
        return PR_OK;
    if (rc == SQLITE_DONE)
        return PR_END;
    /* our own SQL is correct: the values are wrong */
    if ((rc & 0xff) == SQLITE_ERROR)
        return PR_FAIL(err, database->guarded ? PR_USAGE : PR_DAMAGED,
                       "the question: %s", sqlite3_errmsg(database->sqlite));
    return q_database_fail(database, rc, "the question", err);
}

pr_code
q_database_exec(q_database *database, const char *sql, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, sql, &stmt, err);
    if (rc != PR_OK)
        return rc;
    do
        rc = q_database_step(database, stmt, err);
    while (rc == PR_OK);
    sqlite3_finalize(stmt);
    return rc == PR_END ? PR_OK : rc;
}

pr_code
q_database_integer(q_database *database, const char *sql, int64_t *ret,
                   pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, sql, &stmt, err);
    if (rc != PR_OK)
        return rc;
    rc = q_database_step(database, stmt, err);
    if (rc == PR_OK)
        *ret = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return rc == PR_END ? PR_FAIL(err, PR_INTERNAL, "a row is missing") : rc;
}

/* SQLite's message about a text of the user's is about that text. */
static pr_code
fail_guarded(q_database *database, int rc, pr_err *err)
{
    int at = sqlite3_error_offset(database->sqlite);
    uint64_t offset = at < 0 ? PR_NO_OFFSET : (uint64_t)at;
    if ((rc & 0xff) == SQLITE_AUTH)
        return PR_FAIL_AT(err, PR_USAGE, offset,
                          "only reading this one database is allowed");
    if ((rc & 0xff) == SQLITE_ERROR)
        return PR_FAIL_AT(err, PR_USAGE, offset, "%s",
                          sqlite3_errmsg(database->sqlite));
    return q_database_fail(database, rc, "the statement", err);
}

static pr_code
prepare_one(q_database *database, const char *sql, sqlite3_stmt **ret,
            pr_err *err)
{
    const char *tail = sql;
    sqlite3_stmt *stmt = NULL, *second = NULL;
    int rc = sqlite3_prepare_v2(database->sqlite, sql, -1, &stmt, &tail);
    if (rc != SQLITE_OK)
        return fail_guarded(database, rc, err);
    if (!stmt)
        return PR_FAIL_AT(err, PR_USAGE, 0, "there is no statement");
    rc = sqlite3_prepare_v2(database->sqlite, tail, -1, &second, NULL);
    sqlite3_finalize(second);
    if (rc != SQLITE_OK || second) {
        sqlite3_finalize(stmt);
        return PR_FAIL_AT(err, PR_USAGE, (uint64_t)(tail - sql),
                          "only one statement is allowed");
    }
    if (!sqlite3_stmt_readonly(stmt) || sqlite3_column_count(stmt) == 0) {
        sqlite3_finalize(stmt);
        return PR_FAIL_AT(err, PR_USAGE, 0, "only SELECT is allowed");
    }
    *ret = stmt;
    return PR_OK;
}

pr_code
q_database_prepare_guarded(q_database *database, const char *sql,
                           sqlite3_stmt **ret, pr_err *err)
{
    database->guarded = true;
    pr_code rc = prepare_one(database, sql, ret, err);
    database->guarded = false;
    return rc;
}

/* Before anything of the file is used: what a schema may not do to us. */
static pr_code
guard(q_database *database, pr_err *err)
{
    sqlite3 *s = database->sqlite;
    sqlite3_db_config(s, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_db_config(s, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    sqlite3_db_config(s, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(s, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    sqlite3_limit(s, SQLITE_LIMIT_LENGTH, MAX_VALUE);
    sqlite3_limit(s, SQLITE_LIMIT_EXPR_DEPTH, MAX_EXPRESSION_DEPTH);
    sqlite3_limit(s, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MAX_PATTERN);
    sqlite3_limit(s, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(s, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_progress_handler(s, Q_STEPS_PER_TICK, count_ticks, database);
    sqlite3_set_authorizer(s, authorize, database);
    pr_code rc = q_database_exec(database, "PRAGMA temp_store=memory", err);
    if (rc == PR_OK)
        rc = q_database_exec(database, "PRAGMA cell_size_check=1", err);
    return rc;
}

static pr_code
check_numbers(q_database *database, const char *path, pr_err *err)
{
    int64_t id = 0, version = 0;
    pr_code rc =
        q_database_integer(database, "PRAGMA application_id", &id, err);
    if (rc == PR_OK)
        rc = q_database_integer(database, "PRAGMA user_version", &version, err);
    if (rc != PR_OK)
        return rc;
    if (id != PR_SCHEMA_APPLICATION_ID || version < 1) {
        rc = PR_FAIL(err, PR_FOREIGN,
                     "'%s' is an SQLite database, but not of a profile", path);
        pr_err_hint(err, "make one with 'pyconv run.bin --to sqlite'");
        return rc;
    }
    if (version != PR_SCHEMA_VERSION) {
        rc = PR_FAIL(err, PR_NEWER,
                     "'%s' has schema version %lld, this program knows %d",
                     path, (long long)version, PR_SCHEMA_VERSION);
        pr_err_hint(err, "convert the profile again with this version");
        return rc;
    }
    return PR_OK;
}

/* The columns the questions use. */
static const struct shape {
    const char *table, *columns;
} shapes[] = {
    {"profile", "id, hash, source, recording, host, command, commit_id,"
                " python, mode, capture, time, wall_us, start_us, interval_us,"
                " duration_us, samples, weight_us, unobserved_us, rate_hz,"
                " error_percent, missed_percent, ran_n, ran_us, knows_ran,"
                " knows_cpu, knows_waiting, first_node, last_node"},
    {"label", "profile_id, key, value"},
    {"meta", "profile_id, key, value"},
    {"process", "id, profile_id, pid, parent_pid, command, cgroup_periods,"
                " cgroup_throttled, throttled_us"},
    {"file", "id, path, base, module, class"},
    {"function", "id, file_id, qualname, name, first_line, kind"},
    {"thread",
     "id, process_id, tid, interp, name, is_main, t0_us, t1_us,"
     " samples, weight_us, unobserved_us, proven, sleeping,"
     " unproven, stopped, lost, first_run, last_run, left_out, cpu_us,"
     " cpu_wait_us, gil_wait_us, switches_voluntary,"
     " switches_involuntary"},
    {"node", "id, parent_id, last_id, function_id, line"},
    {"run", "thread_id, node_id, status, t0_us, t1_us, n, weight_us"},
    {"node_self", "id, node_id, thread_id, status, n, weight_us"},
    {"function_total", "profile_id, function_id, self_n, self_us, self_ran_n,"
                       " self_ran_us, total_n, total_us, total_ran_n,"
                       " total_ran_us"},
    {"function_sum", "function_id, self_n, self_us, self_ran_n, self_ran_us,"
                     " total_n, total_us, total_ran_n, total_ran_us"},
    {"edge_total", "profile_id, callee_id, caller_id, self_n, self_us,"
                   " total_n, total_us"},
    {"tree_total", "profile_id, parent_id, id, function_id, self_n, self_us,"
                   " self_ran_n, self_ran_us, total_n, total_us, total_ran_n,"
                   " total_ran_us"},
    {"event", "id, process_id, thread_id, kind, t0_us, t1_us, detail"},
    {"task", "id, process_id, thread_id, key, name, first_us"},
    {"task_parent", "task_id, parent_id"},
    {"loss", "process_id, thread_id, reason, n"},
    {"opcode", "python, number, name"},
};

enum { N_SHAPES = sizeof shapes / sizeof *shapes };

/* How many tables of each name there are; views and virtual tables do not
 * count. */
static pr_code
count_tables(q_database *database, int ret[N_SHAPES], pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(
        database,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0",
        &stmt, err);
    if (rc != PR_OK)
        return rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        for (size_t i = 0; name && i < N_SHAPES; i++)
            ret[i] += strcmp(name, shapes[i].table) == 0;
    }
    sqlite3_finalize(stmt);
    return rc == PR_END ? PR_OK : rc;
}

/* Without a statement for each table, which would cost more than the answer. */
static pr_code
check_columns(q_database *database, const struct shape *shape, const char *path,
              pr_err *err)
{
    char column[64];
    for (const char *at = shape->columns; *at; at += strspn(at, ", ")) {
        int n = (int)strcspn(at, ",");
        snprintf(column, sizeof column, "%.*s", n, at);
        at += n;
        int rc = sqlite3_table_column_metadata(database->sqlite, "main",
                                               shape->table, column, NULL, NULL,
                                               NULL, NULL, NULL);
        if (rc == SQLITE_NOMEM)
            return PR_FAIL(err, PR_NOMEM, "table '%s'", shape->table);
        if (rc != SQLITE_OK)
            return PR_FAIL(err, PR_DAMAGED, "'%s': table '%s' lacks column %s",
                           path, shape->table, column);
    }
    return PR_OK;
}

/* D1 */
static pr_code
check_tables(q_database *database, const char *path, pr_err *err)
{
    int found[N_SHAPES] = {0};
    pr_code rc = count_tables(database, found, err);
    for (size_t i = 0; rc == PR_OK && i < N_SHAPES; i++)
        rc = found[i] == 1 ? check_columns(database, &shapes[i], path, err)
                           : PR_FAIL(err, PR_DAMAGED, "'%s' has no table '%s'",
                                     path, shapes[i].table);
    return rc;
}

/* Are the names similar?  For candidates. */
static void
near_names(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *a = (const char *)sqlite3_value_text(argv[0]);
    const char *b = (const char *)sqlite3_value_text(argv[1]);
    sqlite3_result_int(context,
                       a && b && pr_words_are_near(a, strlen(a), b, strlen(b)));
}

/* How far one name is from the other; the nearest candidate comes first. */
static void
name_distance(sqlite3_context *context, int argc, sqlite3_value **argv)
{
    (void)argc;
    const char *a = (const char *)sqlite3_value_text(argv[0]);
    const char *b = (const char *)sqlite3_value_text(argv[1]);
    if (a && b)
        sqlite3_result_int64(
            context, (int64_t)pr_words_distance(a, strlen(a), b, strlen(b)));
}

static int
add_functions(sqlite3 *sqlite)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int rc = sqlite3_create_function_v2(sqlite, "q_near", 2, flags, NULL,
                                        near_names, NULL, NULL, NULL);
    return rc == SQLITE_OK
               ? sqlite3_create_function_v2(sqlite, "q_distance", 2, flags,
                                            NULL, name_distance, NULL, NULL,
                                            NULL)
               : rc;
}

/* Metadata are searched by key in each profile: a scan of all of them would
 * cost more than most questions. */
#define SOME_PROFILE(condition) \
    "SELECT EXISTS (SELECT 1 FROM profile WHERE " condition ")"

/* Facts that questions need beforehand. */
static pr_code
learn(q_database *database, pr_err *err)
{
    const struct {
        const char *sql;
        bool *fact;
    } facts[] = {
        {"SELECT ifnull(max(knows_ran), 0) FROM profile", &database->knows_ran},
        {SOME_PROFILE(Q_HAS_TOTALS("profile.id")), &database->has_totals},
        {SOME_PROFILE(Q_COUNTS_CALLS("profile.id")), &database->counts_calls},
    };
    int rc = add_functions(database->sqlite);
    if (rc != SQLITE_OK)
        return q_database_fail(database, rc, "the database", err);
    pr_code code = PR_OK;
    for (size_t i = 0; i < sizeof facts / sizeof *facts && code == PR_OK; i++) {
        int64_t is = 0;
        code = q_database_integer(database, facts[i].sql, &is, err);
        *facts[i].fact = is != 0;
    }
    return code;
}

pr_code
q_totals_refuse(const q_database *database, const char *what, pr_err *err)
{
    if (!database->has_totals)
        return PR_OK;
    PR_FAIL(err, PR_USAGE,
            "%s needs stacks, and a profile of pstats has totals of functions",
            what);
    pr_err_hint(err, "'top', 'callers of NAME' and 'callees of NAME' have"
                     " answers");
    return PR_USAGE;
}

static pr_code
check_database(q_database *database, const char *path, pr_err *err)
{
    pr_code rc = check_numbers(database, path, err);
    if (rc == PR_OK)
        rc = check_tables(database, path, err);
    return rc == PR_OK ? learn(database, err) : rc;
}

/* The first bytes of a file that can be read and is not a device or pipe. */
static pr_code
read_head(const char *path, char *head, size_t size, size_t *ret, pr_err *err)
{
    /* O_NONBLOCK: a pipe without a writer would hold us up */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot open '%s'", path);
    struct stat st;
    pr_code rc = PR_OK;
    ssize_t n = 0;
    if (fstat(fd, &st) != 0 ||
        (n = S_ISREG(st.st_mode) ? pread(fd, head, size, 0) : 0) < 0)
        rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot read '%s'", path);
    else if ((rc = pr_refuse_stream(path, &st, err)) == PR_OK)
        *ret = (size_t)n;
    close(fd);
    return rc;
}

/* The path as a URI: SQLite gives plain names such as ":memory:" a meaning of
 * their own. */
static char *
make_uri(const char *path, bool immutable)
{
    sqlite3_str *uri = sqlite3_str_new(NULL);
    sqlite3_str_appendall(uri, *path == '/' ? "file://" : "file:./");
    for (; *path; path++)
        if (strchr("?#%", *path))
            sqlite3_str_appendf(uri, "%%%02x", (unsigned char)*path);
        else
            sqlite3_str_appendchar(uri, 1, *path);
    if (immutable)
        sqlite3_str_appendall(uri, "?immutable=1");
    return sqlite3_str_finish(uri);
}

/* Is there a file of this name with this ending, and something in it? */
static bool
has_content(const char *path, const char *ending)
{
    struct stat st;
    char *name = sqlite3_mprintf("%s%s", path, ending);
    bool has = name && stat(name, &st) == 0 && st.st_size > 0;
    sqlite3_free(name);
    return has;
}

/* D2: in WAL mode even a reader writes files beside the database.  Without a
 * log the file holds everything and is read as it is. */
static pr_code
check_log(const char *path, bool is_wal, pr_err *err)
{
    if (!is_wal || !has_content(path, "-wal"))
        return PR_OK;
    PR_FAIL(err, PR_IO,
            "'%s' has a write-ahead log beside it, which cannot be read"
            " without writing",
            path);
    pr_err_hint(err, "end its writer, or 'PRAGMA journal_mode=DELETE' in"
                     " sqlite3");
    return PR_IO;
}

static pr_code
fail_to_open(const char *path, int rc, pr_err *err)
{
    if (rc == SQLITE_READONLY_ROLLBACK || rc == SQLITE_CANTOPEN ||
        rc == SQLITE_READONLY_RECOVERY) {
        PR_FAIL(err, PR_IO, "cannot read '%s': %s", path,
                rc == SQLITE_CANTOPEN
                    ? sqlite3_errstr(rc)
                    : "a write to it was not finished, and reading may not"
                      " undo it");
        if (rc != SQLITE_CANTOPEN)
            pr_err_hint(err, "open it once with sqlite3 to undo the write");
        return PR_IO;
    }
    return PR_FAIL(err, code_of(rc), "cannot open '%s': %s", path,
                   sqlite3_errstr(rc));
}

static pr_code
open_sqlite(const char *path, bool is_wal, sqlite3 **ret, pr_err *err)
{
    pr_code code = check_log(path, is_wal, err);
    if (code != PR_OK)
        return code;
    char *uri = make_uri(path, is_wal);
    if (!uri)
        return pr_no_memory(err);
    int rc = sqlite3_open_v2(
        uri, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI,
        NULL);
    sqlite3_free(uri);
    if (rc == SQLITE_OK)
        rc = sqlite3_busy_timeout(*ret, PATIENCE_MS);
    if (rc == SQLITE_OK)
        return PR_OK;
    sqlite3_close(*ret);
    *ret = NULL;
    return fail_to_open(path, rc, err);
}

/* Where the header of an SQLite file says how it is written: 2 is WAL. */
enum { WRITE_VERSION = 18, HEAD = 20 };

/* A handle of SQLite for whatever the paths are; PR_CUT and PR_DAMAGED with
 * one. */
static pr_code
open_any(const q_inputs *inputs, uint64_t memory, sqlite3 **ret, pr_err *err)
{
    static const char magic[16] = "SQLite format 3";
    conv_opts opts = CONV_OPTS_INIT;
    opts.memory = memory;
    for (size_t i = 0; i < inputs->n; i++) {
        char head[HEAD] = {0};
        size_t n = 0;
        const char *path = inputs->path[i];
        pr_code rc = read_head(path, head, sizeof head, &n, err);
        if (rc != PR_OK)
            return rc;
        if (n < sizeof magic || memcmp(head, magic, sizeof magic) != 0)
            continue;
        if (inputs->n == 1)
            return open_sqlite(path, n == HEAD && head[WRITE_VERSION] == 2, ret,
                               err);
        PR_FAIL(err, PR_USAGE, "'%s' is a database among several files", path);
        pr_err_hint(err, "ask one database, or any number of profiles");
        return PR_USAGE;
    }
    /* profiles, however damaged, or what the reader says that they are */
    return conv_to_memory((const char *const *)inputs->path, inputs->n, &opts,
                          ret, err);
}

/* Is this why a cache cannot be written?  A link in its place is not. */
static bool
is_unwritable(pr_code rc, int sys)
{
    static const int reasons[] = {ENOSPC, EDQUOT, EFBIG, EROFS,
                                  EACCES, EPERM,  EIO};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (rc == PR_IO && sys == reasons[i])
            return true;
    return false;
}

/* A folder's database in the cache, or in memory without one. */
static pr_code
open_folder(const char *folder, uint64_t memory, sqlite3 **ret, pr_err *err)
{
    conv_opts opts = CONV_OPTS_INIT;
    opts.memory = memory;
    char *path = NULL;
    pr_err seen = PR_ERR_INIT;
    pr_code rc = q_cache_path(folder, &path, &seen);
    if (rc == PR_OK)
        rc = conv_archive_open(folder, path, &opts, ret, &seen);
    if (rc == PR_END || (path && is_unwritable(rc, seen.sys))) {
        pr_err_clear(&seen);
        rc = conv_archive_open(folder, NULL, &opts, ret, &seen);
    } else if (path && (rc == PR_IO || rc == PR_FOREIGN || rc == PR_NEWER)) {
        pr_err_hint(&seen, "'%s' is the cache; it may be removed", path);
    }
    free(path);
    if (rc != PR_OK && err)
        *err = seen;
    return rc;
}

static pr_code
open_paths(const char *const *path, size_t n, uint64_t memory, sqlite3 **ret,
           pr_err *err)
{
    struct stat st;
    q_inputs inputs = {0};
    if (n == 1 && stat(path[0], &st) == 0 && S_ISDIR(st.st_mode))
        return open_folder(path[0], memory, ret, err);
    pr_code rc = q_inputs_expand(path, n, &inputs, err);
    if (rc == PR_OK)
        rc = open_any(&inputs, memory, ret, err);
    q_inputs_release(&inputs);
    return rc;
}

/* The tables of schema.h, empty. */
static pr_code
make_tables(sqlite3 *sqlite, pr_err *err)
{
    static const char *const tables[] = {PR_SCHEMA_TABLES};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (sqlite3_exec(sqlite, tables[i], NULL, NULL, NULL) != SQLITE_OK)
            return pr_no_memory(err);
    return PR_OK;
}

static pr_code
open_nothing(sqlite3 **ret, pr_err *err)
{
    int rc = sqlite3_open_v2(":memory:", ret,
                             SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        return PR_OK;
    sqlite3_close(*ret);
    *ret = NULL;
    return PR_FAIL(err, code_of(rc), "cannot open a database in memory: %s",
                   sqlite3_errstr(rc));
}

/* The first of the paths that is the address of a server; NULL: none is. */
static const char *
find_server(const char *const *path, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (q_remote_is_address(path[i]))
            return path[i];
    return NULL;
}

/* A server has the tables; what a question needs of them comes into memory. */
static pr_code
open_server(q_database *database, const char *address, size_t n, pr_err *err)
{
    if (n > 1)
        return PR_FAIL(err, PR_USAGE,
                       "the server '%s' and files cannot be asked together",
                       address);
    pr_code rc =
        q_remote_open(address, &database->interrupted, &database->remote, err);
    if (rc == PR_OK)
        rc = open_nothing(&database->sqlite, err);
    return rc == PR_OK ? make_tables(database->sqlite, err) : rc;
}

pr_code
q_open_all(const char *const *path, size_t n, uint64_t memory, q_database **ret,
           pr_err *err)
{
    q_database *database = calloc(1, sizeof *database);
    if (!database)
        return pr_no_memory(err);
    database->max_ticks = MAX_TICKS;
    database->memory = memory;
    const char *server = find_server(path, n);
    pr_code opened = server ? open_server(database, server, n, err)
                     : n ? open_paths(path, n, memory, &database->sqlite, err)
                         : open_nothing(&database->sqlite, err);
    if (!database->sqlite || (server && opened != PR_OK)) {
        q_close(database);
        return opened;
    }
    /* the rest of a damaged profile keeps its message */
    pr_err *later = opened == PR_OK ? err : NULL;
    pr_code rc = guard(database, later);
    if (rc == PR_OK && server)
        rc = learn(database, later);
    else if (rc == PR_OK && n)
        rc = check_database(database, path[0], later);
    if (rc != PR_OK) {
        q_close(database);
        return rc;
    }
    *ret = database;
    return opened;
}

pr_code
q_open(const char *path, q_database **ret, pr_err *err)
{
    return q_open_all(&path, 1, 0, ret, err);
}

void
q_close(q_database *database)
{
    if (!database)
        return;
    q_remote_close(database->remote);
    sqlite3_close(database->sqlite);
    free(database);
}
