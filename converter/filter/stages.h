/*
 * stages.h - the filters by themselves.
 *
 * A filter takes over `next`.  After a failure, `next` is as it was.
 */
#ifndef CONVERTER_FILTER_STAGES_H
#define CONVERTER_FILTER_STAGES_H

#include "converter/filter/chain.h"

pr_code conv_path_filter(const conv_filters *filters, pr_sink *next,
                         pr_sink **ret, pr_err *err);
pr_code conv_sample_filter(const conv_filters *filters, const conv_skip *skip,
                           conv_filtered *filtered, pr_sink *next,
                           pr_sink **ret, pr_err *err);
pr_code conv_frame_filter(const conv_filters *filters, bool hide_internal,
                          conv_filtered *filtered, pr_sink *next, pr_sink **ret,
                          pr_err *err);
pr_code conv_settled_filter(uint64_t until_us, const conv_skip *skip,
                            pr_sink *next, pr_sink **ret, pr_err *err);
pr_code conv_depth_filter(uint32_t max_depth, pr_sink *next, pr_sink **ret,
                          pr_err *err);

#endif
