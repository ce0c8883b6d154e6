/*
 * top.h - a recording with a live view of it.
 */
#ifndef RECORDER_TOP_H
#define RECORDER_TOP_H

#include "recorder/options.h"

/* Split in two: this process becomes pyquery, which shows the recording and
 * ends it when its user quits; a child returns PR_OK and records.  Without an
 * output the recording goes to a temporary file, which pyquery removes.
 * PR_USAGE without a terminal; PR_IO. */
pr_code rec_top_split(rec_options *options, pr_err *err);

#endif
