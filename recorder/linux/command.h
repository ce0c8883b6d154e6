/*
 * command.h - a command that is started to be recorded.
 */
#ifndef RECORDER_LINUX_COMMAND_H
#define RECORDER_LINUX_COMMAND_H

#include <base/base.h>
#include <sys/types.h>

typedef struct rec_command {
    pid_t pid;
    bool ended;
    int status; /* once ended: its exit status, or 128 + the signal */
} rec_command;

/* Start argv[0] (looked up in PATH) with our standard streams.  PR_IO with
 * err->sys ENOENT when there is no such command, another errno when it cannot
 * be run. */
pr_code rec_command_start(char *const argv[], rec_command *ret, pr_err *err);

/* Look whether it has ended; never waits. */
void rec_command_poll(rec_command *child);

/* Wait for its end, however often a signal interrupts. */
void rec_command_wait(rec_command *child);

/* Pass a signal on, if it still lives. */
void rec_command_signal(const rec_command *child, int signal);

#endif
