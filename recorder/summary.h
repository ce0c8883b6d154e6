/*
 * summary.h - what is said of a recording when it is over: what came of it,
 * what is missing, and what to do about that.
 */
#ifndef RECORDER_SUMMARY_H
#define RECORDER_SUMMARY_H

#include "recorder/linux/descendants.h"
#include "recorder/record.h"
#include <stdio.h>

void rec_summary_print(FILE *to, const rec_report *report,
                       const rec_options *options, pid_t pid,
                       const char *output);

/* Of those of one run of pyrec. */
void rec_summary_print_children(FILE *to, const rec_descendants_report *report,
                                uint64_t recorded, uint64_t gone);

#endif
