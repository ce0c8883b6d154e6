/*
 * options.c - the command line of pyrec (options.h).
 */
#include "recorder/options.h"

#include <base/duration.h>
#include <base/rate.h>
#include <base/usage.h>
#include <ctype.h>
#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RATE_MAX_HZ   1e6
#define TIME_LEAST_NS UINT64_C(1000000)
#define TIME_MOST_NS  (UINT64_C(86400000000000) * 3660)

enum {
    DEFAULT_PERIOD_NS = 1000000,
    DEPTH_LEAST = 3,
    DEPTH_MOST = 1 << 20,
    REPEAT_MOST = 10000
};

/* ---- numbers ---- */

static pr_code
parse_rate(const char *text, uint64_t *ret_period_ns, pr_err *err)
{
    double hz;
    if (!pr_rate_parse(text, &hz)) {
        PR_FAIL(err, PR_USAGE, "'%s' is not a rate", text);
        pr_err_hint(err, "a rate is samples a second: " PR_RATE_FORMS);
        return PR_USAGE;
    }
    if (!(hz >= 0.001 && hz <= RATE_MAX_HZ))
        return PR_FAIL(err, PR_USAGE,
                       "rate '%s' is not between 0.001 and 1000k", text);
    *ret_period_ns = (uint64_t)(1e9 / hz + 0.5);
    return PR_OK;
}

static pr_code
parse_time(const char *text, uint64_t *ret_ns, pr_err *err)
{
    uint64_t ns;
    if (!pr_duration_parse(text, strlen(text), &ns)) {
        PR_FAIL(err, PR_USAGE, "'%s' is not a time", text);
        pr_err_hint(err,
                    "a time is seconds, or has a unit: " PR_DURATION_FORMS);
        return PR_USAGE;
    }
    if (ns < TIME_LEAST_NS || ns > TIME_MOST_NS)
        return PR_FAIL(err, PR_USAGE,
                       "time '%s' is not between 1ms and ten years", text);
    *ret_ns = ns;
    return PR_OK;
}

/* "1%", "0.5%" */
static pr_code
parse_share(const char *text, double *ret, pr_err *err)
{
    char *end = NULL;
    double percent = isdigit((unsigned char)text[0]) ? strtod(text, &end) : 0;
    if (end && *end == '%' && !end[1] && percent >= 0.01 && percent <= 100) {
        *ret = percent / 100;
        return PR_OK;
    }
    PR_FAIL(err, PR_USAGE, "'%s' is not a share between 0.01%% and 100%%",
            text);
    pr_err_hint(err, "a share has a percent sign: 1%%");
    return PR_USAGE;
}

static pr_code
parse_count(const char *text, long least, long most, const char *what,
            long *ret, pr_err *err)
{
    char *end;
    long value = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : -1;
    if (value < least || value > most || *end)
        return PR_FAIL(err, PR_USAGE, "'%s' is not a %s between %ld and %ld",
                       text, what, least, most);
    *ret = value;
    return PR_OK;
}

/* ---- words ---- */

typedef struct word {
    const char *name;
    int value;
} word;

static const word strategies[] = {{"auto", REC_AUTO},
                                  {"colocated", REC_COLOCATED},
                                  {"remote", REC_REMOTE},
                                  {"blocking", REC_BLOCKING},
                                  {NULL, 0}};
static const word thread_words[] = {{"all", REC_THREADS_ALL},
                                    {"main", REC_THREADS_MAIN},
                                    {"gil", REC_THREADS_GIL},
                                    {NULL, 0}};
static const word caches[] = {{"read-only", REC_CACHE_READ_ONLY},
                              {"anchor", REC_CACHE_ANCHOR},
                              {NULL, 0}};
static const word modes[] = {{"wall", PR_MODE_WALL},
                             {"cpu", PR_MODE_CPU},
                             {"gil", PR_MODE_GIL},
                             {"all", PR_MODE_ALL},
                             {"exception", PR_MODE_EXCEPTION},
                             {NULL, 0}};

static const word async_words[] = {
    {"running", REC_ASYNC_RUNNING}, {"all", REC_ASYNC_ALL}, {NULL, 0}};

static pr_code
parse_word(const char *option, const char *text, const word *words, int *ret,
           pr_err *err)
{
    char all[128] = "";
    for (const word *w = words; w->name; w++) {
        if (strcmp(text, w->name) == 0) {
            *ret = w->value;
            return PR_OK;
        }
        strncat(all, all[0] ? ", " : "", sizeof all - strlen(all) - 1);
        strncat(all, w->name, sizeof all - strlen(all) - 1);
    }
    pr_usage_value(option, text, err);
    pr_err_hint(err, "one of %s", all);
    return PR_USAGE;
}

/* ---- options ---- */

enum {
    OPTION_THREADS = 256,
    OPTION_MODE,
    OPTION_ASYNC,
    OPTION_KEEP_IDLE,
    OPTION_NATIVE,
    OPTION_NO_GC,
    OPTION_OPCODES,
    OPTION_GC_EVENTS,
    OPTION_MAX_DEPTH,
    OPTION_STRATEGY,
    OPTION_CACHE,
    OPTION_BLOCKING,
    OPTION_REALTIME,
    OPTION_STATS,
    OPTION_DEBUG,
    OPTION_CHECK,
    OPTION_LABEL,
    OPTION_CHILDREN,
    OPTION_DUMP,
    OPTION_TASKS,
    OPTION_GC,
    OPTION_JSON,
    OPTION_FSYNC,
    OPTION_TOP,
    OPTION_WAIT,
    OPTION_NO_COMMAND_LINE,
    OPTION_OVERHEAD,
    OPTION_EVERY,
    OPTION_NAME,
    OPTION_KEEP,
    OPTION_MAX_SIZE,
    OPTION_METRICS,
    OPTION_REPEAT,
    OPTION_IN_TURN
};

static const struct option long_options[] = {
    {"pid", required_argument, NULL, 'p'},
    {"output", required_argument, NULL, 'o'},
    {"rate", required_argument, NULL, 'r'},
    {"duration", required_argument, NULL, 'd'},
    {"force", no_argument, NULL, 'f'},
    {"quiet", no_argument, NULL, 'q'},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"mode", required_argument, NULL, OPTION_MODE},
    {"async", required_argument, NULL, OPTION_ASYNC},
    {"keep-idle", no_argument, NULL, OPTION_KEEP_IDLE},
    {"native", no_argument, NULL, OPTION_NATIVE},
    {"no-gc", no_argument, NULL, OPTION_NO_GC},
    {"gc-events", no_argument, NULL, OPTION_GC_EVENTS},
    {"opcodes", no_argument, NULL, OPTION_OPCODES},
    {"max-depth", required_argument, NULL, OPTION_MAX_DEPTH},
    {"cache", required_argument, NULL, OPTION_CACHE},
    {"strategy", required_argument, NULL, OPTION_STRATEGY},
    {"blocking", no_argument, NULL, OPTION_BLOCKING},
    {"realtime", no_argument, NULL, OPTION_REALTIME},
    {"stats", no_argument, NULL, OPTION_STATS},
    {"debug", no_argument, NULL, OPTION_DEBUG},
    {"check", required_argument, NULL, OPTION_CHECK},
    {"label", required_argument, NULL, OPTION_LABEL},
    {"dump", no_argument, NULL, OPTION_DUMP},
    {"tasks", no_argument, NULL, OPTION_TASKS},
    {"gc", optional_argument, NULL, OPTION_GC},
    {"json", no_argument, NULL, OPTION_JSON},
    {"children", no_argument, NULL, OPTION_CHILDREN},
    {"fsync", no_argument, NULL, OPTION_FSYNC},
    {"overhead", required_argument, NULL, OPTION_OVERHEAD},
    {"every", required_argument, NULL, OPTION_EVERY},
    {"for", required_argument, NULL, 'd'},
    {"name", required_argument, NULL, OPTION_NAME},
    {"keep", required_argument, NULL, OPTION_KEEP},
    {"max-size", required_argument, NULL, OPTION_MAX_SIZE},
    {"metrics", required_argument, NULL, OPTION_METRICS},
    {"repeat", required_argument, NULL, OPTION_REPEAT},
    {"in-turn", required_argument, NULL, OPTION_IN_TURN},
    {"top", no_argument, NULL, OPTION_TOP},
    {"wait", no_argument, NULL, OPTION_WAIT},
    {"no-command-line", no_argument, NULL, OPTION_NO_COMMAND_LINE},
    {"version", no_argument, NULL, 'V'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0}};

static const char help[] =
    "usage: pyrec [options] -- COMMAND [argument ...]\n"
    "       pyrec [options] -p PID\n"
    "       pyrec --dump | --tasks | --gc [--json] -p PID\n"
    "       pyrec --top -p PID\n"
    "       pyrec --every TIME --for TIME (-p PID | --name PATTERN) -o "
    "DIR\n"
    "       pyrec --check PID\n"
    "Record a running CPython (3.11 to 3.15) into a profile.\n"
    "\n"
    "  -p, --pid PID         the process to record\n"
    "  -o, --output FILE     the profile (default: "
    "pyrec-NAME-PID-TIME.bin)\n"
    "      --wait            wait until the process is a Python\n"
    "  -r, --rate RATE       samples a second: 100, 1khz, 10k "
    "(default 1khz)\n"
    "  -d, --duration TIME   0.5, 10s, 2m (default: until the target "
    "ends)\n"
    "      --children        each Python child gets a profile of its "
    "own\n"
    "      --repeat N        N runs of COMMAND, each a file of the folder "
    "FILE\n"
    "      --in-turn DIR=COMMAND   with --repeat: another command, in "
    "turn\n"
    "  -f, --force           replace FILE if it exists\n"
    "  -q, --quiet           no status line and no summary\n"
    "\n"
    "what is sampled\n"
    "      --threads WHICH   all, main (of each interpreter), gil "
    "(its holders)\n"
    "      --mode MODE       wall, cpu, gil, all, exception: which "
    "samples are kept\n"
    "      --keep-idle       keep the samples that the mode would "
    "drop, too\n"
    "      --async WHICH     asyncio tasks in the place of threads: "
    "running, all\n"
    "                        (3.14+)\n"
    "      --native          <native> frames where C code calls "
    "Python\n"
    "      --no-gc           no <GC> frames while a collection runs\n"
    "      --gc-events       collections as events (3.15)\n"
    "      --opcodes         the opcode of each frame\n"
    "      --max-depth N     frames of a stack (default 4096); the "
    "middle is left out\n"
    "\n"
    "how\n"
    "      --strategy HOW    auto, colocated (an unproven sample is "
    "lost),\n"
    "                        remote (never on the target's CPU), "
    "blocking\n"
    "      --blocking        stop the target for each sample\n"
    "      --cache HOW       read-only, anchor (3.15's own: writes 8 "
    "bytes per sample)\n"
    "      --overhead SHARE  1%: lower the rate so that all costs no "
    "more\n"
    "      --realtime        SCHED_FIFO for the sampler\n"
    "      --fsync           let the file survive a power cut\n"
    "      --label KEY=VALUE kept in the file; may be repeated\n"
    "      --no-command-line keep no command line in the file\n"
    "\n"
    "on a schedule\n"
    "      --every TIME      record each process once in every TIME, at "
    "random\n"
    "      --for TIME        as --duration\n"
    "      --name PATTERN    the processes of this name: *, ?, [...]\n"
    "      --keep TIME       remove recordings that are older: 7d\n"
    "      --max-size SIZE   remove the oldest ones beyond 500M, 10G\n"
    "      --metrics FILE    the recorder's state for Prometheus' node "
    "exporter\n"
    "\n"
    "      --top             show what the process does while it is "
    "recorded\n"
    "      --dump            print the stacks of all threads once\n"
    "      --tasks           print all asyncio tasks once, and who "
    "awaits whom\n"
    "      --gc[=TIME]       print the last collections (3.15), and new "
    "ones each TIME\n"
    "      --json            as JSON\n"
    "      --check PID       say whether PID is a Python, and which\n"
    "      --stats           print the recorder's counters at the "
    "end\n"
    "      --debug           print the whole chain of causes of an "
    "error\n"
    "  -V, --version         print the version\n"
    "  -h, --help            print this help\n"
    "\n"
    "exit status: 0 done, 1 failed, 2 usage, 7 no such process, 8 not "
    "a CPython\nthis program knows, 9 not permitted.  With a command: "
    "the command's own, 125\nif recording it failed, 126 if it cannot "
    "be run, 127 if there is none.\n";

const char *
rec_options_help(void)
{
    return help;
}

static pr_code
add_label(rec_options *o, const char *text, pr_err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text)
        return PR_FAIL(err, PR_USAGE, "label '%s' is not KEY=VALUE", text);
    rec_label *grown = realloc(o->label, (o->n_labels + 1) * sizeof *o->label);
    if (!grown)
        return pr_no_memory(err);
    o->label = grown;
    o->label[o->n_labels++] =
        (rec_label){text, (size_t)(equals - text), equals + 1};
    return PR_OK;
}

static pr_code
add_turn(rec_options *o, const char *text, pr_err *err)
{
    const char **grown = realloc(o->turn, (o->n_turns + 1) * sizeof *o->turn);
    if (!grown)
        return pr_no_memory(err);
    o->turn = grown;
    o->turn[o->n_turns++] = text;
    return PR_OK;
}

static pr_code
parse_pid(rec_options *o, const char *text, pr_err *err)
{
    long pid;
    pr_code code = parse_count(text, 1, INT_MAX, "process id", &pid, err);
    if (code == PR_OK)
        o->pid = (pid_t)pid;
    return code;
}

/* "500M", "10G": bytes, or with a letter by powers of 1024. */
static pr_code
parse_size(const char *text, uint64_t *ret, pr_err *err)
{
    static const char units[] = "KMGT";
    char *end = NULL;
    unsigned long long n =
        isdigit((unsigned char)text[0]) ? strtoull(text, &end, 10) : 0;
    const char *unit = end && *end ? strchr(units, toupper(*end)) : NULL;
    int shift = unit ? 10 * (int)(unit - units + 1) : 0;
    if (n > 0 && n <= UINT64_C(1) << (60 - shift) &&
        (!*end || (unit && !end[1]))) {
        *ret = (uint64_t)n << shift;
        return PR_OK;
    }
    PR_FAIL(err, PR_USAGE, "'%s' is not a size", text);
    pr_err_hint(err, "a size is bytes, or has a unit: 500M, 10G");
    return PR_USAGE;
}

static pr_code
parse_depth(rec_options *o, const char *text, pr_err *err)
{
    long depth;
    pr_code code =
        parse_count(text, DEPTH_LEAST, DEPTH_MOST, "depth", &depth, err);
    if (code == PR_OK)
        o->unwinder.max_depth = (uint32_t)depth;
    return code;
}

static pr_code
take_word(rec_options *o, int option, const char *text, pr_err *err)
{
    int value = 0;
    pr_code code;
    switch (option) {
    case OPTION_THREADS:
        code = parse_word("threads", text, thread_words, &value, err);
        if (code == PR_OK)
            o->unwinder.threads = (rec_threads)value;
        return code;
    case OPTION_MODE:
        code = parse_word("mode", text, modes, &value, err);
        if (code == PR_OK)
            o->unwinder.mode = (pr_mode)value;
        return code;
    case OPTION_ASYNC:
        code = parse_word("async", text, async_words, &value, err);
        if (code == PR_OK)
            o->unwinder.async_mode = (rec_async)value;
        return code;
    case OPTION_CACHE:
        code = parse_word("cache", text, caches, &value, err);
        if (code == PR_OK)
            o->unwinder.cache = (rec_cache)value;
        return code;
    default:
        code = parse_word("strategy", text, strategies, &value, err);
        if (code == PR_OK)
            o->unwinder.strategy = (rec_strategy)value;
        return code;
    }
}

static pr_code
take_value(rec_options *o, int option, const char *text, pr_err *err)
{
    switch (option) {
    case 'p':
        return parse_pid(o, text, err);
    case 'o':
        o->output = text;
        return PR_OK;
    case 'r':
        return parse_rate(text, &o->period_ns, err);
    case 'd':
        return parse_time(text, &o->duration_ns, err);
    case OPTION_CHECK:
        o->action = REC_ACTION_CHECK;
        return parse_pid(o, text, err);
    case OPTION_MAX_DEPTH:
        return parse_depth(o, text, err);
    case OPTION_GC:
        o->action = REC_ACTION_GC;
        return parse_time(text, &o->gc_every_ns, err);
    case OPTION_OVERHEAD:
        return parse_share(text, &o->overhead, err);
    case OPTION_EVERY:
        return parse_time(text, &o->every_ns, err);
    case OPTION_KEEP:
        return parse_time(text, &o->keep_ns, err);
    case OPTION_MAX_SIZE:
        return parse_size(text, &o->max_bytes, err);
    case OPTION_NAME:
        o->name = text;
        return PR_OK;
    case OPTION_METRICS:
        o->metrics = text;
        return PR_OK;
    case OPTION_LABEL:
        return add_label(o, text, err);
    case OPTION_REPEAT:
        return parse_count(text, 1, REPEAT_MOST, "number of runs", &o->repeat,
                           err);
    case OPTION_IN_TURN:
        return add_turn(o, text, err);
    default:
        return take_word(o, option, text, err);
    }
}

/* ---- options without a value ---- */

typedef struct flag {
    int option;
    size_t offset; /* of a bool in rec_options */
} flag;

static const flag flags[] = {
    {'f', offsetof(rec_options, force)},
    {'q', offsetof(rec_options, quiet)},
    {OPTION_REALTIME, offsetof(rec_options, realtime)},
    {OPTION_STATS, offsetof(rec_options, stats)},
    {OPTION_DEBUG, offsetof(rec_options, debug)},
    {OPTION_JSON, offsetof(rec_options, json)},
    {OPTION_CHILDREN, offsetof(rec_options, children)},
    {OPTION_FSYNC, offsetof(rec_options, fsync)},
    {OPTION_TOP, offsetof(rec_options, top)},
    {OPTION_WAIT, offsetof(rec_options, wait)},
    {OPTION_NO_COMMAND_LINE, offsetof(rec_options, no_command_line)}};

static bool
take_flag(rec_options *o, int option)
{
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].option == option) {
            *(bool *)((char *)o + flags[i].offset) = true;
            return true;
        }
    return false;
}

/* The action of pyrec. */
static bool
take_action(rec_options *o, int option)
{
    switch (option) {
    case 'h':
        o->action = REC_ACTION_HELP;
        return true;
    case 'V':
        o->action = REC_ACTION_VERSION;
        return true;
    case OPTION_DUMP:
        o->action = REC_ACTION_DUMP;
        return true;
    case OPTION_TASKS:
        o->action = REC_ACTION_TASKS;
        return true;
    case OPTION_GC:
        o->action = REC_ACTION_GC;
        return true;
    default:
        return false;
    }
}

/* Options of the unwinder. */
static void
take_switch(rec_unwinder_opts *u, int option)
{
    switch (option) {
    case OPTION_KEEP_IDLE:
        u->keep_idle = 1;
        break;
    case OPTION_NATIVE:
        u->native = 1;
        break;
    case OPTION_NO_GC:
        u->gc = 0;
        break;
    case OPTION_GC_EVENTS:
        u->gc_events = 1;
        break;
    case OPTION_OPCODES:
        u->opcodes = 1;
        break;
    case OPTION_BLOCKING:
        u->strategy = REC_BLOCKING;
        break;
    default:
        break;
    }
}

/* Options of a schedule without one. */
static pr_code
check_no_schedule(const rec_options *o, pr_err *err)
{
    const struct {
        bool given;
        const char *option;
    } options[] = {{o->name != NULL, "--name"},
                   {o->keep_ns != 0, "--keep"},
                   {o->max_bytes != 0, "--max-size"},
                   {o->metrics != NULL, "--metrics"}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given)
            return PR_FAIL(err, PR_USAGE, "%s needs --every",
                           options[i].option);
    return PR_OK;
}

static pr_code
check_schedule(const rec_options *o, pr_err *err)
{
    if (!o->every_ns)
        return check_no_schedule(o, err);
    if (o->action != REC_ACTION_RECORD || o->top || o->command || o->children ||
        o->wait)
        PR_FAIL(err, PR_USAGE,
                "--every records processes that run, and nothing else");
    else if ((o->pid != 0) == (o->name != NULL))
        PR_FAIL(err, PR_USAGE, "--every takes either -p or --name");
    else if (!o->duration_ns || o->duration_ns >= o->every_ns)
        PR_FAIL(err, PR_USAGE, "--every needs a shorter time with --for");
    else if (o->every_ns < 1000000000)
        PR_FAIL(err, PR_USAGE, "--every is a second or more");
    else if (!o->output)
        PR_FAIL(err, PR_USAGE, "--every needs a folder with -o");
    else
        return PR_OK;
    pr_err_hint(err, "pyrec --every 10m --for 10s --name PATTERN -o DIR");
    return PR_USAGE;
}

static pr_code
check_complete(const rec_options *o, pr_err *err)
{
    bool needs_pid = o->action == REC_ACTION_DUMP ||
                     o->action == REC_ACTION_TASKS ||
                     o->action == REC_ACTION_GC;
    pr_code code = check_schedule(o, err);
    if (code != PR_OK || (!needs_pid && o->action != REC_ACTION_RECORD))
        return code;
    if (!o->pid && !o->name && (needs_pid || !o->command))
        PR_FAIL(err, PR_USAGE, "no process given");
    else if (o->pid && o->command)
        PR_FAIL(err, PR_USAGE, "both a process and a command given");
    else if ((o->repeat || o->n_turns) &&
             !(o->repeat && o->command && o->output && !needs_pid))
        PR_FAIL(err, PR_USAGE,
                "--repeat needs a folder after -o and a command, --in-turn"
                " needs --repeat");
    else if (o->top && (o->command || o->children || o->wait))
        PR_FAIL(err, PR_USAGE, "--top shows one process that is running");
    else if (!needs_pid && o->output && strcmp(o->output, "-") == 0) {
        PR_FAIL(err, PR_USAGE, "a recording cannot go to a pipe");
        pr_err_hint(err, "give a file name; './-' is a file of that name");
    } else if (!needs_pid && o->json) {
        PR_FAIL(err, PR_USAGE, "--json is for --dump, --tasks and --gc");
        pr_err_hint(err, "'pyconv FILE --to speedscope' makes JSON of a "
                         "recording");
    } else if (o->overhead && o->unwinder.strategy == REC_BLOCKING) {
        PR_FAIL(err, PR_USAGE,
                "--overhead does not bound the cost of "
                "--blocking");
    } else
        return PR_OK;
    pr_err_hint(err, "pyrec -p PID -o FILE; see pyrec --help");
    return PR_USAGE;
}

static pr_code
take_option(rec_options *o, int option, char **argv, pr_err *err)
{
    if (option == '?' || option == ':')
        return pr_usage_option("pyrec", option, argv[optind - 1], err);
    if (optarg)
        return take_value(o, option, optarg, err);
    if (!take_flag(o, option) && !take_action(o, option))
        take_switch(&o->unwinder, option);
    return PR_OK;
}

static void
join_line(rec_options *o, char **argv, int n)
{
    size_t used = 0;
    for (int i = 1; i < n && used < sizeof o->line; i++)
        used += (size_t)snprintf(o->line + used, sizeof o->line - used, "%s%s",
                                 i > 1 ? " " : "", argv[i]);
}

pr_code
rec_options_parse(int argc, char **argv, rec_options *ret, pr_err *err)
{
    *ret = (rec_options){.period_ns = DEFAULT_PERIOD_NS,
                         .unwinder = REC_UNWINDER_OPTS_INIT};
    optind = 1;
    opterr = 0;
    int option;
    while ((option = getopt_long(argc, argv, "+:p:o:r:d:fqVh", long_options,
                                 NULL)) != -1) {
        pr_code code = take_option(ret, option, argv, err);
        if (code != PR_OK)
            return code;
    }
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
        PR_FAIL(err, PR_USAGE, "unexpected '%s'", argv[optind]);
        pr_err_hint(err, "a process comes after -p, a command after --");
        return PR_USAGE;
    }
    if (optind < argc)
        ret->command = argv + optind;
    join_line(ret, argv, optind - (ret->command != NULL));
    return check_complete(ret, err);
}

void
rec_options_release(rec_options *o)
{
    free(o->label);
    free(o->turn);
    o->label = NULL;
    o->turn = NULL;
    o->n_labels = o->n_turns = 0;
}
