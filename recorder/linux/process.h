/*
 * process.h - the kernel's facts on the target: identity, threads, files.
 */
#ifndef RECORDER_LINUX_PROCESS_H
#define RECORDER_LINUX_PROCESS_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct rec_process {
    pid_t pid;
    int pidfd;               /* or -1 on kernels without */
    uint64_t start_time;     /* field 22 of stat: differs for a reused pid */
    uint8_t auxv_random[16]; /* bytes at AT_RANDOM: change with exec */
    bool has_random;
    bool own_pid_ns; /* the target's thread ids are not ours: NSpid */
} rec_process;

/* Open the process.  PR_NO_PROCESS, PR_DENIED with the reason and the remedy, or
 * PR_NOT_PYTHON for what has no program of its own: a thread of the kernel, a
 * process that shares the memory of its parent. */
pr_code rec_process_open(pid_t pid, rec_process *ret, pr_err *err);
void rec_process_release(rec_process *process);

/* Still the same process and program?  A process lives while any of its
 * threads does, and a reused pid is not the same process. */
typedef enum rec_alive {
    REC_ALIVE,
    REC_EXECED, /* the same process has another program */
    REC_ENDED
} rec_alive;
rec_alive rec_process_check(const rec_process *process);

/* Still the same process?  One system call where there are pidfds. */
bool rec_process_is_same(const rec_process *process);

/* After REC_EXECED: take the present program as the known one.  The identity of
 * the process stays.  PR_NO_PROCESS if it has ended. */
pr_code rec_process_renew(rec_process *process, pr_err *err);

/* Does `pid` run in the memory of its parent, as between vfork(2) and exec?
 * Where kcmp(2) is not permitted, every child of a parent that waits in vfork
 * counts. */
bool rec_process_shares_memory(pid_t pid, pid_t parent);

/* Does a thread of `pid` wait for a child that shares its memory? */
bool rec_process_is_in_vfork(pid_t pid);

/* A thread of `pid` through which its memory can be read and /proc shows its
 * program: `pid` itself unless that thread has ended while others live; 0: the
 * process has ended. */
pid_t rec_process_task(pid_t pid);

/* The identity of a process among others. */
typedef struct rec_process_facts {
    uint64_t inner_pid;    /* in its own pid namespace */
    uint64_t inner_parent; /* of its parent in the same; 0: another namespace */
    uint64_t start_us;     /* wall clock, since 1970; 0: not known */
    char scope[80];        /* boot and pid namespace: pids of processes with an
                            * equal scope come from one numbering */
} rec_process_facts;

/* A number that changes when the process executes a program, maps something, or
 * its first thread runs: equal numbers show that it did none of these
 * meanwhile.  Never 0. */
uint64_t rec_process_print(pid_t pid);

/* Never fails: unknown members are 0 or empty, and an unknown pid is the one in
 * our namespace. */
void rec_process_facts_read(pid_t pid, rec_process_facts *ret);

/* Set *err to the reason why pyrec may not read the memory of pid, and the
 * remedy: uid, capability, Yama level, not dumpable, seccomp, already traced.
 * Returns PR_DENIED, or PR_NO_PROCESS if it has ended. */
pr_code rec_process_explain_denied(pid_t pid, int error, pr_err *err);

/* The kernel's id, in pyrec's namespace, of the thread `tid` of the target; 0
 * if there is none.  Costs nothing in the common case of one namespace. */
pid_t rec_process_host_tid(const rec_process *process, uint64_t tid);

/* Thread ids in our namespace; the caller frees. */
pr_code rec_process_threads(pid_t pid, pid_t **ret, size_t *ret_n, pr_err *err);

/* Children of pid, or all descendants, in order of pid.  The caller frees
 * *ret; *ret_n may be 0. */
pr_code rec_process_children(pid_t pid, bool recursive, pid_t **ret,
                             size_t *ret_n, pr_err *err);

/* A line of /proc/PID/maps. */
typedef struct rec_mapping {
    uint64_t start, end, offset;
    uint64_t device, inode;
    bool executable, writable;
    char *path; /* owned; may be empty; " (deleted)" is stripped */
} rec_mapping;

typedef struct rec_maps {
    rec_mapping *v;
    size_t n;
} rec_maps;

pr_code rec_maps_read(pid_t pid, rec_maps *ret, pr_err *err);
void rec_maps_release(rec_maps *maps);

/* Open the file of a mapping, whatever the path means in this mount namespace:
 * map_files, /proc/PID/root + path, path; the inode decides.  Read-only,
 * O_NONBLOCK, regular files only.  Returns a descriptor or -1. */
int rec_maps_open(pid_t pid, const rec_mapping *mapping);

#endif
