/*
 * taskdump.h - the asyncio tasks of a process and who awaits whom, once.
 */
#ifndef RECORDER_TASKDUMP_H
#define RECORDER_TASKDUMP_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Write all tasks, as text or JSON.  Codes as rec_unwinder_open(); PR_NAME:
 * the process has not imported asyncio. */
pr_code rec_taskdump_process(pid_t pid, FILE *to, bool json, pr_err *err);

#endif
