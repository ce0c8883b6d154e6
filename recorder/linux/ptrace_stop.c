/*
 * ptrace_stop.c - PTRACE_SEIZE and PTRACE_INTERRUPT on every thread.
 *
 * Facts of ptrace(2), kernel/ptrace.c and kernel/exit.c (Linux) that this file
 * rests on: SEIZE does not stop; an interrupted thread traps before it returns
 * to user code, wherever it is; DETACH from a signal-delivery-stop delivers the
 * signal given; a detached thread whose process is in a group stop goes back
 * into it.  A thread that ends while it is traced stays a zombie until its
 * tracer waits for it, and only then may the real parent wait for the process.
 * If tracer and real parent are one process, they share one exit status: the
 * first to wait gets it.
 */
#include "recorder/linux/ptrace_stop.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/procfs.h"
#include <base/array.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_ROUNDS = 64, /* of listing threads until no new one is found */
    NAP_LEAST_NS = 5000,
    NAP_MOST_NS = 1000000
};

void
rec_ptrace_init(rec_ptrace *pause, pid_t pid)
{
    rec_stat stat;
    bool own_child = rec_stat_read(pid, 0, &stat) && stat.parent == getpid();
    *pause = (rec_ptrace){.pid = pid, .own_child = own_child};
}

/* ptrace() is declared with a variable argument list of pointers. */
static long
trace(int request, pid_t tid, long data)
{
    return ptrace((enum __ptrace_request)request, tid, NULL, (void *)data);
}

/* 'Z' also for a thread that is not there. */
static char
state_of(pid_t pid, pid_t tid)
{
    rec_stat stat;
    return rec_stat_read(pid, tid, &stat) ? stat.state : 'Z';
}

static bool
is_gone(pid_t pid, pid_t tid)
{
    return rec_stat_ended(state_of(pid, tid));
}

static bool
is_known(const rec_ptrace *pause, pid_t tid)
{
    for (size_t i = 0; i < pause->n; i++)
        if (pause->thread[i].tid == tid)
            return true;
    return false;
}

/* The process that traces it already, or 0. */
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

/* Its memory could be read, so ptrace itself is what is forbidden. */
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

/* A thread that ends while it is seized is not a failure. */
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

/* ---- the state of an interrupted thread ---- */

typedef enum arrival {
    ARRIVED, /* it is stopped */
    EXPECTED,
    LEFT /* it has ended and was waited for */
} arrival;

/* Take a report of this thread, without waiting for one.  The exit status of
 * our own child is left to the code that started it. */
static arrival
read_arrival(const rec_ptrace *pause, rec_ptrace_thread *thread)
{
    bool leader_of_ours = pause->own_child && thread->tid == pause->pid;
    int events = WSTOPPED | (leader_of_ours ? 0 : WEXITED);
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)thread->tid, &info,
               events | WNOHANG | __WALL | __WNOTHREAD) != 0)
        return LEFT;
    if (info.si_pid == 0) {
        bool ended = leader_of_ours && is_gone(pause->pid, thread->tid);
        return ended ? LEFT : EXPECTED;
    }
    if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
        return LEFT;
    thread->stopped = true;
    /* The upper byte is PTRACE_EVENT_STOP for our interrupt and group stops;
     * without an event it is a signal on its way to the thread. */
    if (info.si_status >> 8 == 0)
        thread->signal = info.si_status;
    return ARRIVED;
}

/* Nap a little longer each time.  False: the deadline is over. */
static bool
nap(long *ns, uint64_t deadline_ns)
{
    if (rec_now_ns() >= deadline_ns)
        return false;
    struct timespec t = {0, *ns};
    nanosleep(&t, NULL);
    *ns = *ns * 2 < NAP_MOST_NS ? *ns * 2 : NAP_MOST_NS;
    return true;
}

/* Wait until a thread has stopped, has ended, or is held in the kernel by
 * something that no signal ends (state D: it cannot reach user code then
 * either; a zombie is a leader whose other threads live).  EXPECTED: it may
 * still run. */
static arrival
await(const rec_ptrace *pause, rec_ptrace_thread *thread, uint64_t deadline_ns,
      bool *ret_held)
{
    long ns = NAP_LEAST_NS;
    arrival got;
    *ret_held = false;
    while ((got = read_arrival(pause, thread)) == EXPECTED && !*ret_held &&
           nap(&ns, deadline_ns)) {
        char state = state_of(pause->pid, thread->tid);
        *ret_held = state == 'D' || rec_stat_ended(state);
    }
    /* it may have stopped before its state was read */
    return got == EXPECTED ? read_arrival(pause, thread) : got;
}

/* Wait for the threads from `first` on; those that ended are dropped. */
static pr_code
await_from(rec_ptrace *pause, size_t first, uint64_t deadline_ns, pr_err *err)
{
    size_t kept = first;
    pr_code code = PR_OK;
    for (size_t i = first; i < pause->n; i++) {
        rec_ptrace_thread t = pause->thread[i];
        bool held = false;
        arrival got =
            t.stopped ? ARRIVED : await(pause, &t, deadline_ns, &held);
        if (got == EXPECTED && !held)
            code = PR_FAIL(err, PR_TORN,
                           "thread %d of process %d did not stop within %d ms",
                           (int)t.tid, (int)pause->pid, REC_PTRACE_STOP_MS);
        if (got != LEFT)
            pause->thread[kept++] = t;
    }
    pause->n = kept;
    return code;
}

/* ---- stop ---- */

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

/* Is there a thread that could run? */
static bool
lives(const rec_ptrace *pause)
{
    for (size_t i = 0; i < pause->n; i++)
        if (pause->thread[i].stopped ||
            !is_gone(pause->pid, pause->thread[i].tid))
            return true;
    return false;
}

/* Stopped threads cannot make new ones: when a round finds none, all are
 * stopped. */
static pr_code
stop_all(rec_ptrace *pause, DIR *tasks, pr_err *err)
{
    uint64_t deadline_ns =
        rec_now_ns() + (uint64_t)REC_PTRACE_STOP_MS * 1000000;
    /* those that could not be detached before are seized already */
    pr_code rc = await_from(pause, 0, deadline_ns, err);
    for (int round = 0; rc == PR_OK && round < MAX_ROUNDS; round++) {
        size_t before = pause->n;
        rc = seize_new(pause, tasks, err);
        if (rc != PR_OK || pause->n == before)
            break;
        rc = await_from(pause, before, deadline_ns, err);
    }
    if (rc == PR_OK && !lives(pause))
        rc = PR_FAIL(err, PR_NO_PROCESS, "process %d has ended",
                     (int)pause->pid);
    return rc;
}

pr_code
rec_ptrace_stop(rec_ptrace *pause, pr_err *err)
{
    rec_ptrace_serve(pause);
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

/* ---- resume ---- */

/* Detach from a thread.  False: it must be tried again.  One that was killed
 * has left its stop, and is waited for like one that ended. */
static bool
detach(const rec_ptrace *pause, rec_ptrace_thread *t)
{
    if (t->stopped && trace(PTRACE_DETACH, t->tid, t->signal) == 0)
        return true;
    t->stopped = false;
    arrival got = read_arrival(pause, t);
    return got == LEFT ||
           (got == ARRIVED && trace(PTRACE_DETACH, t->tid, t->signal) == 0);
}

static void
let_go(rec_ptrace *pause)
{
    size_t kept = 0;
    for (size_t i = 0; i < pause->n; i++)
        if (!detach(pause, &pause->thread[i]))
            pause->thread[kept++] = pause->thread[i];
    pause->n = kept;
}

/* Is there a thread from which no resume has failed to detach? */
static bool
has_new(const rec_ptrace *pause)
{
    bool found = false;
    for (size_t i = 0; i < pause->n; i++)
        found = found || !pause->thread[i].late;
    return found;
}

void
rec_ptrace_serve(rec_ptrace *pause)
{
    if (pause->n)
        let_go(pause);
}

void
rec_ptrace_resume(rec_ptrace *pause)
{
    uint64_t deadline_ns =
        rec_now_ns() + (uint64_t)REC_PTRACE_RESUME_MS * 1000000;
    long ns = NAP_LEAST_NS;
    rec_ptrace_serve(pause);
    while (has_new(pause) && nap(&ns, deadline_ns))
        let_go(pause);
    for (size_t i = 0; i < pause->n; i++)
        pause->thread[i].late = true;
}

void
rec_ptrace_release(rec_ptrace *pause)
{
    rec_ptrace_resume(pause);
    free(pause->thread);
    *pause = (rec_ptrace){.pid = pause->pid, .own_child = pause->own_child};
}
