/*
 * schedule.c - each recording is a process of its own (schedule.h).
 *
 * The parent has one thread and sleeps until the next slot, a signal or the end
 * of a child.  A child is an ordinary recording: its memory, descriptors and
 * faults end with it.  It writes NAME.bin.part and renames it when it is whole,
 * so a reader of the folder finds finished profiles only.  A child whose parent
 * was killed ends its recording by the signal that it gets then.
 */
#include "recorder/schedule.h"

#include "recorder/candidates.h"
#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include "recorder/metrics.h"
#include "recorder/output_name.h"
#include "recorder/record.h"
#include "recorder/screen.h"
#include "recorder/session.h"
#include "recorder/tree.h"

#include <base/hash.h>
#include <base/message.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    AT_ONCE = 4,        /* recordings, which bounds memory and cost */
    LONGEST_MS = 60000, /* of a sleep: the wall clock may be set meanwhile */
    AGAIN_MS = 50       /* between two tries of a process that is young */
};

typedef struct child {
    pid_t pid, target;
} child;

typedef struct runner {
    const rec_options *options;
    rec_screen screen;
    rec_timetable timetable;
    rec_metrics metrics;
    child child[AT_ONCE];
    sigset_t signals, before; /* that are blocked here; of the caller */
    int signal_fd;
    bool stopping;
    bool said_none;        /* that no process has the name */
    pr_code pruned, wrote; /* the last results of the folder, the metrics */
    int last_status;       /* of a recording that failed; 0: none did */
} runner;

static void
report(runner *r, const pr_err *err)
{
    rec_screen_error(&r->screen, err);
}

/* ---- the child ---- */

/* One recording: DIR/NAME.bin.part, then DIR/NAME.bin. */
static int
record_into(const rec_options *options, const char *part, const char *whole)
{
    rec_options one = *options;
    one.output = part;
    one.quiet = true;
    int status = rec_session_run(&one);
    if (status != 0)
        return status;
    if (rename(part, whole) == 0)
        return 0;
    fprintf(stderr, "pyrec: error: cannot make '%s': %s\n", whole,
            strerror(errno));
    return 1;
}

/* A process that ended, or is not a Python, is not a failure of a recording: a
 * pattern may name such. */
static bool
is_silent(int status)
{
    return status == pr_exit_status(PR_NO_PROCESS) ||
           status == pr_exit_status(PR_NOT_PYTHON);
}

static int
record_target(runner *r, pid_t pid)
{
    pr_err err = PR_ERR_INIT;
    rec_target target;
    rec_options options = *r->options;
    char *part = NULL, *whole = NULL;
    pr_code rc = rec_target_identify(pid, &target, &err);
    if (rc != PR_OK) {
        if (!is_silent(pr_exit_status(rc)))
            report(r, &err);
        return pr_exit_status(rc);
    }
    options.pid = pid;
    char *name = rec_output_default(pid, time(NULL));
    int status = 1;
    if (name && asprintf(&whole, "%s/%s", options.output, name) > 0 &&
        asprintf(&part, "%s.part", whole) > 0)
        status = record_into(&options, part, whole);
    free(name);
    free(part);
    free(whole);
    return status;
}

static void
run_child(runner *r, pid_t target, pid_t parent)
{
    close(r->signal_fd);
    sigprocmask(SIG_SETMASK, &r->before, NULL);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    int status = record_target(r, target);
    fflush(NULL);
    _exit(status);
}

/* ---- recordings ---- */

static child *
free_child(runner *r)
{
    size_t i = 0;
    while (r->child[i].pid)
        i++;
    return &r->child[i];
}

static void
start_recording(runner *r, pid_t target)
{
    pid_t parent = getpid();
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        run_child(r, target, parent);
    if (pid < 0) {
        pr_err err = PR_ERR_INIT;
        PR_FAIL_SYS(&err, PR_INTERNAL, errno, "cannot start a recording");
        report(r, &err);
        r->metrics.failed++;
        rec_timetable_ended(&r->timetable, target);
        return;
    }
    *free_child(r) = (child){pid, target};
}

/* Report a failure once, until what failed has worked again. */
static void
note_result(runner *r, pr_code *last, pr_code rc, const pr_err *err)
{
    if (rc != PR_OK && *last == PR_OK)
        report(r, err);
    *last = rc;
}

static void
prune(runner *r)
{
    const rec_options *o = r->options;
    const rec_retention bounds = {o->keep_ns, o->max_bytes};
    pr_err err = PR_ERR_INIT;
    /* room for the recordings that are being made and for one more */
    uint64_t reserved = r->metrics.folder.largest * (r->timetable.running + 1);
    pr_code rc =
        rec_retention_apply(&bounds, o->output, rec_clock_ns(CLOCK_REALTIME),
                            reserved, &r->metrics.folder, &err);
    note_result(r, &r->pruned, rc, &err);
}

static void
count_end(runner *r, int status)
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
    if (code == 0) {
        r->metrics.recorded++;
        r->metrics.last_s = (double)rec_clock_ns(CLOCK_REALTIME) / 1e9;
        return;
    }
    if (is_silent(code))
        return;
    r->last_status = code;
    r->metrics.failed++;
}

static void
take_children(runner *r)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        for (size_t i = 0; i < AT_ONCE; i++)
            if (r->child[i].pid == pid) {
                rec_timetable_ended(&r->timetable, r->child[i].target);
                r->child[i].pid = 0;
                count_end(r, status);
            }
}

/* ---- the loop ---- */

static void
write_metrics(runner *r)
{
    pr_err err = PR_ERR_INIT;
    struct rusage self = {0}, children = {0};
    if (!r->options->metrics)
        return;
    getrusage(RUSAGE_SELF, &self);
    getrusage(RUSAGE_CHILDREN, &children);
    const struct timeval times[] = {self.ru_utime, self.ru_stime,
                                    children.ru_utime, children.ru_stime};
    r->metrics.cpu_s = 0;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        r->metrics.cpu_s +=
            (double)times[i].tv_sec + (double)times[i].tv_usec / 1e6;
    r->metrics.running = r->timetable.running;
    r->metrics.missed = r->timetable.missed;
    pr_code rc = rec_metrics_write(&r->metrics, r->options->metrics, &err);
    note_result(r, &r->wrote, rc, &err);
}

/* Once: a name that is mistyped waits as silently as a service that is down. */
static void
say_none(runner *r)
{
    const rec_options *o = r->options;
    if (r->said_none || o->quiet || !o->name)
        return;
    r->said_none = true;
    pr_message(stderr, "pyrec", "note",
               "no process matches '%s' so far; each window searches again",
               o->name);
}

/* The processes of the window that begins. */
static pr_code
begin_window(runner *r, uint64_t now_ns, pr_err *err)
{
    const rec_options *o = r->options;
    rec_candidate *found = NULL;
    size_t n = 0;
    pr_code rc = rec_candidates_find(o->name, o->pid, &found, &n, err);
    if (rc == PR_OK)
        rc = rec_timetable_begin_window(&r->timetable, found, n, now_ns, err);
    free(found);
    r->metrics.targets = n;
    if (rc == PR_OK && n == 0)
        say_none(r);
    if (o->pid && n == 0)
        r->stopping = true; /* it has ended */
    return rc;
}

static pr_code
act(runner *r, pr_err *err)
{
    uint64_t now_ns = rec_clock_ns(CLOCK_REALTIME);
    rec_candidate next;
    pr_code rc = PR_OK;
    if (rec_timetable_wants_processes(&r->timetable, now_ns))
        rc = begin_window(r, now_ns, err);
    prune(r);
    while (rc == PR_OK && !r->stopping &&
           rec_timetable_take(&r->timetable, now_ns, &next))
        start_recording(r, next.pid);
    write_metrics(r);
    return rc;
}

static void
end_children(runner *r)
{
    for (size_t i = 0; i < AT_ONCE; i++)
        if (r->child[i].pid)
            kill(r->child[i].pid, SIGTERM);
}

static void
take_signals(runner *r)
{
    struct signalfd_siginfo info;
    while (read(r->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        r->stopping = true;
        end_children(r);
    }
    take_children(r);
}

/* Milliseconds until there is something to do, and not before. */
static int
timeout_of(const runner *r)
{
    uint64_t now_ns = rec_clock_ns(CLOCK_REALTIME);
    uint64_t ns = rec_timetable_wake_ns(&r->timetable, now_ns) - now_ns;
    return r->stopping || ns / 1000000 >= LONGEST_MS
               ? LONGEST_MS
               : (int)((ns + 999999) / 1000000);
}

static pr_code
run(runner *r, pr_err *err)
{
    pr_code rc = PR_OK;
    while (rc == PR_OK && (!r->stopping || r->timetable.running)) {
        struct pollfd fd = {r->signal_fd, POLLIN, 0};
        if (!r->stopping)
            rc = act(r, err);
        if (rc == PR_OK && (!r->stopping || r->timetable.running))
            poll(&fd, 1, timeout_of(r));
        take_signals(r);
    }
    prune(r);
    write_metrics(r);
    return rc;
}

/* ---- beginning and end ---- */

/* The same at each start on this machine for this folder, and another one
 * elsewhere. */
static uint64_t
seed_of(const char *folder)
{
    char host[256] = "";
    char *whole = realpath(folder, NULL);
    gethostname(host, sizeof host - 1);
    uint64_t seed = pr_hash_bytes(host, strlen(host));
    if (whole)
        seed = pr_hash_seeded(whole, strlen(whole), seed);
    free(whole);
    return seed;
}

/* A folder that takes no files would fail each recording for days. */
static pr_code
open_folder(const char *path, pr_err *err)
{
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot make the folder '%s'",
                           path);
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return PR_FAIL(err, PR_USAGE, "'%s' is not a folder", path);
    if (access(path, R_OK | W_OK | X_OK) != 0)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot use the folder '%s'",
                           path);
    return PR_OK;
}

static pr_code
open_signals(runner *r, pr_err *err)
{
    sigemptyset(&r->signals);
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&r->signals, signals[i]);
    sigprocmask(SIG_BLOCK, &r->signals, &r->before);
    r->signal_fd = signalfd(-1, &r->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (r->signal_fd < 0)
        return PR_FAIL_SYS(err, PR_INTERNAL, errno, "cannot receive signals");
    return PR_OK;
}

static pr_code
try_target(const runner *r, pr_err *err)
{
    const rec_record_opts opts = {.unwinder = r->options->unwinder};
    const rec_bound bound = {r->signal_fd, UINT64_MAX};
    rec_record *record = NULL;
    bool held;
    pr_code rc =
        rec_record_attach(&opts, r->options->pid, &bound, &record, &held, err);
    rec_record_free(record);
    return rc;
}

/* A process that cannot be recorded is refused as without a schedule, and one
 * that is young may become a Python. */
static pr_code
check_target(const runner *r, pr_err *err)
{
    pid_t pid = r->options->pid;
    struct pollfd fd = {r->signal_fd, POLLIN, 0};
    pr_code rc = pid ? try_target(r, err) : PR_OK;
    while ((rc == PR_NOT_PYTHON || rc == PR_TORN) &&
           rec_stat_age_ms(pid) < REC_YOUNG_MS && poll(&fd, 1, AGAIN_MS) == 0) {
        pr_err_clear(err);
        rc = try_target(r, err);
    }
    return rc;
}

static pr_code
open_runner(runner *r, pr_err *err)
{
    const rec_options *o = r->options;
    pr_code rc = open_signals(r, err);
    if (rc == PR_OK)
        rc = check_target(r, err);
    if (rc == PR_OK)
        rc = open_folder(o->output, err);
    if (rc != PR_OK)
        return rc;
    uint64_t now_ns = rec_clock_ns(CLOCK_REALTIME);
    r->timetable = rec_timetable_make(o->every_ns, o->duration_ns, AT_ONCE,
                                      seed_of(o->output), now_ns);
    r->metrics.started_s = (double)now_ns / 1e9;
    return PR_OK;
}

/* A schedule that ended as it should may have failed at what it did last. */
static int
exit_status(const runner *r)
{
    if (r->options->pid && r->metrics.recorded == 0 && r->last_status)
        return r->last_status;
    return pr_exit_status(r->pruned != PR_OK ? r->pruned : r->wrote);
}

int
rec_schedule_run(const rec_options *options)
{
    runner r = {.options = options,
                .screen =
                    rec_screen_make(options->quiet, options->debug, false),
                .signal_fd = -1};
    pr_err err = PR_ERR_INIT;
    pr_code rc = open_runner(&r, &err);
    if (rc == PR_OK)
        rc = run(&r, &err);
    if (rc != PR_OK) {
        report(&r, &err);
        end_children(&r);
    }
    rec_timetable_release(&r.timetable);
    if (r.signal_fd >= 0)
        close(r.signal_fd);
    return rc == PR_OK ? exit_status(&r) : pr_exit_status(rc);
}
