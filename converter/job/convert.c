/*
 * convert.c - from files to a target: the sinks between, the output around.
 */
#include <pyrec/convert.h>

#include "converter/filter/chain.h"
#include "converter/input/input_files.h"
#include "converter/input/source.h"
#include "converter/job/job.h"
#include "converter/target/table.h"

#include <base/create.h>
#include <base/opts.h>
#include <base/words.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const conv_target *const targets[] = {
#define TARGET(name) &conv_##name,
    CONV_TARGETS(TARGET)
#undef TARGET
};

enum { N_TARGETS = sizeof targets / sizeof *targets };

/* ---- the table of targets ---- */

const conv_target_info *
conv_target_get(size_t i)
{
    return i < N_TARGETS ? &targets[i]->info : NULL;
}

static bool
ends_with(const char *text, size_t len, const char *end, size_t n)
{
    return len > n && memcmp(text + len - n, end, n) == 0;
}

static const char gz[] = ".gz";

static bool
is_gzip_name(const char *path)
{
    return ends_with(path, strlen(path), gz, sizeof gz - 1);
}

/* The length of the longest of the suffixes that the path ends with, besides
 * a .gz. */
static size_t
matching_suffix(const char *suffixes, const char *path)
{
    size_t longest = 0, len = strlen(path);
    size_t plain = is_gzip_name(path) ? len - (sizeof gz - 1) : len;
    while (*suffixes) {
        size_t n = strcspn(suffixes, " ");
        if (n > longest && (ends_with(path, len, suffixes, n) ||
                            ends_with(path, plain, suffixes, n)))
            longest = n;
        suffixes += n + (suffixes[n] == ' ');
    }
    return longest;
}

const conv_target_info *
conv_target_of_output(const char *path)
{
    const conv_target_info *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < N_TARGETS; i++) {
        if (targets[i]->is_address && targets[i]->is_address(path))
            return &targets[i]->info;
        size_t n = matching_suffix(targets[i]->info.suffixes, path);
        if (n > longest) {
            longest = n;
            best = &targets[i]->info;
        }
    }
    return best;
}

/* The name of the target that a mistyped one is nearest to; NULL: of none. */
static const char *
nearest_target(const char *name)
{
    const char *nearest = NULL;
    size_t least = 0, n = strlen(name);
    for (size_t i = 0; i < N_TARGETS; i++) {
        const char *other = targets[i]->info.name;
        size_t len = strlen(other);
        size_t distance = pr_words_distance(name, n, other, len);
        if (pr_words_are_near(name, n, other, len) &&
            (!nearest || distance < least)) {
            nearest = other;
            least = distance;
        }
    }
    return nearest;
}

static pr_code
refuse_target(const char *name, pr_err *err)
{
    char names[200];
    size_t n = 0;
    const char *nearest = nearest_target(name);
    PR_FAIL(err, PR_USAGE, "there is no target '%s'", name);
    if (nearest) {
        pr_err_hint(err, "did you mean '%s'", nearest);
        return PR_USAGE;
    }
    for (size_t i = 0; i < N_TARGETS && n < sizeof names; i++)
        n += (size_t)snprintf(names + n, sizeof names - n, "%s%s",
                              i ? ", " : "", targets[i]->info.name);
    pr_err_hint(err, "one of %s", names);
    return PR_USAGE;
}

static pr_code
find_target(const char *name, const conv_target **ret, pr_err *err)
{
    for (size_t i = 0; i < N_TARGETS; i++)
        if (strcmp(targets[i]->info.name, name) == 0) {
            *ret = targets[i];
            return PR_OK;
        }
    return refuse_target(name, err);
}

/* ---- options ---- */

static pr_code
find_style(const char *name, conv_style *ret, pr_err *err)
{
    static const char *const names[CONV_STYLES] = {[CONV_STYLE_STOCK] = "stock",
                                                   [CONV_STYLE_PYSPY] = "pyspy",
                                                   [CONV_STYLE_PLAIN] =
                                                       "plain"};
    *ret = CONV_STYLE_OWN;
    if (!name)
        return PR_OK;
    for (int i = 1; i < CONV_STYLES; i++)
        if (strcmp(names[i], name) == 0) {
            *ret = (conv_style)i;
            return PR_OK;
        }
    return PR_FAIL(err, PR_USAGE, "there is no style '%s'", name);
}

/* An option that only some targets have: given, and does the target have it? */
typedef struct choice {
    bool given, taken;
    const char *what;
} choice;

static pr_code
check_taken(const conv_target *t, const conv_opts *o, conv_style style,
            pr_err *err)
{
    const choice choices[] = {
        {style != CONV_STYLE_OWN, t->styles >> style & 1, "such style"},
        {o->level != CONV_LEVEL_DEFAULT, t->takes & CONV_TAKES_LEVEL,
         "choice of lines or functions"},
        {o->time != CONV_TIME_DEFAULT, t->times != 0, "choice of time"},
        {o->time != CONV_TIME_DEFAULT, t->times >> o->time & 1,
         "such time: it holds samples besides the time"},
        {o->base != NULL, t->takes & CONV_TAKES_BASE, "comparison"},
        {o->source_folder != NULL, t->takes & CONV_TAKES_SOURCE, "source"},
        {o->zstd_level || o->no_compression, t->takes & CONV_TAKES_COMPRESSION,
         "compression"},
        {o->add != 0, t->takes & CONV_TAKES_ADD, "output to add to"},
        {o->force != 0, !t->info.adds, "output to replace"},
        {o->output_max != 0, !t->by_path && !t->info.adds,
         "text, which --max-output limits"},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].given && !choices[i].taken)
            return PR_FAIL(err, PR_USAGE, "target '%s' has no %s", t->info.name,
                           choices[i].what);
    return PR_OK;
}

pr_code
conv_job_plan(const conv_target *target, const conv_opts *opts,
              const char *source, conv_job *ret, pr_err *err)
{
    conv_style style;
    pr_code rc = find_style(opts->style, &style, err);
    if (rc == PR_OK)
        rc = check_taken(target, opts, style, err);
    if (rc != PR_OK)
        return rc;
    bool stock = style == CONV_STYLE_STOCK;
    if (stock && opts->base)
        return PR_FAIL(err, PR_USAGE, "CPython has no such comparison");
    if (stock &&
        (opts->level != CONV_LEVEL_DEFAULT || opts->time != CONV_TIME_DEFAULT))
        return PR_FAIL(err, PR_USAGE,
                       "the stock style has its own level and time");
    if (opts->no_compression && opts->zstd_level)
        return PR_FAIL(err, PR_USAGE,
                       "--level does not go with --compression none");
    if (opts->from_us >= opts->to_us)
        return PR_FAIL(err, PR_USAGE, "the range of time is empty");
    *ret = (conv_job){.opts = opts,
                      .source = source,
                      .style = style,
                      .level = opts->level,
                      .time = opts->time};
    if (ret->level == CONV_LEVEL_DEFAULT)
        ret->level = stock || style == CONV_STYLE_PYSPY ? CONV_LEVEL_LINE
                                                        : target->level;
    if (ret->time == CONV_TIME_DEFAULT)
        ret->time = stock ? CONV_TIME_SAMPLES : target->time;
    return PR_OK;
}

/* ---- model ---- */

bool
conv_job_delivered(pr_code rc)
{
    return rc == PR_OK || rc == PR_CUT || rc == PR_DAMAGED;
}

/* The range holds no sample; of a damaged file, the message also says what is
 * missing. */
static pr_code
refuse_range(pr_code had, pr_err *err)
{
    if (had == PR_OK)
        PR_FAIL(err, PR_NAME, "no sample lies in the range of time");
    else
        pr_err_wrap(err, "no sample lies in the range of time");
    if (err)
        err->code = PR_NAME;
    pr_err_hint(err, "'pyconv --info FILE' shows how long it is");
    return PR_NAME;
}

/* A range or a filter without a sample is not a success; but a file that is cut
 * may still grow into the range. */
static pr_code
feed(conv_sources *sources, const conv_opts *opts, pr_sink *sink,
     bool one_namespace, pr_err *err)
{
    uint64_t samples = 0;
    pr_code rc =
        conv_sources_feed(sources, opts, sink, one_namespace, &samples, err);
    bool range = opts->from_us > 0 || opts->to_us < UINT64_MAX;
    bool ended = rc == PR_OK || rc == PR_DAMAGED;
    return ended && samples == 0 && range ? refuse_range(rc, err) : rc;
}

/* The reader emits the sample after the range as well: the filters leave it
 * out, and it ends the time of the sample before it. */
static conv_filters
filters_of(const conv_opts *opts)
{
    conv_filters filters = opts->filters;
    bool ends = opts->to_us != UINT64_MAX;
    if (ends && (!filters.settled_us || opts->to_us < filters.settled_us))
        filters.settled_us = opts->to_us;
    return filters;
}

/* Codes of conv_sources_feed(); with PR_CUT and PR_DAMAGED there is a model. */
static pr_code
build_model(conv_sources *sources, const conv_target *target,
            const conv_job *job, conv_filtered *filtered, conv_model **ret,
            pr_err *err)
{
    const conv_model_opts how = {.level = job->level,
                                 .time = job->time,
                                 .no_first_lines =
                                     target->stock_names ||
                                     job->style == CONV_STYLE_STOCK ||
                                     job->opts->base != NULL, /* lines move */
                                 .used_order = target->used_order,
                                 .memory = job->opts->memory};
    const conv_opts *opts = job->opts;
    const conv_filters filters = filters_of(opts);
    conv_model *model;
    pr_sink *first;
    pr_code rc = conv_model_new(&how, &model, err);
    if (rc != PR_OK)
        return rc;
    const conv_skip skip = {conv_model_skip, model};
    uint32_t max_depth = opts->max_depth ? opts->max_depth : target->max_depth;
    rc = conv_filters_open(&filters, max_depth, false, &skip, filtered,
                           conv_model_sink(model), &first, err);
    if (rc == PR_OK)
        rc = feed(sources, opts, first, false, err);
    if (conv_job_delivered(rc))
        *ret = model;
    else
        conv_model_free(model);
    return rc;
}

/* Two answers as one: a failure is worse than missing input, and of two answers
 * with missing input the first one keeps its message. */
static pr_code
worse(pr_code had, pr_code rc, const pr_err *later, pr_err *err)
{
    if (rc == PR_OK || (had != PR_OK && conv_job_delivered(rc)))
        return had;
    if (err)
        *err = *later;
    return rc;
}

static pr_code
write_model(conv_sources *sources, const conv_target *target, conv_job *job,
            conv_report *report, pr_err *err)
{
    conv_model *model = NULL;
    conv_filtered filtered = {{0}};
    conv_time asked = job->time;
    pr_code had = build_model(sources, target, job, &filtered, &model, err);
    if (!model)
        return had;
    job->has_output = true;
    job->model = model;
    job->time = model->opts.time;
    pr_err later = PR_ERR_INIT;
    pr_code rc = target->write(job, &later);
    job->time = asked;
    report->samples += model->samples;
    report->names_changed = job->names_changed;
    report->there = job->there;
    report->unobserved_us += model->unobserved_us;
    report->tasks_nominal |= model->simultaneous && asked == CONV_TIME_REAL;
    pr_bytes assumed;
    report->interval_assumed |=
        conv_model_meta(model, "import.interval", &assumed) &&
        asked != CONV_TIME_SAMPLES;
    memcpy(report->unmatched, filtered.unmatched, sizeof report->unmatched);
    conv_model_free(model);
    return worse(had, rc, &later, err);
}

/* ---- without a model ---- */

/* Counts the samples that reach the target. */
typedef struct counter {
    pr_sink sink;
    uint64_t samples;
} counter;

static pr_code
count_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    ((counter *)sink)->samples += delta->n;
    return PR_SINK_CALL(sink->next, delta, delta, err);
}

static pr_code
count_finish(pr_sink *sink, pr_err *err)
{
    return sink->next->ops->finish(sink->next, err);
}

static void
count_abort(pr_sink *sink)
{
    sink->next->ops->abort(sink->next);
}

static const pr_sink_ops counter_ops = {
    .delta = count_delta,
    .finish = count_finish,
    .abort = count_abort,
};

static pr_code
write_sink(conv_sources *sources, const conv_target *target, conv_job *job,
           conv_report *report, pr_err *err)
{
    pr_sink *sink;
    pr_code rc =
        target->is_profile ? conv_sources_check_rewrite(sources, err) : PR_OK;
    if (rc == PR_OK)
        rc = target->open(job, &sink, err);
    if (rc != PR_OK)
        return rc;
    job->has_output = true;
    const conv_filters filters = filters_of(job->opts);
    conv_filtered filtered = {{0}};
    counter count = {.sink = {&counter_ops, sink}};
    rc = conv_filters_open(&filters, job->opts->max_depth, true, NULL,
                           &filtered, &count.sink, &sink, err);
    if (rc == PR_OK)
        rc = feed(sources, job->opts, sink, job->opts->no_compression, err);
    report->samples = count.samples;
    memcpy(report->unmatched, filtered.unmatched, sizeof report->unmatched);
    return rc;
}

/* ---- totals without stacks ---- */

/* The targets that write them, as words, if this one does not. */
static void
hint_totals(const conv_target *target, pr_err *err)
{
    char names[200];
    size_t n = 0;
    if (target->of_totals)
        return;
    for (size_t i = 0; i < N_TARGETS && n < sizeof names; i++)
        if (targets[i]->of_totals)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s",
                                  n ? ", " : "", targets[i]->info.name);
    pr_err_hint(err, "targets that need none: %s", names);
}

/* Totals have neither samples that a filter could choose nor other times. */
static pr_code
check_totals(const conv_sources *sources, const conv_target *target,
             const conv_opts *o, pr_err *err)
{
    const char *path = conv_sources_totals(sources);
    conv_filters of_samples = o->filters;
    if (!path)
        return PR_OK;
    of_samples.strip_prefix.n = of_samples.map.n = 0;
    const choice choices[] = {
        {!target->of_totals, false, "stacks"},
        {conv_filters_given(&of_samples), false, "stacks to filter"},
        {o->from_us > 0 || o->to_us < UINT64_MAX, false, "times to choose"},
        {o->max_depth != 0, false, "stacks to shorten"},
        {o->style != NULL, false, "samples, which a style needs"},
        {o->level == CONV_LEVEL_LINE, false, "lines"},
        {o->time != CONV_TIME_DEFAULT, false, "choice of time"},
    };
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i].given) {
            PR_FAIL(err, PR_USAGE, "'%s' has totals of functions, and no %s",
                    path, choices[i].what);
            hint_totals(target, err);
            return PR_USAGE;
        }
    return PR_OK;
}

/* ---- several inputs ---- */

pr_code
conv_job_add(const char *path, const conv_target *target, conv_job *job,
             conv_report *report, pr_err *err)
{
    conv_sources *sources;
    const conv_opts *opts = job->opts;
    pr_code rc =
        conv_sources_open(&path, 1, opts->from, opts->memory, &sources, err);
    if (rc != PR_OK)
        return rc;
    rc = check_totals(sources, target, opts, err);
    if (rc == PR_OK)
        rc = write_model(sources, target, job, report, err);
    conv_sources_free(sources);
    return rc;
}

/* Each input by itself into one output. */
static pr_code
write_each(const conv_paths *paths, const conv_target *target, conv_job *job,
           conv_report *report, pr_err *err)
{
    pr_code had = target->begin(job, err);
    if (had != PR_OK)
        return had;
    for (size_t i = 0; i < paths->n && conv_job_delivered(had); i++) {
        pr_err later = PR_ERR_INIT;
        job->source = paths->at[i];
        pr_code rc = conv_job_add(paths->at[i], target, job, report, &later);
        had = worse(had, rc, &later, err);
    }
    pr_err later = PR_ERR_INIT;
    bool keep = conv_job_delivered(had) && job->has_output;
    pr_code ended = target->end(job, keep, &later);
    return keep ? worse(had, ended, &later, err) : had;
}

/* All inputs as one profile. */
static pr_code
write_merged(const conv_paths *paths, const conv_target *target, conv_job *job,
             conv_report *report, pr_err *err)
{
    conv_sources *sources;
    const char *const *path = (const char *const *)paths->at;
    const char *from = job->opts->from;
    uint64_t memory = job->opts->memory;
    pr_code rc =
        job->opts->base
            ? conv_sources_open_base(path, paths->n, from, memory, &sources,
                                     &job->n_base, err)
            : conv_sources_open(path, paths->n, from, memory, &sources, err);
    if (rc != PR_OK)
        return rc;
    rc = check_totals(sources, target, job->opts, err);
    if (rc == PR_OK)
        rc = (target->open ? write_sink : write_model)(sources, target, job,
                                                       report, err);
    conv_sources_free(sources);
    return rc;
}

/* ---- interface ---- */

/* An input stays as it is, even with force. */
static pr_code
refuse_input(const conv_paths *paths, const char *output, pr_err *err)
{
    struct stat out;
    if (strcmp(output, "-") == 0 || stat(output, &out) != 0)
        return PR_OK;
    for (size_t i = 0; i < paths->n; i++) {
        if (!pr_is_same_file(paths->at[i], &out))
            continue;
        PR_FAIL(err, PR_USAGE, "the output '%s' is the input '%s'", output,
                paths->at[i]);
        pr_err_hint(err, "give another name with -o");
        return PR_USAGE;
    }
    return PR_OK;
}

/* Commit what was made, or leave nothing. */
static pr_code
end_output(pr_code rc, const char *output, conv_job *job, conv_report *report,
           conv_report *ret, pr_err *err)
{
    if (!conv_job_delivered(rc) || !job->has_output) {
        conv_out_abort(job->out);
        if (rc == PR_IO)
            pr_err_wrap(err, "cannot make '%s'", output);
        return rc;
    }
    pr_err later = PR_ERR_INIT;
    pr_code committed = conv_out_commit(job->out, &later);
    report->delivered = committed == PR_OK;
    if (report->delivered && ret)
        *ret = *report;
    return worse(rc, committed, &later, err);
}

/* A small profile of any content must not fill a disk. */
static uint64_t
default_limit(const conv_paths *paths)
{
    const uint64_t least = (uint64_t)1 << 30;
    uint64_t bytes = conv_paths_bytes(paths);
    return bytes > least / 1024 ? bytes * 1024 : least;
}

static pr_code
open_output(const conv_paths *paths, const conv_target *target,
            const char *output, conv_job *job, pr_err *err)
{
    const conv_opts *opts = job->opts;
    pr_code rc = conv_out_open(output, opts->force, target->by_path,
                               conv_paths_mode(paths), &opts->unfinished,
                               &job->out, err);
    if (rc != PR_OK || target->by_path)
        return rc;
    conv_out_limit(job->out,
                   opts->output_max ? opts->output_max : default_limit(paths));
    conv_out_use_threads(job->out, opts->jobs > 1 ? opts->jobs : 0);
    if (target->is_gzip || is_gzip_name(output))
        conv_out_compress(job->out);
    return PR_OK;
}

/* A name in .gz promises gzip. */
static pr_code
refuse_gzip(const conv_target *target, const char *output, pr_err *err)
{
    bool streams = !target->by_path && !target->info.adds;
    if (streams || target->is_address || !is_gzip_name(output))
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "target '%s' cannot be compressed: '%s'",
            target->info.name, output);
    pr_err_hint(err, "give a name without .gz");
    return PR_USAGE;
}

static pr_code
check_address(const conv_target *target, const char *output, pr_err *err)
{
    if (target->is_address(output))
        return PR_OK;
    PR_FAIL(err, PR_USAGE, "target '%s' goes to a server, not to '%s'",
            target->info.name, output);
    pr_err_hint(err, "-o %s", target->info.address);
    return PR_USAGE;
}

/* Add to a database that is there, to a folder, or to a server. */
static pr_code
run_into(const conv_paths *paths, const conv_target *target, const char *output,
         conv_job *job, conv_report *ret, pr_err *err)
{
    conv_report report = {.delivered = 0};
    if (target->info.adds && !target->is_address && strcmp(output, "-") == 0)
        return PR_FAIL(err, PR_USAGE, "target '%s' makes a folder, no stream",
                       target->info.name);
    job->into = output;
    job->mode = conv_paths_mode(paths);
    pr_code rc = target->is_address ? check_address(target, output, err)
                                    : refuse_input(paths, output, err);
    if (rc != PR_OK)
        return rc;
    rc = write_each(paths, target, job, &report, err);
    report.delivered = conv_job_delivered(rc) && job->has_output;
    if (report.delivered && ret)
        *ret = report;
    else if (!report.delivered && rc != PR_USAGE)
        pr_err_wrap(err, "cannot add to '%s'", output);
    return rc;
}

static pr_code
run(const conv_paths *paths, const conv_target *target, const char *output,
    conv_job *job, conv_report *ret, pr_err *err)
{
    conv_report report = {.delivered = 0};
    pr_code rc = refuse_input(paths, output, err);
    if (rc == PR_OK)
        rc = open_output(paths, target, output, job, err);
    if (rc != PR_OK)
        return rc;
    rc = (target->begin ? write_each : write_merged)(paths, target, job,
                                                     &report, err);
    return end_output(rc, output, job, &report, ret, err);
}

pr_code
conv_run(const char *const *input, size_t n, const char *target_name,
         const char *output, const conv_opts *given, conv_report *ret,
         pr_err *err)
{
    conv_opts opts = CONV_OPTS_INIT;
    const conv_target *target;
    conv_paths paths = {0};
    conv_job job;
    if (ret)
        *ret = (conv_report){.delivered = 0};
    pr_code rc = pr_opts_take(&opts, sizeof opts, given, err);
    if (rc == PR_OK)
        rc = find_target(target_name, &target, err);
    if (rc == PR_OK)
        rc = conv_paths_expand(opts.base, input, n, &paths, err);
    if (rc == PR_OK)
        rc = conv_job_plan(target, &opts, paths.at[opts.base ? 1 : 0], &job,
                           err);
    if (rc == PR_OK)
        rc = refuse_gzip(target, output, err);
    if (rc == PR_OK) /* before the output is */
        rc = conv_paths_check(&paths, err);
    if (rc == PR_OK) {
        bool into =
            target->info.adds || (opts.add && access(output, F_OK) == 0);
        job.n_inputs = paths.n;
        rc = (into ? run_into : run)(&paths, target, output, &job, ret, err);
    }
    conv_paths_release(&paths);
    return rc;
}

pr_code
conv_to_memory(const char *const *input, size_t n, const conv_opts *given,
               struct sqlite3 **ret, pr_err *err)
{
    conv_opts opts = CONV_OPTS_INIT;
    conv_paths paths = {0};
    conv_job job;
    conv_report report = {.delivered = 0};
    pr_code rc = pr_opts_take(&opts, sizeof opts, given, err);
    if (rc == PR_OK)
        rc = conv_paths_expand(NULL, input, n, &paths, err);
    if (rc == PR_OK)
        rc = conv_job_plan(&conv_sqlite, &opts, paths.at[0], &job, err);
    if (rc == PR_OK) {
        job.memory = ret;
        rc = write_each(&paths, &conv_sqlite, &job, &report, err);
    }
    conv_paths_release(&paths);
    return rc;
}
