/*
 * rows.c - a virtual table with the smallest set of methods: one scan, from
 * the first row to the last.
 */
#include "converter/tables/rows.h"

#include <sqlite3.h>
#include <stddef.h>

static const char module_name[] = "conv_rows";

typedef struct source {
    conv_rows_next next;
    void *context;
} source;

typedef struct table {
    sqlite3_vtab base;
    const source *source;
} table;

typedef struct cursor {
    sqlite3_vtab_cursor base;
    const source *source;
    bool more;
    sqlite3_int64 number;
    int64_t row[CONV_ROWS_COLUMNS];
} cursor;

static int
rows_connect(sqlite3 *database, void *context, int argc,
             const char *const *argv, sqlite3_vtab **ret, char **message)
{
    (void)argc;
    (void)argv;
    (void)message;
    int rc = sqlite3_declare_vtab(
        database,
        "CREATE TABLE x(c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11)");
    if (rc != SQLITE_OK)
        return rc;
    table *made = sqlite3_malloc64(sizeof *made);
    if (!made)
        return SQLITE_NOMEM;
    *made = (table){.source = context};
    *ret = &made->base;
    return SQLITE_OK;
}

static int
rows_disconnect(sqlite3_vtab *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int
rows_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    (void)base;
    info->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int
rows_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
    cursor *made = sqlite3_malloc64(sizeof *made);
    if (!made)
        return SQLITE_NOMEM;
    *made = (cursor){.source = ((const table *)base)->source};
    *ret = &made->base;
    return SQLITE_OK;
}

static int
rows_close(sqlite3_vtab_cursor *base)
{
    sqlite3_free(base);
    return SQLITE_OK;
}

static int
rows_next(sqlite3_vtab_cursor *base)
{
    cursor *c = (cursor *)base;
    c->more = c->source->next(c->source->context, c->row);
    c->number++;
    return SQLITE_OK;
}

static int
rows_filter(sqlite3_vtab_cursor *base, int number, const char *string, int argc,
            sqlite3_value **argv)
{
    (void)number;
    (void)string;
    (void)argc;
    (void)argv;
    return rows_next(base);
}

static int
rows_eof(sqlite3_vtab_cursor *base)
{
    return !((const cursor *)base)->more;
}

static int
rows_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    int64_t value = ((const cursor *)base)->row[column];
    if (value != CONV_NULL) /* NULL is what an unset result is */
        sqlite3_result_int64(context, value);
    return SQLITE_OK;
}

static int
rows_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
    *ret = ((const cursor *)base)->number;
    return SQLITE_OK;
}

/* Without xCreate the module is a table of its own name. */
static const sqlite3_module module = {
    .xConnect = rows_connect,
    .xBestIndex = rows_best_index,
    .xDisconnect = rows_disconnect,
    .xDestroy = rows_disconnect,
    .xOpen = rows_open,
    .xClose = rows_close,
    .xFilter = rows_filter,
    .xNext = rows_next,
    .xEof = rows_eof,
    .xColumn = rows_column,
    .xRowid = rows_rowid,
};

static int
insert_all(sqlite3 *database, const char *name, int columns)
{
    sqlite3_str *sql = sqlite3_str_new(database);
    sqlite3_str_appendf(sql, "INSERT INTO main.%s SELECT c0", name);
    for (int c = 1; c < columns; c++)
        sqlite3_str_appendf(sql, ", c%d", c);
    sqlite3_str_appendf(sql, " FROM %s", module_name);
    char *text = sqlite3_str_finish(sql);
    if (!text)
        return SQLITE_NOMEM;
    int rc = sqlite3_exec(database, text, NULL, NULL, NULL);
    sqlite3_free(text);
    return rc;
}

pr_code
conv_rows_insert(sqlite3 *database, const char *name, int columns,
                 conv_rows_next next, void *context, pr_err *err)
{
    source rows = {next, context};
    int rc =
        sqlite3_create_module_v2(database, module_name, &module, &rows, NULL);
    if (rc == SQLITE_OK)
        rc = insert_all(database, name, columns);
    pr_code code = rc == SQLITE_OK ? PR_OK : conv_sqlite_fail(database, err);
    sqlite3_create_module_v2(database, module_name, NULL, NULL, NULL);
    return code;
}
