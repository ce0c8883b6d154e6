/*
 * fuzz_query.c - any query text over a good database, any bytes as a database.
 *
 * Input that begins like an SQLite file is opened and asked every verb;
 * "sql " goes before a statement; anything else is a query.
 */
#include <pyrec/query.h>
#include <pyrec/schema.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "query/database/database.h"
#include "query/render/render.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char rows[] =
    "INSERT INTO profile VALUES(1, x'01', 'run.bin', NULL, NULL, NULL, NULL,"
    " NULL, 'all', 'threads', 'real', NULL, NULL, 1000, 10000, 9, 9000, 0,"
    " NULL, NULL, NULL, 6, 6000, 1, 1, 1, 1, 3);"
    "INSERT INTO process(id, profile_id, pid, parent_pid, command, python,"
    " t0_us, t1_us) VALUES(1, 1, 7, NULL, NULL, NULL, 0, 10000);"
    "INSERT INTO file VALUES(1, '/a/x.py', 'x.py', 'x', 'project', x'01');"
    "INSERT INTO function VALUES(1, 1, 'f', 'f', 1, 'py', x'01'),"
    " (2, 1, 'A.g', 'g', 5, 'py', x'02'), (3, 1, 'g', 'g', 9, 'py', x'03');"
    "INSERT INTO thread(id, process_id, tid, interp, name, is_main, samples,"
    " weight_us, unobserved_us) VALUES(1, 1, 100, 0, 'MainThread', 1, 6, 6000,"
    " 0), (2, 1, 200, 0, 'pool', 0, 3, 3000, 0);"
    "INSERT INTO node VALUES(1, 0, 3, 1, 1, 1, 1, 1, 1, 1),"
    " (2, 1, 3, 2, 2, 2, 5, 1, 1, 1), (3, 2, 3, 3, 3, 1, 1, 0, 0, 1);"
    "INSERT INTO run VALUES(1, 1, 2, 35, 0, 5000, 6, 6000),"
    " (2, 2, 3, 8, 0, 2000, 3, 3000);"
    "INSERT INTO node_self VALUES(1, 2, 1, 35, 6, 6000),"
    " (2, 3, 2, 8, 3, 3000);"
    "INSERT INTO function_total VALUES(1, 1, 3, 3000, 0, 0, 9, 9000, 6, 6000),"
    " (1, 2, 6, 6000, 6, 6000, 9, 9000, 6, 6000);";

/* A file that only this process can name. */
static void
temp_path(char *path, size_t size)
{
    snprintf(path, size, "/tmp/fuzz_query.XXXXXX");
    int fd = mkstemp(path);
    if (fd < 0)
        abort();
    close(fd);
}

static bool
create_tables(sqlite3 *s)
{
    static const char *const schema[] = {PR_SCHEMA_TABLES, PR_SCHEMA_VIEWS};
    bool done = true;
    for (size_t i = 0; i < sizeof schema / sizeof *schema; i++)
        done =
            done && sqlite3_exec(s, schema[i], NULL, NULL, NULL) == SQLITE_OK;
    return done;
}

static q_database *
open_good(void)
{
    char path[64];
    temp_path(path, sizeof path);
    sqlite3 *s;
    char numbers[96];
    snprintf(numbers, sizeof numbers,
             "PRAGMA synchronous=off; PRAGMA application_id=%d;"
             "PRAGMA user_version=%d",
             PR_SCHEMA_APPLICATION_ID, PR_SCHEMA_VERSION);
    if (sqlite3_open(path, &s) != SQLITE_OK ||
        sqlite3_exec(s, numbers, NULL, NULL, NULL) != SQLITE_OK ||
        !create_tables(s) ||
        sqlite3_exec(s, rows, NULL, NULL, NULL) != SQLITE_OK)
        abort();
    sqlite3_close(s);
    q_database *database = NULL;
    if (q_open(path, &database, NULL) != PR_OK)
        abort();
    unlink(path); /* stays readable while it is open */
    return database;
}

static void
render(q_result *result, q_format format)
{
    FILE *out = fopen("/dev/null", "w");
    if (!out)
        abort();
    q_render(result, &(q_render_opts){.format = format}, out, NULL);
    fclose(out);
    q_result_free(result);
}

static void
ask(q_database *database, const char *text)
{
    pr_err err = PR_ERR_INIT;
    q_result *result = NULL;
    database->max_ticks = 20;
    bool is_sql = strncmp(text, "sql ", 4) == 0;
    pr_code rc = is_sql ? q_run_sql(database, text + 4, &result, &err)
                        : q_run(database, text, &result, &err);
    if (rc == PR_OK) {
        render(result, (q_format)(strlen(text) % 4));
        return;
    }
    /* a refusal has a sentence and an offset within the text */
    if (!err.what[0] || result ||
        (rc == PR_USAGE && err.offset != PR_NO_OFFSET &&
         err.offset > strlen(text)))
        abort();
}

static void
ask_bytes(const uint8_t *data, size_t size)
{
    static const char *const questions[] = {
        "top",           "lines by total", "files by name",
        "threads",       "summary",        "tree above 0%",
        "callers of g*", "callees of f",   "top between 1% and 99% where main"};
    char path[64];
    temp_path(path, sizeof path);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, size, out) != size || fclose(out) != 0)
        abort();
    q_database *database = NULL;
    if (q_open(path, &database, NULL) == PR_OK)
        for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
            ask(database, questions[i]);
    q_close(database);
    unlink(path);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size >= 15 && memcmp(data, "SQLite format 3", 15) == 0) {
        ask_bytes(data, size);
        return 0;
    }
    char *text = malloc(size + 1);
    if (!text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    static q_database *good; /* once: making it costs more than the question */
    if (!good)
        good = open_good();
    ask(good, text);
    free(text);
    return 0;
}
