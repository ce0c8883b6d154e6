/*
 * segments.h - the parts of a file with checkpoints.
 */
#ifndef FORMAT_READ_SEGMENTS_H
#define FORMAT_READ_SEGMENTS_H

#include "format/read/reader_internal.h"

/* The parts, by the index or by a search.  PR_END: it has no checkpoint. */
pr_code pf_open_segments(pf_reader *r, pr_err *err);

/* The tables of a finished one say what its checkpoints say; a difference is
 * a fault. */
pr_code pf_check_tables(pf_reader *r, pr_err *err);

#endif
