/*
 * candidates.h - the processes that a pattern names.
 */
#ifndef RECORDER_CANDIDATES_H
#define RECORDER_CANDIDATES_H

#include "recorder/timetable.h"

/* The processes of /proc whose NAME (output_name.h) or comm (proc_pid_comm(5))
 * matches `pattern` (fnmatch(3)), but not this process; or `pid`, if pattern is
 * NULL.  They need not be Pythons.  The caller frees *ret. */
pr_code rec_candidates_find(const char *pattern, pid_t pid, rec_candidate **ret,
                            size_t *ret_n, pr_err *err);

#endif
