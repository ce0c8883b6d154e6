/*
 * procfs.h - read small files of /proc, NUL-terminated.
 */
#ifndef RECORDER_LINUX_PROCFS_H
#define RECORDER_LINUX_PROCFS_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The first size - 1 bytes of the file at `path`, terminated; false: it cannot
 * be read (errno says why).  *ret_len may be NULL. */
bool rec_procfs_read(const char *path, char *to, size_t size, size_t *ret_len);

/* The same of /proc/PID/NAME. */
bool rec_procfs_of(pid_t pid, const char *name, char *to, size_t size,
                   size_t *ret_len);

/* Fields 3, 4, 9 and 22 of proc_pid_stat(5). */
typedef struct rec_stat {
    char state;
    pid_t parent;
    uint32_t flags;
    uint64_t start_time;
} rec_stat;

/* Read stat of a process, or with tid > 0 of its thread.  False: it is gone, or
 * its text has another form. */
bool rec_stat_read(pid_t pid, pid_t tid, rec_stat *ret);

/* Milliseconds since the process was forked; UINT64_MAX: it has ended. */
uint64_t rec_stat_age_ms(pid_t pid);

/* Is the process or thread of this state dead (a zombie)? */
static inline bool
rec_stat_ended(char state)
{
    return state == 'Z' || state == 'X' || state == 'x';
}

/* The entries of a folder that are numbers, in order; the caller frees *ret,
 * which may be NULL with *ret_n 0.  PR_NO_PROCESS: there is no such folder. */
pr_code rec_procfs_numbers(const char *path, pid_t **ret, size_t *ret_n,
                           pr_err *err);

/* "sh", "python3.13": comm, for messages.  Never fails ("?"). */
void rec_procfs_name(pid_t pid, char *to, size_t size);

/* The kernel's name of a thread, at most 15 bytes; "" if it is gone. */
void rec_procfs_thread_name(pid_t pid, pid_t tid, char *to, size_t size);

#endif
