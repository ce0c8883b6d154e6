/*
 * ptrace_stop.c - PTRACE_SEIZE and PTRACE_INTERRUPT on every thread.
 *
 * Facts of ptrace(2) and kernel/ptrace.c that this rests on: SEIZE does not
 * stop; an interrupted thread traps before it returns to user code, wherever
 * it is; DETACH from a signal-delivery-stop delivers the signal given; a
 * detached thread whose process is in a group stop goes back into it.
 */
#include "recorder/linux/ptrace_stop.h"

#include "recorder/linux/procfs.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* Rounds of listing threads until no new one is found. */
enum { MAX_ROUNDS = 64 };

void
rec_ptrace_init(rec_ptrace *pause, pid_t pid)
{
    *pause = (rec_ptrace){.pid = pid};
}

/* ptrace() is declared with a variable argument list of pointers. */
static long
trace(int request, pid_t tid, long data)
{
    return ptrace((enum __ptrace_request)request, tid, NULL, (void *)data);
}

static bool
is_gone(pid_t pid, pid_t tid)
{
    rec_stat stat;
    return !rec_stat_read(pid, tid, &stat) || rec_stat_ended(stat.state);
}

/* Is it in the kernel, waiting for something that no signal ends? */
static bool
is_held(pid_t pid, pid_t tid)
{
    rec_stat stat;
    return rec_stat_read(pid, tid, &stat) && stat.state == 'D';
}

static bool
is_known(const rec_ptrace *pause, pid_t tid)
{
    for (size_t i = 0; i < pause->n; i++)
        if (pause->thread[i].tid == tid)
            return true;
    return false;
}

/* Who traces it already, or 0. */
static pid_t
tracer_of(pid_t pid, pid_t tid)
{
    static const char key[] = "\nTracerPid:";
    char name[48], status[4096];
    snprintf(name, sizeof name, "task/%d/status", (int)tid);
    if (!rec_procfs_of(pid, name, status, sizeof status, NULL))
        return 0;
    const char *p = strstr(status, key);
    return p ? (pid_t)strtol(p + sizeof key - 1, NULL, 10) : 0;
}

/* Its memory could be read, so that it is not its owner that forbids it. */
static pr_code
refused(const rec_ptrace *pause, pid_t tid, int error, pr_err *err)
{
    pid_t tracer = tracer_of(pause->pid, tid);
    if (tracer) {
        char name[64];
        rec_procfs_name(tracer, name, sizeof name);
        PR_FAIL(err, PR_DENIED,
                "cannot stop process %d: %d (%s) traces it already",
                (int)pause->pid, (int)tracer, name);
        pr_err_hint(err, "end that, or leave out --blocking");
    } else {
        PR_FAIL_SYS(err, PR_DENIED, error,
                    "cannot stop thread %d of process %d", (int)tid,
                    (int)pause->pid);
        pr_err_hint(err, "leave out --blocking, or allow ptrace (a seccomp "
                         "filter or a security module forbids it)");
    }
    return PR_DENIED;
}

/* A thread that ends while it is seized is no failure. */
static pr_code
seize(rec_ptrace *pause, pid_t tid, pr_err *err)
{
    if (!pr_grow(&pause->thread, &pause->cap, pause->n + 1,
                 sizeof *pause->thread))
        return pr_no_memory(err);
    if (trace(PTRACE_SEIZE, tid, 0) < 0) {
        int error = errno;
        if (error == ESRCH || is_gone(pause->pid, tid))
            return PR_OK;
        return refused(pause, tid, error, err);
    }
    pause->thread[pause->n++] = (rec_ptrace_thread){.tid = tid};
    if (trace(PTRACE_INTERRUPT, tid, 0) < 0 && errno != ESRCH)
        return PR_FAIL_SYS(err, PR_IO, errno,
                           "cannot interrupt thread %d of process %d", (int)tid,
                           (int)pause->pid);
    return PR_OK;
}

/* Wait until a thread stands, or is held in the kernel by something that does
 * not end (state D): it cannot reach user code then either.
 * Returns false if it has ended. */
static bool
settle(const rec_ptrace *pause, rec_ptrace_thread *thread)
{
    int status;
    pid_t got = waitpid(thread->tid, &status, __WALL | WNOHANG);
    if (got == 0) {
        if (is_held(pause->pid, thread->tid))
            return true;
        do
            got = waitpid(thread->tid, &status, __WALL);
        while (got < 0 && errno == EINTR);
    }
    if (got < 0 || !WIFSTOPPED(status))
        return false;
    thread->stopped = true;
    /* status >> 16 is PTRACE_EVENT_STOP for our interrupt and group stops;
     * without an event it is a signal on its way to the thread. */
    if (status >> 16 == 0)
        thread->signal = WSTOPSIG(status);
    return true;
}

static void
settle_from(rec_ptrace *pause, size_t first)
{
    size_t kept = first;
    for (size_t i = first; i < pause->n; i++)
        if (settle(pause, &pause->thread[i]))
            pause->thread[kept++] = pause->thread[i];
    pause->n = kept;
}

/* Seize the threads not seen yet. */
static pr_code
seize_new(rec_ptrace *pause, DIR *tasks, pr_err *err)
{
    rewinddir(tasks);
    for (struct dirent *entry; (entry = readdir(tasks));) {
        pid_t tid = (pid_t)atoi(entry->d_name);
        if (tid <= 0 || is_known(pause, tid))
            continue;
        pr_code rc = seize(pause, tid, err);
        if (rc != PR_OK)
            return rc;
    }
    return PR_OK;
}

/* Threads that stand cannot make new ones: when a round finds none, all are
 * still. */
static pr_code
stop_all(rec_ptrace *pause, DIR *tasks, pr_err *err)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        size_t before = pause->n;
        pr_code rc = seize_new(pause, tasks, err);
        if (rc != PR_OK)
            return rc;
        if (pause->n == before)
            break;
        settle_from(pause, before);
    }
    if (pause->n == 0)
        return PR_FAIL(err, PR_NO_PROCESS, "process %d has ended",
                       (int)pause->pid);
    return PR_OK;
}

pr_code
rec_ptrace_stop(rec_ptrace *pause, pr_err *err)
{
    rec_ptrace_resume(pause);
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pause->pid);
    DIR *tasks = opendir(path);
    if (!tasks)
        return PR_FAIL_SYS(err, errno == ENOENT ? PR_NO_PROCESS : PR_IO, errno,
                           "cannot list the threads of process %d",
                           (int)pause->pid);
    pr_code rc = stop_all(pause, tasks, err);
    closedir(tasks);
    if (rc != PR_OK)
        rec_ptrace_resume(pause);
    return rc;
}

/* DETACH needs a thread that stands: one that was held in the kernel gets
 * there as soon as it leaves it. */
static void
let_go(const rec_ptrace *pause, rec_ptrace_thread *thread)
{
    while (trace(PTRACE_DETACH, thread->tid, thread->signal) < 0) {
        if (errno != ESRCH || thread->stopped)
            return;
        if (is_gone(pause->pid, thread->tid))
            return;
        int status;
        pid_t got = waitpid(thread->tid, &status, __WALL);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 || !WIFSTOPPED(status))
            return;
        thread->stopped = true;
        if (status >> 16 == 0)
            thread->signal = WSTOPSIG(status);
    }
}

void
rec_ptrace_resume(rec_ptrace *pause)
{
    for (size_t i = 0; i < pause->n; i++)
        if (pause->thread[i].stopped)
            let_go(pause, &pause->thread[i]);
    for (size_t i = 0; i < pause->n; i++)
        if (!pause->thread[i].stopped)
            let_go(pause, &pause->thread[i]);
    pause->n = 0;
}

void
rec_ptrace_release(rec_ptrace *pause)
{
    rec_ptrace_resume(pause);
    free(pause->thread);
    *pause = (rec_ptrace){.pid = pause->pid};
}
