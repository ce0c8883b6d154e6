/*
 * pyrec.c - record running CPythons into profiles: the program.
 */
#include "recorder/dump.h"
#include "recorder/gcdump.h"
#include "recorder/linux/clock.h"
#include "recorder/linux/command.h"
#include "recorder/linux/descendants.h"
#include "recorder/linux/procfs.h"
#include "recorder/options.h"
#include "recorder/record.h"
#include "recorder/summary.h"
#include "recorder/taskdump.h"
#include <base/array.h>
#include <pyrec/error.h>
#include <pyrec/version.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum {
    STATUS_EVERY_MS = 500,
    COMMAND_EVERY_MS = 20, /* it is asked whether it has ended */
    SETTLE_MS = 20,        /* a fork often becomes another program soon */
    TRY_SHARE = 16,        /* how late a Python may be found, of its age */
    TRY_LEAST_MS = 5,
    TRY_MOST_MS = 250,
    KNOWN_AFTER_MS = 50,        /* no Python by now: another program */
    PYTHON_PATIENCE_MS = 10000, /* for a new process to become a Python */
    YOUNG_MS = 3000, /* the age up to which -p waits for an interpreter */
    EXIT_OWN_FAILURE = 125, /* with a command, as env(1) and others */
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127
};

/* A process that is recorded or will be. */
typedef struct target {
    pid_t pid;
    bool child;         /* not the one asked for */
    char *output;       /* owned */
    rec_record *record; /* NULL: not yet */
    uint64_t seen_ns, try_ns;
    bool other; /* it is known to be another program */
    bool done;  /* to be dropped */
    pr_err why; /* why it could not be recorded yet */
} target;

typedef struct session {
    const rec_options *options;
    target *target;
    size_t n, cap;
    rec_descendants *children; /* NULL: they are not asked for */
    pid_t *recorded;           /* children */
    size_t n_recorded, cap_recorded;
    uint64_t gone; /* children, before they could be recorded */
    rec_command child;
    bool has_child;
    int signal_fd;
    uint64_t start_ns;
    bool stopping;
    pr_code code; /* the first failure */
} session;

/* With --debug also what the sentence leaves out. */
static void
print_error(const pr_err *err, bool debug)
{
    char text[1024];
    pr_err_format(err, text, sizeof text);
    fprintf(stderr, "pyrec: error: %s\n", text);
    if (!debug)
        return;
    fprintf(stderr, "pyrec: debug: %s (%s), errno %d", pr_code_name(err->code),
            pr_code_text(err->code), err->sys);
    if (err->offset != PR_NO_OFFSET)
        fprintf(stderr, ", address 0x%" PRIx64, err->offset);
    fputs("\n", stderr);
}

static int
fail(const pr_err *err, const rec_options *options)
{
    print_error(err, options->debug);
    return pr_exit_status(err->code);
}

/* ---- targets ---- */

static uint64_t
age_ms(const target *t)
{
    return (rec_now_ns() - t->seen_ns) / 1000000;
}

/* output: malloc'ed, or NULL for want of memory. */
static pr_code
add_target(session *s, pid_t pid, bool child, char *output, pr_err *err)
{
    if (!output || !pr_grow(&s->target, &s->cap, s->n + 1, sizeof *s->target)) {
        free(output);
        return pr_no_memory(err);
    }
    s->target[s->n++] = (target){.pid = pid,
                                 .child = child,
                                 .output = output,
                                 .seen_ns = rec_now_ns(),
                                 .why = PR_ERR_INIT};
    return PR_OK;
}

static void
drop_done(session *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->n; i++)
        if (s->target[i].done)
            free(s->target[i].output);
        else
            s->target[kept++] = s->target[i];
    s->n = kept;
}

static void
note_failure(session *s, pr_code code, const pr_err *err)
{
    print_error(err, s->options->debug);
    if (s->code == PR_OK)
        s->code = code;
}

static bool
is_command(const session *s, const target *t)
{
    return s->has_child && t->pid == s->child.pid;
}

/* May it still become a Python?  A command starts as a copy of ours and execs;
 * its interpreter takes a while to be there.  So does that of a process that
 * somebody else has just started. */
static bool
may_become_python(const session *s, const target *t, pr_code code)
{
    bool unknown = code == PR_NOT_PYTHON || code == PR_TORN;
    if (is_command(s, t) || t->child)
        return unknown && age_ms(t) < PYTHON_PATIENCE_MS;
    /* in the middle of an exec its memory belongs to no process */
    return (unknown || code == PR_NO_PROCESS) &&
           rec_stat_age_ms(t->pid) < YOUNG_MS;
}

/* Try again, the more rarely the longer it has been nothing. */
static void
postpone(target *t, pr_code code, const pr_err *why)
{
    uint64_t age = age_ms(t), wait_ms = age / TRY_SHARE;
    if (wait_ms < TRY_LEAST_MS)
        wait_ms = TRY_LEAST_MS;
    if (wait_ms > TRY_MOST_MS)
        wait_ms = TRY_MOST_MS;
    t->try_ns = rec_now_ns() + wait_ms * 1000000;
    t->other = code == PR_NOT_PYTHON && age >= KNOWN_AFTER_MS;
    t->why = *why;
}

static void
note_recorded(session *s, const target *t)
{
    if (t->child && pr_grow(&s->recorded, &s->cap_recorded, s->n_recorded + 1,
                            sizeof *s->recorded))
        s->recorded[s->n_recorded++] = t->pid;
}

/* Nothing came of it. */
static void
note_gone(session *s, const target *t)
{
    s->gone++;
    for (size_t i = s->n_recorded; i-- > 0;)
        if (s->recorded[i] == t->pid) {
            s->recorded[i] = s->recorded[--s->n_recorded];
            return;
        }
}

/* What it was says more than that it ended. */
static void
explain_end(const session *s, const target *t, pr_err *err)
{
    if (t->why.code != PR_OK) {
        *err = t->why;
    } else if (is_command(s, t)) {
        pr_err_clear(err);
        PR_FAIL(err, PR_NO_PROCESS, "%s ended before it was a Python",
                s->options->command[0]);
    }
}

/* It cannot be recorded.  Most children need not be. */
static void
give_up(session *s, target *t, pr_err *err)
{
    t->done = true;
    bool ended = err->code == PR_NO_PROCESS;
    if (t->child && ended) {
        s->gone += !t->other;
        return;
    }
    if (ended)
        explain_end(s, t, err);
    if (!t->child || err->code != PR_NOT_PYTHON)
        note_failure(s, err->code, err);
}

static void
try_start(session *s, target *t)
{
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_record_start(s->options, t->pid, t->output, s->start_ns,
                                    &t->record, &err);
    if (code == PR_OK)
        note_recorded(s, t);
    else if (may_become_python(s, t, code))
        postpone(t, code, &err);
    else
        give_up(s, t, &err);
}

/* For the file of the one asked for. */
static void
note_children(const session *s, const target *t)
{
    rec_descendants_report r = rec_descendants_count(s->children);
    char how[64];
    if (!r.told)
        snprintf(how, sizeof how, "looked for every %d ms", r.blind_ms);
    else if (r.overruns)
        snprintf(how, sizeof how, "every fork but for %" PRIu64 " overruns",
                 r.overruns);
    else
        snprintf(how, sizeof how, "every fork");
    rec_record_note_children(t->record, how, r.seen, s->gone);
}

static void
finish_target(session *s, target *t)
{
    pr_err err = PR_ERR_INIT;
    rec_report report;
    if (s->children && !t->child)
        note_children(s, t);
    pr_code code = rec_record_finish(t->record, &report, &err);
    t->record = NULL;
    t->done = true;
    if (t->child && code == PR_NO_PROCESS)
        note_gone(s, t);
    else if (code != PR_OK)
        note_failure(s, code, &err);
    else if (!s->options->quiet)
        rec_summary_print(stderr, &report, s->options, t->pid, t->output);
}

/* ---- children ---- */

/* run.bin, process 42 -> run.42.bin; another one with this number, later ->
 * run.42-2.bin */
static char *
name_after(const session *s, pid_t pid)
{
    const char *output = s->options->output;
    const char *slash = strrchr(output, '/');
    const char *dot = strrchr(slash ? slash : output, '.');
    if (!dot || dot == output)
        dot = output + strlen(output);
    unsigned nth = 1;
    for (size_t i = 0; i < s->n_recorded; i++)
        nth += s->recorded[i] == pid;
    char number[16] = "", *name = NULL;
    if (nth > 1)
        snprintf(number, sizeof number, "-%u", nth);
    if (asprintf(&name, "%.*s.%d%s%s", (int)(dot - output), output, (int)pid,
                 number, dot) < 0)
        return NULL;
    return name;
}

/* The last one with this number that is still of interest. */
static target *
find_child(const session *s, pid_t pid)
{
    for (size_t i = s->n; i-- > 0;)
        if (s->target[i].pid == pid && s->target[i].child)
            return &s->target[i];
    return NULL;
}

/* Who was just born gets a moment to become what it will be; who became it is
 * looked at at once. */
static pr_code
take_child(session *s, const rec_descendant_event *event, pr_err *err)
{
    target *t = event->execed ? find_child(s, event->pid) : NULL;
    if (t && t->record)
        return PR_OK; /* its recording notices */
    if (!t) {
        pr_code code =
            add_target(s, event->pid, true, name_after(s, event->pid), err);
        if (code != PR_OK)
            return code;
        t = &s->target[s->n - 1];
    }
    t->seen_ns = rec_now_ns();
    t->other = false;
    t->try_ns = event->execed ? 0 : t->seen_ns + SETTLE_MS * 1000000;
    return PR_OK;
}

static void
look_for_children(session *s)
{
    const rec_descendant_event *event;
    size_t n = 0;
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_descendants_look(s->children, &event, &n, &err);
    for (size_t i = 0; code == PR_OK && i < n; i++)
        code = take_child(s, &event[i], &err);
    if (code != PR_OK)
        note_failure(s, code, &err);
}

/* ---- the loop ---- */

static pr_code
open_signals(session *s, pr_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signal_fd < 0)
        return PR_FAIL_SYS(err, PR_INTERNAL, errno, "cannot receive signals");
    return PR_OK;
}

/* A signal ends the recording; with a command it is the command's, and ends
 * it or not.  What a terminal sends went to both of us already. */
static void
take_signal(session *s)
{
    struct signalfd_siginfo info;
    if (read(s->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    if (!s->has_child)
        s->stopping = true;
    else if (info.ssi_code <= 0 || info.ssi_signo != SIGINT)
        rec_command_signal(&s->child, (int)info.ssi_signo);
}

static void
print_status(const session *s, size_t active)
{
    uint64_t passed = (rec_now_ns() - s->start_ns) / 1000000000;
    fprintf(stderr, "\rpyrec: recording %zu process%s, %" PRIu64 ":%02" PRIu64,
            active, active == 1 ? "" : "es", passed / 60, passed % 60);
}

/* -1: no limit. */
static int
shorter(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Until the next of all that is not told by a descriptor. */
static int
poll_timeout(const session *s, bool status)
{
    int timeout = status ? STATUS_EVERY_MS : -1;
    if (s->has_child)
        timeout = COMMAND_EVERY_MS;
    if (s->children && rec_descendants_fd(s->children) < 0)
        timeout = shorter(timeout, rec_descendants_every_ms(s->children));
    uint64_t now = rec_now_ns();
    for (size_t i = 0; i < s->n; i++) {
        const target *t = &s->target[i];
        uint64_t wait = t->try_ns > now ? t->try_ns - now : 0;
        if (!t->record)
            timeout = shorter(timeout, (int)(wait / 1000000) + 1);
    }
    return timeout;
}

/* Wait until something happens.  False: out of memory. */
static bool
wait_for_something(session *s, int timeout)
{
    enum { OTHERS = 2 };
    struct pollfd *fds = calloc(s->n + OTHERS, sizeof *fds);
    if (!fds)
        return false;
    bool listens = s->children && !s->stopping;
    int children = listens ? rec_descendants_fd(s->children) : -1;
    fds[0] = (struct pollfd){s->signal_fd, POLLIN, 0};
    fds[1] = (struct pollfd){children, POLLIN, 0};
    for (size_t i = 0; i < s->n; i++)
        fds[i + OTHERS] = (struct pollfd){
            s->target[i].record ? rec_record_fd(s->target[i].record) : -1,
            POLLIN, 0};
    poll(fds, s->n + OTHERS, timeout);
    if (fds[0].revents & POLLIN)
        take_signal(s);
    for (size_t i = 0; i < s->n; i++)
        if (fds[i + OTHERS].revents & POLLIN)
            finish_target(s, &s->target[i]);
    free(fds);
    return true;
}

/* Start what can be started.  Returns how many are recorded; *ret_waiting:
 * others may be yet.  A child that is another program may become a Python, but
 * nobody waits for that alone. */
static size_t
start_targets(session *s, bool *ret_waiting)
{
    size_t active = 0;
    *ret_waiting = false;
    for (size_t i = 0; i < s->n; i++) {
        target *t = &s->target[i];
        if (!t->record && !s->stopping && rec_now_ns() >= t->try_ns)
            try_start(s, t);
        if (t->record)
            active++;
        else if (!t->done && !s->stopping && !(t->child && t->other))
            *ret_waiting = true;
    }
    drop_done(s);
    return active;
}

static void
stop_all(session *s)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->target[i].record)
            rec_record_stop(s->target[i].record);
}

static bool
is_over(const session *s)
{
    uint64_t duration = s->options->duration_ns;
    return duration && rec_now_ns() - s->start_ns >= duration;
}

static void
run(session *s)
{
    bool status = !s->options->quiet && isatty(STDERR_FILENO);
    if (s->children) /* those that live already; no event tells of them */
        look_for_children(s);
    for (;;) {
        bool waiting;
        size_t active = start_targets(s, &waiting);
        if (!active && !waiting)
            break;
        if (!wait_for_something(s, poll_timeout(s, status)))
            break;
        drop_done(s);
        if (s->has_child)
            rec_command_poll(&s->child);
        if (s->children && !s->stopping)
            look_for_children(s);
        s->stopping = s->stopping || is_over(s);
        if (s->stopping)
            stop_all(s);
        if (status)
            print_status(s, active);
    }
    if (status)
        fputs("\n", stderr);
}

/* The process asked for was not a Python when the time was over. */
static void
tell_unstarted(session *s)
{
    for (size_t i = 0; i < s->n; i++) {
        target *t = &s->target[i];
        if (t->child || t->record || t->why.code == PR_OK)
            continue;
        pr_err_wrap(&t->why, "the time was over before an interpreter ran");
        note_failure(s, t->why.code, &t->why);
    }
}

/* ---- recording ---- */

/* Two files a thread are kept open. */
static void
raise_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* A command is not started for a recording that will be refused. */
static pr_code
start_command(session *s, pr_err *err)
{
    const rec_options *o = s->options;
    if (!o->command)
        return PR_OK;
    if (!o->force && access(o->output, F_OK) == 0) {
        PR_FAIL(err, PR_EXISTS, "'%s' exists", o->output);
        pr_err_hint(err, "choose another name or replace it with --force");
        return PR_EXISTS;
    }
    pr_code code = rec_command_start(o->command, &s->child, err);
    s->has_child = code == PR_OK;
    return code;
}

static pr_code
open_session(session *s, pr_err *err)
{
    pr_code code = open_signals(s, err);
    if (code == PR_OK && s->options->children)
        code = rec_descendants_open(&s->children, err);
    if (code == PR_OK)
        code = start_command(s, err);
    if (code != PR_OK)
        return code;
    raise_descriptors();
    s->start_ns = rec_now_ns();
    pid_t pid = s->has_child ? s->child.pid : s->options->pid;
    if (s->children)
        rec_descendants_watch(s->children, pid);
    return add_target(s, pid, false, strdup(s->options->output), err);
}

static void
release(session *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->target[i].output);
    free(s->target);
    free(s->recorded);
    rec_descendants_free(s->children);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
}

/* The command's status is ours, unless recording it failed. */
static int
exit_status(session *s, const pr_err *err)
{
    bool command = s->options->command != NULL;
    if (command && !s->has_child && err->code == PR_IO)
        return err->sys == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    if (!command)
        return pr_exit_status(s->code);
    while (s->has_child && !s->child.ended) {
        struct pollfd fd[2] = {{s->signal_fd, POLLIN, 0},
                               {s->child.pidfd, POLLIN, 0}};
        if (poll(fd, 2, COMMAND_EVERY_MS) > 0)
            take_signal(s);
        rec_command_poll(&s->child);
    }
    return s->code == PR_OK ? s->child.status : EXIT_OWN_FAILURE;
}

static int
record(const rec_options *options)
{
    session s = {.options = options, .signal_fd = -1};
    pr_err err = PR_ERR_INIT;
    pr_code code = open_session(&s, &err);
    if (code == PR_OK) {
        run(&s);
        tell_unstarted(&s);
    } else {
        note_failure(&s, code, &err);
    }
    if (s.children && !options->quiet) {
        rec_descendants_report children = rec_descendants_count(s.children);
        rec_summary_print_children(stderr, &children, s.n_recorded, s.gone);
    }
    int status = exit_status(&s, &err);
    release(&s);
    return status;
}

/* ---- the other things it does ---- */

static int
check(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    rec_target t;
    if (rec_target_identify(options->pid, &t, &err) != PR_OK)
        return fail(&err, options);
    printf("%d is CPython %u.%u.%u%s, %s\n", (int)t.pid, t.python[0],
           t.python[1], t.python[2], t.free_threaded ? " (free-threaded)" : "",
           t.runtime_path);
    return 0;
}

static int
dump(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_dump_process(options->pid, &options->unwinder, stdout,
                                    options->json, &err);
    return code == PR_OK ? 0 : fail(&err, options);
}

static int
dump_tasks(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    pr_code code =
        rec_taskdump_process(options->pid, stdout, options->json, &err);
    return code == PR_OK ? 0 : fail(&err, options);
}

static int
dump_collections(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_gcdump_process(options->pid, stdout, options->json,
                                      options->gc_every_ns, &err);
    return code == PR_OK ? 0 : fail(&err, options);
}

int
main(int argc, char **argv)
{
    rec_options options;
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_options_parse(argc, argv, &options, &err);
    int status = 0;
    if (code != PR_OK)
        status = fail(&err, &options);
    else if (options.action == REC_ACTION_HELP)
        fputs(rec_options_help(), stdout);
    else if (options.action == REC_ACTION_VERSION)
        puts("pyrec " PYREC_VERSION);
    else if (options.action == REC_ACTION_CHECK)
        status = check(&options);
    else if (options.action == REC_ACTION_DUMP)
        status = dump(&options);
    else if (options.action == REC_ACTION_TASKS)
        status = dump_tasks(&options);
    else if (options.action == REC_ACTION_GC)
        status = dump_collections(&options);
    else
        status = record(&options);
    rec_options_release(&options);
    return status;
}
