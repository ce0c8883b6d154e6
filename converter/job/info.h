/*
 * info.h - the content of a profile file, as lines of text.
 */
#ifndef CONVERTER_JOB_INFO_H
#define CONVERTER_JOB_INFO_H

#include <base/buffer.h>
#include <pyrec/error.h>

/* Append the lines to `text`.  Reads the whole file for the counts of records;
 * memory: its budget (pf_reader_opts).  PR_OK; PR_CUT or PR_DAMAGED with the
 * text of the rest; any other code without a text. */
pr_code conv_info(const char *path, uint64_t memory, pr_buffer *text,
                  pr_err *err);

#endif
