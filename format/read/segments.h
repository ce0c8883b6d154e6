/*
 * segments.h - open a file with checkpoints.
 */
#ifndef FORMAT_READ_SEGMENTS_H
#define FORMAT_READ_SEGMENTS_H

#include "format/read/reader_internal.h"

/* Find and take all whole segments, by the index or by a search, and judge the
 * file (verdict.h).  PR_END: it has no whole checkpoint; PR_NEWER, PR_LIMIT,
 * PR_IO, PR_NOMEM. */
pr_code pf_open_segments(pf_reader *r, pr_err *err);

#endif
