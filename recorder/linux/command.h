/*
 * command.h - a command that is started to be recorded.
 */
#ifndef RECORDER_LINUX_COMMAND_H
#define RECORDER_LINUX_COMMAND_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <sys/types.h>

/* The status of a command if something else waited for it first. */
enum { REC_COMMAND_UNKNOWN = 255 };

typedef struct rec_command {
    pid_t pid;
    int pidfd; /* becomes readable when it has ended; -1: kernels before 5.3 */
    bool ended;
    int status; /* once ended: its exit status, or 128 + the signal */
} rec_command;

/* Start argv[0] (looked up in PATH) with our standard streams.  PR_IO with
 * err->sys ENOENT when there is no such command, another errno when it cannot
 * be run. */
pr_code rec_command_start(char *const argv[], rec_command *ret, pr_err *err);

/* May argv[0] of a command have been a Python?  Yes if the file is named
 * python... or is a script, which may execute one; no if it is an ELF file of
 * another name. */
bool rec_command_may_be_python(const char *name);

/* Set child->ended and child->status if the command has ended.  Never waits,
 * and takes only the report of its end: a thread of pyrec may trace the
 * command, and the reports of its stops are for that thread (ptrace_stop.h). */
void rec_command_poll(rec_command *child);

/* Pass a signal on, if it still lives. */
void rec_command_signal(const rec_command *child, int signal);

/* Close its descriptors; the command itself runs on. */
void rec_command_release(rec_command *child);

#endif
