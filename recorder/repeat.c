/*
 * repeat.c - one child for each run; odd rounds go in the opposite order, so
 * that what changes on the machine meets both commands alike.
 */
#include "recorder/repeat.h"

#include "recorder/screen.h"
#include "recorder/session.h"
#include "recorder/summary.h"

#include <base/create.h>
#include <base/message.h>
#include <base/quote.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_RUNS = 999999, EXIT_OWN_FAILURE = 125 };

/* A folder and the command whose runs it gets. */
typedef struct turn {
    char *folder;   /* owned */
    bool made;      /* the folder, by this pyrec */
    char **argv;    /* of the command */
    char *line;     /* owned: "exec COMMAND" for the shell, or NULL */
    char *words[4]; /* argv of the shell */
    long next;      /* number of the next run */
} turn;

typedef struct repeat {
    const rec_options *options;
    rec_screen screen;
    rec_tally *tally; /* memory that the children share */
    turn *turn;
    size_t n;
} repeat;

/* ---- signals ---- */

static volatile sig_atomic_t running, stopped;

/* The run that goes on ends by the signal, and none follows. */
static void
pass_on(int number)
{
    stopped = number;
    if (running > 0)
        kill((pid_t)running, number);
}

/* From the terminal each process of the group gets its own. */
static void
note(int number)
{
    stopped = number;
}

static void
listen_to_signals(void)
{
    struct sigaction ours = {.sa_handler = note};
    sigaction(SIGINT, &ours, NULL);
    ours.sa_handler = pass_on;
    sigaction(SIGTERM, &ours, NULL);
    sigaction(SIGHUP, &ours, NULL);
}

static void
forget_signals(void)
{
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    signal(SIGHUP, SIG_DFL);
}

/* ---- folders ---- */

/* The number of "run-NUMBER.bin" or of a descendant's "run-NUMBER.PID.bin". */
static long
number_of(const char *name)
{
    char *end;
    if (strncmp(name, "run-", 4) != 0)
        return 0;
    long n = strtol(name + 4, &end, 10);
    return *end == '.' && n > 0 && n <= MOST_RUNS ? n : 0;
}

/* Runs that are there stay; new ones follow them. */
static pr_code
number_runs(turn *t, pr_err *err)
{
    DIR *dir = opendir(t->folder);
    if (!dir)
        return PR_FAIL_SYS(err, PR_IO, errno, "cannot read the folder '%s'",
                           t->folder);
    t->next = 1;
    for (struct dirent *d; (d = readdir(dir)) != NULL;)
        if (number_of(d->d_name) >= t->next)
            t->next = number_of(d->d_name) + 1;
    closedir(dir);
    return PR_OK;
}

static pr_code
open_folder(turn *t, pr_err *err)
{
    t->made = mkdir(t->folder, 0777) == 0;
    if (!t->made && errno != EEXIST)
        return pr_fail_to_create(t->folder, errno, err);
    return number_runs(t, err);
}

/* The runs of two commands in one folder would have the same names. */
static pr_code
refuse_shared_folder(const repeat *r, size_t i, pr_err *err)
{
    struct stat st;
    for (size_t j = 0; j < i; j++) {
        if (stat(r->turn[j].folder, &st) != 0 ||
            !pr_is_same_file(r->turn[i].folder, &st))
            continue;
        PR_FAIL(err, PR_USAGE, "'%s' is the folder of two commands",
                r->turn[i].folder);
        pr_err_hint(err, "give each command a folder of its own");
        return PR_USAGE;
    }
    return PR_OK;
}

/* "DIR=COMMAND": the shell splits it, and then is the command. */
static pr_code
take_turn(turn *t, const char *text, pr_err *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1])
        return PR_FAIL(err, PR_USAGE, "--in-turn '%s' is not DIR=COMMAND",
                       text);
    t->folder = strndup(text, (size_t)(equals - text));
    if (!t->folder || asprintf(&t->line, "exec %s", equals + 1) < 0) {
        t->line = NULL;
        return pr_no_memory(err);
    }
    t->words[0] = (char *)(uintptr_t) "/bin/sh";
    t->words[1] = (char *)(uintptr_t) "-c";
    t->words[2] = t->line;
    t->argv = t->words;
    return PR_OK;
}

static pr_code
open_turns(repeat *r, pr_err *err)
{
    const rec_options *o = r->options;
    pr_code rc = PR_OK;
    r->n = o->n_turns + 1;
    r->turn = calloc(r->n, sizeof *r->turn);
    if (!r->turn)
        return pr_no_memory(err);
    r->turn[0].argv = o->command;
    r->turn[0].folder = strdup(o->output);
    if (!r->turn[0].folder)
        return pr_no_memory(err);
    for (size_t i = 1; rc == PR_OK && i < r->n; i++)
        rc = take_turn(&r->turn[i], o->turn[i - 1], err);
    for (size_t i = 0; rc == PR_OK && i < r->n; i++) {
        rc = open_folder(&r->turn[i], err);
        if (rc == PR_OK)
            rc = refuse_shared_folder(r, i, err);
    }
    return rc;
}

/* A folder that was made for runs of which there is none goes. */
static void
release(repeat *r)
{
    for (size_t i = 0; r->turn && i < r->n; i++) {
        if (r->turn[i].made)
            rmdir(r->turn[i].folder); /* fails if it holds something */
        free(r->turn[i].folder);
        free(r->turn[i].line);
    }
    free(r->turn);
    if (r->tally)
        munmap(r->tally, sizeof *r->tally);
}

/* ---- runs ---- */

/* In the child: one session, whose file and label have the number. */
static int
record(const repeat *r, const turn *t)
{
    rec_options o = *r->options;
    char number[16], *path;
    snprintf(number, sizeof number, "%03ld", t->next);
    rec_label *labels = calloc(o.n_labels + 1, sizeof *labels);
    if (!labels || asprintf(&path, "%s/run-%s.bin", t->folder, number) < 0)
        return EXIT_OWN_FAILURE;
    if (o.n_labels)
        memcpy(labels, o.label, o.n_labels * sizeof *labels);
    labels[o.n_labels++] = (rec_label){"run", 3, number};
    o.label = labels;
    o.output = path;
    o.tally = r->tally;
    o.command = t->argv;
    forget_signals();
    int status = rec_session_run(&o);
    free(path);
    free(labels);
    return status;
}

static int
wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_OWN_FAILURE;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A signal that comes meanwhile waits until the parent knows whom to pass it on
 * to, and the child's session has its descriptor for it. */
static void
hold_signals(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(how, &set, NULL);
}

static int
run_one(repeat *r, turn *t)
{
    fflush(NULL);
    hold_signals(SIG_BLOCK);
    pid_t pid = fork();
    if (pid == 0) {
        int status = record(r, t);
        fflush(NULL);
        _exit(status);
    }
    running = (sig_atomic_t)(pid > 0 ? pid : 0);
    hold_signals(SIG_UNBLOCK);
    if (pid < 0)
        return EXIT_OWN_FAILURE;
    int status = wait_for(pid);
    running = 0;
    t->next++;
    return status;
}

static int
run_all(repeat *r)
{
    int status = 0;
    for (long round = 0; round < r->options->repeat; round++)
        for (size_t i = 0; i < r->n && status == 0; i++) {
            if (stopped)
                return 128 + (int)stopped;
            status = run_one(r, &r->turn[round % 2 ? r->n - 1 - i : i]);
        }
    return status;
}

static pr_code
share_tally(repeat *r, pr_err *err)
{
    void *at = mmap(NULL, sizeof *r->tally, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return pr_no_memory(err);
    r->tally = at;
    return PR_OK;
}

static void
print_next(const repeat *r)
{
    const char *folder = r->turn[0].folder;
    pr_buffer command = {0};
    pr_buffer_puts(&command, "pyquery ");
    pr_quote_path(&command, folder, strlen(folder));
    if (r->n > 1) {
        pr_buffer_puts(&command, " diff ");
        pr_quote_path(&command, r->turn[1].folder, strlen(r->turn[1].folder));
    } else {
        pr_buffer_puts(&command, " \"top 20 by self\"");
    }
    pr_message_next(stderr, "pyrec", &command);
    pr_buffer_release(&command);
}

/* The sentences of a run's own summary, once for all runs. */
static void
print_end(const repeat *r)
{
    if (r->options->quiet || !r->tally->runs)
        return;
    rec_tally_print(stderr, r->tally);
    print_next(r);
}

int
rec_repeat_run(const rec_options *options)
{
    pr_err err = PR_ERR_INIT;
    repeat r = {.options = options,
                .screen =
                    rec_screen_make(options->quiet, options->debug, true)};
    int status;
    if (open_turns(&r, &err) == PR_OK && share_tally(&r, &err) == PR_OK) {
        listen_to_signals();
        status = run_all(&r);
        print_end(&r);
    } else {
        rec_screen_error(&r.screen, &err);
        status =
            err.code == PR_USAGE ? pr_exit_status(err.code) : EXIT_OWN_FAILURE;
    }
    release(&r);
    return status;
}
