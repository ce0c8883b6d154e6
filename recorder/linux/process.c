/*
 * process.c - identity of the target, its threads and children, from /proc.
 */
#include "recorder/linux/process.h"

#include "recorder/linux/clock.h"
#include "recorder/linux/memory.h"
#include "recorder/linux/procfs.h"
#include <base/hash.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    PROC_TEXT = 4096,
    PF_KTHREAD = 0x00200000 /* linux/sched.h; in field 9 of stat */
};

/* ---- a process whose first thread has ended ---- */

/* The first thread of `pid` that has not ended; 0: none. */
static pid_t
living_thread(pid_t pid)
{
    pid_t *tid, found = 0;
    size_t n;
    if (rec_process_threads(pid, &tid, &n, NULL) != PR_OK)
        return 0;
    for (size_t i = 0; i < n && !found; i++) {
        rec_stat stat;
        if (rec_stat_read(pid, tid[i], &stat) && !rec_stat_ended(stat.state))
            found = tid[i];
    }
    free(tid);
    return found;
}

pid_t
rec_process_task(pid_t pid)
{
    rec_stat stat;
    if (!rec_stat_read(pid, 0, &stat))
        return 0;
    return rec_stat_ended(stat.state) ? living_thread(pid) : pid;
}

/* ---- program image ---- */

/* Address of the 16 random bytes that the kernel gives each program. */
static bool
random_address(pid_t pid, uint64_t *ret)
{
    char text[PROC_TEXT];
    size_t len;
    errno = 0;
    if (!rec_procfs_of(rec_process_task(pid), "auxv", text, sizeof text, &len))
        return false;
    for (size_t at = 0; at + 16 <= len; at += 16) {
        uint64_t pair[2];
        memcpy(pair, text + at, sizeof pair);
        if (pair[0] == AT_RANDOM) {
            *ret = pair[1];
            return true;
        }
    }
    return false;
}

/* PR_TORN where there is none; else the reason why it cannot be read. */
static pr_code
read_random(pid_t pid, uint8_t *to, pr_err *err)
{
    uint64_t address;
    if (!random_address(pid, &address)) {
        if (errno == EACCES || errno == EPERM)
            return rec_process_explain_denied(pid, errno, err);
        return PR_FAIL(err, PR_TORN, "no AT_RANDOM of process %d", (int)pid);
    }
    rec_memory memory;
    rec_memory_init(&memory, pid);
    pr_code code = rec_memory_read(&memory, address, to, 16, err);
    rec_memory_release(&memory);
    return code;
}

/* ---- identity ---- */

/* The number after `key` in a status file, or -1. */
static long
status_number(const char *status, const char *key)
{
    const char *p = strstr(status, key);
    return p ? strtol(p + strlen(key), NULL, 10) : -1;
}

/* The number of pid namespaces that know the process or thread of this status,
 * and its id in the innermost. */
static int
namespace_ids(const char *status, uint64_t *ret_inner)
{
    const char *p = strstr(status, "\nNSpid:");
    if (!p)
        return 0;
    p += strlen("\nNSpid:");
    int n = 0;
    while (*p && *p != '\n') {
        char *end;
        uint64_t v = strtoull(p, &end, 10);
        if (end == p)
            break;
        *ret_inner = v;
        n++;
        p = end;
        while (*p == '\t' || *p == ' ')
            p++;
    }
    return n;
}

static pr_code
no_process(pid_t pid, pr_err *err)
{
    return PR_FAIL(err, PR_NO_PROCESS, "there is no process %d", (int)pid);
}

/* Why /proc shows nothing of the process, by `error`: there is no such process,
 * or the reason lies elsewhere. */
static pr_code
explain_absent(pid_t pid, int error, pr_err *err)
{
    if (error == EMFILE || error == ENFILE) {
        PR_FAIL_SYS(err, PR_IO, error, "cannot read /proc of process %d",
                    (int)pid);
        pr_err_hint(err, "raise the limit of open files (ulimit -n)");
        return PR_IO;
    }
    if (access("/proc/self/stat", R_OK) != 0) {
        PR_FAIL(err, PR_IO, "/proc is not mounted");
        pr_err_hint(err, "mount -t proc proc /proc");
        return PR_IO;
    }
    if (kill(pid, 0) == 0 || errno == EPERM) {
        PR_FAIL(err, PR_DENIED, "/proc hides process %d (hidepid)", (int)pid);
        pr_err_hint(err, "run pyrec as the user of the process or as root");
        return PR_DENIED;
    }
    return no_process(pid, err);
}

/* Its memory, and the stack in it, are those of its parent. */
static pr_code
refuse_borrower(pid_t pid, pid_t parent, const char *name, pr_err *err)
{
    PR_FAIL(err, PR_NOT_PYTHON,
            "process %d (%s) has not executed a program of its own: it shares "
            "the memory of its parent %d",
            (int)pid, name, (int)parent);
    pr_err_hint(err, "try again once it has, or use -p %d", (int)parent);
    return PR_NOT_PYTHON;
}

/* A pid that can be a target: not a thread, not a zombie, not a kernel thread,
 * and not in the memory of another process. */
static pr_code
check_kind(pid_t pid, const rec_stat *stat, const char *status, pr_err *err)
{
    char name[64];
    rec_procfs_name(pid, name, sizeof name);
    if (rec_stat_ended(stat->state) && !living_thread(pid))
        return PR_FAIL(err, PR_NO_PROCESS,
                       "process %d (%s) has ended; its parent has not asked "
                       "for its status",
                       (int)pid, name);
    if (stat->flags & PF_KTHREAD)
        return PR_FAIL(err, PR_NOT_PYTHON, "%d (%s) is a thread of the kernel",
                       (int)pid, name);
    long group = status_number(status, "\nTgid:");
    if (group > 0 && group != pid) {
        PR_FAIL(err, PR_NO_PROCESS, "%d (%s) is a thread of process %ld",
                (int)pid, name, group);
        pr_err_hint(err, "use -p %ld", group);
        return PR_NO_PROCESS;
    }
    if (stat->parent && rec_process_shares_memory(pid, stat->parent))
        return refuse_borrower(pid, stat->parent, name, err);
    return PR_OK;
}

pr_code
rec_process_open(pid_t pid, rec_process *ret, pr_err *err)
{
    if (pid <= 0)
        return no_process(pid, err);
    rec_process p = {.pid = pid};
    p.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    rec_stat stat;
    char status[PROC_TEXT];
    uint64_t inner;
    pr_code code = PR_OK;
    if (!rec_stat_read(pid, 0, &stat) ||
        !rec_procfs_of(pid, "status", status, sizeof status, NULL))
        code = explain_absent(pid, errno, err);
    if (code == PR_OK)
        code = check_kind(pid, &stat, status, err);
    if (code == PR_OK) {
        p.start_time = stat.start_time;
        p.own_pid_ns = namespace_ids(status, &inner) > 1;
        code = read_random(pid, p.auxv_random, err);
        p.has_random = code == PR_OK;
    }
    if (code == PR_TORN) { /* a program may have none */
        pr_err_clear(err);
        code = PR_OK;
    }
    if (code != PR_OK) {
        rec_process_release(&p);
        return code;
    }
    *ret = p;
    return PR_OK;
}

void
rec_process_release(rec_process *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    process->pidfd = -1;
}

static bool
pidfd_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return poll(&p, 1, 0) > 0 && (p.revents & POLLIN);
}

/* A process lives while any of its threads does. */
static bool
has_ended(const rec_process *process)
{
    if (process->pidfd >= 0)
        return pidfd_ended(process->pidfd);
    rec_stat stat;
    return !rec_stat_read(process->pid, 0, &stat) ||
           stat.start_time != process->start_time ||
           (rec_stat_ended(stat.state) && !living_thread(process->pid));
}

rec_alive
rec_process_check(const rec_process *process)
{
    if (has_ended(process))
        return REC_ENDED;
    uint8_t random[16];
    /* a process that is about to end has no memory: not an exec */
    if (!process->has_random ||
        read_random(process->pid, random, NULL) != PR_OK ||
        memcmp(random, process->auxv_random, sizeof random) == 0)
        return REC_ALIVE;
    /* the bytes are those of this process only if it is still there */
    return has_ended(process) ? REC_ENDED : REC_EXECED;
}

bool
rec_process_is_same(const rec_process *process)
{
    return !has_ended(process);
}

pr_code
rec_process_renew(rec_process *process, pr_err *err)
{
    uint8_t random[16];
    pr_code code = read_random(process->pid, random, err);
    if (code == PR_OK && has_ended(process))
        code = PR_FAIL(err, PR_NO_PROCESS, "process %d has ended",
                       (int)process->pid);
    if (code == PR_OK)
        memcpy(process->auxv_random, random, sizeof random);
    return code;
}

/* ---- a process among others ---- */

/* Boot and pid namespace; empty if one is not known. */
static void
read_scope(pid_t pid, char *to, size_t size)
{
    char path[48], boot[48], space[32];
    size_t len;
    to[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    ssize_t n = readlink(path, space, sizeof space - 1);
    if (n <= 0 || !rec_procfs_read("/proc/sys/kernel/random/boot_id", boot,
                                   sizeof boot, &len))
        return;
    space[n] = '\0';
    snprintf(to, size, "%.*s/%s", (int)strcspn(boot, "\n"), boot, space);
}

/* Field 22 of stat counts clock ticks since the boot. */
static uint64_t
start_of(const rec_stat *stat)
{
    uint64_t per_s = (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t boot_us =
        (rec_clock_ns(CLOCK_REALTIME) - rec_clock_ns(CLOCK_BOOTTIME)) / 1000;
    return boot_us + stat->start_time * (1000000 / per_s);
}

static uint64_t
inner_pid(pid_t pid)
{
    char status[PROC_TEXT];
    uint64_t inner = 0;
    if (rec_procfs_of(pid, "status", status, sizeof status, NULL))
        namespace_ids(status, &inner);
    return inner;
}

void
rec_process_facts_read(pid_t pid, rec_process_facts *ret)
{
    rec_process_facts f = {.inner_pid = inner_pid(pid)};
    rec_stat stat;
    if (!f.inner_pid)
        f.inner_pid = (uint64_t)pid;
    read_scope(pid, f.scope, sizeof f.scope);
    if (rec_stat_read(pid, 0, &stat)) {
        char scope[sizeof f.scope];
        f.start_us = start_of(&stat);
        read_scope(stat.parent, scope, sizeof scope);
        if (stat.parent && scope[0] && strcmp(scope, f.scope) == 0)
            f.inner_parent = inner_pid(stat.parent);
    }
    *ret = f;
}

uint64_t
rec_process_print(pid_t pid)
{
    static const char *const names[] = {"statm", "schedstat", "auxv"};
    char text[PROC_TEXT];
    uint64_t print = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t len = 0;
        rec_procfs_of(pid, names[i], text, sizeof text, &len);
        print = pr_hash_seeded(text, len, print);
    }
    return print | 1;
}

/* ---- threads ---- */

pr_code
rec_process_threads(pid_t pid, pid_t **ret, size_t *ret_n, pr_err *err)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return rec_procfs_numbers(path, ret, ret_n, err);
}

pid_t
rec_process_host_tid(const rec_process *process, uint64_t tid)
{
    if (!process->own_pid_ns)
        return tid <= INT32_MAX ? (pid_t)tid : 0;
    pid_t *tids;
    size_t n;
    if (rec_process_threads(process->pid, &tids, &n, NULL) != PR_OK)
        return 0;
    pid_t found = 0;
    for (size_t i = 0; i < n && !found; i++) {
        char name[48], status[PROC_TEXT];
        snprintf(name, sizeof name, "task/%d/status", (int)tids[i]);
        uint64_t inner = 0;
        if (rec_procfs_of(process->pid, name, status, sizeof status, NULL) &&
            namespace_ids(status, &inner) > 1 && inner == tid)
            found = tids[i];
    }
    free(tids);
    return found;
}

/* ---- children ---- */

enum { TAKEN = -1 };

/* Every process and its parent; TAKEN: it is a descendant. */
typedef struct family {
    pid_t *all, *parent, *found;
    size_t n, n_found;
} family;

static pr_code
read_parents(family *f, pr_err *err)
{
    pr_code code = rec_procfs_numbers("/proc", &f->all, &f->n, err);
    if (code != PR_OK)
        return code;
    f->parent = calloc(f->n + 1, sizeof *f->parent);
    f->found = calloc(f->n + 1, sizeof *f->found);
    if (!f->parent || !f->found)
        return pr_no_memory(err);
    for (size_t i = 0; i < f->n; i++) {
        rec_stat stat;
        f->parent[i] = rec_stat_read(f->all[i], 0, &stat) ? stat.parent : 0;
    }
    return PR_OK;
}

/* Children of `pid`.  One read of /proc mixes moments: a process may seem to
 * descend from itself, so each is taken once. */
static void
take_children(family *f, pid_t pid)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->parent[i] != pid)
            continue;
        f->parent[i] = TAKEN;
        f->found[f->n_found++] = f->all[i];
    }
}

/* The processes found, in order of pid. */
static void
sort_found(family *f)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++)
        if (f->parent[i] == TAKEN)
            f->found[n++] = f->all[i];
}

pr_code
rec_process_children(pid_t pid, bool recursive, pid_t **ret, size_t *ret_n,
                     pr_err *err)
{
    family f = {0};
    pr_code code = read_parents(&f, err);
    if (code == PR_OK) {
        take_children(&f, pid);
        for (size_t i = 0; recursive && i < f.n_found; i++)
            take_children(&f, f.found[i]);
        sort_found(&f);
    }
    free(f.all);
    free(f.parent);
    if (code != PR_OK) {
        free(f.found);
        return code;
    }
    *ret = f.found;
    *ret_n = f.n_found;
    return PR_OK;
}
