/*
 * bin.h - a profile file again: repaired, cut to a range, merged, or
 * compressed harder.
 */
#ifndef CONVERTER_TARGET_BIN_H
#define CONVERTER_TARGET_BIN_H

#include "converter/input/source.h"
#include "converter/target/target.h"

extern const conv_target conv_bin;

/* Codes of conv_run(). */
pr_code conv_bin_write(conv_sources *sources, const conv_opts *opts,
                       const conv_outfile *out, uint64_t *ret_samples,
                       pr_err *err);

#endif
