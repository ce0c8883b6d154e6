/*
 * bin.c - reader to writer, without a model: nothing is lost on the way.
 */
#include "converter/target/bin.h"

#include <pyrec/writer.h>

/* For keeping, not for recording: compressed once, as small as it gets.  On a
 * million samples of a busy program level 12 makes 0.96 of the records of
 * CPython 3.15, 17 0.89, 19 0.88 at 2.5 MB/s; larger segments than its window
 * of 8 MiB gain nothing. */
enum {
    ARCHIVE_LEVEL = 19,
    ARCHIVE_SEGMENT = 8 * 1024 * 1024,
    ARCHIVE_CHECKPOINT_US = 0x7fffffff
};

pr_code
conv_bin_write(conv_sources *sources, const conv_opts *opts,
               const conv_outfile *out, uint64_t *ret_samples, pr_err *err)
{
    pr_code rc = conv_sources_check_rewrite(sources, err);
    if (rc != PR_OK)
        return rc;
    pf_writer_opts writer = PF_WRITER_OPTS_INIT;
    writer.level = opts->zstd_level ? opts->zstd_level : ARCHIVE_LEVEL;
    writer.segment_bytes = ARCHIVE_SEGMENT;
    writer.checkpoint_us = ARCHIVE_CHECKPOINT_US;
    writer.force = 1; /* the temporary file is there already */
    if (opts->no_compression)
        writer.compression = PF_COMPRESSION_NONE;
    pr_sink *sink;
    rc = pf_writer_open(conv_out_path(out), &writer, &sink, err);
    if (rc != PR_OK)
        return rc;
    return conv_sources_feed(sources, opts, sink, true, ret_samples, err);
}

const conv_target conv_bin = {
    .info = {"bin", ".new.bin",
             "a profile again: repaired, cut, merged, compressed harder"},
    .level = CONV_LEVEL_DEFAULT,
    .level_fixed = true,
    .time_fixed = true,
    .by_path = true,
};
