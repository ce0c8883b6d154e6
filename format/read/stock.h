/*
 * stock.h - open a file of CPython, which has no checkpoints.
 */
#ifndef FORMAT_READ_STOCK_H
#define FORMAT_READ_STOCK_H

#include "format/read/reader_internal.h"

/* Read footer and tables, after pf_header_parse().  PR_CUT: the file has no
 * footer; PR_FOREIGN: a pre-release of CPython 3.15 wrote it; PR_DAMAGED,
 * PR_NEWER, PR_LIMIT, PR_IO, PR_NOMEM. */
pr_code pf_open_stock(pf_reader *r, pr_err *err);

#endif
