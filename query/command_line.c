/*
 * command_line.c - options, then files, then the words of the query.
 */
#include "query/command_line.h"

#include "query/language/values.h"
#include "query/language/verbs.h"

#include <base/size.h>
#include <base/usage.h>
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
    "postgres://[USER@]HOST[:PORT]/DATABASE, for top, callers and callees.\n"
    "'pyquery help' lists the verbs, 'help top' its clauses, 'explain QUERY' "
    "its SQL.\n"
    "\n"
    "  -i             ask again and again, with completion and history\n"
    "      --follow   a live view of a recording that is being made\n"
    "      --csv, --json, --markdown   as 'as csv' in the query\n"
    "      --all          summary: all that the recorder noted\n"
    "      --no-pager     write a long table as it is\n"
    "      --memory SIZE  most memory to read profiles (1G, stacks 4G)\n"
    "\n"
    "With the query 'check OLD...', for CI (pyquery(1) describes each):\n"
    "      --fail RULE, --max RULE   'self(*) > +5% and significant', 'gc < "
    "10%'\n"
    "      --min-samples N, --min-runs N, --any-machine, --more COMMAND\n"
    "      --summary FILE, --json=FILE, --benchmark FILE   the outcome\n"
    "  -h, --help, -V, --version\n";

/* ---- options of check ---- */

enum {
    FAIL = 512,
    MAX,
    MIN_SAMPLES,
    MIN_RUNS,
    ANY_MACHINE,
    SUMMARY,
    BENCHMARK,
    MORE
};

static pr_code
take_count(const char *option, const char *text, int64_t *ret, pr_err *err)
{
    const q_token token = {Q_TOKEN_WORD, 0, text, strlen(text), '\0'};
    if (q_read_whole(&token, INT32_MAX, ret))
        return PR_OK;
    return PR_FAIL(err, PR_USAGE, "%s '%s' is not a whole number", option,
                   text);
}

static pr_code
take_check_option(int o, const char *value, q_command *c, pr_err *err)
{
    c->has_check_option = true;
    switch (o) {
    case FAIL:
        c->fail[c->check.n_fail++] = value;
        return PR_OK;
    case MAX:
        c->max[c->check.n_max++] = value;
        return PR_OK;
    case MIN_SAMPLES:
        return take_count("--min-samples", value, &c->check.min_samples, err);
    case MIN_RUNS:
        return take_count("--min-runs", value, &c->check.min_runs, err);
    case ANY_MACHINE:
        c->check.any_machine = 1;
        return PR_OK;
    case SUMMARY:
        c->summary = value;
        return PR_OK;
    case BENCHMARK:
        c->benchmark = value;
        return PR_OK;
    default:
        c->more = value;
        return PR_OK;
    }
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

/* ---- options ---- */

static pr_code
parse_options(int argc, char **argv, q_command *c, pr_err *err)
{
    enum {
        CSV = 256,
        JSON,
        MARKDOWN,
        SQL,
        ALL,
        NO_PAGER,
        FOLLOW,
        TITLE,
        RECORDER,
        MEMORY
    };
    static const struct option longs[] = {
        {"csv", no_argument, NULL, CSV},
        {"json", optional_argument, NULL, JSON},
        {"markdown", no_argument, NULL, MARKDOWN},
        {"sql", required_argument, NULL, SQL},
        {"all", no_argument, NULL, ALL},
        {"no-pager", no_argument, NULL, NO_PAGER},
        {"interactive", no_argument, NULL, 'i'},
        {"memory", required_argument, NULL, MEMORY},
        {"follow", no_argument, NULL, FOLLOW},
        {"fail", required_argument, NULL, FAIL},
        {"max", required_argument, NULL, MAX},
        {"min-samples", required_argument, NULL, MIN_SAMPLES},
        {"min-runs", required_argument, NULL, MIN_RUNS},
        {"any-machine", no_argument, NULL, ANY_MACHINE},
        {"summary", required_argument, NULL, SUMMARY},
        {"benchmark", required_argument, NULL, BENCHMARK},
        {"more", required_argument, NULL, MORE},
        {"title", required_argument, NULL, TITLE},
        {"end-recorder", required_argument, NULL, RECORDER},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    opterr = 0;
    for (int o; (o = getopt_long(argc, argv, ":hiV", longs, NULL)) != -1;)
        switch (o) {
        case CSV:
            c->format = Q_CSV;
            break;
        case JSON:
            c->json = optarg;
            if (!optarg)
                c->format = Q_JSON;
            break;
        case MARKDOWN:
            c->format = Q_MARKDOWN;
            break;
        case SQL:
            c->sql = optarg;
            break;
        case ALL:
            c->all = true;
            break;
        case NO_PAGER:
            c->no_pager = true;
            break;
        case MEMORY:
            if (!pr_size_parse(optarg, &c->memory))
                return PR_FAIL(err, PR_USAGE,
                               "'%s' is wrong for --memory: " PR_SIZE_FORMS,
                               optarg);
            break;
        case FOLLOW:
            c->follow = true;
            break;
        case TITLE:
            c->title = optarg;
            break;
        case RECORDER:
            c->recorder = strtol(optarg, NULL, 10);
            c->keep = strstr(optarg, ",keep") != NULL;
            break;
        case 'i':
            c->talk = true;
            break;
        case 'h':
            fputs(help, stdout);
            return PR_END;
        case 'V':
            puts("pyquery " PYREC_VERSION);
            return PR_END;
        default:
            if (o >= FAIL) {
                pr_code rc = take_check_option(o, optarg, c, err);
                if (rc != PR_OK)
                    return rc;
                break;
            }
            return pr_usage_option("pyquery", o, argv[optind - 1], err);
        }
    return PR_OK;
}

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
    if (argc == files)
        return PR_OK;
    if (c->sql)
        return PR_FAIL(err, PR_USAGE, "--sql and a query cannot both be asked");
    return take_words(argc - files, argv + files, c, err);
}

/* "as csv" in the query, and whether it is a check; a wrong query is reported
 * when it runs. */
static void
take_query(q_command *c)
{
    q_query query;
    if (!c->query || q_parse(c->query, &query, NULL) != PR_OK)
        return;
    if (query.has_format)
        c->format = query.format;
    c->is_check = query.verb == Q_CHECK;
    c->is_series = query.verb == Q_HISTORY && query.of.text;
    q_query_release(&query);
}

/* Options without the verb that they go with would change nothing. */
static pr_code
check_options(const q_command *c, pr_err *err)
{
    if (c->is_check || !(c->has_check_option || c->json))
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "%s goes with the verb check",
            c->has_check_option ? "a rule, limit, report or --more"
                                : "--json=FILE");
    pr_err_hint(err, "such as 'pyquery new.bin \"check old.bin\"'");
    return PR_USAGE;
}

pr_code
q_command_parse(int argc, char **argv, q_command *ret, pr_err *err)
{
    pr_code rc = make_room(argc, ret, err);
    if (rc == PR_OK)
        rc = parse_options(argc, argv, ret, err);
    if (rc == PR_OK)
        rc = take_arguments(argc - optind, argv + optind, ret, err);
    if (rc != PR_OK)
        return rc;
    take_query(ret);
    return check_options(ret, err);
}

void
q_command_release(q_command *command)
{
    free(command->query);
    free(command->fail);
    free(command->max);
    *command = (q_command){0};
}
