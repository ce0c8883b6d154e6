/*
 * command_line.c - options, then files, then the words of the query.
 */
#include "query/command_line.h"

#include "query/language/values.h"
#include "query/language/verbs.h"

#include <base/option.h>
#include <base/readable.h>
#include <base/size.h>
#include <errno.h>
#include <getopt.h>
#include <pyrec/error.h>
#include <pyrec/version.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char help[] =
    "usage: pyquery FILE... [QUERY]\n"
    "       pyquery FILE... --sql 'SELECT ...'\n"
    "\n"
    "  pyquery run.bin                         an overview of the profile\n"
    "  pyquery run.db top 20 by self\n"
    "  pyquery run.bin callers of json.dumps where gil\n"
    "  pyquery mon.bin tue.bin top per profile as csv\n"
    "\n"
    "FILE: a database of 'pyconv --to sqlite', profiles, or folders of "
    "profiles;\n"
    "or a server: clickhouse://HOST[:PORT][/DATABASE] or\n"
    "postgres://[USER@]HOST[:PORT]/DATABASE, for tables of sums and lists.\n"
    "'pyquery help' lists the verbs, 'help top' its clauses, 'explain QUERY' "
    "its SQL.\n"
    "\n"
    "  -i             ask again and again, with completion and history\n"
    "      --follow   a live view of a recording that is being made\n"
    "      --csv, --json, --markdown   as 'as csv' in the query\n"
    "      --all          summary with all that the recorder noted\n"
    "      --no-pager     write a long table as it is\n"
    "      --memory SIZE  most memory to read profiles (1G, stacks 4G)\n"
    "\n"
    "With the query 'check OLD...', for CI (pyquery(1) describes each):\n"
    "      --fail RULE, --max RULE   'self(*) > +5% and significant', 'gc < "
    "10%'\n"
    "      --min-samples N, --min-runs N, --any-machine, --more COMMAND\n"
    "      --summary FILE, --json=FILE, --benchmark FILE   the outcome\n"
    "  -h, --help, -V, --version\n";

/* ---- options ---- */

static pr_code
take_format(const pr_option *option, const char *value, void *at, pr_err *err)
{
    q_command *c = at;
    (void)value;
    if (c->format != Q_TABLE && c->format != (q_format)option->set) {
        PR_FAIL(err, PR_USAGE, "--%s is a second format of one answer",
                option->name);
        pr_err_hint(err, "give one of --csv, --json and --markdown");
        return PR_USAGE;
    }
    c->format = (q_format)option->set;
    return PR_OK;
}

static pr_code
take_json(const pr_option *option, const char *value, void *at, pr_err *err)
{
    q_command *c = at;
    if (!value)
        return take_format(option, value, at, err);
    c->json = value;
    return PR_OK;
}

static pr_code
take_memory(const pr_option *option, const char *value, void *at, pr_err *err)
{
    (void)option;
    return pr_size_parse(value, at)
               ? PR_OK
               : PR_FAIL(err, PR_USAGE,
                         "--memory '%s' is not a size: " PR_SIZE_FORMS, value);
}

/* "PID", "PID,keep" */
static pr_code
take_recorder(const pr_option *option, const char *value, void *at, pr_err *err)
{
    q_command *c = at;
    (void)option;
    (void)err;
    c->recorder = strtol(value, NULL, 10);
    c->keep = strstr(value, ",keep") != NULL;
    return PR_OK;
}

static pr_code
take_help(const pr_option *option, const char *value, void *at, pr_err *err)
{
    (void)value;
    (void)at;
    (void)err;
    fputs(option->letter == 'h' ? help : "pyquery " PYREC_VERSION "\n", stdout);
    return PR_END;
}

/* ---- options of check: `at` is the command ---- */

static pr_code
take_rule(const pr_option *option, const char *value, void *at, pr_err *err)
{
    q_command *c = at;
    (void)err;
    c->has_check_option = true;
    if (strcmp(option->name, "fail") == 0)
        c->fail[c->check.n_fail++] = value;
    else
        c->max[c->check.n_max++] = value;
    return PR_OK;
}

static pr_code
take_least(const pr_option *option, const char *value, void *at, pr_err *err)
{
    q_command *c = at;
    const q_token token = {Q_TOKEN_WORD, 0, value, strlen(value), '\0'};
    int64_t *least = strcmp(option->name, "min-runs") == 0
                         ? &c->check.min_runs
                         : &c->check.min_samples;
    c->has_check_option = true;
    if (q_read_whole(&token, INT32_MAX, least))
        return PR_OK;
    return PR_FAIL(err, PR_USAGE, "--%s '%s' is not a whole number",
                   option->name, value);
}

static pr_code
take_any_machine(const pr_option *option, const char *value, void *at,
                 pr_err *err)
{
    q_command *c = at;
    (void)option;
    (void)value;
    (void)err;
    c->has_check_option = true;
    c->check.any_machine = 1;
    return PR_OK;
}

/* `set`: the place of the text in the command. */
static pr_code
take_check_text(const pr_option *option, const char *value, void *at,
                pr_err *err)
{
    q_command *c = at;
    c->has_check_option = true;
    return pr_take_text(option, value, (char *)at + option->set, err);
}

/* There are at most as many rules as arguments. */
static pr_code
make_room(int argc, q_command *c, pr_err *err)
{
    const q_check_opts opts = Q_CHECK_OPTS_INIT;
    c->check = opts;
    c->fail = calloc((size_t)argc + 1, sizeof *c->fail);
    c->max = calloc((size_t)argc + 1, sizeof *c->max);
    c->check.fail = c->fail;
    c->check.max = c->max;
    return c->fail && c->max ? PR_OK : pr_no_memory(err);
}

/* ---- the rows ---- */

#define AT(field) offsetof(q_command, field)
#define FLAG(name, letter, field)                                  \
    {                                                              \
        name, letter, NULL, pr_take_byte, AT(field), 1, NULL, NULL \
    }
#define FORMAT(name, argument, take, value)           \
    {                                                 \
        name, 0, argument, take, 0, value, NULL, NULL \
    }
#define VALUE(name, argument, take, field)                \
    {                                                     \
        name, 0, argument, take, AT(field), 0, NULL, NULL \
    }
#define WHOLE(name, argument, take)               \
    {                                             \
        name, 0, argument, take, 0, 0, NULL, NULL \
    }
#define CHECK_TEXT(name, argument, field)                            \
    {                                                                \
        name, 0, argument, take_check_text, 0, AT(field), NULL, NULL \
    }

static const pr_option rows[] = {
    FORMAT("csv", NULL, take_format, Q_CSV),
    FORMAT("json", "[FILE]", take_json, Q_JSON),
    FORMAT("markdown", NULL, take_format, Q_MARKDOWN),
    VALUE("sql", "SELECT", pr_take_text, sql),
    FLAG("all", 0, all),
    FLAG("no-pager", 0, no_pager),
    FLAG("interactive", 'i', talk),
    VALUE("memory", "SIZE", take_memory, memory),
    FLAG("follow", 0, follow),
    WHOLE("fail", "RULE", take_rule),
    WHOLE("max", "RULE", take_rule),
    WHOLE("min-samples", "N", take_least),
    WHOLE("min-runs", "N", take_least),
    WHOLE("any-machine", NULL, take_any_machine),
    CHECK_TEXT("summary", "FILE", summary),
    CHECK_TEXT("benchmark", "FILE", benchmark),
    CHECK_TEXT("more", "COMMAND", more),
    /* of pyrec --top */
    VALUE("title", "TEXT", pr_take_text, title),
    WHOLE("end-recorder", "PID", take_recorder),
    {"help", 'h', NULL, take_help, 0, 0, NULL, NULL},
    {"version", 'V', NULL, take_help, 0, 0, NULL, NULL},
    {NULL, 0, NULL, NULL, 0, 0, NULL, NULL},
};

static const pr_options options = {"pyquery", rows, false, 0};

/* ---- files and words ---- */

static bool
is_verb(const char *word)
{
    const q_verb_info *v;
    for (size_t i = 0; (v = q_verb_get(i)) != NULL; i++) {
        size_t n = strlen(v->word);
        if (strncasecmp(word, v->word, n) == 0 &&
            (word[n] == '\0' || word[n] == ' '))
            return true;
    }
    return strncasecmp(word, "explain", 7) == 0;
}

/* The first argument is a file; so are those after it that exist, up to the
 * first word that a query may begin with. */
static int
count_files(int argc, char **argv)
{
    int n = argc > 0;
    while (n < argc && !is_verb(argv[n]) && access(argv[n], F_OK) == 0)
        n++;
    return n;
}

static bool
needs_quotes(const char *word)
{
    return !word[0] || strpbrk(word, " \t\r\n\v\f\"'") != NULL;
}

/* One argument is the query; several are its words, as the shell has already
 * taken them apart. */
static char *
join_words(int n, char **word)
{
    size_t size = 1, at = 0;
    for (int i = 0; i < n; i++)
        size += 2 * strlen(word[i]) + 3;
    char *query = malloc(size);
    if (!query)
        return NULL;
    for (int i = 0; i < n; i++) {
        bool quoted = n > 1 && needs_quotes(word[i]);
        if (i)
            query[at++] = ' ';
        if (quoted)
            query[at++] = '"';
        for (const char *p = word[i]; *p; p++) {
            if (quoted && *p == '"')
                query[at++] = '"';
            query[at++] = *p;
        }
        if (quoted)
            query[at++] = '"';
    }
    query[at] = '\0';
    return query;
}

/* "help" and "help VERB" are about the language alone. */
static bool
is_help(const char *word)
{
    return strncasecmp(word, "help", 4) == 0 &&
           (word[4] == '\0' || word[4] == ' ') && access(word, F_OK) != 0;
}

/* Where the first argument is not a file, is it because the query is first? */
static bool
begins_with_query(int argc, char **argv, const q_command *c)
{
    const char *last = c->sql ? c->sql : argv[argc - 1];
    return access(argv[0], F_OK) != 0 && !c->follow &&
           (is_verb(argv[0]) || access(last, F_OK) == 0);
}

/* How the names of inputs end (spec/convert.md 2.1, spec/schema.md). */
static bool
has_suffix_of_input(const char *word)
{
    static const char *const suffixes[] = {
        ".bin", ".db",        ".sqlite", ".sqlite3", ".json",
        ".txt", ".collapsed", ".folded", ".pstats",  ".prof",
        ".pb",  ".pprof",     ".austin", ".mojo",    ".gz"};
    size_t len = strlen(word);
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);
        if (len > n && strcasecmp(word + len - n, suffixes[i]) == 0)
            return true;
    }
    return false;
}

/* No query begins with a path: it is a file that is not there. */
static pr_code
refuse_missing_file(const char *word, pr_err *err)
{
    bool is_path = strchr(word, '/') || has_suffix_of_input(word);
    if (pr_refuse_stdin(word, err) != PR_OK)
        return PR_USAGE;
    if (!is_path || strpbrk(word, " \t\r\n\v\f") || access(word, F_OK) == 0)
        return PR_OK;
    PR_FAIL_SYS(err, PR_IO, errno, "cannot open '%s'", word);
    pr_err_hint(err, "the files come first, then the query, such as"
                     " 'pyquery run.bin top 20'");
    return PR_IO;
}

static pr_code
take_words(int argc, char **argv, q_command *c, pr_err *err)
{
    c->query = join_words(argc, argv);
    return c->query ? PR_OK : pr_no_memory(err);
}

static pr_code
take_arguments(int argc, char **argv, q_command *c, pr_err *err)
{
    if (argc == 0) {
        PR_FAIL(err, PR_USAGE, "no file given");
        pr_err_hint(err, "such as 'pyquery run.bin top 20'");
        return PR_USAGE;
    }
    if (is_help(argv[0]) && !c->follow && !c->talk && !c->sql)
        return take_words(argc, argv, c, err);
    int files = count_files(argc, argv);
    c->path = (const char *const *)argv;
    c->n_paths = (size_t)files;
    if (begins_with_query(argc, argv, c)) {
        PR_FAIL(err, PR_USAGE, "'%s' is not a file", argv[0]);
        pr_err_hint(err, "the file comes first, then the query, such as"
                         " 'pyquery run.bin top 20'");
        return PR_USAGE;
    }
    if (c->follow && files != 1)
        return PR_FAIL(err, PR_USAGE, "--follow reads one file");
    if (c->follow && pr_refuse_stdin(argv[0], err) != PR_OK)
        return PR_USAGE; /* else it would wait for a file of that name */
    if (argc == files)
        return PR_OK;
    if (c->sql)
        return PR_FAIL(err, PR_USAGE, "--sql and a query cannot both be asked");
    pr_code rc = refuse_missing_file(argv[files], err);
    return rc == PR_OK ? take_words(argc - files, argv + files, c, err) : rc;
}

/* Without a query there is an overview for people; an option about the answer
 * asks for the summary instead. */
static pr_code
ask_summary(q_command *c, pr_err *err)
{
    if (c->query || c->sql || c->follow || c->talk ||
        (!c->all && c->format == Q_TABLE))
        return PR_OK;
    c->query = strdup("summary");
    return c->query ? PR_OK : pr_no_memory(err);
}

bool
q_command_read_query(q_command *c)
{
    q_query query;
    if (!c->query || q_parse(c->query, &query, NULL) != PR_OK)
        return !c->query;
    if (query.has_format) {
        c->two_formats = c->format != Q_TABLE && c->format != query.format;
        c->format = query.format;
    }
    c->is_check = query.verb == Q_CHECK;
    c->is_series = query.verb == Q_HISTORY && query.of.text;
    c->is_summary = query.verb == Q_SUMMARY;
    q_query_release(&query);
    return true;
}

/* Options that would change nothing are refused. */
static pr_code
check_options(const q_command *c, pr_err *err)
{
    const struct {
        bool wrong;
        const char *what, *hint;
    } rules[] = {
        {c->follow && (c->talk || c->sql),
         "--follow shows a query; neither --sql nor -i goes with it",
         "such as 'pyquery --follow run.bin top 20'"},
        {c->talk && (c->query || c->sql),
         "-i reads queries from the terminal; none is given with it",
         "such as 'pyquery -i run.bin'"},
        {(c->follow || c->talk) && c->format != Q_TABLE,
         "--csv, --json and --markdown go with one query", NULL},
        {c->two_formats, "the query and an option ask for two formats",
         "leave out one of them"},
        {c->all && !c->is_summary && !c->talk,
         "--all goes with the verb summary",
         "such as 'pyquery run.bin summary --all'"},
        {c->has_check_option && !c->is_check,
         "a rule, limit, report or --more goes with the verb check",
         "such as 'pyquery new.bin \"check old.bin\"'"},
        {c->json && !c->is_check, "--json=FILE goes with the verb check",
         "such as 'pyquery new.bin \"check old.bin\"'"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!rules[i].wrong)
            continue;
        PR_FAIL(err, PR_USAGE, "%s", rules[i].what);
        if (rules[i].hint)
            pr_err_hint(err, "%s", rules[i].hint);
        return PR_USAGE;
    }
    return PR_OK;
}

pr_code
q_command_parse(int argc, char **argv, q_command *ret, pr_err *err)
{
    pr_code rc = make_room(argc, ret, err);
    if (rc == PR_OK)
        rc = pr_options_read(&options, argc, argv, ret, err);
    if (rc == PR_OK)
        rc = take_arguments(argc - optind, argv + optind, ret, err);
    if (rc == PR_OK)
        rc = ask_summary(ret, err);
    if (rc != PR_OK)
        return rc;
    /* a wrong query is reported when it runs, with its place */
    return q_command_read_query(ret) ? check_options(ret, err) : PR_OK;
}

void
q_command_release(q_command *command)
{
    free(command->query);
    free(command->fail);
    free(command->max);
    *command = (q_command){0};
}
