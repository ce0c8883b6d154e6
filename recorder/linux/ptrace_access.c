/*
 * ptrace_access.c - why memory of a process may not be read, and the remedy.
 *
 * The kernel answers EPERM whatever the reason (ptrace(2), "Ptrace access mode
 * checking"); this file checks the same conditions in the same order.
 */
#include "recorder/linux/process.h"
#include "recorder/linux/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SYS_PTRACE_BIT = 19 }; /* CAP_SYS_PTRACE, linux/capability.h */

typedef struct view {
    pid_t pid;
    uid_t target, ours;
    bool capable;      /* CAP_SYS_PTRACE in our own user namespace */
    bool same_user_ns; /* or not known: only a permitted reader sees it */
    bool nested;       /* our own user namespace is not the first one */
    bool dumpable;
    bool stronger; /* it has capabilities that we lack */
    bool filtered; /* a seccomp filter watches us */
    int yama;      /* kernel.yama.ptrace_scope; 0 also without Yama */
} view;

static uint64_t
field(const char *status, const char *key, int base)
{
    const char *p = strstr(status, key);
    return p ? strtoull(p + strlen(key), NULL, base) : 0;
}

/* Both links name the namespace by its inode. */
static bool
same_user_ns(pid_t pid)
{
    char path[48], ours[64], theirs[64];
    snprintf(path, sizeof path, "/proc/%d/ns/user", (int)pid);
    ssize_t a = readlink("/proc/self/ns/user", ours, sizeof ours);
    ssize_t b = readlink(path, theirs, sizeof theirs);
    return a < 0 || b < 0 || (a == b && memcmp(ours, theirs, (size_t)a) == 0);
}

/* The first namespace maps all ids to themselves (user_namespaces(7)). */
static bool
is_nested(void)
{
    char text[256];
    unsigned inside, outside;
    unsigned long n;
    return rec_procfs_read("/proc/self/uid_map", text, sizeof text, NULL) &&
           sscanf(text, "%u %u %lu", &inside, &outside, &n) == 3 &&
           (inside != 0 || outside != 0 || n < UINT32_MAX);
}

/* False: the process is gone. */
static bool
read_view(pid_t pid, view *ret)
{
    char path[48], text[4096];
    view v = {.pid = pid, .ours = geteuid()};
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (!rec_procfs_read(path, text, sizeof text, NULL) ||
        strstr(text, "\nState:\tZ"))
        return false;
    v.target = (uid_t)field(text, "\nUid:", 10);
    uint64_t theirs = field(text, "\nCapPrm:", 16);
    /* its files belong to root while it is not dumpable (proc(5)) */
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    v.dumpable = stat(path, &st) != 0 || st.st_uid == v.target;
    v.same_user_ns = same_user_ns(pid);
    v.nested = is_nested();
    if (rec_procfs_read("/proc/self/status", text, sizeof text, NULL)) {
        v.capable = field(text, "\nCapEff:", 16) >> SYS_PTRACE_BIT & 1;
        v.stronger = (theirs & ~field(text, "\nCapPrm:", 16)) != 0;
        v.filtered = field(text, "\nSeccomp:", 10) != 0;
    }
    if (rec_procfs_read("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text,
                        NULL))
        v.yama = atoi(text);
    *ret = v;
    return true;
}

static pr_code
denied(const view *v, int error, pr_err *err, const char *why, const char *hint)
{
    char name[64];
    rec_procfs_name(v->pid, name, sizeof name);
    PR_FAIL_SYS(err, PR_DENIED, error,
                "may not read the memory of process %d (%s): %s", (int)v->pid,
                name, why);
    pr_err_hint(err, "%s", hint);
    return PR_DENIED;
}

static pr_code
other_user(const view *v, int error, pr_err *err)
{
    /* By its number: a static program has no names of users. */
    unsigned uid = (unsigned)v->target;
    char why[128], hint[192];
    snprintf(why, sizeof why,
             "it belongs to user %u and CAP_SYS_PTRACE is missing", uid);
    snprintf(hint, sizeof hint,
             "run as %s (sudo -u '#%u'), or with the capability (containers: "
             "--cap-add=SYS_PTRACE)",
             uid ? "that user or root" : "root", uid);
    return denied(v, error, err, why, hint);
}

static pr_code
yama_forbids(const view *v, int error, pr_err *err)
{
    char why[96];
    snprintf(why, sizeof why, "kernel.yama.ptrace_scope is %d", v->yama);
    return denied(v, error, err, why,
                  v->yama == 1 ? "run as root or with CAP_SYS_PTRACE "
                                 "(containers: --cap-add=SYS_PTRACE), start "
                                 "the program under `pyrec -- COMMAND`, or "
                                 "set it to 0"
                  : v->yama == 2
                      ? "run as root or with CAP_SYS_PTRACE"
                      : "nobody may until the machine restarts with less");
}

pr_code
rec_process_explain_denied(pid_t pid, int error, pr_err *err)
{
    view v;
    if (!read_view(pid, &v))
        return PR_FAIL(err, PR_NO_PROCESS, "process %d has ended", (int)pid);
    if (error == ENOSYS)
        return denied(&v, error, err, "no process_vm_readv() here",
                      "a seccomp filter or the kernel leaves it out, and "
                      "/proc/PID/mem may not be opened; containers: "
                      "--cap-add=SYS_PTRACE");
    if (v.capable && (!v.same_user_ns || v.nested))
        return denied(&v, error, err,
                      "it lives in a user namespace over which we have no "
                      "capabilities",
                      "run pyrec outside of containers or inside the same one");
    if (!v.capable && v.ours != v.target)
        return other_user(&v, error, err);
    if (v.yama == 3 || (v.yama > 0 && !v.capable))
        return yama_forbids(&v, error, err);
    if (!v.capable && !v.dumpable)
        return denied(&v, error, err,
                      "it is not dumpable (setuid program or "
                      "prctl(PR_SET_DUMPABLE, 0))",
                      "run as root or with CAP_SYS_PTRACE");
    if (!v.capable && v.same_user_ns && v.stronger)
        return denied(&v, error, err,
                      "it has capabilities that pyrec lacks, and "
                      "CAP_SYS_PTRACE is missing",
                      "run with the capability (containers: "
                      "--cap-add=SYS_PTRACE)");
    if (!v.capable && !v.same_user_ns)
        return denied(&v, error, err, "it lives in another user namespace",
                      "run as root outside of the namespace");
    if (v.filtered)
        return denied(&v, error, err, "a seccomp filter watches pyrec",
                      "containers: --cap-add=SYS_PTRACE or --security-opt "
                      "seccomp=unconfined");
    return denied(&v, error, err, "the kernel says no",
                  "check for a security module (SELinux, AppArmor) that "
                  "forbids ptrace");
}
