/*
 * lookup.c - a name of one function is read from the most exact reading to the
 * widest; a name in a clause is whatever has it, as for pyconv.
 */
#include "query/plan/lookup.h"

#include <stdio.h>
#include <string.h>

/* One way to read a name.  Each %Q is the name. */
typedef struct reading {
    const char *condition;
    bool takes_many; /* what it matches is meant together */
} reading;

static const reading function_readings[] = {
    {"qualname = %Q", false},
    {"name = %Q", false},
    {"base || ':' || qualname = %Q", false},
    {"path || ':' || qualname = %Q", false},
    {"base || ':' || first_line = %Q", false},
    {"path || ':' || first_line = %Q", false},
    {"substr(qualname, -1 - length(%Q)) = '.' || %Q", false},
    {"(qualname GLOB %Q OR base || ':' || qualname GLOB %Q)", true},
};

/* Labels that distinguish functions, the shortest first. */
static const char *const labels[] = {
    "base || ':' || qualname",
    "path || ':' || qualname",
    "path || ':' || ifnull(first_line, '')",
};

#define FUNCTIONS "function JOIN file ON file.id = file_id"

enum { N_LABELS = sizeof labels / sizeof *labels, MAX_CANDIDATES = 6 };

/* "did you mean 'a', 'b'": the first column of what `sql` finds. */
static pr_code
list_candidates(q_database *database, const char *sql, char *buf, size_t size,
                pr_err *err)
{
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, sql, &stmt, err);
    if (rc != PR_OK)
        return rc;
    size_t n = 0;
    buf[0] = '\0';
    while ((rc = q_database_step(database, stmt, err)) == PR_OK) {
        const char *text = (const char *)sqlite3_column_text(stmt, 0);
        int len = snprintf(buf + n, size - n, "%s'%s'", n ? ", " : "",
                           text ? text : "");
        if (len < 0 || (size_t)len >= size - n) {
            buf[n] = '\0'; /* whole candidates only */
            rc = PR_END;
            break;
        }
        n += (size_t)len;
    }
    sqlite3_finalize(stmt);
    return rc == PR_END ? PR_OK : rc;
}

static pr_code
fail_unknown(q_database *database, const char *kind, const q_name *name,
             const char *candidates_sql, pr_err *err)
{
    char list[200];
    pr_code rc =
        list_candidates(database, candidates_sql, list, sizeof list, err);
    if (rc != PR_OK)
        return rc;
    rc = PR_FAIL_AT(err, PR_NAME, name->at, "no %s is called '%s'", kind,
                    name->text);
    if (list[0])
        pr_err_hint(err, "did you mean %s", list);
    else if (strcmp(kind, "function") == 0)
        pr_err_hint(err, "'top 20 by total' shows the functions there are");
    else if (strcmp(kind, "file or module") == 0)
        pr_err_hint(err, "'files' shows the files there are");
    return rc;
}

static pr_code
fail_ambiguous(q_database *database, const q_name *name, const char *condition,
               const char *label, int64_t n, pr_err *err)
{
    char list[200];
    char *sql = sqlite3_mprintf("SELECT DISTINCT %s FROM " FUNCTIONS
                                " WHERE %s ORDER BY 1 LIMIT %d",
                                label, condition, MAX_CANDIDATES);
    pr_code rc = list_candidates(database, sql, list, sizeof list, err);
    sqlite3_free(sql);
    if (rc != PR_OK)
        return rc;
    rc = PR_FAIL_AT(err, PR_NAME, name->at, "'%s' means %lld functions",
                    name->text, (long long)n);
    pr_err_hint(err, "say which: %s%s", list,
                n > MAX_CANDIDATES ? ", ..." : "");
    return rc;
}

/* The matches of a reading: how many, and how many each label distinguishes. */
typedef struct matches {
    int64_t n;
    int64_t distinct[N_LABELS];
} matches;

static pr_code
count_functions(q_database *database, const char *condition, matches *ret,
                pr_err *err)
{
    char *sql = sqlite3_mprintf(
        "SELECT count(*), count(DISTINCT %s), count(DISTINCT %s),"
        " count(DISTINCT %s) FROM " FUNCTIONS " WHERE %s",
        labels[0], labels[1], labels[2], condition);
    sqlite3_stmt *stmt;
    pr_code rc = q_database_prepare(database, sql, &stmt, err);
    sqlite3_free(sql);
    if (rc != PR_OK)
        return rc;
    rc = q_database_step(database, stmt, err);
    if (rc == PR_OK) {
        ret->n = sqlite3_column_int64(stmt, 0);
        for (int i = 0; i < N_LABELS; i++)
            ret->distinct[i] = sqlite3_column_int64(stmt, i + 1);
    }
    sqlite3_finalize(stmt);
    return rc;
}

/* PR_END: this reading matches nothing.  Functions that no label
 * distinguishes are meant together. */
static pr_code
try_reading(q_database *database, const q_name *name, const reading *r,
            const char *condition, pr_err *err)
{
    matches m = {0, {0}};
    pr_code rc = count_functions(database, condition, &m, err);
    if (rc != PR_OK)
        return rc;
    if (m.n == 0)
        return PR_END;
    for (size_t i = 0; !r->takes_many && i < N_LABELS; i++)
        if (m.distinct[i] > 1)
            return fail_ambiguous(database, name, condition, labels[i], m.n,
                                  err);
    return PR_OK;
}

static pr_code
fail_unknown_function(q_database *database, const q_name *name, pr_err *err)
{
    char *sql = sqlite3_mprintf(
        "SELECT DISTINCT %s FROM " FUNCTIONS
        " WHERE instr(lower(qualname), lower(%Q))"
        " OR q_near(%Q, name) OR q_near(%Q, qualname)"
        " ORDER BY instr(lower(qualname), lower(%Q)) = 0,"
        " min(q_distance(%Q, name), q_distance(%Q, qualname)), 1 LIMIT %d",
        labels[0], name->text, name->text, name->text, name->text, name->text,
        name->text, MAX_CANDIDATES);
    pr_code rc = fail_unknown(database, "function", name, sql, err);
    sqlite3_free(sql);
    return rc;
}

pr_code
q_find_functions(q_database *database, const q_name *name, char **ret,
                 pr_err *err)
{
    size_t n = sizeof function_readings / sizeof *function_readings;
    for (size_t i = 0; i < n; i++) {
        const reading *r = &function_readings[i];
        char *condition = sqlite3_mprintf(r->condition, name->text, name->text);
        if (!condition)
            return pr_no_memory(err);
        pr_code rc = try_reading(database, name, r, condition, err);
        if (rc == PR_OK) {
            *ret = condition;
            return PR_OK;
        }
        sqlite3_free(condition);
        if (rc != PR_END)
            return rc;
    }
    return fail_unknown_function(database, name, err);
}

/* The column is the text, or ends with it after the separator. */
static void
add_end(sqlite3_str *sql, const char *column, const char *separator,
        const char *text, int len)
{
    sqlite3_str_appendf(sql,
                        "(%s = '%.*q' OR substr(%s, -1 - length('%.*q'))"
                        " = '%s' || '%.*q')",
                        column, len, text, column, len, text, separator, len,
                        text);
}

/* FILE:FUNCTION and FILE:LINE, for each colon that may stand between. */
static void
add_places(sqlite3_str *sql, const char *name)
{
    for (const char *at = strchr(name, ':'); at; at = strchr(at + 1, ':')) {
        if (at == name)
            continue;
        const char *rest = at + 1;
        sqlite3_str_appendall(sql, " OR (");
        add_end(sql, "path", "/", name, (int)(at - name));
        sqlite3_str_appendall(sql, " AND (");
        add_end(sql, "qualname", ".", rest, (int)strlen(rest));
        sqlite3_str_appendf(sql, " OR CAST(first_line AS TEXT) = %Q))", rest);
    }
}

static bool
is_pattern(const char *name)
{
    return strpbrk(name, "*?[") != NULL;
}

/* spec/convert.md 3.2, over `function JOIN file`; NULL: no memory. */
static char *
function_condition(const char *name)
{
    sqlite3_str *sql = sqlite3_str_new(NULL);
    int len = (int)strlen(name);
    sqlite3_str_appendall(sql, "(");
    add_end(sql, "qualname", ".", name, len);
    sqlite3_str_appendall(sql, " OR ");
    add_end(sql, "path", "/", name, len);
    add_places(sql, name);
    if (is_pattern(name))
        sqlite3_str_appendf(sql,
                            " OR qualname GLOB %Q OR path GLOB %Q"
                            " OR base GLOB %Q",
                            name, name, name);
    sqlite3_str_appendall(sql, ")");
    return sqlite3_str_finish(sql);
}

/* A thread's name; the main thread's need not be recorded. */
#define CALLED "ifnull(name, iif(is_main, 'MainThread', NULL))"

/* The same over `thread`. */
static char *
thread_condition(const char *name)
{
    const char *called = CALLED;
    return is_pattern(name)
               ? sqlite3_mprintf("(%s = %Q OR CAST(tid AS TEXT) = %Q"
                                 " OR %s GLOB %Q)",
                                 called, name, name, called, name)
               : sqlite3_mprintf("(%s = %Q OR CAST(tid AS TEXT) = %Q)", called,
                                 name, name);
}

/* PR_OK and *ret = condition if a row of the tables fits it, PR_END if none;
 * takes the condition. */
static pr_code
some_fit(q_database *database, const char *tables, char *condition, char **ret,
         pr_err *err)
{
    char *sql = condition ? sqlite3_mprintf("SELECT count(*) FROM %s WHERE %s",
                                            tables, condition)
                          : NULL;
    int64_t found = 0;
    pr_code rc = q_database_integer(database, sql, &found, err);
    sqlite3_free(sql);
    if (rc == PR_OK && found) {
        *ret = condition;
        return PR_OK;
    }
    sqlite3_free(condition);
    return rc == PR_OK ? PR_END : rc;
}

pr_code
q_find_all_functions(q_database *database, const q_name *name, char **ret,
                     pr_err *err)
{
    pr_code rc =
        some_fit(database, FUNCTIONS, function_condition(name->text), ret, err);
    return rc == PR_END ? fail_unknown_function(database, name, err) : rc;
}

pr_code
q_find_threads(q_database *database, const q_name *name, char **ret,
               pr_err *err)
{
    pr_code rc =
        some_fit(database, "thread", thread_condition(name->text), ret, err);
    if (rc != PR_END)
        return rc;
    char *sql = sqlite3_mprintf(
        "SELECT ifnull(" CALLED ", tid) AS called FROM thread GROUP BY called"
        " ORDER BY q_distance(%Q, called), sum(samples) DESC LIMIT %d",
        name->text, MAX_CANDIDATES);
    rc = fail_unknown(database, "thread", name, sql, err);
    sqlite3_free(sql);
    return rc;
}

/* A path, its end after a slash, or a module. */
static char *
file_condition(const char *pattern)
{
    return sqlite3_mprintf(
        "(path GLOB %Q OR path GLOB '*/' || %Q OR ifnull(module = %Q, 0))",
        pattern, pattern, pattern);
}

pr_code
q_find_files(q_database *database, const q_name *pattern, char **ret,
             pr_err *err)
{
    pr_code rc =
        some_fit(database, "file", file_condition(pattern->text), ret, err);
    if (rc != PR_END)
        return rc;
    char *sql = sqlite3_mprintf(
        "SELECT DISTINCT base FROM file WHERE class <> 'special' AND"
        " (instr(lower(base), lower(%Q)) OR q_near(%Q, base)"
        " OR q_near(%Q, module))"
        " ORDER BY q_distance(%Q, base), 1 LIMIT %d",
        pattern->text, pattern->text, pattern->text, pattern->text,
        MAX_CANDIDATES);
    rc = fail_unknown(database, "file or module", pattern, sql, err);
    sqlite3_free(sql);
    return rc;
}

pr_code
q_check_label(q_database *database, const q_name *key, pr_err *err)
{
    int64_t found = 0;
    char *sql =
        sqlite3_mprintf("SELECT count(*) FROM label WHERE key = %Q", key->text);
    pr_code rc = q_database_integer(database, sql, &found, err);
    sqlite3_free(sql);
    if (rc != PR_OK || found)
        return rc;
    rc = fail_unknown(database, "label", key,
                      "SELECT DISTINCT key FROM label ORDER BY 1 LIMIT 6", err);
    return rc;
}
