/*
 * remote_names.c - rows of the server into tables of schema.h.
 */
#include "query/remote/remote_names.h"

#include "query/remote/remote_row.h"

#include <base/array.h>
#include <stdlib.h>

/* Rows on their way into one table. */
typedef struct filler {
    q_database *database;
    const q_engine *engine;
    void *connection;
    sqlite3_stmt *insert;
    pr_set files; /* int64_t: as q_remote_names has functions */
    pr_set functions;
    bool knows_ran;
} filler;

/* ---- rows ---- */

static pr_code
take_basis(void *context, const pr_field *field, size_t n, pr_err *err)
{
    filler *f = context;
    int64_t profiles, knows_ran;
    if (n != 9 || !pr_field_integer(&field[0], &profiles) ||
        !pr_field_integer(&field[6], &knows_ran))
        return q_remote_row_fail(err);
    if (profiles <= 0)
        return PR_FAIL(err, PR_NAME, "the server has no profile");
    for (int i = 1; i < 9; i++)
        if (!q_remote_row_bind_number(f->insert, i, &field[i]))
            return q_remote_row_fail(err);
    f->knows_ran = knows_ran != 0;
    return q_remote_row_put(f->database, f->insert, err);
}

static pr_code
take_label(void *context, const pr_field *field, size_t n, pr_err *err)
{
    filler *f = context;
    if (n != 1 || !field[0].at)
        return q_remote_row_fail(err);
    q_remote_row_bind_text(f->insert, 1, &field[0]);
    return q_remote_row_put(f->database, f->insert, err);
}

static pr_code
take_file(void *context, const pr_field *field, size_t n, pr_err *err)
{
    filler *f = context;
    int64_t hash;
    uint32_t place;
    size_t had = f->files.n;
    if (n != 5 || !pr_field_integer(&field[0], &hash))
        return q_remote_row_fail(err);
    pr_code rc = pr_set_add(&f->files, &hash, &place, err);
    if (rc != PR_OK || f->files.n == had)
        return rc;
    sqlite3_bind_int64(f->insert, 1, (int64_t)place + 1);
    for (int i = 1; i < 5; i++)
        q_remote_row_bind_text(f->insert, i + 1, &field[i]);
    return q_remote_row_put(f->database, f->insert, err);
}

static pr_code
take_function(void *context, const pr_field *field, size_t n, pr_err *err)
{
    filler *f = context;
    int64_t hash, file;
    uint32_t place;
    size_t had = f->functions.n;
    if (n != 6 || !pr_field_integer(&field[0], &hash) ||
        !pr_field_integer(&field[1], &file))
        return q_remote_row_fail(err);
    uint32_t of = pr_set_find(&f->files, &file);
    if (of == PR_TABLE_NONE)
        return q_remote_row_fail(err);
    pr_code rc = pr_set_add(&f->functions, &hash, &place, err);
    if (rc != PR_OK || f->functions.n == had)
        return rc;
    sqlite3_bind_int64(f->insert, 1, (int64_t)place + 1);
    sqlite3_bind_int64(f->insert, 2, (int64_t)of + 1);
    q_remote_row_bind_text(f->insert, 3, &field[2]);
    q_remote_row_bind_text(f->insert, 4, &field[3]);
    if (!q_remote_row_bind_number(f->insert, 5, &field[4]))
        return q_remote_row_fail(err);
    q_remote_row_bind_text(f->insert, 6, &field[5]);
    sqlite3_bind_int64(f->insert, 7, hash);
    return q_remote_row_put(f->database, f->insert, err);
}

/* ---- tables ---- */

typedef struct table {
    void (*put)(pr_buffer *sql);
    pr_take_row take;
    const char *insert;
} table;

static pr_code
fill_one(filler *f, const table *t, pr_err *err)
{
    pr_buffer sql = {0};
    t->put(&sql);
    return q_remote_row_ask(f->database, f->engine, f->connection, &sql,
                            t->insert, &f->insert, t->take, f, err);
}

/* The sums that the server was asked once: a profile with one thread. */
static const char *const make_basis[] = {
    "DROP TABLE IF EXISTS temp.basis",
    "CREATE TEMP TABLE basis(samples, unobserved, proven, unproven, lost, ran,"
    " cpu, waiting)",
    NULL,
};
static const char *const use_basis[] = {
    "INSERT INTO profile(id, hash, mode, capture, time, interval_us,"
    " duration_us, samples, weight_us, unobserved_us, ran_n, ran_us, knows_ran,"
    " knows_cpu, knows_waiting) SELECT 1, '', '', '', '', 0, 0, samples, 0,"
    " unobserved, 0, 0, ran, cpu, waiting FROM basis",
    "INSERT INTO thread(id, process_id, tid, interp, is_main, samples,"
    " weight_us, unobserved_us, proven, unproven, lost) SELECT 1, 1, 0, 0, 0,"
    " samples, 0, unobserved, proven, unproven, lost FROM basis",
    NULL,
};

static pr_code
exec_all(q_database *database, const char *const *sql, pr_err *err)
{
    pr_code rc = PR_OK;
    for (; *sql && rc == PR_OK; sql++)
        rc = q_database_exec(database, *sql, err);
    return rc;
}

static pr_code
fill(void *context, pr_err *err)
{
    filler *f = context;
    const q_engine *engine = f->engine;
    const table tables[] = {
        {engine->put_basis, take_basis,
         "INSERT INTO basis VALUES(?,?,?,?,?,?,?,?)"},
        {engine->put_labels, take_label,
         "INSERT INTO label(profile_id, key, value) VALUES(1, ?, '')"},
        {engine->put_files, take_file,
         "INSERT INTO file(id, path, base, module, class, hash)"
         " VALUES(?,?,?,?,?,'')"},
        {engine->put_functions, take_function,
         "INSERT INTO function(id, file_id, qualname, name, first_line, kind,"
         " hash) VALUES(?,?,?,?,?,?,?)"},
    };
    pr_code rc = exec_all(f->database, make_basis, err);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && rc == PR_OK; i++)
        rc = fill_one(f, &tables[i], err);
    return rc == PR_OK ? exec_all(f->database, use_basis, err) : rc;
}

/* ---- interface ---- */

pr_code
q_remote_names_read(q_database *database, const q_engine *engine,
                    void *connection, pr_set *ret, pr_err *err)
{
    filler f = {.database = database,
                .engine = engine,
                .connection = connection,
                .files.size = sizeof(int64_t),
                .functions.size = sizeof(int64_t)};
    pr_code rc = q_remote_row_replace(database, fill, &f, err);
    pr_set_release(&f.files);
    database->knows_ran = f.knows_ran;
    if (rc == PR_OK)
        *ret = f.functions;
    else
        pr_set_release(&f.functions);
    return rc;
}

static pr_code
read_chosen(q_database *database, sqlite3_stmt *row, int64_t **ret,
            size_t *ret_n, pr_err *err)
{
    int64_t *hash = NULL;
    size_t n = 0, cap = 0;
    pr_code rc;
    while ((rc = q_database_step(database, row, err)) == PR_OK) {
        if (!pr_grow(&hash, &cap, n + 1, sizeof *hash)) {
            rc = pr_no_memory(err);
            break;
        }
        hash[n++] = sqlite3_column_int64(row, 0);
    }
    if (rc != PR_END) {
        free(hash);
        return rc;
    }
    *ret = hash;
    *ret_n = n;
    return PR_OK;
}

pr_code
q_remote_names_choose(q_database *database, const char *condition,
                      int64_t **ret, size_t *ret_n, pr_err *err)
{
    sqlite3_stmt *row;
    char *sql = sqlite3_mprintf("SELECT function.hash FROM function JOIN file"
                                " ON file.id = file_id WHERE %s",
                                condition);
    pr_code rc = q_database_prepare(database, sql, &row, err);
    sqlite3_free(sql);
    if (rc != PR_OK)
        return rc;
    rc = read_chosen(database, row, ret, ret_n, err);
    sqlite3_finalize(row);
    return rc;
}

pr_code
q_remote_names_part(q_database *database, const char *key, int64_t part,
                    const pr_field *value, pr_err *err)
{
    filler f = {.database = database};
    pr_code rc = q_database_prepare(
        database, "INSERT INTO label(profile_id, key, value) VALUES(?,?,?)",
        &f.insert, err);
    if (rc != PR_OK)
        return rc;
    sqlite3_bind_int64(f.insert, 1, part);
    sqlite3_bind_text(f.insert, 2, key, -1, SQLITE_TRANSIENT);
    q_remote_row_bind_text(f.insert, 3, value);
    rc = q_remote_row_put(database, f.insert, err);
    sqlite3_finalize(f.insert);
    return rc;
}
