/*
 * options.c - the command line of pyrec (options.h).
 */
#include "recorder/options.h"

#include <base/duration.h>
#include <base/option.h>
#include <base/rate.h>
#include <base/size.h>
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
    REPEAT_PERIOD_NS = 200000, /* counts of samples limit a comparison */
    DEPTH_LEAST = 3,
    DEPTH_MOST = 1 << 20,
    REPEAT_MOST = 10000
};

/* ---- values ---- */

static pr_code
take_rate(const pr_option *option, const char *text, void *at, pr_err *err)
{
    double hz;
    (void)option;
    if (!pr_rate_parse(text, &hz)) {
        PR_FAIL(err, PR_USAGE, "'%s' is not a rate", text);
        pr_err_hint(err, "a rate is samples a second: " PR_RATE_FORMS);
        return PR_USAGE;
    }
    if (!(hz >= 0.001 && hz <= RATE_MAX_HZ))
        return PR_FAIL(err, PR_USAGE,
                       "rate '%s' is not between 0.001 and 1000k", text);
    *(uint64_t *)at = (uint64_t)(1e9 / hz + 0.5);
    return PR_OK;
}

static pr_code
take_time(const pr_option *option, const char *text, void *at, pr_err *err)
{
    uint64_t ns;
    (void)option;
    if (!pr_duration_parse(text, strlen(text), &ns)) {
        PR_FAIL(err, PR_USAGE, "'%s' is not a time", text);
        pr_err_hint(err,
                    "a time is seconds, or has a unit: " PR_DURATION_FORMS);
        return PR_USAGE;
    }
    if (ns < TIME_LEAST_NS || ns > TIME_MOST_NS)
        return PR_FAIL(err, PR_USAGE,
                       "time '%s' is not between 1ms and ten years", text);
    *(uint64_t *)at = ns;
    return PR_OK;
}

/* "1%", "0.5%" */
static pr_code
take_share(const pr_option *option, const char *text, void *at, pr_err *err)
{
    char *end = NULL;
    double percent = isdigit((unsigned char)text[0]) ? strtod(text, &end) : 0;
    (void)option;
    if (end && *end == '%' && !end[1] && percent >= 0.01 && percent <= 100) {
        *(double *)at = percent / 100;
        return PR_OK;
    }
    PR_FAIL(err, PR_USAGE, "'%s' is not a share between 0.01%% and 100%%",
            text);
    pr_err_hint(err, "a share has a percent sign: 1%%");
    return PR_USAGE;
}

static pr_code
take_size(const pr_option *option, const char *text, void *at, pr_err *err)
{
    (void)option;
    if (pr_size_parse(text, at))
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "'%s' is not a size", text);
    pr_err_hint(err, "a size is " PR_SIZE_FORMS);
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

static pr_code
take_pid(const pr_option *option, const char *text, void *at, pr_err *err)
{
    long pid;
    (void)option;
    pr_code code = parse_count(text, 1, INT_MAX, "process id", &pid, err);
    if (code != PR_OK)
        return code;
    if (*(pid_t *)at && *(pid_t *)at != pid) {
        PR_FAIL(err, PR_USAGE, "two processes given, %d and %ld",
                (int)*(pid_t *)at, pid);
        pr_err_hint(err, "start a pyrec for each");
        return PR_USAGE;
    }
    *(pid_t *)at = (pid_t)pid;
    return PR_OK;
}

static pr_code
take_depth(const pr_option *option, const char *text, void *at, pr_err *err)
{
    long depth;
    (void)option;
    pr_code code =
        parse_count(text, DEPTH_LEAST, DEPTH_MOST, "depth", &depth, err);
    if (code == PR_OK)
        *(uint32_t *)at = (uint32_t)depth;
    return code;
}

static pr_code
take_runs(const pr_option *option, const char *text, void *at, pr_err *err)
{
    (void)option;
    return parse_count(text, 1, REPEAT_MOST, "number of runs", at, err);
}

/* ---- several places ---- */

static pr_code
take_check(const pr_option *option, const char *text, void *at, pr_err *err)
{
    rec_options *o = at;
    o->action = REC_ACTION_CHECK;
    return take_pid(option, text, &o->pid, err);
}

static pr_code
take_gc(const pr_option *option, const char *text, void *at, pr_err *err)
{
    rec_options *o = at;
    o->action = REC_ACTION_GC;
    return text ? take_time(option, text, &o->gc_every_ns, err) : PR_OK;
}

static pr_code
take_label(const pr_option *option, const char *text, void *at, pr_err *err)
{
    rec_options *o = at;
    const char *equals = strchr(text, '=');
    (void)option;
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
take_turn(const pr_option *option, const char *text, void *at, pr_err *err)
{
    rec_options *o = at;
    const char **grown = realloc(o->turn, (o->n_turns + 1) * sizeof *o->turn);
    (void)option;
    if (!grown)
        return pr_no_memory(err);
    o->turn = grown;
    o->turn[o->n_turns++] = text;
    return PR_OK;
}

/* ---- the rows ---- */

static const pr_word strategies[] = {{"auto", REC_AUTO},
                                     {"colocated", REC_COLOCATED},
                                     {"remote", REC_REMOTE},
                                     {"blocking", REC_BLOCKING},
                                     {NULL, 0}};
static const pr_word thread_words[] = {{"all", REC_THREADS_ALL},
                                       {"main", REC_THREADS_MAIN},
                                       {"gil", REC_THREADS_GIL},
                                       {NULL, 0}};
static const pr_word caches[] = {{"read-only", REC_CACHE_READ_ONLY},
                                 {"anchor", REC_CACHE_ANCHOR},
                                 {NULL, 0}};
static const pr_word modes[] = {{"wall", PR_MODE_WALL},
                                {"cpu", PR_MODE_CPU},
                                {"gil", PR_MODE_GIL},
                                {"all", PR_MODE_ALL},
                                {"exception", PR_MODE_EXCEPTION},
                                {NULL, 0}};
static const pr_word async_words[] = {
    {"running", REC_ASYNC_RUNNING}, {"all", REC_ASYNC_ALL}, {NULL, 0}};

#define AT(field) offsetof(rec_options, field)
#define VALUE(name, letter, argument, take, field)             \
    {                                                          \
        name, letter, argument, take, AT(field), 0, NULL, NULL \
    }
#define FLAG(name, letter, field)                                  \
    {                                                              \
        name, letter, NULL, pr_take_byte, AT(field), 1, NULL, NULL \
    }
#define SET(name, letter, field, value)                               \
    {                                                                 \
        name, letter, NULL, pr_take_int, AT(field), value, NULL, NULL \
    }
#define WORD(name, argument, field, words)                         \
    {                                                              \
        name, 0, argument, pr_take_word, AT(field), 0, words, NULL \
    }
#define WHOLE(name, argument, take)               \
    {                                             \
        name, 0, argument, take, 0, 0, NULL, NULL \
    }

static const pr_option rows[] = {
    VALUE("pid", 'p', "PID", take_pid, pid),
    VALUE("output", 'o', "FILE", pr_take_text, output),
    VALUE("rate", 'r', "RATE", take_rate, period_ns),
    VALUE("duration", 'd', "TIME", take_time, duration_ns),
    FLAG("force", 'f', force),
    FLAG("quiet", 'q', quiet),
    WORD("threads", "WHICH", unwinder.threads, thread_words),
    WORD("mode", "MODE", unwinder.mode, modes),
    WORD("async", "WHICH", unwinder.async_mode, async_words),
    FLAG("keep-idle", 0, unwinder.keep_idle),
    FLAG("native", 0, unwinder.native),
    {"no-gc", 0, NULL, pr_take_byte, AT(unwinder.gc), 0, NULL, NULL},
    FLAG("gc-events", 0, unwinder.gc_events),
    FLAG("opcodes", 0, unwinder.opcodes),
    VALUE("max-depth", 0, "N", take_depth, unwinder.max_depth),
    WORD("cache", "HOW", unwinder.cache, caches),
    WORD("strategy", "HOW", unwinder.strategy, strategies),
    SET("blocking", 0, unwinder.strategy, REC_BLOCKING),
    FLAG("realtime", 0, realtime),
    FLAG("stats", 0, stats),
    FLAG("debug", 0, debug),
    WHOLE("check", "PID", take_check),
    WHOLE("label", "KEY=VALUE", take_label),
    SET("dump", 0, action, REC_ACTION_DUMP),
    SET("tasks", 0, action, REC_ACTION_TASKS),
    WHOLE("gc", "[TIME]", take_gc),
    FLAG("json", 0, json),
    FLAG("children", 0, children),
    FLAG("fsync", 0, fsync),
    VALUE("overhead", 0, "SHARE", take_share, overhead),
    VALUE("every", 0, "TIME", take_time, every_ns),
    VALUE("for", 0, "TIME", take_time, duration_ns),
    VALUE("name", 0, "PATTERN", pr_take_text, name),
    VALUE("keep", 0, "TIME", take_time, keep_ns),
    VALUE("max-size", 0, "SIZE", take_size, max_bytes),
    VALUE("metrics", 0, "FILE", pr_take_text, metrics),
    VALUE("repeat", 0, "N", take_runs, repeat),
    WHOLE("in-turn", "DIR=COMMAND", take_turn),
    FLAG("top", 0, top),
    FLAG("wait", 0, wait),
    FLAG("no-command-line", 0, no_command_line),
    SET("version", 'V', action, REC_ACTION_VERSION),
    SET("help", 'h', action, REC_ACTION_HELP),
    {NULL, 0, NULL, NULL, 0, 0, NULL, NULL},
};

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
    "  -r, --rate RATE       samples a second: 100, 1khz, 10k (1khz; "
    "--repeat 5k)\n"
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
    "bytes a sample)\n"
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
    "      --gc[=TIME]       print the last collections (3.15), new "
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
    "a CPython\nthis program knows, or without what an option needs, 9 "
    "not permitted.  With a\ncommand: the command's own, 125 if recording "
    "it failed, 126 if it cannot be run,\n127 if there is none.\n";

const char *
rec_options_help(void)
{
    return help;
}

/* ---- what goes together ---- */

/* The options of the actions that print and record nothing. */
static const char *const of_all[] = {"quiet", "debug", NULL};
static const char *const of_readers[] = {"pid", "json", NULL};
static const char *const of_dump[] = {
    "threads", "mode",      "async",    "keep-idle", "native", "no-gc",
    "opcodes", "max-depth", "strategy", "blocking",  "cache",  NULL};
static const struct {
    const char *name;
    const char *const *options[3];
} printing[] = {
    [REC_ACTION_CHECK] = {"check", {of_all, NULL, NULL}},
    [REC_ACTION_DUMP] = {"dump", {of_all, of_readers, of_dump}},
    [REC_ACTION_TASKS] = {"tasks", {of_all, of_readers, NULL}},
    [REC_ACTION_GC] = {"gc", {of_all, of_readers, NULL}},
};

static bool
is_of_action(rec_action action, const char *option)
{
    if (strcmp(option, printing[action].name) == 0)
        return true;
    for (size_t i = 0; i < 3 && printing[action].options[i]; i++)
        for (const char *const *o = printing[action].options[i]; *o; o++)
            if (strcmp(option, *o) == 0)
                return true;
    return false;
}

/* An option that the action would ignore is refused. */
static pr_code
check_printing(const rec_options *o, pr_err *err)
{
    const char *name = printing[o->action].name;
    if (o->command)
        return PR_FAIL(err, PR_USAGE, "--%s takes a process, not a command",
                       name);
    for (size_t i = 0; rows[i].name; i++)
        if ((o->given >> i & 1) && !is_of_action(o->action, rows[i].name)) {
            PR_FAIL(err, PR_USAGE, "--%s does not go with --%s", rows[i].name,
                    name);
            pr_err_hint(err, "--%s prints, and records nothing", name);
            return PR_USAGE;
        }
    return PR_OK;
}

static bool
is_given(const rec_options *o, const char *name)
{
    size_t i = 0;
    while (strcmp(rows[i].name, name) != 0)
        i++;
    return o->given >> i & 1;
}

static const struct {
    const char *option, *with, *why;
} without_effect[] = {
    {"force", "every", "each recording gets a name of its own"},
    {"force", "repeat", "each run gets a name of its own"},
    {"stats", "every", "recordings on a schedule print no summary"},
    {"stats", "quiet", "--stats adds to the summary, which --quiet leaves out"},
    {"stats", "top", "the view takes the place of the summary"},
};

/* An option on which another one leaves no effect is refused. */
static pr_code
check_effects(const rec_options *o, pr_err *err)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof *without_effect; i++)
        if (is_given(o, without_effect[i].option) &&
            is_given(o, without_effect[i].with)) {
            PR_FAIL(err, PR_USAGE, "--%s does not go with --%s",
                    without_effect[i].option, without_effect[i].with);
            pr_err_hint(err, "%s", without_effect[i].why);
            return PR_USAGE;
        }
    return PR_OK;
}

/* Two rows with one place are two names of a setting; --help and the other
 * actions share theirs, too, and have rules of their own. */
static pr_code
check_names(const rec_options *o, pr_err *err)
{
    for (size_t i = 0; rows[i].name; i++)
        for (size_t j = 0; j < i; j++)
            if ((o->given >> i & 1) && (o->given >> j & 1) &&
                rows[i].place == rows[j].place && rows[i].place != AT(action)) {
                PR_FAIL(err, PR_USAGE, "both --%s and --%s given", rows[j].name,
                        rows[i].name);
                pr_err_hint(err, "they set the same: give one of them");
                return PR_USAGE;
            }
    return PR_OK;
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
    if (o->top || o->command || o->children || o->wait)
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
check_repeat(const rec_options *o, pr_err *err)
{
    if (!o->repeat && !o->n_turns)
        return PR_OK;
    if (!o->repeat)
        PR_FAIL(err, PR_USAGE, "--in-turn needs --repeat");
    else if (!o->command)
        PR_FAIL(err, PR_USAGE, "--repeat needs a command to record");
    else if (!o->output)
        PR_FAIL(err, PR_USAGE, "--repeat needs a folder with -o");
    else
        return PR_OK;
    pr_err_hint(err, "pyrec -o DIR --repeat N -- COMMAND");
    return PR_USAGE;
}

static pr_code
check_recording(const rec_options *o, pr_err *err)
{
    pr_code code = check_effects(o, err);
    if (code == PR_OK)
        code = check_schedule(o, err);
    if (code == PR_OK)
        code = check_repeat(o, err);
    if (code != PR_OK)
        return code;
    if (!o->pid && !o->name && !o->command)
        PR_FAIL(err, PR_USAGE, "no process given");
    else if (o->pid && o->command)
        PR_FAIL(err, PR_USAGE, "both a process and a command given");
    else if (o->top && (o->command || o->children || o->wait))
        PR_FAIL(err, PR_USAGE, "--top shows one process that is running");
    else if (o->output && strcmp(o->output, "-") == 0) {
        PR_FAIL(err, PR_USAGE, "a recording cannot go to a pipe");
        pr_err_hint(err, "give a file name; './-' is a file of that name");
    } else if (o->json) {
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
check_complete(const rec_options *o, pr_err *err)
{
    if (o->action == REC_ACTION_HELP || o->action == REC_ACTION_VERSION)
        return PR_OK;
    if (check_names(o, err) != PR_OK)
        return PR_USAGE;
    if (o->action == REC_ACTION_RECORD)
        return check_recording(o, err);
    if (check_printing(o, err) != PR_OK)
        return PR_USAGE;
    if (o->pid)
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "--%s needs a process", printing[o->action].name);
    pr_err_hint(err, "pyrec --%s -p PID", printing[o->action].name);
    return PR_USAGE;
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
    *ret = (rec_options){.unwinder = REC_UNWINDER_OPTS_INIT};
    static const pr_options options = {"pyrec", rows, true, AT(given)};
    pr_code code = pr_options_read(&options, argc, argv, ret, err);
    if (code != PR_OK)
        return code;
    if (optind < argc && strcmp(argv[optind - 1], "--") != 0) {
        PR_FAIL(err, PR_USAGE, "unexpected '%s'", argv[optind]);
        pr_err_hint(err, "a process comes after -p, a command after --");
        return PR_USAGE;
    }
    if (optind < argc)
        ret->command = argv + optind;
    join_line(ret, argv, optind - (ret->command != NULL));
    if (!ret->period_ns)
        ret->period_ns = ret->repeat ? REPEAT_PERIOD_NS : DEFAULT_PERIOD_NS;
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
