/*
 * report_file.h - the files of a check's reports.
 */
#ifndef QUERY_REPORT_FILE_H
#define QUERY_REPORT_FILE_H

#include "query/database/inputs.h"

/* PR_USAGE if a report would replace anything but an earlier report or an empty
 * file, one of the inputs, the standard output, or another report.  A path may
 * be NULL. */
pr_code q_report_files_refuse(const char *const *path, size_t n,
                              const q_inputs *inputs, pr_err *err);

/* A regular file gets the text whole or stays as it was; a pipe, a device or an
 * open descriptor, as /dev/stdout, gets it at its end. */
pr_code q_report_file_write(const char *path, const char *text, size_t n,
                            pr_err *err);

#endif
