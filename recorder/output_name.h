/*
 * output_name.h - the names of the files of one recording.
 *
 *     run.bin        the process itself (-o run.bin)
 *     run.42.bin     its descendant 42
 *     run.42-2.bin   another descendant with this pid, later
 *
 * Without -o the first one is pyrec-NAME-PID-TIME.bin.
 */
#ifndef RECORDER_OUTPUT_NAME_H
#define RECORDER_OUTPUT_NAME_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

/* "app" for `python3 /srv/app.py`: the script or module that the process runs,
 * else its program; "process" if it has neither.  Letters that need no quoting
 * only. */
enum { REC_NAME_MOST = 32 };
void rec_output_name_of(pid_t pid, char to[REC_NAME_MOST + 1]);

/* "pyrec-app-4711-20260131-235959.bin" for `python3 app.py`; NAME is the script
 * or module, else the program.  malloc'ed; NULL: out of memory. */
char *rec_output_default(pid_t pid, time_t now);

/* The output of the `nth` descendant (from 1) with this pid.  malloc'ed; NULL:
 * out of memory. */
char *rec_output_of_child(const char *output, pid_t pid, unsigned nth);

/* run.*.bin, for a message.  malloc'ed; NULL: out of memory. */
char *rec_output_pattern(const char *output);

/* Refuse an output that the writer would refuse, before a command is started.
 * PR_EXISTS without `force`; PR_USAGE: it is not a regular file. */
pr_code rec_output_check(const char *output, bool force, pr_err *err);

/* PR_IO: the folder of the output is missing or may not be written. */
pr_code rec_output_check_folder(const char *output, pr_err *err);

/* Check for files of descendants from an earlier recording of this name.
 * `remove`: remove them (they must be profiles); otherwise PR_EXISTS names one
 * that exists. */
pr_code rec_output_clear(const char *output, bool remove, pr_err *err);

#endif
