/*
 * job.h - the steps of a conversion that conv_run() and the archive share.
 */
#ifndef CONVERTER_JOB_JOB_H
#define CONVERTER_JOB_JOB_H

#include "converter/target/target.h"

/* Check the options against the target, and choose the ones that are left to
 * the target. */
pr_code conv_job_plan(const conv_target *target, const conv_opts *opts,
                      const char *source, conv_job *ret, pr_err *err);

/* Convert one input, as a profile of its own, into a target that has begun; its
 * name for the target is job->source.  Codes as conv_run(); adds to
 * *report. */
pr_code conv_job_add(const char *path, const conv_target *target, conv_job *job,
                     conv_report *report, pr_err *err);

/* Does a conversion with this code have a result, whole or in part? */
bool conv_job_delivered(pr_code rc);

#endif
