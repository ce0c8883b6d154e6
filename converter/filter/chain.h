/*
 * chain.h - the filters between a profile and its target (spec/convert.md 3).
 *
 * Each is a sink of its own and costs O(changed frames) a delta; one that is
 * not asked for is not there.  In the order of the flow: paths are renamed,
 * samples are dropped, frames are hidden, deep stacks are shortened.
 */
#ifndef CONVERTER_FILTER_CHAIN_H
#define CONVERTER_FILTER_CHAIN_H

#include <pyrec/convert.h>
#include <stdbool.h>

/* Gets the moment of each sample that is left out, so that the sample before
 * it does not stand for its time. */
typedef struct conv_skip {
    void (*skip)(void *context, uint32_t thread, uint64_t time_us);
    void *context;
} conv_skip;

/* The work of the filters; the caller's, and filled when they finish. */
typedef struct conv_filtered {
    char unmatched[128]; /* a name that meant nothing; "": all did */
} conv_filtered;

/* Put the filters in front of `next`, which *ret owns from here on: ending
 * *ret ends it.  keep_frames: hide nothing that is not asked for.  finish()
 * fails with PR_USAGE if the profile cannot answer what was asked, and with
 * PR_NAME if no sample is left. */
pr_code conv_filters_open(const conv_filters *filters, uint32_t max_depth,
                          bool keep_frames, const conv_skip *skip,
                          conv_filtered *filtered, pr_sink *next, pr_sink **ret,
                          pr_err *err);

/* Is any sample or frame left out, or any name changed? */
bool conv_filters_given(const conv_filters *filters);

#endif
