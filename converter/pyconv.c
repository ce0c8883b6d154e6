/*
 * pyconv - turn a profile into what other tools read.
 */
#include "converter/arguments.h"
#include "converter/job/info.h"
#include <base/buffer.h>
#include <base/message.h>
#include <base/printed.h>
#include <base/terminal.h>
#include <pyrec/reader.h>

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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

/* A cut or damaged input is done in part only if there is a part. */
static int
status_of(pr_code code, bool delivered)
{
    bool partly = code == PR_CUT || code == PR_DAMAGED;
    return partly && !delivered ? 1 : pr_exit_status(code);
}

static void
report(const pr_err *err)
{
    pr_message_error(stderr, "pyconv", err);
}

static void
report_result(const pr_err *err, bool delivered)
{
    if (delivered)
        pr_message_partial(stderr, "pyconv", err);
    else
        report(err);
}

/* ---- progress ---- */

/* A bar, once the work has taken PATIENCE. */
typedef struct progress {
    struct timespec begin;
    int shown; /* percent; -1: nothing */
} progress;

enum { PATIENCE_MS = 1000, BAR = 40 };

static long
elapsed_ms(const struct timespec *begin)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begin->tv_sec) * 1000 +
           (now.tv_nsec - begin->tv_nsec) / 1000000;
}

static void
show_progress(void *context, uint64_t current, uint64_t total)
{
    progress *p = context;
    int percent = total ? (int)((double)current / (double)total * 100) : 0;
    if (percent == p->shown || percent > 100 ||
        elapsed_ms(&p->begin) < PATIENCE_MS)
        return;
    p->shown = percent;
    int filled = percent * BAR / 100;
    fprintf(stderr, "\rpyconv: [%.*s%*s] %d %%", filled,
            "########################################", BAR - filled, "",
            percent);
}

static pr_progress
begin_progress(progress *p, bool quiet)
{
    p->shown = -1;
    clock_gettime(CLOCK_MONOTONIC, &p->begin);
    if (quiet || !isatty(STDERR_FILENO))
        return (pr_progress){NULL, NULL};
    return (pr_progress){show_progress, p};
}

static void
end_progress(const progress *p)
{
    if (p->shown >= 0)
        fputs("\r\033[K", stderr);
}

/* "dir/run.bin" and ".db" give "dir/run.db". */
static char *
default_output(const char *input, const char *target)
{
    static const char profile[] = ".bin";
    const char *suffix = "";
    const conv_target_info *info;
    for (size_t i = 0; (info = conv_target_get(i)); i++)
        if (strcmp(info->name, target) == 0)
            suffix = info->suffixes;
    size_t n = strlen(input), end = sizeof profile - 1;
    if (n > end && strcmp(input + n - end, profile) == 0)
        n -= end;
    size_t with = strcspn(suffix, " "), size = n + with + 1;
    char *name = malloc(size);
    if (name)
        snprintf(name, size, "%.*s%.*s", (int)n, input, (int)with, suffix);
    return name;
}

static void
note(const conv_report *done, const char *output)
{
    if (done->names_changed)
        fprintf(
            stderr, "pyconv: %" PRIu64 " name%s changed to fit the target\n",
            done->names_changed, done->names_changed == 1 ? " was" : "s were");
    if (done->tasks_nominal)
        fputs("pyconv: samples of several tasks were taken at one moment, so "
              "time is nominal: one interval each\n",
              stderr);
    if (done->there)
        pr_message(stderr, "pyconv", NULL,
                   "%" PRIu64 " profile%s in '%s' already", done->there,
                   done->there == 1 ? " was" : "s were", output);
    if (done->interval_assumed)
        fputs("pyconv: the input does not say how long a sample lasts: times "
              "are guesses, samples are exact\n",
              stderr);
    if (done->unmatched[0])
        pr_message(stderr, "pyconv", "warning",
                   "nothing in the profile is called '%s'", done->unmatched);
    if (!isatty(STDERR_FILENO) || strcmp(output, "-") == 0)
        return;
    pr_message(stderr, "pyconv", NULL, "%" PRIu64 " samples to '%s'",
               done->samples, output);
    if (done->unobserved_us)
        pr_message(stderr, "pyconv", NULL,
                   "%.3f s of the threads' time was not observed",
                   (double)done->unobserved_us / 1e6);
}

/* One conversion to `output`, or with `growth` an update of it; its notes and
 * errors are printed. */
static pr_code
convert_once(arguments *args, const char *output, conv_growth *growth,
             conv_report *done)
{
    pr_err err = PR_ERR_INIT;
    progress shown;
    args->conv.progress = begin_progress(&shown, args->quiet);
    pr_code rc = growth ? conv_grow(args->input[0], output, &args->conv, growth,
                                    done, &err)
                        : conv_run(args->input, args->n_inputs, args->target,
                                   output, &args->conv, done, &err);
    end_progress(&shown);
    bool growing = args->action == ARG_FOLLOW && rc == PR_CUT;
    if (rc != PR_OK && !growing)
        report_result(&err, done->delivered);
    if (!args->quiet && done->delivered)
        note(done, output);
    return rc;
}

/* Wait until the file has another length or does not exist.  A poll of the
 * length every 100 ms costs nothing and works on every file system. */
static void
wait_for_growth(const char *path, off_t *size)
{
    static const struct timespec step = {0, 100000000};
    struct stat st;
    while (stat(path, &st) == 0 && st.st_size == *size)
        nanosleep(&step, NULL);
    *size = stat(path, &st) == 0 ? st.st_size : 0;
}

/* Convert as often as the file grows, a database by what is new, but rest nine
 * times as long as that takes. */
static int
follow(arguments *args, const char *output)
{
    off_t size = -1;
    conv_growth growth = {0, 0};
    bool grows = strcmp(args->target, "sqlite") == 0;
    for (;;) {
        conv_report done = {.delivered = 0};
        struct timespec begin;
        wait_for_growth(args->input[0], &size);
        clock_gettime(CLOCK_MONOTONIC, &begin);
        pr_code rc = convert_once(args, output, grows ? &growth : NULL, &done);
        if (rc != PR_CUT)
            return status_of(rc, done.delivered);
        args->conv.force |= done.delivered; /* its own output */
        long ms = 9 * elapsed_ms(&begin);
        const struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
        nanosleep(&rest, NULL);
    }
}

static int
convert(arguments *args)
{
    conv_report done = {.delivered = 0};
    char *made =
        args->output ? NULL : default_output(args->input[0], args->target);
    const char *output = args->output ? args->output : made;
    if (!output) {
        pr_err err = PR_ERR_INIT;
        report((pr_no_memory(&err), &err));
        return pr_exit_status(PR_NOMEM);
    }
    handle_signals();
    args->conv.unfinished.report = remember_unfinished;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    args->conv.jobs = cpus > 4 ? 4 : cpus < 1 ? 1 : (int)cpus;
    int status;
    if (args->action == ARG_FOLLOW) {
        status = follow(args, output);
    } else {
        pr_code rc = convert_once(args, output, NULL, &done);
        status = status_of(rc, done.delivered);
    }
    free(made);
    return status;
}

static int
inform(const char *path, uint64_t memory)
{
    pr_err err = PR_ERR_INIT;
    pr_buffer text = {0};
    pr_code rc = conv_info(path, memory, &text, &err);
    bool delivered = text.len != 0;
    if (rc != PR_OK)
        report_result(&err, delivered);
    fwrite(text.at, 1, text.len, stdout);
    pr_buffer_release(&text);
    return status_of(rc, delivered);
}

static void
report_whole(const char *path, const pf_reader *reader)
{
    pr_print_terminal(stdout, path, strlen(path));
    printf(": finished, %s\n",
           pf_reader_info(reader)->has_checkpoints
               ? "every checksum is right"
               : "and in order, but CPython's files have no checksums of "
                 "their own");
}

/* Damage is a failure here: nothing else was asked. */
static int
verify(const char *path, uint64_t memory, bool quiet)
{
    pr_err err = PR_ERR_INIT;
    pf_reader *reader = NULL;
    progress shown;
    const pr_progress callback = begin_progress(&shown, quiet);
    pf_reader_opts budget = PF_READER_OPTS_INIT;
    budget.memory = memory;
    pr_code rc = pf_reader_open(path, &budget, &reader, &err);
    if (rc == PR_OK)
        rc = pf_reader_verify(reader, &callback, &err);
    end_progress(&shown);
    if (rc == PR_OK && !quiet)
        report_whole(path, reader);
    bool opened = reader != NULL;
    pf_reader_free(reader);
    if (opened && (rc == PR_CUT || rc == PR_DAMAGED))
        pr_err_hint(&err, "'pyconv --to bin' makes a whole file of the rest");
    if (rc != PR_OK)
        report(&err);
    return status_of(rc, opened && rc != PR_DAMAGED);
}

static int
list_kinds(void)
{
    const conv_target_info *target;
    const conv_import_info *kind;
    for (size_t i = 0; (target = conv_target_get(i)); i++)
        printf("%-11s %s\n            writes: %s%.*s\n            opened by: "
               "%s\n",
               target->name, target->help,
               target->address ? target->address : "*",
               (int)strcspn(target->suffixes, " "), target->suffixes,
               target->opens);
    puts("\nKinds of input, recognised by their content (--from):\n"
         "  bin         a profile of pyrec or of CPython 3.15");
    for (size_t i = 0; (kind = conv_import_get(i)); i++)
        printf("  %-11s %s\n", kind->name, kind->help);
    return 0;
}

static int
act(arguments *args)
{
    switch (args->action) {
    case ARG_LIST:
        return list_kinds();
    case ARG_INFO:
        return inform(args->input[0], args->conv.memory);
    case ARG_VERIFY:
        return verify(args->input[0], args->conv.memory, args->quiet);
    case ARG_CONVERT:
    case ARG_FOLLOW:
    case ARG_INTO:
        break;
    }
    return convert(args);
}

int
main(int argc, char **argv)
{
    arguments args = {.names = NULL};
    pr_err err = PR_ERR_INIT;
    int status = 0;
    pr_hold_standard();
    pr_code rc = arg_parse(argc, argv, &args, &err);
    if (rc == PR_OK) {
        status = act(&args);
    } else if (rc != PR_END) {
        report(&err);
        status = pr_exit_status(rc);
    }
    arg_release(&args);
    return pr_finish_stdout("pyconv", status);
}
