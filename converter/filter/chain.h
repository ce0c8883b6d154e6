/*
 * chain.h - the filters between a profile and its target (spec/convert.md 3).
 *
 * Each filter is a sink and costs O(changed frames) a delta; a filter without
 * an option is not in the chain.  The chain renames paths, then drops samples,
 * then hides frames, then shortens deep stacks.
 */
#ifndef CONVERTER_FILTER_CHAIN_H
#define CONVERTER_FILTER_CHAIN_H

#include <pyrec/convert.h>
#include <stdbool.h>

/* skip() gets the time of each sample that is left out, so that the sample
 * before it does not stand for its time. */
typedef struct conv_skip {
    void (*skip)(void *context, uint32_t thread, uint64_t time_us);
    void *context;
} conv_skip;

/* The work of the filters, which fill it when they finish; the caller's. */
typedef struct conv_filtered {
    char unmatched[128]; /* a name that means nothing; "": none */
} conv_filtered;

/* Put the filters before `next`, which *ret owns from here on: the end of *ret
 * ends it.  keep_frames: hide only the frames that the options name.  finish()
 * fails with PR_USAGE if the profile does not know a state that `where` names,
 * and with PR_NAME if no sample is left. */
pr_code conv_filters_open(const conv_filters *filters, uint32_t max_depth,
                          bool keep_frames, const conv_skip *skip,
                          conv_filtered *filtered, pr_sink *next, pr_sink **ret,
                          pr_err *err);

/* Is any sample or frame left out, or any name changed? */
bool conv_filters_given(const conv_filters *filters);

#endif
