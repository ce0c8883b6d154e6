/*
 * logs.h - the natural logarithms of each function's seconds in each run, and
 * the centres of the runs.
 */
#ifndef CONVERTER_COMPARE_LOGS_H
#define CONVERTER_COMPARE_LOGS_H

#include <pyrec/compare.h>
#include <stdbool.h>

typedef struct conv_logs {
    size_t n_functions, n_runs;
    double *raw;       /* [function][run]: of seconds, or of seconds a unit */
    double *scaled;    /* the same on the scale of the comparison */
    double *factor;    /* [run]: the common factor of its functions */
    double *count;     /* [function]: mean samples in a run of the base */
    size_t *reference; /* [n_references]: the functions that make the centre */
    size_t n_references; /* 0: no centre, `factor` is that of all seconds */
    conv_scale scale;    /* seconds, if the centred scale is not possible */
} conv_logs;

pr_code conv_logs_build(const conv_sides *sides, conv_scale scale,
                        conv_logs *ret, pr_err *err);
void conv_logs_release(conv_logs *logs);

bool conv_is_one_against_one(const conv_sides *sides);

#endif
