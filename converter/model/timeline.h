/*
 * timeline.h - the runs of a thread as spans of time that do not overlap.
 *
 * A span begins with its first sample, or at the end of the last span, and is
 * as long as the time that its samples stand for.  No sample stands for the
 * time between two spans.
 */
#ifndef CONVERTER_MODEL_TIMELINE_H
#define CONVERTER_MODEL_TIMELINE_H

#include "converter/model/model.h"

typedef struct conv_span {
    uint64_t start_us, end_us;
    uint64_t n; /* samples */
    uint32_t node;
    uint8_t status;
} conv_span;

typedef struct conv_timeline {
    conv_cursor cursor;
    uint64_t now_us;
} conv_timeline;

static inline void
conv_timeline_init(conv_timeline *line, const conv_thread *thread)
{
    conv_cursor_init(&line->cursor, thread);
    line->now_us = 0;
}

/* The next span that has a length; false past the end. */
static inline bool
conv_timeline_next(conv_timeline *line, conv_span *ret)
{
    conv_model_run run;
    do
        if (!conv_cursor_next(&line->cursor, &run))
            return false;
    while (run.weight_us == 0);
    if (run.first_us > line->now_us)
        line->now_us = run.first_us;
    *ret = (conv_span){line->now_us, line->now_us + run.weight_us, run.n,
                       run.node, run.status};
    line->now_us = ret->end_us;
    return true;
}

#endif
