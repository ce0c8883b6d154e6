/*
 * ptrace_stop.h - stop all threads of the target for the moment of a read;
 * opt-in.
 *
 * Each stop seizes every thread and interrupts it, and each resume detaches
 * again: between two stops the target is not traced, signals reach it as
 * always, and a debugger may attach.  By measurement this costs no more than
 * staying attached.
 *
 * Deadlines  No call waits longer than the limits below.  A thread that the
 *         kernel holds (state D: a frozen cgroup, a dead file server) cannot
 *         stop and cannot be detached.  It stays seized until a later call
 *         finds it stopped; rec_ptrace_serve() is that call between two stops.
 * Death   PTRACE_O_EXITKILL is not set.  When the thread that seized ends, or
 *         the recorder is killed, the kernel detaches from all threads and
 *         they run on (kernel/ptrace.c, exit_ptrace()).
 * Threads ptrace(2) belongs to the calling thread: all calls of one rec_ptrace
 *         but rec_ptrace_release() come from one thread.  That thread should
 *         run on the CPU of the thread that it wants to see: interrupted from
 *         another CPU, a running thread goes on until its next way out of the
 *         kernel, and system calls are overstated.
 */
#ifndef RECORDER_LINUX_PTRACE_STOP_H
#define RECORDER_LINUX_PTRACE_STOP_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    REC_PTRACE_STOP_MS = 500, /* for all threads to stop */
    REC_PTRACE_RESUME_MS = 10 /* of a resume, for threads held in the kernel */
};

typedef struct rec_ptrace_thread {
    pid_t tid;
    int signal;   /* to deliver when the thread goes on, or 0 */
    bool stopped; /* false: held in the kernel, stops before user code */
    bool late;    /* a resume could not detach from it */
} rec_ptrace_thread;

typedef struct rec_ptrace {
    pid_t pid;
    bool own_child; /* its exit status is for the code that started it */
    rec_ptrace_thread *thread;
    size_t n, cap;
} rec_ptrace;

void rec_ptrace_init(rec_ptrace *pause, pid_t pid);

/* Stop all threads, those born meanwhile included.  On return no thread of the
 * target executes user code until rec_ptrace_resume().  On failure the target
 * runs: PR_DENIED (not allowed, or traced by another process), PR_NO_PROCESS,
 * PR_TORN (a thread did not stop in time). */
pr_code rec_ptrace_stop(rec_ptrace *pause, pr_err *err);

/* Let all go on, with the signals that came meanwhile.  A thread that is held
 * in the kernel is waited for once, REC_PTRACE_RESUME_MS.  Idempotent. */
void rec_ptrace_resume(rec_ptrace *pause);

/* Let go of the threads that could not be detached before.  Never waits, and
 * costs nothing when there are none. */
void rec_ptrace_serve(rec_ptrace *pause);

/* Resume and free.  Called from another thread than the one that seized, it
 * only frees: the kernel detaches from the threads that are still seized when
 * the seizing thread ends. */
void rec_ptrace_release(rec_ptrace *pause);

#endif
