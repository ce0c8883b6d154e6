/*
 * source.h - feed the files of a conversion to one sink.
 *
 * Files of one process follow each other by their start times.  Files of
 * several processes begin at their wall clock times; if one of them does not
 * know its time, each process begins at 0.
 */
#ifndef CONVERTER_INPUT_SOURCE_H
#define CONVERTER_INPUT_SOURCE_H

#include <pyrec/convert.h>
#include <stdbool.h>

typedef struct conv_sources conv_sources;

/* from: the name of an import, "bin", or NULL; memory: the budget of each file.
 * One file at a time is open, here and in conv_sources_feed().  Codes of
 * conv_recording_open(); PR_USAGE if two files hold the same recording. */
pr_code conv_sources_open(const char *const *path, size_t n, const char *from,
                          uint64_t memory, conv_sources **ret, pr_err *err);

/* The same for a comparison: path[0] is its base, and the others are of other
 * processes and begin at its time 0.  The processes of the base have the
 * indices 0 to *ret_base - 1. */
pr_code conv_sources_open_base(const char *const *path, size_t n,
                               const char *from, uint64_t memory,
                               conv_sources **ret, uint32_t *ret_base,
                               pr_err *err);
void conv_sources_free(conv_sources *sources); /* takes NULL */

/* The path of the first input, if the inputs have sums of functions in place of
 * stacks (pr_total), else NULL. */
const char *conv_sources_totals(const conv_sources *sources);

/* PR_NEWER if only a newer version may rewrite one of them. */
pr_code conv_sources_check_rewrite(const conv_sources *sources, pr_err *err);

/* Replay all files into the sink, and end it: finish() with PR_OK, or PR_CUT or
 * PR_DAMAGED if a part is missing; abort() with any other code.
 * one_namespace: see merge.h. */
pr_code conv_sources_feed(conv_sources *sources, const conv_opts *opts,
                          pr_sink *sink, bool one_namespace,
                          uint64_t *ret_samples, pr_err *err);

#endif
