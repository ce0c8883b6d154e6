/*
 * source.h - the files that are converted, fed to one sink.
 *
 * Files of one process follow each other by their start times.  Files of
 * several processes lie where the wall clock says; if one of them does not know
 * it, each process begins at 0.
 */
#ifndef CONVERTER_INPUT_SOURCE_H
#define CONVERTER_INPUT_SOURCE_H

#include <pyrec/convert.h>
#include <stdbool.h>

typedef struct conv_sources conv_sources;

/* from: the name of an import, "bin", or NULL; memory: the budget of each file.
 * Several files are opened one at a time, here and when they are fed.  Codes of
 * conv_recording_open(); PR_USAGE if two of them hold the same recording. */
pr_code conv_sources_open(const char *const *path, size_t n, const char *from,
                          uint64_t memory, conv_sources **ret, pr_err *err);

/* The same for a comparison: path[0] is its base, the others are of other
 * processes and begin with it.  The processes of the base have the indices
 * 0 to *ret_base - 1. */
pr_code conv_sources_open_base(const char *const *path, size_t n,
                               const char *from, uint64_t memory,
                               conv_sources **ret, uint32_t *ret_base,
                               pr_err *err);
void conv_sources_free(conv_sources *sources); /* takes NULL */

/* The first input's path if they have sums of functions in place of stacks
 * (pr_total), else NULL. */
const char *conv_sources_totals(const conv_sources *sources);

/* PR_NEWER if one of them asks that a newer version rewrites it. */
pr_code conv_sources_check_rewrite(const conv_sources *sources, pr_err *err);

/* Replay all into the sink and end it: finished with PR_OK, or with PR_CUT or
 * PR_DAMAGED if some is missing; aborted with any other code.
 * one_namespace: see merge.h. */
pr_code conv_sources_feed(conv_sources *sources, const conv_opts *opts,
                          pr_sink *sink, bool one_namespace,
                          uint64_t *ret_samples, pr_err *err);

#endif
