/*
 * arguments.c - one row for each option; the help text is made from the rows.
 */
#include "converter/arguments.h"

#include <base/duration.h>
#include <base/option.h>
#include <base/size.h>
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

/* ---- options ---- */

/* "A..B", or "A" with B in the next argument. */
static pr_code
take_between(const pr_option *option, const char *value, void *at, pr_err *err)
{
    arguments *args = at;
    const char *dots = strstr(value, "..");
    const char *to = dots                  ? dots + 2
                     : optind < args->argc ? args->argv[optind++]
                                           : "";
    size_t len = dots ? (size_t)(dots - value) : strlen(value);
    return parse_time(value, len, &args->conv.from_us) &&
                   parse_time(to, strlen(to), &args->conv.to_us)
               ? PR_OK
               : pr_option_refuse(option, value, err);
}

static pr_code
take_where(const pr_option *option, const char *value, void *at, pr_err *err)
{
    static const char *const states[] = {"gil",     "cpu",       "idle",
                                         "waiting", "exception", "main"};
    enum { STATES = sizeof states / sizeof *states };
    for (const char *p = value; *p || p == value;) {
        size_t n = strcspn(p, ","), i = 0;
        while (i < STATES &&
               (strlen(states[i]) != n || strncmp(p, states[i], n) != 0))
            i++;
        if (i == STATES)
            return pr_option_refuse(option, value, err);
        *(uint32_t *)at |= 1u << i;
        p += n + (p[n] == ',');
    }
    return PR_OK;
}

/* Add a name to a conv_name_list, which has room for all arguments. */
static pr_code
take_name(const pr_option *option, const char *value, void *at, pr_err *err)
{
    conv_name_list *list = at;
    /* the texts are the program's own arguments, the array arg_parse()'s */
    const char **name = (const char **)(uintptr_t)list->at;
    if (!*value)
        return pr_option_refuse(option, value, err);
    name[list->n++] = value;
    return PR_OK;
}

static pr_code
take_map(const pr_option *option, const char *value, void *at, pr_err *err)
{
    const char *equals = strchr(value, '=');
    return equals && equals > value ? take_name(option, value, at, err)
                                    : pr_option_refuse(option, value, err);
}

static pr_code
take_from(const pr_option *option, const char *value, void *at, pr_err *err)
{
    return *value ? pr_take_text(option, value, at, err)
                  : pr_option_refuse(option, value, err);
}

/* --into is an output and a target. */
static pr_code
take_into(const pr_option *option, const char *value, void *at, pr_err *err)
{
    arguments *args = at;
    (void)option;
    (void)err;
    args->action = ARG_INTO;
    args->target = "sqlite";
    args->output = value;
    args->conv.add = 1;
    return PR_OK;
}

static pr_code
take_max_depth(const pr_option *option, const char *value, void *at,
               pr_err *err)
{
    long number;
    if (!parse_number(value, 1, INT32_MAX, &number))
        return pr_option_refuse(option, value, err);
    *(uint32_t *)at = (uint32_t)number;
    return PR_OK;
}

static pr_code
take_level(const pr_option *option, const char *value, void *at, pr_err *err)
{
    long number;
    if (!parse_number(value, 1, 22, &number))
        return pr_option_refuse(option, value, err);
    *(int *)at = (int)number;
    return PR_OK;
}

static pr_code
take_size(const pr_option *option, const char *value, void *at, pr_err *err)
{
    return pr_size_parse(value, at) ? PR_OK
                                    : pr_option_refuse(option, value, err);
}

static pr_code take_help(const pr_option *option, const char *value, void *at,
                         pr_err *err);

static pr_code
take_version(const pr_option *option, const char *value, void *at, pr_err *err)
{
    (void)option;
    (void)value;
    (void)at;
    (void)err;
    puts("pyconv " PYREC_VERSION);
    return PR_END;
}

/* ---- the rows ---- */

static const pr_word times[] = {{"real", CONV_TIME_REAL},
                                {"nominal", CONV_TIME_NOMINAL},
                                {"samples", CONV_TIME_SAMPLES},
                                {NULL, 0}};
static const pr_word methods[] = {{"zstd", 0}, {"none", 1}, {NULL, 0}};

#define AT(field) offsetof(arguments, field)
#define SET(name, letter, field, value, help)                         \
    {                                                                 \
        name, letter, NULL, pr_take_int, AT(field), value, NULL, help \
    }
#define VALUE(name, letter, argument, take, field, help)       \
    {                                                          \
        name, letter, argument, take, AT(field), 0, NULL, help \
    }
#define WORD(name, argument, field, words, help)                   \
    {                                                              \
        name, 0, argument, pr_take_word, AT(field), 0, words, help \
    }
#define NAME(name, take, field, argument, help) \
    VALUE(name, 0, argument, take, conv.filters.field, help)

static const pr_option rows[] = {
    VALUE("to", 't', "TARGET", pr_take_text, target,
          "what to write (default: by the suffix of OUTPUT)"),
    VALUE("output", 'o', "OUTPUT", pr_take_text, output,
          "a file, '-' or a server; default: beside FILE"),
    {"into", 0, "DATABASE", take_into, 0, 0, NULL,
     "add profiles to this database, or make it (sqlite)"},
    VALUE("from", 0, "KIND", take_from, conv.from,
          "of FILE; else its content says it (see --list)"),
    SET("force", 'f', conv.force, 1, "replace an existing OUTPUT"),
    {"between", 0, "A..B", take_between, 0, 0, NULL,
     "samples of this time only: 2.5s, 300ms, 1m"},
    NAME("threads", take_name, threads, "NAME",
         "samples of this thread: a name, an id or *"),
    VALUE("where", 0, "STATE", take_where, conv.filters.where,
          "gil, cpu, idle, waiting, exception, main"),
    NAME("focus", take_name, focus, "NAME",
         "samples with this function, file or FILE:LINE"),
    NAME("ignore", take_name, ignore, "NAME", "samples without it"),
    NAME("hide", take_name, hide, "NAME", "stacks without these frames"),
    SET("hide-native", 0, conv.filters.hide_native, 1,
        "stacks without <native> frames"),
    NAME("strip-prefix", take_name, strip_prefix, "PATH",
         "files without this beginning"),
    NAME("map", take_map, map, "OLD=NEW",
         "files with NEW in place of the beginning OLD"),
    SET("lines", 0, conv.level, CONV_LEVEL_LINE, "stacks are made of lines"),
    SET("functions", 0, conv.level, CONV_LEVEL_FUNCTION,
        "stacks are made of functions"),
    VALUE("max-depth", 0, "N", take_max_depth, conv.max_depth,
          "deeper stacks lose their middle"),
    WORD("time", "WHAT", conv.time, times,
         "numbers are real or nominal time, or samples"),
    VALUE("style", 0, "STYLE", pr_take_text, conv.style,
          "stock (as CPython 3.15); collapsed: pyspy, plain"),
    VALUE("diff", 0, "OLD", pr_take_text, conv.base,
          "compare with OLD (html, collapsed)"),
    VALUE("source", 0, "DIR", pr_take_text, conv.source_folder,
          "put the sources below DIR into the page (html)"),
    SET("follow", 0, action, ARG_FOLLOW, "convert again while FILE grows"),
    VALUE("level", 0, "N", take_level, conv.zstd_level,
          "of compression, 1 to 22 (bin)"),
    WORD("compression", "HOW", conv.no_compression, methods,
         "zstd or none (bin)"),
    VALUE("memory", 0, "SIZE", take_size, conv.memory,
          "most memory; default 1G to read, 4G for stacks"),
    VALUE("max-output", 0, "SIZE", take_size, conv.output_max,
          "most bytes of text; default 1G, or 1024 times FILE"),
    SET("list", 0, action, ARG_LIST,
        "the targets and the programs that open them"),
    SET("info", 0, action, ARG_INFO, "print what FILE holds"),
    SET("verify", 0, action, ARG_VERIFY, "check that FILE is whole"),
    {"quiet", 'q', NULL, pr_take_byte, AT(quiet), 1, NULL,
     "no progress and no notes"},
    {"help", 'h', NULL, take_help, 0, 0, NULL, NULL},
    {"version", 'V', NULL, take_version, 0, 0, NULL, NULL},
    {NULL, 0, NULL, NULL, 0, 0, NULL, NULL},
};

enum { NAMES_A_LINE = 7 };

static void
print_help(void)
{
    const conv_target_info *target;
    fputs(usage, stdout);
    for (size_t i = 0; (target = conv_target_get(i)); i++)
        printf("%s%s", i % NAMES_A_LINE ? ", " : i ? ",\n" : "", target->name);
    fputs(" (see --list).\n\n", stdout);
    for (const pr_option *o = rows; o->help; o++) {
        char text[40];
        snprintf(text, sizeof text, "%s%s%s", o->name, o->argument ? " " : "",
                 o->argument ? o->argument : "");
        if (o->letter)
            printf("  -%c, --%-20s %s\n", o->letter, text, o->help);
        else
            printf("      --%-20s %s\n", text, o->help);
    }
    fputs("  -h, --help    -V, --version\n", stdout);
}

static pr_code
take_help(const pr_option *option, const char *value, void *at, pr_err *err)
{
    (void)option;
    (void)value;
    (void)at;
    (void)err;
    print_help();
    return PR_END;
}

/* ---- the command line ---- */

static pr_code
fail_usage(pr_err *err, const char *what)
{
    PR_FAIL(err, PR_USAGE, "%s", what);
    pr_err_hint(err, "try 'pyconv --help'");
    return PR_USAGE;
}

/* ---- what goes together ---- */

/* The options that an action takes.  All besides `never` if it converts; `only`
 * these if it prints. */
typedef struct action_rule {
    const char *name, *hint;
    const char *const *only, *const *never;
} action_rule;

static const char *const of_list[] = {"quiet", NULL};
static const char *const of_readers[] = {"memory", "quiet", NULL};
static const char *const not_convert[] = {NULL};
static const char *const not_follow[] = {"into", "list", "info", "verify",
                                         NULL};
static const char *const not_into[] = {"to",   "output", "force",  "follow",
                                       "list", "info",   "verify", NULL};

static const action_rule rules[] = {
    [ARG_CONVERT] = {"", NULL, NULL, not_convert},
    [ARG_FOLLOW] = {"follow", "--follow converts one file again and again",
                    NULL, not_follow},
    [ARG_INTO] = {"into", "--into adds to a database of sqlite, or makes it",
                  NULL, not_into},
    [ARG_LIST] = {"list", "--list prints, and converts nothing", of_list, NULL},
    [ARG_INFO] = {"info", "--info prints, and converts nothing", of_readers,
                  NULL},
    [ARG_VERIFY] = {"verify", "--verify reads, and converts nothing",
                    of_readers, NULL},
};

static bool
has_word(const char *const *words, const char *word)
{
    while (*words && strcmp(*words, word) != 0)
        words++;
    return *words != NULL;
}

static bool
takes(const action_rule *rule, const char *option)
{
    if (strcmp(option, rule->name) == 0)
        return true;
    return rule->only ? has_word(rule->only, option)
                      : !has_word(rule->never, option);
}

/* An option that the action would ignore is refused. */
static pr_code
check_options(const arguments *args, pr_err *err)
{
    const action_rule *rule = &rules[args->action];
    for (size_t i = 0; rows[i].name; i++) {
        if (!(args->given >> i & 1) || takes(rule, rows[i].name))
            continue;
        PR_FAIL(err, PR_USAGE, "--%s does not go with --%s", rows[i].name,
                rule->name);
        pr_err_hint(err, "%s", rule->hint);
        return PR_USAGE;
    }
    return PR_OK;
}

/* The files that the action takes: none, one, or some. */
static pr_code
check_files(const arguments *args, pr_err *err)
{
    bool many = args->action == ARG_CONVERT || args->action == ARG_INTO;
    if (args->action == ARG_LIST)
        return args->n_inputs ? fail_usage(err, "--list takes no file") : PR_OK;
    if (args->n_inputs == 0)
        return fail_usage(err, "no file given");
    if (args->n_inputs == 1 || many)
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "--%s takes one file", rules[args->action].name);
    pr_err_hint(err, "try 'pyconv --help'");
    return PR_USAGE;
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
    pr_code rc = check_options(args, err);
    if (rc == PR_OK)
        rc = check_files(args, err);
    if (rc != PR_OK || rules[args->action].only)
        return rc;
    if (!args->target)
        rc = choose_target(args, err);
    if (rc == PR_OK)
        rc = check_follow(args, err);
    return rc == PR_OK ? check_server(args, err) : rc;
}

pr_code
arg_parse(int argc, char **argv, arguments *ret, pr_err *err)
{
    static const pr_options options = {"pyconv", rows, false, AT(given)};
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
    pr_code rc = pr_options_read(&options, argc, argv, ret, err);
    if (rc != PR_OK)
        return rc;
    ret->input = (const char *const *)(argv + optind);
    ret->n_inputs = (size_t)(argc - optind);
    return check_action(ret, err);
}

void
arg_release(arguments *args)
{
    free(args->names);
}
