/*
 * schedule.h - pyrec --every: recordings on a schedule into a folder.
 */
#ifndef RECORDER_SCHEDULE_H
#define RECORDER_SCHEDULE_H

#include "recorder/options.h"

/* Record until a signal ends it or the one process of -p has ended.  Returns
 * the exit status of pyrec. */
int rec_schedule_run(const rec_options *options);

#endif
