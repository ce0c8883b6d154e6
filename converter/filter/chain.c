/*
 * chain.c - from the end of the flow to its beginning.
 */
#include "converter/filter/stages.h"

bool
conv_filters_given(const conv_filters *f)
{
    return f->where || f->hide_native || f->threads.n || f->focus.n ||
           f->ignore.n || f->hide.n || f->strip_prefix.n || f->map.n;
}

static pr_code
open_stages(const conv_filters *f, uint32_t max_depth, bool keep_frames,
            const conv_skip *skip, conv_filtered *filtered, pr_sink **sink,
            pr_err *err)
{
    pr_code rc = PR_OK;
    if (max_depth)
        rc = conv_depth_filter(max_depth, *sink, sink, err);
    if (rc == PR_OK && (!keep_frames || f->hide_native || f->hide.n))
        rc = conv_frame_filter(f, !keep_frames, filtered, *sink, sink, err);
    if (rc == PR_OK && (f->where || f->threads.n || f->focus.n || f->ignore.n))
        rc = conv_sample_filter(f, skip, filtered, *sink, sink, err);
    if (rc == PR_OK && (f->strip_prefix.n || f->map.n))
        rc = conv_path_filter(f, *sink, sink, err);
    if (rc == PR_OK && f->settled_us)
        rc = conv_settled_filter(f->settled_us, skip, *sink, sink, err);
    return rc;
}

pr_code
conv_filters_open(const conv_filters *filters, uint32_t max_depth,
                  bool keep_frames, const conv_skip *skip,
                  conv_filtered *filtered, pr_sink *next, pr_sink **ret,
                  pr_err *err)
{
    pr_sink *first = next;
    pr_code rc = open_stages(filters, max_depth, keep_frames, skip, filtered,
                             &first, err);
    if (rc == PR_OK)
        *ret = first;
    else
        first->ops->abort(first);
    return rc;
}
