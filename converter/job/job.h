/*
 * job.h - the steps of a conversion that conv_run() and the archive share.
 */
#ifndef CONVERTER_JOB_JOB_H
#define CONVERTER_JOB_JOB_H

#include "converter/target/target.h"

/* Check the options against the target and decide what they leave open. */
pr_code conv_job_plan(const conv_target *target, const conv_opts *opts,
                      const char *source, conv_job *ret, pr_err *err);

/* One input, as a profile of its own, into a target that has begun; its name
 * for the target is job->source.  Codes as conv_run(); adds to *report. */
pr_code conv_job_add(const char *path, const conv_target *target, conv_job *job,
                     conv_report *report, pr_err *err);

/* Is there a result with this code, though perhaps not of all? */
bool conv_job_delivered(pr_code rc);

#endif
