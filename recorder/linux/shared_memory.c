/*
 * shared_memory.c - the child of vfork(2) until it executes a program.
 *
 * It runs in its parent's memory, so its "Python" and its stack are the
 * parent's, which waits for it meanwhile.  kcmp(2) compares the memories; where
 * it is left out (Linux without CONFIG_KCMP, seccomp filters of containers) the
 * waiting parent shows it.
 */
#include "recorder/linux/process.h"
#include "recorder/linux/procfs.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The number in /proc/PID/task/TID/syscall; posix_spawn(3) calls clone3(). */
static bool
is_call_of_vfork(long number)
{
#ifdef SYS_vfork
    if (number == SYS_vfork)
        return true;
#endif
    return number == SYS_clone || number == SYS_clone3;
}

/* A thread sleeps in such a call, uninterruptibly, only for a child that shares
 * its memory (wait_for_vfork_done() in kernel/fork.c). */
static bool
thread_is_in_vfork(pid_t pid, pid_t tid)
{
    char name[48], text[256];
    rec_stat stat;
    snprintf(name, sizeof name, "task/%d/syscall", (int)tid);
    return rec_stat_read(pid, tid, &stat) && stat.state == 'D' &&
           rec_procfs_of(pid, name, text, sizeof text, NULL) &&
           is_call_of_vfork(strtol(text, NULL, 10));
}

bool
rec_process_is_in_vfork(pid_t pid)
{
    pid_t *tid;
    size_t n;
    bool found = false;
    if (rec_process_threads(pid, &tid, &n, NULL) != PR_OK)
        return false;
    for (size_t i = 0; i < n && !found; i++)
        found = thread_is_in_vfork(pid, tid[i]);
    free(tid);
    return found;
}

bool
rec_process_shares_memory(pid_t pid, pid_t parent)
{
    /* an ended thread has no memory, and so equals another one */
    pid_t task = rec_process_task(pid), other = rec_process_task(parent);
    if (!task || !other)
        return false;
    long order = syscall(SYS_kcmp, task, other, KCMP_VM, 0, 0);
    return order < 0 ? rec_process_is_in_vfork(parent) : order == 0;
}
