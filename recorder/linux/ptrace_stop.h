/*
 * ptrace_stop.h - stop all threads of the target for the moment of a read, opt-in.
 *
 * Each stop seizes every thread and interrupts it, and each resume detaches
 * again: between two stops the target is not traced, signals reach it as
 * always, and a debugger may come.  Measured, this costs no more than staying
 * attached.  If the recorder dies while the target stands still, the kernel
 * detaches and the target goes on.
 *
 * The calls of one rec_ptrace must come from one thread (ptrace(2) belongs to
 * the thread), and that thread should be pinned to the CPU of the thread it
 * wants to see: interrupted from another CPU, a running thread gets on until
 * its next way out of the kernel, and system calls are overstated.
 */
#ifndef RECORDER_LINUX_PTRACE_STOP_H
#define RECORDER_LINUX_PTRACE_STOP_H

#include <base/base.h>
#include <sys/types.h>

typedef struct rec_ptrace_thread {
    pid_t tid;
    int signal;   /* to be delivered when it goes on, or 0 */
    bool stopped; /* false: held in the kernel, stops before user code */
} rec_ptrace_thread;

typedef struct rec_ptrace {
    pid_t pid;
    rec_ptrace_thread *thread;
    size_t n, cap;
} rec_ptrace;

void rec_ptrace_init(rec_ptrace *pause, pid_t pid);

/* Stop all threads, those born meanwhile included.  On return no thread of the
 * target executes user code until rec_ptrace_resume().  On failure the target
 * runs: PR_DENIED (not allowed, or traced by somebody), PR_NO_PROCESS. */
pr_code rec_ptrace_stop(rec_ptrace *pause, pr_err *err);

/* Let all go on, with the signals that came meanwhile.  Idempotent. */
void rec_ptrace_resume(rec_ptrace *pause);

/* Resumes first. */
void rec_ptrace_release(rec_ptrace *pause);

#endif
