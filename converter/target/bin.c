/*
 * bin.c - a profile file again, without a model on the way: nothing is lost.
 */
#include "converter/target/table.h"

#include <pyrec/writer.h>

/* For keeping, not for recording: compressed once, as small as it gets.  On a
 * million samples of a busy program level 12 makes 0.96 of the records of
 * CPython 3.15, 17 0.89, 19 0.88 at 2.5 MB/s; larger segments than its window
 * of 8 MiB gain nothing. */
enum {
    ARCHIVE_LEVEL = 19,
    MERGE_LEVEL = 1, /* many files at once: time counts, and 3 saves 2 % */
    ARCHIVE_SEGMENT = 8 * 1024 * 1024,
    ARCHIVE_CHECKPOINT_US = 0x7fffffff
};

static pr_code
open_bin(conv_job *job, pr_sink **ret, pr_err *err)
{
    const conv_opts *opts = job->opts;
    pf_writer_opts writer = PF_WRITER_OPTS_INIT;
    writer.level = job->n_inputs > 1 ? MERGE_LEVEL : ARCHIVE_LEVEL;
    if (opts->zstd_level)
        writer.level = opts->zstd_level;
    writer.segment_bytes = ARCHIVE_SEGMENT;
    writer.checkpoint_us = ARCHIVE_CHECKPOINT_US;
    writer.force = 1; /* the temporary file is there already */
    if (opts->no_compression)
        writer.compression = PF_COMPRESSION_NONE;
    return pf_writer_open(conv_out_path(job->out), &writer, ret, err);
}

const conv_target conv_bin = {
    .info = {"bin", ".new.bin .bin",
             "a profile again: repaired, cut, merged, compressed harder",
             "pyconv, pyquery, python3.15 -m profiling.sampling replay"},
    .takes = CONV_TAKES_COMPRESSION,
    .by_path = true,
    .is_profile = true,
    .open = open_bin,
};
