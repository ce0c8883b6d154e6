/*
 * child.h - a command that is started to be recorded.
 */
#ifndef RECORDER_CHILD_H
#define RECORDER_CHILD_H

#include <pyrec/base.h>
#include <sys/types.h>

typedef struct rec_child {
    pid_t pid;
    bool ended;
    int status; /* once ended: its exit status, or 128 + the signal */
} rec_child;

/* Start argv[0] (looked up in PATH) with our standard streams.  PR_IO with
 * err->sys ENOENT when there is no such command, another errno when it cannot
 * be run. */
pr_code rec_child_start(char *const argv[], rec_child *ret, pr_err *err);

/* Look whether it has ended; never waits. */
void rec_child_poll(rec_child *child);

/* Wait for its end, however often a signal interrupts. */
void rec_child_wait(rec_child *child);

/* Pass a signal on, if it still lives. */
void rec_child_signal(const rec_child *child, int signal);

#endif
