/*
 * repeat.h - several recordings of a command, or of several in turn, for a
 * comparison (spec/compare.md, 6).
 *
 * Each is a process of its own: a recording gives up capabilities and leaves
 * signals, threads and caches that the next one must not meet.
 */
#ifndef RECORDER_REPEAT_H
#define RECORDER_REPEAT_H

#include "recorder/options.h"

/* Record options->repeat runs into the folder options->output, and as many of
 * each command of options->turn into its folder.  Returns the exit status of
 * pyrec: 0, or that of the first run that failed, after which none follows. */
int rec_repeat_run(const rec_options *options);

#endif
