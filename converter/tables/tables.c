/*
 * tables.c - the transaction around the profiles that are added.
 */
#include "converter/tables/tables.h"

#include "converter/tables/entry.h"
#include "converter/tables/row.h"
#include <pyrec/schema.h>

#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>

static pr_code
execute(sqlite3 *database, const char *sql, pr_err *err)
{
    int rc = sqlite3_exec(database, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? PR_OK : conv_sqlite_fail(database, err);
}

static pr_code
ask_integer(sqlite3 *database, const char *sql, int64_t *ret, pr_err *err)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(database, sql, -1, &stmt, NULL) != SQLITE_OK)
        return conv_sqlite_fail(database, err);
    pr_code rc = PR_OK;
    if (sqlite3_step(stmt) == SQLITE_ROW)
        *ret = sqlite3_column_int64(stmt, 0);
    else
        rc = conv_sqlite_fail(database, err);
    sqlite3_finalize(stmt);
    return rc;
}

/* Limits for a database that is added to: its schema is not
 * trusted. */
static void
guard(sqlite3 *database)
{
    sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
}

static const char *const schema[] = {PR_SCHEMA_TABLES, PR_SCHEMA_VIEWS};

static pr_code
create(sqlite3 *database, pr_err *err)
{
    char numbers[96];
    snprintf(numbers, sizeof numbers,
             "PRAGMA application_id=%d;PRAGMA user_version=%d;",
             PR_SCHEMA_APPLICATION_ID, PR_SCHEMA_VERSION);
    pr_code rc = execute(database, numbers, err);
    for (size_t i = 0; i < sizeof schema / sizeof *schema && rc == PR_OK; i++)
        rc = execute(database, schema[i], err);
    return rc;
}

static pr_code
check_version(sqlite3 *database, pr_err *err)
{
    int64_t id = 0, version = 0;
    pr_code rc = ask_integer(database, "PRAGMA application_id", &id, err);
    if (rc == PR_OK)
        rc = ask_integer(database, "PRAGMA user_version", &version, err);
    if (rc != PR_OK)
        return rc;
    if (id != PR_SCHEMA_APPLICATION_ID)
        return PR_FAIL(err, PR_FOREIGN,
                       "the output is a database of something else");
    if (version == PR_SCHEMA_VERSION)
        return PR_OK;
    rc = PR_FAIL(err, PR_NEWER,
                 "the output has schema version %lld, this program writes %d",
                 (long long)version, PR_SCHEMA_VERSION);
    pr_err_hint(err, "write to another file");
    return rc;
}

static pr_code
learn_ids(conv_tables *t, pr_err *err)
{
    const struct {
        const char *sql;
        int64_t *id;
    } ids[] = {
        {"SELECT ifnull(max(id), 0) FROM profile", &t->profile},
        {"SELECT ifnull(max(id), 0) FROM process", &t->process},
        {"SELECT ifnull(max(id), 0) FROM thread", &t->thread},
        {"SELECT ifnull(max(id), 0) FROM node", &t->node},
        {"SELECT ifnull(max(id), 0) FROM run", &t->run},
        {"SELECT ifnull(max(id), 0) FROM node_self", &t->node_self},
        {"SELECT ifnull(max(id), 0) FROM event", &t->event},
        {"SELECT ifnull(max(id), 0) FROM task", &t->task},
        {"SELECT ifnull(max(id), 0) FROM loss", &t->loss},
    };
    const int64_t limit = INT64_MAX / 2; /* no sum overflows */
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        pr_code rc = ask_integer(t->database, ids[i].sql, ids[i].id, err);
        if (rc != PR_OK)
            return rc;
        if (*ids[i].id < 0 || *ids[i].id > limit)
            return PR_FAIL(err, PR_DAMAGED,
                           "the database has an impossible id");
    }
    pr_code rc = conv_names_load(t->database, &t->names, err);
    return rc == PR_OK
               ? conv_function_sums_load(t->database, &t->function_sums, err)
               : rc;
}

pr_code
conv_tables_begin(sqlite3 *database, conv_tables *ret, pr_err *err)
{
    conv_tables tables = {.database = database};
    int64_t objects = 0;
    guard(database);
    /* these count in an empty database only */
    pr_code rc = execute(database,
                         "PRAGMA page_size=8192;PRAGMA encoding='UTF-8';"
                         "PRAGMA auto_vacuum=NONE",
                         err);
    if (rc == PR_OK)
        rc = execute(database, "BEGIN IMMEDIATE", err);
    if (rc == PR_OK)
        rc = ask_integer(database, "SELECT count(*) FROM sqlite_schema",
                         &objects, err);
    if (rc == PR_OK)
        rc = objects ? check_version(database, err) : create(database, err);
    if (rc == PR_OK)
        rc = learn_ids(&tables, err);
    if (rc == PR_OK)
        *ret = tables;
    else
        conv_tables_end(&tables, false, NULL);
    return rc;
}

enum { PAGED = CONV_NODE_SELF + 1 }; /* so many can be written as pages */

static const conv_pages_table large[] = {
    [CONV_NODE] = {"node", 10},
    [CONV_RUN] = {"run", 8},
    [CONV_NODE_SELF] = {"node_self", 6},
    [CONV_FUNCTION_TOTAL] = {"function_total", 10},
    [CONV_EDGE_TOTAL] = {"edge_total", 7},
};

pr_code
conv_tables_use_pages(conv_tables *t, pr_err *err)
{
    return conv_pages_new(t->database, large, PAGED, &t->pages, err);
}

pr_code
conv_tables_fill(conv_tables *t, conv_large table, conv_rows_next next,
                 void *context, pr_err *err)
{
    if (t->taker)
        return t->taker->take(t->taker->context, table, next, context, err);
    return t->pages && (int)table < PAGED
               ? conv_pages_add(t->pages, table, next, context, err)
               : conv_rows_insert(t->database, large[table].name,
                                  large[table].columns, next, context, err);
}

/* The id of the profile with this identity; 0: none. */
static pr_code
find_profile(conv_tables *t, uint64_t hash, int64_t *ret, pr_err *err)
{
    char sql[96];
    snprintf(sql, sizeof sql,
             "SELECT ifnull(max(id), 0) FROM profile WHERE hash=x'%016llx'",
             (unsigned long long)hash);
    return ask_integer(t->database, sql, ret, err);
}

static void
take_ids(conv_entry *e)
{
    conv_tables *t = e->tables;
    e->profile = ++t->profile;
    e->process0 = t->process + 1;
    e->thread0 = t->thread + 1;
    e->node0 = t->node;
    t->process += (int64_t)e->model->n_processes;
    t->thread += (int64_t)e->model->n_threads;
    t->node += (int64_t)e->index.n - 1;
}

/* Nodes and runs, in a thread of their own. */
typedef struct stacks {
    conv_entry *e;
    pr_code rc;
    pr_err err;
} stacks;

static void *
put_stacks(void *context)
{
    stacks *s = context;
    s->rc = conv_entry_put_nodes(s->e, &s->err);
    if (s->rc == PR_OK)
        s->rc = conv_entry_put_runs(s->e, &s->err);
    return NULL;
}

/* Beside the rows of stacks, which alone use the database meanwhile, the
 * totals are added up. */
static pr_code
put_large(conv_entry *e, pr_err *err)
{
    enum { WORTH_A_THREAD = 50000 }; /* stacks; less are done at once */
    stacks s = {.e = e, .err = PR_ERR_INIT};
    conv_entry_totals *totals = NULL;
    pthread_t thread;
    bool beside = e->index.n >= WORTH_A_THREAD &&
                  pthread_create(&thread, NULL, put_stacks, &s) == 0;
    if (!beside)
        put_stacks(&s);
    pr_code rc =
        beside || s.rc == PR_OK ? conv_entry_add_up(e, &totals, err) : s.rc;
    if (beside)
        pthread_join(thread, NULL);
    if (s.rc != PR_OK) {
        rc = s.rc;
        if (err)
            *err = s.err;
    }
    if (rc == PR_OK)
        rc = conv_entry_put_totals(e, totals, err);
    conv_entry_free_totals(totals);
    return rc;
}

static pr_code
put_all(conv_entry *e, pr_err *err)
{
    static pr_code (*const put[])(conv_entry *, pr_err *) = {
        conv_entry_put_profile, conv_entry_put_meta,
        conv_entry_put_threads, put_large,
        conv_entry_put_events,  conv_entry_put_tasks,
        conv_entry_put_opcodes};
    pr_code rc =
        conv_names_add(e->tables->database, &e->tables->names, e->model,
                       &e->function, &e->frame, &e->names_changed, err);
    for (size_t i = 0; i < sizeof put / sizeof *put && rc == PR_OK; i++)
        rc = put[i](e, err);
    return rc;
}

pr_code
conv_tables_add(conv_tables *tables, const conv_model *model,
                const char *source, int64_t *ret_profile, bool *ret_added,
                uint64_t *names_changed, pr_err *err)
{
    conv_entry e = {.tables = tables,
                    .model = model,
                    .source = source,
                    .hash = conv_entry_hash(model)};
    int64_t known = 0;
    pr_code rc = find_profile(tables, e.hash, &known, err);
    if (rc == PR_OK && !known)
        rc = conv_index_build(model, &e.index, err);
    if (rc == PR_OK && !known) {
        take_ids(&e);
        rc = put_all(&e, err);
    }
    conv_index_release(&e.index);
    pr_list_release(&e.function);
    pr_list_release(&e.frame);
    *names_changed += e.names_changed;
    if (rc == PR_OK) {
        *ret_added = !known;
        *ret_profile = known ? known : e.profile;
    }
    return rc;
}

static pr_code
end_transaction(sqlite3 *database, bool keep, pr_err *err)
{
    if (sqlite3_get_autocommit(database))
        return PR_OK; /* nothing was begun, or SQLite has rolled it back */
    pr_code rc = execute(database, keep ? "COMMIT" : "ROLLBACK", err);
    if (keep && rc != PR_OK) /* such as a full disk: the journal undoes it */
        execute(database, "ROLLBACK", NULL);
    return rc;
}

pr_code
conv_tables_end(conv_tables *tables, bool keep, pr_err *err)
{
    pr_code rc = PR_OK;
    if (keep && !sqlite3_get_autocommit(tables->database))
        rc = conv_function_sums_put(tables->database, &tables->function_sums,
                                    err);
    conv_names_release(&tables->names);
    conv_function_sums_release(&tables->function_sums);
    if (rc == PR_OK)
        rc = end_transaction(tables->database, keep, err);
    else
        end_transaction(tables->database, false, NULL);
    if (keep && rc == PR_OK && tables->pages)
        rc = conv_pages_finish(tables->pages, err);
    conv_pages_free(tables->pages);
    tables->pages = NULL;
    return rc;
}
