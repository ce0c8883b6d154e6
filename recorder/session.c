/*
 * session.c - the loop of a recording (session.h).
 *
 * Nothing here waits without a limit: signals, the end of the command or of the
 * attached process, news of descendants and the end of each recording are
 * descriptors of one poll(), and events without a descriptor have a timeout.
 */
#include "recorder/session.h"

#include "recorder/linux/capabilities.h"
#include "recorder/linux/clock.h"
#include "recorder/linux/command.h"
#include "recorder/output_name.h"
#include "recorder/overhead.h"
#include "recorder/summary.h"
#include "recorder/tree.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    STATUS_EVERY_MS = 500,
    LOOK_EVERY_MS = 250,    /* for events that have no descriptor */
    POLL_COMMAND_MS = 20,   /* without pidfds (Linux before 5.3) */
    GRACE_MS = 200,         /* of recording, for a command to end by a signal */
    COMMAND_MS = 5000,      /* of waiting for its status after that */
    OVERTIME_MS = 250,      /* for samplers to end by themselves */
    EXIT_OWN_FAILURE = 125, /* with a command, as env(1) and others */
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127
};

typedef struct session {
    const rec_options *options;
    rec_screen screen;
    rec_tree tree;
    rec_descendants *children; /* NULL: they are not recorded */
    rec_command command;
    bool has_command;
    bool cannot_run; /* the command; not: nothing to write to */
    int root_fd;     /* pidfd of the attached process; -1: a command, or none */
    int signal_fd;
    uint64_t signal_ns; /* when the first signal came */
    uint64_t grace_ns;  /* for how long the recording goes on after it */
    int signals;        /* received */
    rec_overhead overhead;
} session;

/* ---- signals ---- */

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
    signal(SIGXFSZ, SIG_IGN); /* a write that fails says so: EFBIG */
    s->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (s->signal_fd < 0)
        return PR_FAIL_SYS(err, PR_INTERNAL, errno, "cannot receive signals");
    return PR_OK;
}

/* A signal ends the recording.  pyrec passes it on to the command, which has a
 * moment to end by it; a signal from the terminal went to both already. */
static void
take_signal(session *s)
{
    struct signalfd_siginfo info;
    if (read(s->signal_fd, &info, sizeof info) != (ssize_t)sizeof info)
        return;
    bool lives = s->has_command && !s->command.ended;
    if (lives && (info.ssi_code <= 0 || info.ssi_signo != SIGINT))
        rec_command_signal(&s->command, (int)info.ssi_signo);
    if (!s->signals++) {
        s->signal_ns = rec_now_ns();
        s->grace_ns = lives ? (uint64_t)GRACE_MS * 1000000 : 0;
    }
}

/* When the recording ends; UINT64_MAX: not known.  Each sampler counts its
 * duration itself, from its first tick. */
static uint64_t
stop_ns(const session *s)
{
    uint64_t end = rec_tree_end_ns(&s->tree);
    if (end != UINT64_MAX && s->tree.begun)
        end += (uint64_t)OVERTIME_MS * 1000000;
    uint64_t by_signal = s->signals ? s->signal_ns + s->grace_ns : UINT64_MAX;
    return end < by_signal ? end : by_signal;
}

/* ---- the loop ---- */

static void
take_descendants(session *s)
{
    const rec_descendant_event *event;
    size_t n = 0;
    pr_err err = PR_ERR_INIT;
    if (!s->children || s->tree.stopping)
        return;
    pr_code code = rec_descendants_check(s->children, &event, &n, &err);
    for (size_t i = 0; code == PR_OK && i < n; i++)
        code = rec_tree_take(&s->tree, &event[i], &err);
    if (code != PR_OK)
        rec_tree_fail(&s->tree, code, &err);
}

static void
take_root(session *s, bool readable)
{
    if (s->has_command)
        rec_command_poll(&s->command);
    if (s->has_command ? s->command.ended : readable)
        rec_tree_root_ended(&s->tree);
}

/* -1: no limit. */
static int
shorter(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static int
timeout_of(const session *s)
{
    int timeout = s->screen.status ? STATUS_EVERY_MS : LOOK_EVERY_MS;
    if (s->has_command && s->command.pidfd < 0)
        timeout = POLL_COMMAND_MS;
    if (s->children && rec_descendants_fd(s->children) < 0)
        timeout = shorter(timeout, rec_descendants_every_ms(s->children));
    if (!s->tree.stopping) {
        uint64_t now = rec_now_ns(), stop = stop_ns(s);
        uint64_t wait_ns = stop > now ? stop - now : 0;
        if (wait_ns / 1000000 < LOOK_EVERY_MS)
            timeout = shorter(timeout, (int)(wait_ns / 1000000) + 1);
    }
    return shorter(timeout, rec_tree_timeout(&s->tree));
}

/* Wait for events and handle them.  False: out of memory. */
static bool
wait_for_events(session *s)
{
    enum { SIGNAL, CHILDREN, ROOT, OTHERS };
    struct pollfd *fds = calloc(s->tree.n + OTHERS, sizeof *fds);
    if (!fds)
        return false;
    bool listens = s->children && !s->tree.stopping;
    bool ended = s->has_command && s->command.ended;
    int root = ended ? -1 : s->has_command ? s->command.pidfd : s->root_fd;
    fds[SIGNAL] = (struct pollfd){s->signal_fd, POLLIN, 0};
    fds[CHILDREN] = (struct pollfd){
        listens ? rec_descendants_fd(s->children) : -1, POLLIN, 0};
    fds[ROOT] = (struct pollfd){root, POLLIN, 0};
    rec_tree_poll(&s->tree, fds + OTHERS);
    poll(fds, s->tree.n + OTHERS, timeout_of(s));
    if (fds[SIGNAL].revents & POLLIN)
        take_signal(s);
    rec_tree_finish(&s->tree, fds + OTHERS, s->children);
    take_root(s, (fds[ROOT].revents & POLLIN) != 0);
    if (fds[ROOT].revents & POLLIN)
        s->root_fd = -1; /* one event is enough */
    free(fds);
    return true;
}

/* Hold the bound of --overhead. */
static void
govern(session *s)
{
    if (!s->options->overhead)
        return;
    rec_overhead_update(&s->overhead, rec_now_ns(), rec_tree_cpu_ns(&s->tree));
    rec_tree_set_period(&s->tree, s->overhead.period_ns);
}

static void
run(session *s)
{
    take_descendants(s); /* those that live already: no event reports them */
    for (;;) {
        bool waiting;
        size_t active = rec_tree_start(&s->tree, &waiting);
        if ((!active && !waiting) || !wait_for_events(s))
            break;
        take_descendants(s);
        govern(s);
        if (!s->tree.stopping && rec_now_ns() >= stop_ns(s))
            rec_tree_stop(&s->tree);
        rec_screen_status(&s->screen, active,
                          (rec_now_ns() - s->tree.start_ns) / 1000000000);
    }
    rec_screen_clear(&s->screen);
}

/* ---- beginning and end ---- */

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

/* A command must not run unrecorded for the want of a file.  The default's
 * folder is the current one. */
static pr_code
check_output(const rec_options *o, pr_err *err)
{
    pr_code code = PR_OK;
    if (o->output)
        code = rec_output_check(o->output, o->force, err);
    if (code == PR_OK && o->command)
        code = rec_output_check_folder(
            o->output ? o->output : "pyrec-NAME-PID-TIME.bin", err);
    if (code == PR_OK && o->output && o->children)
        code = rec_output_clear(o->output, o->force, err);
    return code;
}

static pr_code
start_command(session *s, pr_err *err)
{
    const rec_options *o = s->options;
    pr_code code = check_output(o, err);
    if (code == PR_OK && o->command) {
        code = rec_command_start(o->command, &s->command, err);
        s->has_command = code == PR_OK;
        s->cannot_run = code == PR_IO;
    }
    return code;
}

static pr_code
open_session(session *s, pr_err *err)
{
    const rec_options *o = s->options;
    pr_code code = open_signals(s, err);
    if (code == PR_OK && o->children)
        code = rec_descendants_open(&s->children, err);
    if (code == PR_OK)
        code = start_command(s, err);
    if (code != PR_OK)
        return code;
    raise_descriptors();
    rec_capabilities_drop();
    pid_t pid = s->has_command ? s->command.pid : o->pid;
    if (!s->has_command)
        s->root_fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (s->children)
        rec_descendants_watch(s->children, pid);
    rec_tree_init(&s->tree, o, &s->screen, s->signal_fd);
    s->overhead =
        rec_overhead_begin(o->overhead, o->period_ns, s->tree.start_ns);
    if (o->overhead)
        s->tree.period_ns = s->overhead.period_ns;
    return rec_tree_add_root(&s->tree, pid, err);
}

/* Is the command worth another moment?  After a signal it has some seconds; the
 * recording is over, so another signal ends pyrec and leaves it alone. */
static bool
is_awaited(const session *s, int signals_before)
{
    uint64_t limit_ns = s->signal_ns + (uint64_t)COMMAND_MS * 1000000;
    return !s->command.ended && s->signals <= signals_before + 1 &&
           (!s->signals || rec_now_ns() < limit_ns);
}

/* pyrec ends with the command's status, unless recording it failed. */
static int
wait_for_command(session *s)
{
    int before = s->signals;
    rec_command_poll(&s->command);
    while (is_awaited(s, before)) {
        struct pollfd fd[2] = {{s->signal_fd, POLLIN, 0},
                               {s->command.pidfd, POLLIN, 0}};
        poll(fd, 2, s->command.pidfd < 0 ? POLL_COMMAND_MS : STATUS_EVERY_MS);
        if (fd[0].revents & POLLIN)
            take_signal(s);
        rec_command_poll(&s->command);
    }
    if (!s->command.ended)
        fprintf(stderr, "pyrec: process %d runs on\n", (int)s->command.pid);
    return s->command.ended ? s->command.status : EXIT_OWN_FAILURE;
}

static int
exit_status(session *s, const pr_err *err)
{
    if (!s->options->command)
        return pr_exit_status(s->tree.code);
    if (s->cannot_run)
        return err->sys == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN;
    int status = s->has_command ? wait_for_command(s) : EXIT_OWN_FAILURE;
    return s->tree.code == PR_OK ? status : EXIT_OWN_FAILURE;
}

static void
release(session *s)
{
    rec_tree_release(&s->tree);
    rec_descendants_free(s->children);
    if (s->has_command)
        rec_command_release(&s->command);
    if (s->root_fd >= 0)
        close(s->root_fd);
    if (s->signal_fd >= 0)
        close(s->signal_fd);
}

static void
print_summary(session *s)
{
    const rec_tree *tree = &s->tree;
    rec_descendants_report children;
    if (s->options->quiet || tree->n_files == 0)
        return;
    char *pattern = rec_output_pattern(s->tree.output);
    rec_summary summary = {.report = &tree->sum,
                           .pid = tree->first,
                           .files = tree->n_files,
                           .output = tree->first_output,
                           .pattern = pattern ? pattern : "",
                           .wall_ns = rec_now_ns() - tree->start_ns,
                           .gone = tree->gone};
    if (s->children) {
        children = rec_descendants_count(s->children);
        summary.children = &children;
    }
    rec_summary_print(stderr, &summary, s->options);
    free(pattern);
}

int
rec_session_run(const rec_options *options)
{
    session s = {.options = options,
                 .screen = rec_screen_make(options->quiet, options->debug,
                                           options->command != NULL),
                 .root_fd = -1,
                 .signal_fd = -1};
    pr_err err = PR_ERR_INIT;
    s.tree.screen = &s.screen;
    pr_code code = open_session(&s, &err);
    if (code == PR_OK) {
        run(&s);
        rec_tree_explain_nothing(&s.tree);
        print_summary(&s);
    } else {
        rec_tree_fail(&s.tree, code, &err);
    }
    int status = exit_status(&s, &err);
    release(&s);
    return status;
}
