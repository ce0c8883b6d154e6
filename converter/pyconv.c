/*
 * pyconv - turn a profile into what other tools read.
 */
#include "converter/encode/outfile.h"
#include "converter/info.h"
#include <pyrec/convert.h>
#include <pyrec/reader.h>
#include <pyrec/version.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "usage: pyconv FILE... --to TARGET [-o OUTPUT] [-f]\n"
    "       pyconv --info FILE\n"
    "       pyconv --verify FILE\n"
    "\n"
    "  pyconv run.bin --to speedscope\n"
    "  pyconv run.bin --to collapsed -o - | flamegraph.pl >run.svg\n"
    "\n"
    "Several files of one process or one command are merged.  TARGET is\n";

static const char options_help[] =
    "\n"
    "  -o, --output OUTPUT   default: beside FILE; '-' is standard output\n"
    "  -f, --force           replace an existing output\n"
    "      --style stock     exactly as CPython 3.15 (collapsed, pstats)\n"
    "      --time real|nominal|samples   what numbers mean; real: up to the\n"
    "                        thread's next sample; nominal: an interval each\n"
    "      --between A B     only this range: 2.5s, 300ms, 1m; also A..B\n"
    "      --lines, --functions          the unit of stacks\n"
    "      --max-depth N     deeper stacks lose their middle (speedscope)\n"
    "      --level N, --compression zstd|none   of target bin\n"
    "      --info, --verify  what is in a file, and whether it is whole\n"
    "  -q, --quiet           no progress, no notes\n"
    "  -h, --help   -V, --version\n";

typedef enum action { CONVERT, INFO, VERIFY } action;

typedef struct options {
    action action;
    const char *target, *output;
    conv_opts conv;
    bool quiet;
    const char *wrong; /* what is wrong with the command line */
} options;

/* ---- command line ---- */

static int
fail_usage(const char *message)
{
    fprintf(stderr, "pyconv: %s\ntry 'pyconv --help'\n", message);
    return pr_exit_status(PR_USAGE);
}

static int
fail_no_target(void)
{
    char message[160] = "no target given: --to";
    const conv_target_info *target;
    size_t n = strlen(message);
    for (size_t i = 0; (target = conv_target_get(i)) && n < sizeof message; i++)
        n += (size_t)snprintf(message + n, sizeof message - n, "%s%s",
                              i ? ", " : " ", target->name);
    return fail_usage(message);
}

static void
print_help(void)
{
    const conv_target_info *target;
    fputs(help, stdout);
    for (size_t i = 0; (target = conv_target_get(i)); i++)
        printf("  %-12s %s\n", target->name, target->help);
    fputs(options_help, stdout);
}

/* A number of seconds, or with a unit; *end is what follows. */
static bool
parse_time(const char *text, const char **end, uint64_t *ret_us)
{
    static const struct {
        const char *name;
        double us;
    } units[] = {{"us", 1},   {"ms", 1e3}, {"min", 60e6},
                 {"m", 60e6}, {"s", 1e6},  {"h", 3600e6}};
    char *rest;
    double value = strtod(text, &rest);
    /* "1..2": the first dot belongs to the range */
    if (rest > text && rest[-1] == '.' && rest[0] == '.')
        rest--;
    if (rest == text || !(value >= 0))
        return false;
    double scale = 1e6;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i].name);
        if (strncmp(rest, units[i].name, n) == 0) {
            scale = units[i].us;
            rest += n;
            break;
        }
    }
    if (value * scale >= 9e18)
        return false;
    *ret_us = (uint64_t)llround(value * scale);
    *end = rest;
    return true;
}

/* "A..B", or "A" with B in the next argument. */
static bool
parse_between(const char *first, char *const *argv, int argc, conv_opts *opts)
{
    const char *end;
    if (!parse_time(first, &end, &opts->from_us))
        return false;
    if (strncmp(end, "..", 2) == 0)
        end += 2;
    else if (*end == '\0' && optind < argc)
        end = argv[optind++];
    else
        return false;
    return parse_time(end, &end, &opts->to_us) && *end == '\0';
}

static bool
parse_number(const char *text, long least, long most, long *ret)
{
    char *end;
    long value = strtol(text, &end, 10);
    if (end == text || *end || value < least || value > most)
        return false;
    *ret = value;
    return true;
}

static bool
parse_word(const char *text, const char *const *words, int *ret)
{
    for (int i = 0; words[i]; i++)
        if (strcmp(text, words[i]) == 0) {
            *ret = i;
            return true;
        }
    return false;
}

enum {
    STYLE = 256,
    TIME,
    BETWEEN,
    LINES,
    FUNCTIONS,
    MAX_DEPTH,
    LEVEL,
    COMPRESSION,
    INFO_OPTION,
    VERIFY_OPTION
};

static bool
take_value(options *o, int option, int argc, char **argv)
{
    static const char *const times[] = {"real", "nominal", "samples", NULL};
    static const char *const methods[] = {"zstd", "none", NULL};
    int word = 0;
    long number = 0;
    switch (option) {
    case TIME:
        o->wrong = "--time is real, nominal or samples";
        if (!parse_word(optarg, times, &word))
            return false;
        o->conv.time = (conv_time)(word + CONV_TIME_REAL);
        return true;
    case BETWEEN:
        o->wrong = "--between takes two times, as in '--between 2s 3.5s'";
        return parse_between(optarg, argv, argc, &o->conv);
    case MAX_DEPTH:
        o->wrong = "--max-depth is a number from 1 up";
        if (!parse_number(optarg, 1, INT32_MAX, &number))
            return false;
        o->conv.max_depth = (uint32_t)number;
        return true;
    case LEVEL:
        o->wrong = "--level is a number from 1 to 22";
        if (!parse_number(optarg, 1, 22, &number))
            return false;
        o->conv.zstd_level = (int)number;
        return true;
    default:
        o->wrong = "--compression is zstd or none";
        if (!parse_word(optarg, methods, &word))
            return false;
        o->conv.no_compression = word;
        return true;
    }
}

static pr_code
take_option(options *o, int option, int argc, char **argv)
{
    switch (option) {
    case 't':
        o->target = optarg;
        return PR_OK;
    case 'o':
        o->output = optarg;
        return PR_OK;
    case 'f':
        o->conv.force = 1;
        return PR_OK;
    case 'q':
        o->quiet = true;
        return PR_OK;
    case STYLE:
        o->conv.style = optarg;
        return PR_OK;
    case LINES:
        o->conv.level = CONV_LEVEL_LINE;
        return PR_OK;
    case FUNCTIONS:
        o->conv.level = CONV_LEVEL_FUNCTION;
        return PR_OK;
    case INFO_OPTION:
        o->action = INFO;
        return PR_OK;
    case VERIFY_OPTION:
        o->action = VERIFY;
        return PR_OK;
    case 'h':
        print_help();
        return PR_END;
    case 'V':
        puts("pyconv " PYREC_VERSION);
        return PR_END;
    case '?':
        return PR_USAGE;
    default:
        return take_value(o, option, argc, argv) ? PR_OK : PR_USAGE;
    }
}

/* PR_OK to go on, PR_END when all is done, PR_USAGE. */
static pr_code
parse_options(int argc, char **argv, options *o)
{
    static const struct option longs[] = {
        {"to", required_argument, NULL, 't'},
        {"output", required_argument, NULL, 'o'},
        {"force", no_argument, NULL, 'f'},
        {"quiet", no_argument, NULL, 'q'},
        {"style", required_argument, NULL, STYLE},
        {"time", required_argument, NULL, TIME},
        {"between", required_argument, NULL, BETWEEN},
        {"lines", no_argument, NULL, LINES},
        {"functions", no_argument, NULL, FUNCTIONS},
        {"max-depth", required_argument, NULL, MAX_DEPTH},
        {"level", required_argument, NULL, LEVEL},
        {"compression", required_argument, NULL, COMPRESSION},
        {"info", no_argument, NULL, INFO_OPTION},
        {"verify", no_argument, NULL, VERIFY_OPTION},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'V'},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "t:o:fqhV", longs, NULL)) != -1;) {
        pr_code rc = take_option(o, c, argc, argv);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

/* ---- an output that is not finished ---- */

/* Its name, for the handler; a program has one set of signals. */
static char *volatile unfinished;

static void
remember_unfinished(void *context, const char *path)
{
    (void)context;
    char *before = unfinished;
    unfinished = path ? strdup(path) : NULL;
    free(before);
}

/* Once: the signal comes again when this returns, and then ends us. */
static void
remove_unfinished(int signal)
{
    if (unfinished)
        unlink(unfinished);
    raise(signal);
}

static void
handle_signals(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU};
    struct sigaction now, old;
    memset(&now, 0, sizeof now);
    now.sa_handler = remove_unfinished;
    now.sa_flags = (int)SA_RESETHAND;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ends[i], &now, NULL);
    signal(SIGXFSZ, SIG_IGN); /* the write fails then, and says why */
}

/* ---- doing ---- */

/* What is cut or damaged is done in part only if there is a part. */
static int
status_of(pr_code code, bool delivered)
{
    bool partly = code == PR_CUT || code == PR_DAMAGED;
    return partly && !delivered ? 1 : pr_exit_status(code);
}

static void
report(const pr_err *err)
{
    char line[sizeof err->what + sizeof err->hint + 128];
    pr_err_format(err, line, sizeof line);
    fprintf(stderr, "pyconv: %s\n", line);
}

static void
show_progress(void *context, uint64_t current, uint64_t total)
{
    int *shown = context;
    int percent = total ? (int)((double)current / (double)total * 100) : 0;
    if (percent == *shown || percent > 100)
        return;
    *shown = percent;
    fprintf(stderr, "\rpyconv: %d %%", percent);
}

static void
end_progress(int shown)
{
    if (shown >= 0)
        fputs("\r\033[K", stderr);
}

/* "dir/run.bin" and ".db" give "dir/run.db". */
static char *
default_output(const char *input, const char *target)
{
    static const char suffix[] = ".bin";
    const conv_target_info *info = NULL;
    for (size_t i = 0; (info = conv_target_get(i)); i++)
        if (strcmp(info->name, target) == 0)
            break;
    size_t n = strlen(input), end = sizeof suffix - 1;
    if (n > end && strcmp(input + n - end, suffix) == 0)
        n -= end;
    const char *with = info ? info->suffix : "";
    size_t size = n + strlen(with) + 1;
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "%.*s%s", (int)n, input, with);
    return name;
}

static void
note(const conv_report *done, const char *output)
{
    if (done->names_changed)
        fprintf(stderr,
                "pyconv: %" PRIu64 " names were changed to fit the target\n",
                done->names_changed);
    if (!isatty(STDERR_FILENO) || strcmp(output, "-") == 0)
        return;
    fprintf(stderr, "pyconv: %" PRIu64 " samples to '%s'", done->samples,
            output);
    if (done->unobserved_us)
        fprintf(stderr, "; %.3f s of the threads' time was not observed",
                (double)done->unobserved_us / 1e6);
    fputs("\n", stderr);
}

static int
convert(options *o, const char *const *input, size_t n)
{
    pr_err err = PR_ERR_INIT;
    conv_report done = {.delivered = 0};
    int shown = -1;
    char *made = o->output ? NULL : default_output(input[0], o->target);
    const char *output = o->output ? o->output : made;
    if (!output) {
        fputs("pyconv: out of memory\n", stderr);
        return pr_exit_status(PR_NOMEM);
    }
    handle_signals();
    o->conv.unfinished.tell = remember_unfinished;
    if (!o->quiet && isatty(STDERR_FILENO))
        o->conv.progress = (pr_progress){show_progress, &shown};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    o->conv.jobs = cpus > 4 ? 4 : cpus < 1 ? 1 : (int)cpus;
    pr_code rc = conv_run(input, n, o->target, output, &o->conv, &done, &err);
    end_progress(shown);
    if (rc != PR_OK)
        report(&err);
    if (!o->quiet && done.delivered)
        note(&done, output);
    free(made);
    return status_of(rc, done.delivered);
}

static pr_code
flush_output(pr_err *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return PR_OK;
    return PR_FAIL(err, PR_IO, errno, PR_NO_OFFSET,
                   "cannot write to standard output");
}

static int
inform(const char *path)
{
    pr_err err = PR_ERR_INIT;
    conv_text text = {0};
    pr_code rc = conv_info(path, &text, &err);
    if (rc != PR_OK)
        report(&err);
    bool delivered = text.len != 0;
    if (delivered) {
        pr_err later = PR_ERR_INIT;
        fwrite(text.at, 1, text.len, stdout);
        if (flush_output(&later) != PR_OK) {
            rc = later.code;
            report(&later);
        }
    }
    conv_text_release(&text);
    return status_of(rc, delivered);
}

static pr_code
tell_whole(const char *path, const pf_reader *reader, pr_err *err)
{
    printf("%s: finished, %s\n", path,
           pf_reader_info(reader)->has_checkpoints
               ? "every checksum is right"
               : "and in order, but CPython's files have no checksums of "
                 "their own");
    return flush_output(err);
}

/* Damage is a failure here: nothing else was asked. */
static int
verify(const char *path, bool quiet)
{
    pr_err err = PR_ERR_INIT;
    pf_reader *reader = NULL;
    int shown = -1;
    const pr_progress progress = {show_progress, &shown};
    bool show = !quiet && isatty(STDERR_FILENO);
    pr_code rc = pf_reader_open(path, &reader, &err);
    if (rc == PR_OK)
        rc = pf_reader_verify(reader, show ? &progress : NULL, &err);
    end_progress(shown);
    if (rc == PR_OK && !quiet)
        rc = tell_whole(path, reader, &err);
    bool opened = reader != NULL;
    pf_reader_free(reader);
    if (opened && (rc == PR_CUT || rc == PR_DAMAGED))
        pr_err_hint(&err, "'pyconv --to bin' makes a whole file of the rest");
    if (rc != PR_OK)
        report(&err);
    return status_of(rc, opened && rc != PR_DAMAGED);
}

int
main(int argc, char **argv)
{
    options o = {.action = CONVERT, .conv = CONV_OPTS_INIT};
    pr_code rc = parse_options(argc, argv, &o);
    if (rc == PR_END)
        return 0;
    if (rc != PR_OK && o.wrong)
        return fail_usage(o.wrong);
    if (rc != PR_OK) {
        fputs("try 'pyconv --help'\n", stderr);
        return pr_exit_status(rc);
    }
    int n = argc - optind;
    if (n == 0)
        return fail_usage("no file given");
    if (o.action != CONVERT && (n > 1 || o.target || o.output))
        return fail_usage("--info and --verify take one file, no target and "
                          "no output");
    if (o.action == INFO)
        return inform(argv[optind]);
    if (o.action == VERIFY)
        return verify(argv[optind], o.quiet);
    if (!o.target)
        return fail_no_target();
    return convert(&o, (const char *const *)(argv + optind), (size_t)n);
}
