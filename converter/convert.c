/*
 * convert.c - from files to a target: the sinks between, the output around.
 */
#include <pyrec/convert.h>

#include "converter/model/filter.h"
#include "converter/target/bin.h"
#include "converter/target/sqlite.h"

#include <sqlite3.h>
#include <sys/stat.h>

static const conv_target *const targets[] = {
    &conv_collapsed, &conv_speedscope, &conv_pstats, &conv_sqlite, &conv_bin};

enum { N_TARGETS = sizeof targets / sizeof *targets };

const conv_target_info *
conv_target_get(size_t i)
{
    return i < N_TARGETS ? &targets[i]->info : NULL;
}

static pr_code
find_target(const char *name, const conv_target **ret, pr_err *err)
{
    for (size_t i = 0; i < N_TARGETS; i++)
        if (strcmp(targets[i]->info.name, name) == 0) {
            *ret = targets[i];
            return PR_OK;
        }
    pr_err_set(err, PR_USAGE, 0, PR_NO_OFFSET, "unknown target '%s'", name);
    pr_err_hint(err, "one of collapsed, speedscope, pstats, sqlite, bin");
    return PR_USAGE;
}

/* ---- options ---- */

static pr_code
refuse(const conv_target *target, const char *what, pr_err *err)
{
    return PR_FAIL(err, PR_USAGE, 0, PR_NO_OFFSET, "target '%s' has no %s",
                   target->info.name, what);
}

static pr_code
check_opts(const conv_target *target, const conv_opts *opts, pr_err *err)
{
    bool stock = opts->style != NULL;
    if (stock && strcmp(opts->style, "stock") != 0)
        return PR_FAIL(err, PR_USAGE, 0, PR_NO_OFFSET, "unknown style '%s'",
                       opts->style);
    if (stock && !target->has_stock)
        return refuse(target, "stock style", err);
    if (stock &&
        (opts->level != CONV_LEVEL_DEFAULT || opts->time != CONV_TIME_DEFAULT))
        return PR_FAIL(err, PR_USAGE, 0, PR_NO_OFFSET,
                       "the stock style has its own level and time");
    if (opts->level != CONV_LEVEL_DEFAULT && target->level_fixed)
        return refuse(target, "choice of lines or functions", err);
    if (opts->time != CONV_TIME_DEFAULT && target->time_fixed)
        return refuse(target, "choice of time", err);
    if (opts->time == CONV_TIME_SAMPLES && target == &conv_sqlite)
        return PR_FAIL(err, PR_USAGE, 0, PR_NO_OFFSET,
                       "target 'sqlite' holds samples beside the time anyway");
    if (opts->max_depth && !target->has_max_depth)
        return refuse(target, "greatest depth", err);
    if ((opts->zstd_level || opts->no_compression) && target != &conv_bin)
        return refuse(target, "compression", err);
    if (opts->from_us >= opts->to_us)
        return PR_FAIL(err, PR_USAGE, 0, PR_NO_OFFSET,
                       "the range of time is empty");
    return PR_OK;
}

static void
init_job(conv_job *job, const conv_target *target, const conv_opts *opts,
         const char *source)
{
    *job = (conv_job){.source = source,
                      .stock = opts->style != NULL,
                      .level = opts->level,
                      .time = opts->time,
                      .max_depth = opts->max_depth};
    if (job->level == CONV_LEVEL_DEFAULT)
        job->level = job->stock ? CONV_LEVEL_LINE : target->level;
    if (job->time == CONV_TIME_DEFAULT)
        job->time = job->stock ? CONV_TIME_SAMPLES : target->time;
}

/* ---- model ---- */

/* Codes of conv_sources_feed(); with PR_CUT and PR_DAMAGED there is a model. */
static pr_code
build_model(conv_sources *sources, const conv_opts *opts, const conv_job *job,
            conv_model **ret, pr_err *err)
{
    const conv_model_opts how = {
        .level = job->level, .time = job->time, .no_first_lines = job->stock};
    conv_model *model;
    pr_sink *filter;
    uint64_t samples;
    pr_code rc = conv_model_new(&how, &model, err);
    if (rc != PR_OK)
        return rc;
    rc = conv_filter_new(conv_model_sink(model), &filter, err);
    if (rc == PR_OK)
        rc = conv_sources_feed(sources, opts, filter, false, &samples, err);
    if (rc == PR_OK || rc == PR_CUT || rc == PR_DAMAGED)
        *ret = model;
    else
        conv_model_free(model);
    return rc;
}

/* A later failure counts more than missing input. */
static pr_code
then(pr_code had, pr_code rc, pr_err *err, const pr_err *later)
{
    if (rc == PR_OK)
        return had;
    if (err)
        *err = *later;
    return rc;
}

static pr_code
write_model(conv_sources *sources, const conv_target *target,
            const conv_opts *opts, conv_job *job, conv_report *report,
            pr_err *err)
{
    conv_model *model = NULL;
    pr_code had = build_model(sources, opts, job, &model, err);
    if (!model)
        return had;
    job->model = model;
    job->time = model->opts.time;
    pr_err later = PR_ERR_INIT;
    pr_code rc = target->write(job, &later);
    *report = (conv_report){.samples = model->samples,
                            .names_changed = job->names_changed,
                            .unobserved_us = model->unobserved_us};
    conv_model_free(model);
    return then(had, rc, err, &later);
}

/* ---- interface ---- */

/* An input stays as it is, even with force. */
static pr_code
refuse_input(const char *const *input, size_t n, const char *output,
             pr_err *err)
{
    struct stat out, in;
    if (strcmp(output, "-") == 0 || stat(output, &out) != 0)
        return PR_OK;
    for (size_t i = 0; i < n; i++) {
        if (stat(input[i], &in) != 0 || in.st_dev != out.st_dev ||
            in.st_ino != out.st_ino)
            continue;
        pr_err_set(err, PR_USAGE, 0, PR_NO_OFFSET,
                   "the output '%s' is the input '%s'", output, input[i]);
        pr_err_hint(err, "give another name with -o");
        return PR_USAGE;
    }
    return PR_OK;
}

static pr_code
convert(conv_sources *sources, const conv_target *target, const conv_opts *opts,
        conv_job *job, conv_report *report, pr_err *err)
{
    if (target == &conv_bin)
        return conv_bin_write(sources, opts, job->out, &report->samples, err);
    return write_model(sources, target, opts, job, report, err);
}

pr_code
conv_run(const char *const *input, size_t n, const char *target_name,
         const char *output, const conv_opts *opts, conv_report *ret,
         pr_err *err)
{
    const conv_target *target;
    conv_sources *sources;
    conv_job job;
    conv_report report = {.delivered = 0};
    if (ret)
        *ret = report;
    pr_code rc = find_target(target_name, &target, err);
    if (rc == PR_OK)
        rc = check_opts(target, opts, err);
    if (rc == PR_OK)
        rc = refuse_input(input, n, output, err);
    if (rc == PR_OK)
        rc = conv_sources_open(input, n, &sources, err);
    if (rc != PR_OK)
        return rc;
    init_job(&job, target, opts, input[0]);
    rc = conv_out_open(output, opts->force, target->by_path, &opts->unfinished,
                       &job.out, err);
    if (rc != PR_OK) {
        conv_sources_free(sources);
        return rc;
    }
    rc = convert(sources, target, opts, &job, &report, err);
    conv_sources_free(sources);
    if (rc == PR_OK || rc == PR_CUT || rc == PR_DAMAGED) {
        pr_err later = PR_ERR_INIT;
        pr_code committed = conv_out_commit(job.out, &later);
        rc = then(rc, committed, err, &later);
        report.delivered = committed == PR_OK;
        if (report.delivered && ret)
            *ret = report;
    } else {
        conv_out_abort(job.out);
        if (rc == PR_IO)
            pr_err_wrap(err, "cannot make '%s'", output);
    }
    return rc;
}

pr_code
conv_to_memory(const char *input, const conv_opts *opts, sqlite3 **ret,
               pr_err *err)
{
    conv_sources *sources;
    conv_model *model = NULL;
    conv_job job;
    pr_code rc = check_opts(&conv_sqlite, opts, err);
    if (rc == PR_OK)
        rc = conv_sources_open(&input, 1, &sources, err);
    if (rc != PR_OK)
        return rc;
    init_job(&job, &conv_sqlite, opts, input);
    pr_code had = build_model(sources, opts, &job, &model, err);
    conv_sources_free(sources);
    if (!model)
        return had;
    job.model = model;
    sqlite3 *database = NULL;
    pr_err later = PR_ERR_INIT;
    if (sqlite3_open(":memory:", &database) == SQLITE_OK)
        rc = conv_sqlite_fill(database, &job, &later);
    else
        rc = PR_FAIL(&later, PR_NOMEM, 0, PR_NO_OFFSET, "database in memory");
    conv_model_free(model);
    if (rc == PR_OK)
        *ret = database;
    else
        sqlite3_close(database);
    return then(had, rc, err, &later);
}
