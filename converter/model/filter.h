/*
 * filter.h - a sink in front of another that hides frames.
 *
 * Hidden are the frames of CPython 3.15's own profiler, which stand at the
 * bottom of every stack it recorded of a script it ran itself
 * (Lib/profiling/sampling/constants.py _INTERNAL_FRAME_SUFFIXES); its own
 * outputs hide them too.
 */
#ifndef CONVERTER_MODEL_FILTER_H
#define CONVERTER_MODEL_FILTER_H

#include <pyrec/sink.h>

/* Ending the filter ends `next`, which it owns from here on. */
pr_code conv_filter_new(pr_sink *next, pr_sink **ret, pr_err *err);

#endif
