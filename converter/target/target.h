/*
 * target.h - what the converter knows of a target, and a target of its job.
 *
 * A target is one file with one conv_target; it reads a finished model and
 * writes an output.  convert.c has the list.
 */
#ifndef CONVERTER_TARGET_TARGET_H
#define CONVERTER_TARGET_TARGET_H

#include "converter/encode/outfile.h"
#include "converter/model/model.h"

typedef struct conv_job {
    const conv_model *model;
    const char *source; /* name of the (first) input */
    bool stock;         /* --style stock */
    conv_level level;   /* never the default */
    conv_time time;     /* never the default */
    uint32_t max_depth; /* 0: the target's own */
    conv_outfile *out;
    uint64_t names_changed; /* for the report; the target adds to it */
} conv_job;

typedef struct conv_target {
    conv_target_info info;
    conv_level level; /* its default */
    bool level_fixed; /* there is no other */
    bool time_fixed;
    bool has_stock;     /* CPython 3.15 writes it too */
    bool has_max_depth; /* it can leave frames out */
    bool by_path;       /* the output is made by path: no stream */
    conv_time time;     /* its default */
    pr_code (*write)(conv_job *job, pr_err *err);
} conv_target;

extern const conv_target conv_collapsed, conv_speedscope, conv_pstats,
    conv_sqlite;

#endif
