/*
 * listing.c - files of this machine, names of this database.
 */
#include "query/fold/listing.h"

#include <base/array.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    MAX_SOURCE = 8 * 1024 * 1024, /* bytes of a file */
    MAX_LINES = 5000,             /* of a function */
};

/* ---- files ---- */

typedef struct line_text {
    const char *at; /* in the file's text */
    size_t len;
} line_text;

typedef struct source_file {
    char *text; /* NULL: none */
    size_t len;
} source_file;

/* If anything fails, there is no text. */
static source_file
read_source(const char *path)
{
    source_file f = {NULL, 0};
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return f;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        st.st_size <= MAX_SOURCE)
        f.text = malloc((size_t)st.st_size);
    ssize_t n = 0;
    while (f.text && f.len < (size_t)st.st_size &&
           (n = read(fd, f.text + f.len, (size_t)st.st_size - f.len)) > 0)
        f.len += (size_t)n;
    close(fd);
    return f;
}

/* Line `number` from 1, without its end; false: none. */
static bool
find_line(const source_file *f, int64_t number, line_text *ret)
{
    const char *at = f->text, *end = f->text + f->len;
    for (; at && at < end; number--) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((stop ? stop : end) - at);
        if (number == 1) {
            *ret = (line_text){at, len};
            return true;
        }
        at = stop ? stop + 1 : end;
    }
    return false;
}

/* Cells before the first character; SIZE_MAX: the line is blank. */
static size_t
indent_of(line_text line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.at[i] != ' ' && line.at[i] != '\t' && line.at[i] != '\r')
            return i;
    return SIZE_MAX;
}

/* The last line of the block that begins at `first` and goes on at least to
 * `last`: what follows is indented deeper than its head. */
static int64_t
end_of_block(const source_file *f, int64_t first, int64_t last)
{
    line_text line;
    if (!find_line(f, first, &line))
        return last;
    size_t head = indent_of(line);
    for (int64_t i = last + 1; i < first + MAX_LINES; i++) {
        if (!find_line(f, i, &line))
            break;
        size_t indent = indent_of(line);
        if (indent != SIZE_MAX && indent <= head)
            break;
        if (indent != SIZE_MAX)
            last = i;
    }
    return last;
}

/* ---- rows ---- */

static pr_code
put_line(q_database *database, sqlite3_stmt *insert, int64_t function,
         int64_t number, const line_text *text, pr_err *err)
{
    sqlite3_bind_int64(insert, 1, function);
    sqlite3_bind_int64(insert, 2, number);
    if (text)
        sqlite3_bind_text64(insert, 3, text->at, text->len, SQLITE_TRANSIENT,
                            SQLITE_UTF8);
    else
        sqlite3_bind_null(insert, 3);
    pr_code rc = q_database_step(database, insert, err);
    sqlite3_reset(insert);
    return rc == PR_END ? PR_OK : rc;
}

/* The range of lines that have samples. */
static bool
lines_of(const q_groups *groups, int64_t function, int64_t *ret_first,
         int64_t *ret_last)
{
    int64_t first = INT64_MAX, last = -1;
    for (size_t i = 0; i < groups->len; i++) {
        const q_group *g = &groups->group[i];
        if (g->a != function || g->b < 1)
            continue;
        first = g->b < first ? g->b : first;
        last = g->b > last ? g->b : last;
    }
    *ret_first = first;
    *ret_last = last;
    return last > 0;
}

static pr_code
put_function(q_database *database, sqlite3_stmt *insert, const q_groups *groups,
             sqlite3_stmt *function, pr_err *err)
{
    int64_t id = sqlite3_column_int64(function, 0), first, last;
    int64_t first_line = sqlite3_column_int64(function, 1);
    const char *path = (const char *)sqlite3_column_text(function, 2);
    if (!lines_of(groups, id, &first, &last))
        return PR_OK;
    if (first_line > 0 && first_line < first)
        first = first_line;
    source_file f = read_source(path ? path : "");
    if (f.text)
        last = end_of_block(&f, first, last);
    if (last - first > MAX_LINES)
        last = first + MAX_LINES;
    pr_code rc = PR_OK;
    for (int64_t i = first; i <= last && rc == PR_OK; i++) {
        line_text line;
        bool has = f.text && find_line(&f, i, &line);
        if (has || !f.text)
            rc = put_line(database, insert, id, i, has ? &line : NULL, err);
    }
    free(f.text);
    return rc;
}

static pr_code
fill_rows(q_database *database, sqlite3_stmt *insert, const char *condition,
          const q_groups *groups, pr_err *err)
{
    sqlite3_stmt *functions = NULL;
    char *sql = sqlite3_mprintf(
        "SELECT function.id, first_line, path FROM function JOIN file"
        " ON file.id = file_id WHERE %s",
        condition);
    pr_code rc = q_database_prepare(database, sql, &functions, err);
    sqlite3_free(sql);
    if (rc != PR_OK)
        return rc;
    while ((rc = q_database_step(database, functions, err)) == PR_OK)
        if ((rc = put_function(database, insert, groups, functions, err)) !=
            PR_OK)
            break;
    sqlite3_finalize(functions);
    return rc == PR_END ? PR_OK : rc;
}

pr_code
q_listing_fill(q_database *database, const char *table, const char *condition,
               const q_groups *groups, pr_err *err)
{
    char *create = sqlite3_mprintf(
        "CREATE TABLE %s_source(function_id, line, text)", table);
    char *insert_sql =
        sqlite3_mprintf("INSERT INTO %s_source VALUES(?,?,?)", table);
    sqlite3_stmt *insert = NULL;
    pr_code rc = create && insert_sql ? q_database_exec(database, create, err)
                                      : pr_no_memory(err);
    if (rc == PR_OK)
        rc = q_database_prepare(database, insert_sql, &insert, err);
    if (rc == PR_OK)
        rc = fill_rows(database, insert, condition, groups, err);
    sqlite3_finalize(insert);
    sqlite3_free(create);
    sqlite3_free(insert_sql);
    return rc;
}

/* ---- stacks ---- */

/* Names by id, read once. */
typedef struct name {
    int64_t id;
    char *function, *file;
} name;

static const name unknown_name = {0, NULL, NULL};

typedef struct names {
    name *item;
    size_t len, cap;
} names;

static void
release_names(names *n)
{
    for (size_t i = 0; i < n->len; i++) {
        free(n->item[i].function);
        free(n->item[i].file);
    }
    free(n->item);
}

static char *
column_copy(sqlite3_stmt *stmt, int column)
{
    const char *text = (const char *)sqlite3_column_text(stmt, column);
    return strdup(text ? text : "");
}

static pr_code
read_names(q_database *database, names *n, pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(
        database,
        "SELECT function.id, qualname, path FROM function"
        " JOIN file ON file.id = file_id ORDER BY function.id",
        &stmt, err);
    if (rc != PR_OK)
        return rc;
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        if (!pr_grow(&n->item, &n->cap, n->len + 1, sizeof *n->item)) {
            rc = pr_no_memory(err);
            break;
        }
        name *item = &n->item[n->len++];
        *item = (name){sqlite3_column_int64(stmt, 0), column_copy(stmt, 1),
                       column_copy(stmt, 2)};
        if (!item->function || !item->file) {
            rc = pr_no_memory(err);
            break;
        }
    }
    sqlite3_finalize(stmt);
    return rc == PR_END ? PR_OK : rc;
}

static const name *
find_name(const names *n, int64_t id)
{
    size_t i;
    PR_FIND_SORTED(i, n->item, n->len, id, id);
    return i < n->len && n->item[i].id == id ? &n->item[i] : &unknown_name;
}

/* Groups come in pre-order: the path of the last one is at hand. */
static pr_code
take_all(const q_groups *groups, const names *n, bool of, q_stack_fn take,
         void *context, pr_err *err)
{
    const char **function = NULL, **file = NULL;
    size_t cap_function = 0, cap_file = 0;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < groups->len && rc == PR_OK; i++) {
        const q_group *g = &groups->group[i];
        size_t depth = (size_t)g->depth + 1;
        if (!pr_grow(&function, &cap_function, depth, sizeof *function) ||
            !pr_grow(&file, &cap_file, depth, sizeof *file)) {
            rc = pr_no_memory(err);
            break;
        }
        const name *found = find_name(n, g->a);
        function[depth - 1] = found->function ? found->function : "?";
        file[depth - 1] = found->file ? found->file : "";
        const q_amount *amount = of ? &g->total : &g->self;
        if (amount->n && (g->match || !of))
            take(context, function, file, depth, amount->n, amount->us);
    }
    free(function);
    free(file);
    return rc;
}

pr_code
q_listing_stacks(q_database *database, const q_groups *groups, bool of,
                 q_stack_fn take, void *context, pr_err *err)
{
    names n = {0};
    pr_code rc = read_names(database, &n, err);
    if (rc == PR_OK)
        rc = take_all(groups, &n, of, take, context, err);
    release_names(&n);
    return rc;
}
