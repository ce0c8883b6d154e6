/*
 * pyquery - ask a profile questions.
 */
#include "query/render.h"

#include <errno.h>
#include <getopt.h>
#include <pyrec/query.h>
#include <pyrec/version.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: pyquery [--csv|--json|--markdown] FILE QUERY\n"
    "       pyquery [--csv|--json|--markdown] --sql 'SELECT ...' FILE\n"
    "\n"
    "  pyquery run.db 'top 20 by self'\n"
    "  pyquery run.bin 'callers of json.dumps where gil'\n"
    "\n"
    "FILE is a database of 'pyconv --to sqlite' or a profile.  A QUERY is\n"
    "  summary | threads | top [N] | lines [N] | files [N]\n"
    "  callers [N] of NAME | callees [N] of NAME | tree [from NAME]\n"
    "and then, in any order, what the verb takes of\n"
    "  by self|total|name         in GLOB            per function|line|file\n"
    "  where gil|cpu|idle|waiting|exception|main [and ...]\n"
    "  thread NAME                between T and T    depth N    above P%\n"
    "'explain QUERY' shows the SQL behind it.\n"
    "\n"
    "      --csv, --json, --markdown   instead of an aligned table\n"
    "      --sql SELECT                ask in SQL, reading only\n"
    "  -h, --help     this text\n"
    "  -V, --version  the version\n";

typedef struct options {
    q_format format;
    const char *sql;
    const char *path;
    const char *query;
} options;

static int
fail_usage(const char *message)
{
    fprintf(stderr, "pyquery: %s\ntry 'pyquery --help'\n", message);
    return pr_exit_status(PR_USAGE);
}

/* One line for any failure; one in a query shows the place as well. */
static void
report(const pr_err *err, const char *query)
{
    pr_err shown = *err;
    bool has_place = query && shown.offset != PR_NO_OFFSET &&
                     (shown.code == PR_USAGE || shown.code == PR_NAME);
    if (has_place)
        shown.offset = PR_NO_OFFSET;
    char line[sizeof err->what + sizeof err->hint + 128];
    pr_err_format(&shown, line, sizeof line);
    fprintf(stderr, "pyquery: %s\n", line);
    if (has_place)
        q_render_fault(query, err->offset, stderr);
}

static pr_code
ask(q_database *database, const options *o, pr_err *err)
{
    q_result *result;
    pr_code rc = o->sql ? q_run_sql(database, o->sql, &result, err)
                        : q_run(database, o->query, &result, err);
    if (rc != PR_OK)
        return rc;
    rc = q_render(result, o->format, stdout, err);
    q_result_free(result);
    if (fflush(stdout) != 0 && rc == PR_OK)
        rc = PR_FAIL_SYS(err, PR_IO, errno, "cannot write the answer");
    return rc;
}

/* What is cut or damaged is done in part only if there is an answer. */
static int
status_of_failure(pr_code code)
{
    return code == PR_CUT || code == PR_DAMAGED ? 1 : pr_exit_status(code);
}

static int
run(const options *o)
{
    pr_err err = PR_ERR_INIT, partly = PR_ERR_INIT;
    q_database *database = NULL;
    pr_code opened = q_open(o->path, &database, &partly);
    if (opened != PR_OK)
        report(&partly, NULL);
    if (!database)
        return status_of_failure(opened);
    pr_code rc = ask(database, o, &err);
    if (rc != PR_OK)
        report(&err, o->sql ? o->sql : o->query);
    q_close(database);
    return rc != PR_OK ? status_of_failure(rc) : pr_exit_status(opened);
}

/* PR_OK to go on, PR_END when all is done, PR_USAGE. */
static pr_code
parse_options(int argc, char **argv, options *o)
{
    enum { CSV = 256, JSON, MARKDOWN, SQL };
    static const struct option longs[] = {
        {"csv", no_argument, NULL, CSV},
        {"json", no_argument, NULL, JSON},
        {"markdown", no_argument, NULL, MARKDOWN},
        {"sql", required_argument, NULL, SQL},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "hV", longs, NULL)) != -1;)
        switch (c) {
        case CSV:
            o->format = Q_CSV;
            break;
        case JSON:
            o->format = Q_JSON;
            break;
        case MARKDOWN:
            o->format = Q_MARKDOWN;
            break;
        case SQL:
            o->sql = optarg;
            break;
        case 'h':
            fputs(help, stdout);
            return PR_END;
        case 'V':
            puts("pyquery " PYREC_VERSION);
            return PR_END;
        default:
            return PR_USAGE;
        }
    return PR_OK;
}

/* Is the file where the query is due, and the query where the file is? */
static bool
is_swapped(const options *o)
{
    return access(o->path, F_OK) != 0 &&
           access(o->sql ? o->sql : o->query, F_OK) == 0;
}

int
main(int argc, char **argv)
{
    options o = {Q_TABLE, NULL, NULL, NULL};
    pr_code rc = parse_options(argc, argv, &o);
    if (rc == PR_END)
        return 0;
    if (rc != PR_OK) {
        fputs("try 'pyquery --help'\n", stderr);
        return pr_exit_status(rc);
    }
    int left = argc - optind;
    if (left == 0)
        return fail_usage("no file given");
    if (o.sql && left > 1)
        return fail_usage("--sql and a query cannot both be asked");
    if (!o.sql && left == 1)
        return fail_usage("no query given, such as 'top 20 by self'");
    if (!o.sql && left > 2)
        return fail_usage("the query is one argument: put it in quotes");
    o.path = argv[optind];
    o.query = o.sql ? NULL : argv[optind + 1];
    if (is_swapped(&o))
        return fail_usage("the file comes first, then the query");
    return run(&o);
}
