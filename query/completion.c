/*
 * completion.c - the last word decides what may come.
 */
#include "query/completion.h"

#include "query/database/database.h"
#include "query/language/verbs.h"

#include <string.h>
#include <strings.h>

enum { MAX_CANDIDATES = 200, LONGEST_WORD = 64 };

/* The last whole word of the text. */
static void
last_word(const char *text, char *ret, size_t size)
{
    size_t end = strlen(text);
    while (end && text[end - 1] == ' ')
        end--;
    size_t begin = end;
    while (begin && text[begin - 1] != ' ')
        begin--;
    size_t n = end - begin < size - 1 ? end - begin : size - 1;
    memcpy(ret, text + begin, n);
    ret[n] = '\0';
}

static bool
is_one_of(const char *word, const char *const *words)
{
    for (; *words; words++)
        if (strcasecmp(word, *words) == 0)
            return true;
    return false;
}

static void
add_words(const char *const *words, const char *word, q_completion_fn add,
          void *context)
{
    for (; *words; words++)
        if (strncasecmp(*words, word, strlen(word)) == 0)
            add(context, *words);
}

static void
add_verbs(const char *word, q_completion_fn add, void *context)
{
    const q_verb_info *v;
    for (size_t i = 0; (v = q_verb_get(i)) != NULL; i++)
        if (strncasecmp(v->word, word, strlen(word)) == 0)
            add(context, v->word);
}

/* Names that are one word each; `sql` has the beginning as its one %Q. */
static void
add_names(q_database *database, const char *sql, const char *word,
          q_completion_fn add, void *context)
{
    char *text = sqlite3_mprintf(sql, word, word);
    sqlite3_stmt *stmt = NULL;
    q_database_begin(database);
    if (text && q_database_prepare(database, text, &stmt, NULL) == PR_OK)
        for (int i = 0; i < MAX_CANDIDATES &&
                        q_database_step(database, stmt, NULL) == PR_OK;
             i++) {
            const char *name = (const char *)sqlite3_column_text(stmt, 0);
            if (name && !strpbrk(name, " \t\"'\n"))
                add(context, name);
        }
    sqlite3_finalize(stmt);
    sqlite3_free(text);
}

void
q_complete(q_database *database, const char *before, const char *word,
           q_completion_fn add, void *context)
{
    static const char *const name_words[] = {
        "of", "from", "to", "source", "focus", "ignore", "hide", NULL};
    static const char *const after_by[] = {"self", "total", "ran", "name",
                                           NULL};
    static const char *const after_per[] = {
        "function", "line",    "file",  "module", "class",  "task", "thread",
        "process",  "profile", "label", "status", "second", NULL};
    static const char *const after_where[] = {
        "gil",    "cpu",   "idle",     "waiting", "exception", "main",
        "native", "gc",    "function", "file",    "module",    "class",
        "line",   "depth", "task",     "thread",  "tid",       "pid",
        "interp", "host",  "label",    NULL};
    static const char *const after_as[] = {
        "table", "csv", "json", "markdown", "collapsed", "svg", NULL};
    static const char *const after_class[] = {"project", "stdlib",  "site",
                                              "frozen",  "special", NULL};
    static const char *const clauses[] = {
        "by",    "per",  "where",   "thread", "between", "first", "last",
        "in",    "only", "without", "focus",  "ignore",  "hide",  "depth",
        "above", "as",   "of",      "from",   "to",      NULL};
    static const char *const class_words[] = {"only", "without", NULL};
    static const char *const where_words[] = {"where", "and", NULL};
    char last[LONGEST_WORD];
    last_word(before, last, sizeof last);
    if (!last[0] || strcasecmp(last, "explain") == 0 ||
        strcasecmp(last, "help") == 0)
        add_verbs(word, add, context);
    else if (is_one_of(last, name_words))
        add_names(database,
                  "SELECT DISTINCT qualname FROM function WHERE kind = 'py'"
                  " AND (substr(qualname, 1, length(%Q)) = %Q)"
                  " ORDER BY length(qualname), 1",
                  word, add, context);
    else if (strcasecmp(last, "thread") == 0)
        add_names(database,
                  "SELECT DISTINCT name FROM thread"
                  " WHERE substr(name, 1, length(%Q)) = %Q ORDER BY 1",
                  word, add, context);
    else if (strcasecmp(last, "in") == 0)
        add_names(database,
                  "SELECT DISTINCT base FROM file"
                  " WHERE substr(base, 1, length(%Q)) = %Q ORDER BY 1",
                  word, add, context);
    else if (strcasecmp(last, "by") == 0)
        add_words(after_by, word, add, context);
    else if (strcasecmp(last, "per") == 0)
        add_words(after_per, word, add, context);
    else if (is_one_of(last, where_words))
        add_words(after_where, word, add, context);
    else if (strcasecmp(last, "as") == 0)
        add_words(after_as, word, add, context);
    else if (is_one_of(last, class_words))
        add_words(after_class, word, add, context);
    else
        add_words(clauses, word, add, context);
}
