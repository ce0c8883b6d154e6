/*
 * arguments.c - one row for each option; the help text is made from the rows.
 */
#include "converter/arguments.h"

#include <base/duration.h>
#include <base/size.h>
#include <base/usage.h>
#include <pyrec/version.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: pyconv FILE... --to TARGET [-o OUTPUT] [OPTIONS]\n"
    "       pyconv --list | --info FILE | --verify FILE\n"
    "\n"
    "  pyconv run.bin --to speedscope\n"
    "  pyconv run.bin -o run.pstats\n"
    "  pyconv run.bin --to collapsed -o - | flamegraph.pl >run.svg\n"
    "\n"
    "TARGET is ";

/* An option: takes its value, NULL if it has none; false if the value is
 * wrong. */
typedef struct row {
    const char *name;
    int letter;           /* 0: none */
    const char *argument; /* as the help shows it; NULL: none */
    const char *help;
    bool (*take)(arguments *args, const char *value);
} row;

/* ---- values ---- */

static bool
parse_time(const char *at, size_t len, uint64_t *ret_us)
{
    uint64_t ns;
    if (!pr_duration_parse(at, len, &ns))
        return false;
    *ret_us = (ns + 500) / 1000;
    return true;
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

/* ---- options ---- */

static bool
take_to(arguments *args, const char *value)
{
    args->target = value;
    return true;
}

static bool
take_output(arguments *args, const char *value)
{
    args->output = value;
    return true;
}

static bool
take_into(arguments *args, const char *value)
{
    args->into = value;
    args->conv.add = 1;
    return true;
}

static bool
take_from(arguments *args, const char *value)
{
    args->conv.from = value;
    return *value != '\0';
}

static bool
take_force(arguments *args, const char *value)
{
    (void)value;
    args->conv.force = 1;
    return true;
}

static bool
take_quiet(arguments *args, const char *value)
{
    (void)value;
    args->quiet = true;
    return true;
}

static bool
take_style(arguments *args, const char *value)
{
    args->conv.style = value;
    return true;
}

static bool
take_time(arguments *args, const char *value)
{
    static const char *const times[] = {"real", "nominal", "samples", NULL};
    int word;
    if (!parse_word(value, times, &word))
        return false;
    args->conv.time = (conv_time)(word + CONV_TIME_REAL);
    return true;
}

/* "A..B", or "A" with B in the next argument. */
static bool
take_between(arguments *args, const char *value)
{
    const char *dots = strstr(value, "..");
    const char *to = dots                  ? dots + 2
                     : optind < args->argc ? args->argv[optind++]
                                           : "";
    size_t len = dots ? (size_t)(dots - value) : strlen(value);
    return parse_time(value, len, &args->conv.from_us) &&
           parse_time(to, strlen(to), &args->conv.to_us);
}

static bool
take_where(arguments *args, const char *value)
{
    static const char *const states[] = {"gil",     "cpu",       "idle",
                                         "waiting", "exception", "main"};
    while (*value) {
        size_t n = strcspn(value, ","), i = 0;
        while (i < sizeof states / sizeof *states &&
               (strlen(states[i]) != n || strncmp(value, states[i], n) != 0))
            i++;
        if (i == sizeof states / sizeof *states)
            return false;
        args->conv.filters.where |= 1u << i;
        value += n + (value[n] == ',');
    }
    return args->conv.filters.where != 0;
}

/* Each list has room for all arguments. */
static bool
add_name(conv_name_list *list, const char *value)
{
    /* the texts are the program's own arguments, the array arg_parse()'s */
    const char **at = (const char **)(uintptr_t)list->at;
    at[list->n++] = value;
    return *value != '\0';
}

static bool
take_threads(arguments *args, const char *value)
{
    return add_name(&args->conv.filters.threads, value);
}

static bool
take_focus(arguments *args, const char *value)
{
    return add_name(&args->conv.filters.focus, value);
}

static bool
take_ignore(arguments *args, const char *value)
{
    return add_name(&args->conv.filters.ignore, value);
}

static bool
take_hide(arguments *args, const char *value)
{
    return add_name(&args->conv.filters.hide, value);
}

static bool
take_hide_native(arguments *args, const char *value)
{
    (void)value;
    args->conv.filters.hide_native = 1;
    return true;
}

static bool
take_strip_prefix(arguments *args, const char *value)
{
    return add_name(&args->conv.filters.strip_prefix, value);
}

static bool
take_map(arguments *args, const char *value)
{
    const char *equals = strchr(value, '=');
    return add_name(&args->conv.filters.map, value) && equals && equals > value;
}

static bool
take_lines(arguments *args, const char *value)
{
    (void)value;
    args->conv.level = CONV_LEVEL_LINE;
    return true;
}

static bool
take_functions(arguments *args, const char *value)
{
    (void)value;
    args->conv.level = CONV_LEVEL_FUNCTION;
    return true;
}

static bool
take_max_depth(arguments *args, const char *value)
{
    long number;
    if (!parse_number(value, 1, INT32_MAX, &number))
        return false;
    args->conv.max_depth = (uint32_t)number;
    return true;
}

static bool
take_diff(arguments *args, const char *value)
{
    args->conv.base = value;
    return true;
}

static bool
take_source(arguments *args, const char *value)
{
    args->conv.source_folder = value;
    return true;
}

static bool
take_follow(arguments *args, const char *value)
{
    (void)value;
    args->action = ARG_FOLLOW;
    return true;
}

static bool
take_level(arguments *args, const char *value)
{
    long number;
    if (!parse_number(value, 1, 22, &number))
        return false;
    args->conv.zstd_level = (int)number;
    return true;
}

static bool
take_compression(arguments *args, const char *value)
{
    static const char *const methods[] = {"zstd", "none", NULL};
    return parse_word(value, methods, &args->conv.no_compression);
}

static bool
take_memory(arguments *args, const char *value)
{
    return pr_size_parse(value, &args->conv.memory);
}

static bool
take_max_output(arguments *args, const char *value)
{
    return pr_size_parse(value, &args->conv.output_max);
}

static bool
take_list(arguments *args, const char *value)
{
    (void)value;
    args->action = ARG_LIST;
    return true;
}

static bool
take_info(arguments *args, const char *value)
{
    (void)value;
    args->action = ARG_INFO;
    return true;
}

static bool
take_verify(arguments *args, const char *value)
{
    (void)value;
    args->action = ARG_VERIFY;
    return true;
}

static const row rows[] = {
    {"to", 't', "TARGET", "what to write (default: by the suffix of OUTPUT)",
     take_to},
    {"output", 'o', "OUTPUT",
     "a file ('-': standard output; default: beside FILE) or a server's "
     "address",
     take_output},
    {"into", 0, "DATABASE",
     "add profiles to this database, or make it (sqlite)", take_into},
    {"from", 0, "KIND", "of FILE; else its content says it (see --list)",
     take_from},
    {"force", 'f', NULL, "replace an existing OUTPUT", take_force},
    {"between", 0, "A..B", "samples of this time only: 2.5s, 300ms, 1m",
     take_between},
    {"threads", 0, "NAME", "samples of this thread: a name, an id or *",
     take_threads},
    {"where", 0, "STATE",
     "samples in a state: gil, cpu, idle, waiting, "
     "exception, main",
     take_where},
    {"focus", 0, "NAME", "samples with this function, file or FILE:LINE",
     take_focus},
    {"ignore", 0, "NAME", "samples without it", take_ignore},
    {"hide", 0, "NAME", "stacks without these frames", take_hide},
    {"hide-native", 0, NULL, "stacks without <native> frames",
     take_hide_native},
    {"strip-prefix", 0, "PATH", "files without this beginning",
     take_strip_prefix},
    {"map", 0, "OLD=NEW", "files with NEW in place of the beginning OLD",
     take_map},
    {"lines", 0, NULL, "stacks are made of lines", take_lines},
    {"functions", 0, NULL, "stacks are made of functions", take_functions},
    {"max-depth", 0, "N", "deeper stacks lose their middle", take_max_depth},
    {"time", 0, "WHAT", "numbers are real or nominal time, or samples",
     take_time},
    {"style", 0, "STYLE",
     "stock: byte by byte as CPython 3.15; pyspy, plain: of collapsed",
     take_style},
    {"diff", 0, "OLD",
     "compare with OLD: a page of changes (html), two counts for each stack "
     "(collapsed)",
     take_diff},
    {"source", 0, "DIR",
     "put the sources of the profile's files below DIR into the page (html)",
     take_source},
    {"follow", 0, NULL, "convert again while FILE grows, until it is finished",
     take_follow},
    {"level", 0, "N", "of compression, 1 to 22 (bin)", take_level},
    {"compression", 0, "HOW", "zstd or none (bin)", take_compression},
    {"memory", 0, "SIZE", "most memory; default 1G to read, 4G for stacks",
     take_memory},
    {"max-output", 0, "SIZE",
     "most bytes of text; default 1G, or 1024 times FILE", take_max_output},
    {"list", 0, NULL, "the targets and the programs that open them", take_list},
    {"info", 0, NULL, "print what FILE holds", take_info},
    {"verify", 0, NULL, "check that FILE is whole", take_verify},
    {"quiet", 'q', NULL, "no progress and no notes", take_quiet},
};

enum { N_ROWS = sizeof rows / sizeof *rows, FIRST_ROW = 256 };

/* ---- the command line ---- */

static void
print_help(void)
{
    const conv_target_info *target;
    fputs(usage, stdout);
    for (size_t i = 0; (target = conv_target_get(i)); i++)
        printf("%s%s", i ? ", " : "", target->name);
    fputs(" (see --list).\n\n", stdout);
    for (size_t i = 0; i < N_ROWS; i++) {
        const row *r = &rows[i];
        char text[40];
        snprintf(text, sizeof text, "%s%s%s", r->name, r->argument ? " " : "",
                 r->argument ? r->argument : "");
        if (r->letter)
            printf("  -%c, --%-20s %s\n", r->letter, text, r->help);
        else
            printf("      --%-20s %s\n", text, r->help);
    }
    fputs("  -h, --help    -V, --version\n", stdout);
}

/* What getopt_long() wants, made from the rows. */
typedef struct getopt_tables {
    struct option longs[N_ROWS + 3];
    char shorts[2 * N_ROWS + 4];
} getopt_tables;

static void
fill_tables(getopt_tables *tables)
{
    size_t n = 0;
    tables->shorts[n++] = ':'; /* a missing value is not '?' */
    for (size_t i = 0; i < N_ROWS; i++) {
        const row *r = &rows[i];
        tables->longs[i] = (struct option){
            r->name, r->argument ? required_argument : no_argument, NULL,
            (int)i + FIRST_ROW};
        if (!r->letter)
            continue;
        tables->shorts[n++] = (char)r->letter;
        if (r->argument)
            tables->shorts[n++] = ':';
    }
    tables->longs[N_ROWS] = (struct option){"help", no_argument, NULL, 'h'};
    tables->longs[N_ROWS + 1] =
        (struct option){"version", no_argument, NULL, 'V'};
    tables->shorts[n++] = 'h';
    tables->shorts[n++] = 'V';
}

static pr_code
fail_usage(pr_err *err, const char *what)
{
    PR_FAIL(err, PR_USAGE, "%s", what);
    pr_err_hint(err, "try 'pyconv --help'");
    return PR_USAGE;
}

static pr_code
take_row(arguments *args, const row *r, const char *value, pr_err *err)
{
    if (r->take(args, value))
        return PR_OK;
    pr_usage_value(r->name, value, err);
    pr_err_hint(err, "--%s %s: %s", r->name, r->argument ? r->argument : "",
                r->help);
    return PR_USAGE;
}

static size_t
row_of(int option)
{
    size_t i = 0;
    if (option >= FIRST_ROW)
        return (size_t)option - FIRST_ROW;
    while (i + 1 < N_ROWS && rows[i].letter != option)
        i++;
    return i;
}

static pr_code
take_option(arguments *args, int option, pr_err *err)
{
    switch (option) {
    case 'h':
        print_help();
        return PR_END;
    case 'V':
        puts("pyconv " PYREC_VERSION);
        return PR_END;
    case '?':
    case ':':
        return pr_usage_option("pyconv", option, args->argv[optind - 1], err);
    default:
        return take_row(args, &rows[row_of(option)], optarg, err);
    }
}

/* --into is an output and a target. */
static pr_code
take_database(arguments *args, pr_err *err)
{
    if (args->action != ARG_CONVERT)
        return fail_usage(err, "--into converts once");
    if (args->target || args->output)
        return fail_usage(err, "--into takes no target and no output");
    args->target = "sqlite";
    args->output = args->into;
    return PR_OK;
}

static const conv_target_info *
target_named(const char *name)
{
    const conv_target_info *target;
    size_t i = 0;
    while ((target = conv_target_get(i)) && strcmp(target->name, name) != 0)
        i++;
    return target;
}

/* The target by the suffix of the output. */
static pr_code
choose_target(arguments *args, pr_err *err)
{
    const conv_target_info *target =
        args->output ? conv_target_of_output(args->output) : NULL;
    if (target) {
        args->target = target->name;
        return PR_OK;
    }
    if (args->output)
        PR_FAIL(err, PR_USAGE, "no target has the suffix of '%s'",
                args->output);
    else
        PR_FAIL(err, PR_USAGE, "no target given");
    pr_err_hint(err, "--to TARGET; 'pyconv --list' names the targets and "
                     "their suffixes");
    return PR_USAGE;
}

/* Each turn of --follow replaces the output of the one before. */
static pr_code
check_follow(const arguments *args, pr_err *err)
{
    const conv_target_info *target = target_named(args->target);
    return args->action == ARG_FOLLOW && target && target->adds
               ? fail_usage(err, "--follow needs an output that it can replace")
               : PR_OK;
}

/* A server has no default. */
static pr_code
check_server(const arguments *args, pr_err *err)
{
    const conv_target_info *target = target_named(args->target);
    if (!target || !target->address || args->output)
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "target '%s' needs the address of a server",
            target->name);
    pr_err_hint(err, "-o %s", target->address);
    return PR_USAGE;
}

/* Is what is given what the action needs? */
static pr_code
check_action(arguments *args, pr_err *err)
{
    size_t n = args->n_inputs;
    if (args->action == ARG_LIST)
        return n || args->target || args->output
                   ? fail_usage(err, "--list takes no file")
                   : PR_OK;
    if (n == 0)
        return fail_usage(err, "no file given");
    bool converts = args->action == ARG_CONVERT || args->action == ARG_FOLLOW;
    if (args->action == ARG_FOLLOW && n > 1)
        return fail_usage(err, "--follow takes one file");
    if (!converts && (n > 1 || args->target || args->output))
        return fail_usage(err, "--info and --verify take one file, no target "
                               "and no output");
    if (args->into)
        return take_database(args, err);
    pr_code rc = converts && !args->target ? choose_target(args, err) : PR_OK;
    if (rc == PR_OK && converts)
        rc = check_follow(args, err);
    return rc == PR_OK && converts ? check_server(args, err) : rc;
}

pr_code
arg_parse(int argc, char **argv, arguments *ret, pr_err *err)
{
    getopt_tables tables = {0};
    arguments args = {.conv = CONV_OPTS_INIT, .argv = argv, .argc = argc};
    conv_name_list *const lists[] = {
        &args.conv.filters.threads,      &args.conv.filters.focus,
        &args.conv.filters.ignore,       &args.conv.filters.hide,
        &args.conv.filters.strip_prefix, &args.conv.filters.map};
    enum { LISTS = sizeof lists / sizeof *lists };
    args.names = calloc((size_t)argc * LISTS, sizeof *args.names);
    if (!args.names)
        return pr_no_memory(err);
    for (size_t i = 0; i < LISTS; i++)
        lists[i]->at = args.names + i * (size_t)argc;
    *ret = args;
    fill_tables(&tables);
    for (int c; (c = getopt_long(argc, argv, tables.shorts, tables.longs,
                                 NULL)) != -1;) {
        pr_code rc = take_option(ret, c, err);
        if (rc != PR_OK)
            return rc;
    }
    ret->input = (const char *const *)(argv + optind);
    ret->n_inputs = (size_t)(argc - optind);
    return check_action(ret, err);
}

void
arg_release(arguments *args)
{
    free(args->names);
}
