/*
 * profile.c - profile, label, meta, process, thread, loss: the recorded
 * program, and how truthful its samples are.
 */
#include "converter/tables/entry.h"

#include "converter/model/enum_names.h"
#include "converter/tables/row.h"

#include <base/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- identity ---- */

static uint64_t
mix(uint64_t hash, const void *bytes, size_t len)
{
    return pr_hash_seeded(len ? bytes : "", len, hash);
}

static uint64_t
mix_stated(uint64_t hash, const conv_stated *stated)
{
    for (size_t i = 0; i < stated->keys.n; i++) {
        const conv_stated_sum *sum = &stated->sum[i];
        const double times[] = {sum->self_s, sum->total_s};
        const uint64_t counts[] = {sum->calls, sum->primitive_calls};
        hash = mix(hash, times, sizeof times);
        hash = mix(hash, counts, sizeof counts);
    }
    return mix(hash, stated->keys.item, stated->keys.n * stated->keys.size);
}

uint64_t
conv_entry_hash(const conv_model *model)
{
    const uint64_t start[] = {model->start.wall_us,     model->start.start_us,
                              model->start.interval_us, model->start.mode,
                              model->opts.time,         model->samples,
                              model->n_threads,         model->n_events};
    uint64_t hash = pr_hash_bytes(start, sizeof start);
    hash = mix(hash, model->strings.text, model->strings.n_text);
    hash = mix(hash, model->functions.item,
               model->functions.n * model->functions.size);
    hash = mix(hash, model->frames.item, model->frames.n * model->frames.size);
    hash = mix(hash, model->nodes, model->n_nodes * sizeof *model->nodes);
    for (size_t i = 0; i < model->n_threads; i++) {
        const conv_thread *thread = &model->threads[i];
        const uint64_t key[] = {thread->tid, thread->interp};
        hash = mix(hash, key, sizeof key);
        hash = mix(hash, thread->log, thread->n_log);
    }
    return model->is_totals ? mix_stated(hash, &model->stated) : hash;
}

/* ---- what the recording says of itself ---- */

static pr_bytes
string_of(const conv_entry *e, uint32_t id)
{
    return pr_strings_get(&e->model->strings, id);
}

static bool
is(pr_bytes bytes, const char *string)
{
    return bytes.len == strlen(string) &&
           memcmp(bytes.at, string, bytes.len) == 0;
}

static bool
find_meta(const conv_entry *e, const char *key, pr_bytes *ret)
{
    const uint32_t *keys = e->model->meta_keys.item;
    for (size_t i = 0; i < e->model->meta_keys.n; i++)
        if (is(string_of(e, keys[i]), key)) {
            *ret = string_of(e, e->model->meta_values.at[i]);
            return true;
        }
    return false;
}

static void
bind_meta(conv_entry *e, conv_row *row, const char *key)
{
    pr_bytes value;
    if (find_meta(e, key, &value))
        conv_row_name(row, value);
    else
        conv_row_integer(row, CONV_NULL);
}

static uint64_t
duration_us(const conv_model *model)
{
    uint64_t end = 0;
    for (size_t i = 0; i < model->n_threads; i++)
        if (model->threads[i].end_us > end)
            end = model->threads[i].end_us;
    double recorded = model->stats.duration_s * 1e6;
    if ((model->stats.known & PR_STATS_PRESENT) && recorded > 0 &&
        recorded < 9e18)
        return (uint64_t)recorded;
    return end;
}

/* Facts that the statuses of all samples show together. */
typedef struct states {
    unsigned any, all; /* bits that some sample has; that each has */
    uint64_t ran_n, ran_us;
} states;

static states
collect_states(const conv_model *model)
{
    states s = {.all = ~0u};
    for (size_t i = 0; i < model->n_threads; i++) {
        conv_cursor cursor;
        conv_model_run run;
        conv_cursor_init(&cursor, &model->threads[i]);
        while (conv_cursor_next(&cursor, &run)) {
            s.any |= run.status;
            s.all &= run.status;
            if (run.status & (PR_HAS_GIL | PR_ON_CPU)) {
                s.ran_n += run.n;
                s.ran_us += run.weight_us;
            }
        }
    }
    return s;
}

/* A thread asks for the GIL by a field that PyThreadState has from 3.15 on
 * (CPython 3.15.2 Include/cpython/pystate.h, gil_requested). */
static bool
knows_waiting(const conv_model *model, unsigned any)
{
    const uint8_t *python = model->start.python;
    return (any & PR_GIL_REQUESTED) || python[0] > 3 ||
           (python[0] == 3 && python[1] >= 15);
}

static void
bind_python(conv_entry *e, conv_row *row)
{
    const uint8_t *python = e->model->start.python;
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", python[0], python[1], python[2]);
    conv_row_string(row, python[0] ? text : NULL);
}

static void
bind_known(conv_row *row, uint64_t value)
{
    if (value)
        conv_row_unsigned(row, value);
    else
        conv_row_integer(row, CONV_NULL);
}

static void
bind_stats(conv_row *row, const pr_stats *stats)
{
    bool there = (stats->known & PR_STATS_PRESENT) != 0;
    const struct {
        bool known;
        double value;
    } values[] = {{there, stats->rate_hz},
                  {there && (stats->known & 1), stats->error_percent},
                  {there && (stats->known & 2), stats->missed_percent}};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i].known)
            conv_row_real(row, values[i].value);
        else
            conv_row_integer(row, CONV_NULL);
}

/* CI systems' variables and a user's own word, in this order. */
static void
bind_commit(conv_entry *e, conv_row *row)
{
    static const char *const keys[] = {"label.commit", "commit"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        pr_bytes value;
        if (find_meta(e, keys[i], &value)) {
            conv_row_name(row, value);
            return;
        }
    }
    conv_row_integer(row, CONV_NULL);
}

static void
bind_origin(conv_entry *e, conv_row *row)
{
    const conv_model *model = e->model;
    char capture[CONV_CAPTURE_MAX];
    conv_capture_names(capture, model->start.capture);
    conv_row_integer(row, e->profile);
    conv_row_hash(row, e->hash);
    conv_row_name(row, (pr_bytes){e->source, strlen(e->source)});
    bind_meta(e, row, "recording.id");
    bind_meta(e, row, "host");
    bind_meta(e, row, "command");
    bind_commit(e, row);
    bind_python(e, row);
    conv_row_string(row, conv_mode_name(model->start.mode));
    conv_row_string(row, capture);
    conv_row_string(row,
                    model->opts.time == CONV_TIME_NOMINAL ? "nominal" : "real");
}

/* Samples of a profile of totals end each in one function; calls are not
 * samples. */
static uint64_t
samples_of(const conv_model *model)
{
    const conv_stated *stated = &model->stated;
    uint64_t n = 0;
    if (!model->is_totals || conv_model_counts_calls(model))
        return model->samples;
    for (size_t i = 0; i < stated->keys.n; i++)
        if (conv_stated_key_of(stated, i).caller == CONV_ANY_CALLER)
            n += stated->sum[i].primitive_calls;
    return n;
}

static void
bind_amounts(conv_entry *e, conv_row *row)
{
    const conv_model *model = e->model;
    bind_known(row, model->start.wall_us);
    bind_known(row, model->start.start_us);
    conv_row_unsigned(row, model->start.interval_us);
    conv_row_unsigned(row, duration_us(model));
    conv_row_unsigned(row, samples_of(model));
    conv_row_unsigned(row, model->weight_us);
    conv_row_unsigned(row, model->unobserved_us);
    bind_stats(row, &model->stats);
    states s = collect_states(model);
    conv_row_unsigned(row, s.ran_n);
    conv_row_unsigned(row, s.ran_us);
    /* imported stacks may have no states */
    const unsigned none = PR_MAIN_THREAD | PR_CPU_UNKNOWN;
    conv_row_integer(row, model->start.python[0] != 0 ||
                              !(s.all & PR_CPU_UNKNOWN) || (s.any & ~none));
    conv_row_integer(row, model->samples && !(s.all & PR_CPU_UNKNOWN));
    conv_row_integer(row, knows_waiting(model, s.any));
    bool has_nodes = e->index.n > 1;
    conv_row_integer(row, has_nodes ? e->node0 + 1 : CONV_NULL);
    conv_row_integer(row, has_nodes ? e->tables->node : CONV_NULL);
}

pr_code
conv_entry_put_profile(conv_entry *e, pr_err *err)
{
    conv_row row;
    pr_code rc = conv_row_open(&row, e->tables->database, "profile", 28, err);
    if (rc == PR_OK) {
        bind_origin(e, &row);
        bind_amounts(e, &row);
        rc = conv_row_put(&row, err);
    }
    e->names_changed += row.text.changed;
    conv_row_close(&row);
    return rc;
}

/* ---- meta and label ---- */

static pr_code
put_label(conv_entry *e, conv_row *row, pr_bytes key, pr_bytes value,
          pr_err *err)
{
    static const char prefix[] = "label.";
    size_t n = sizeof prefix - 1;
    if (key.len <= n || memcmp(key.at, prefix, n) != 0)
        return PR_OK;
    conv_row_integer(row, e->profile);
    conv_row_name(row, (pr_bytes){key.at + n, key.len - n});
    conv_row_name(row, value);
    return conv_row_put(row, err);
}

static pr_code
put_recorded(conv_entry *e, conv_row *meta, conv_row *label, pr_err *err)
{
    const uint32_t *keys = e->model->meta_keys.item;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < e->model->meta_keys.n && rc == PR_OK; i++) {
        pr_bytes key = string_of(e, keys[i]);
        pr_bytes value = string_of(e, e->model->meta_values.at[i]);
        conv_row_integer(meta, e->profile);
        conv_row_name(meta, key);
        conv_row_name(meta, value);
        rc = conv_row_put(meta, err);
        if (rc == PR_OK)
            rc = put_label(e, label, key, value, err);
    }
    return rc;
}

/* Counters of the process. */
static pr_code
put_counts(conv_entry *e, conv_row *meta, pr_err *err)
{
    pr_code rc = PR_OK;
    for (uint32_t kind = 0; kind < PR_COUNT_KINDS && rc == PR_OK; kind++) {
        uint64_t value = e->model->counts.value[kind];
        char key[48];
        if (value == CONV_NO_COUNT || !conv_count_name(kind))
            continue;
        snprintf(key, sizeof key, "count.%s", conv_count_name(kind));
        conv_row_integer(meta, e->profile);
        conv_row_string(meta, key);
        conv_row_unsigned(meta, value);
        rc = conv_row_put(meta, err);
    }
    return rc;
}

pr_code
conv_entry_put_meta(conv_entry *e, pr_err *err)
{
    conv_row meta, label = {0};
    /* two keys may differ in bytes that no text keeps: the last one stays */
    pr_code rc =
        conv_row_open_or_replace(&meta, e->tables->database, "meta", 3, err);
    if (rc == PR_OK)
        rc = conv_row_open_or_replace(&label, e->tables->database, "label", 3,
                                      err);
    if (rc == PR_OK)
        rc = put_recorded(e, &meta, &label, err);
    if (rc == PR_OK)
        rc = put_counts(e, &meta, err);
    e->names_changed += meta.text.changed + label.text.changed;
    conv_row_close(&meta);
    conv_row_close(&label);
    return rc;
}

/* ---- process, thread, loss ---- */

static int64_t
number_or_null(uint64_t value)
{
    return value ? conv_row_limit(value) : CONV_NULL;
}

/* From its first sample to the end of its last one; without samples, as long
 * as the recording. */
static void
bind_extent(conv_row *row, const conv_model *model, uint32_t process)
{
    uint64_t first = UINT64_MAX, end = 0;
    for (size_t i = 0; i < model->n_threads; i++) {
        const conv_thread *t = &model->threads[i];
        if (t->process != process || t->samples == 0)
            continue;
        first = t->first_us < first ? t->first_us : first;
        end = t->end_us > end ? t->end_us : end;
    }
    bool only = model->n_processes == 1 || end == 0;
    conv_row_unsigned(row, only ? 0 : first);
    conv_row_unsigned(row, only ? duration_us(model) : end);
}

static int64_t
count_or_null(const conv_counts *counts, pr_count_kind kind)
{
    uint64_t value = counts->value[kind];
    return value == CONV_NO_COUNT ? CONV_NULL : conv_row_limit(value);
}

/* CPU time that the process's cgroup was refused. */
static void
bind_throttling(conv_row *row, const conv_counts *counts)
{
    conv_row_integer(row, count_or_null(counts, PR_COUNT_CGROUP_PERIODS));
    conv_row_integer(row, count_or_null(counts, PR_COUNT_CGROUP_THROTTLED));
    conv_row_integer(row, count_or_null(counts, PR_COUNT_CGROUP_THROTTLED_US));
}

static pr_code
put_process(conv_entry *e, conv_row *row, uint32_t i, pr_err *err)
{
    const conv_process *p = &e->model->processes[i];
    conv_row_integer(row, e->process0 + i);
    conv_row_integer(row, e->profile);
    conv_row_integer(row, number_or_null(p->pid));
    conv_row_integer(row, number_or_null(p->parent));
    if (string_of(e, p->command).len)
        conv_row_name(row, string_of(e, p->command));
    else
        conv_row_integer(row, CONV_NULL);
    bind_python(e, row);
    bind_extent(row, e->model, i);
    bind_throttling(row, &p->counts);
    return conv_row_put(row, err);
}

static pr_code
put_processes(conv_entry *e, pr_err *err)
{
    conv_row row;
    pr_code rc = conv_row_open(&row, e->tables->database, "process", 11, err);
    for (uint32_t i = 0; i < e->model->n_processes && rc == PR_OK; i++)
        rc = put_process(e, &row, i, err);
    e->names_changed += row.text.changed;
    conv_row_close(&row);
    return rc;
}

/* One row per reason; *ret becomes their sum, or CONV_NULL if none is known. */
static pr_code
put_losses(conv_entry *e, conv_row *row, const conv_counts *counts,
           uint32_t process, int64_t thread, int64_t *ret, pr_err *err)
{
    uint64_t sum = 0;
    bool known = false;
    pr_code rc = PR_OK;
    for (int kind = PR_COUNT_LOST_TORN;
         kind <= PR_COUNT_LOST_FILE && rc == PR_OK; kind++) {
        uint64_t value = counts->value[kind];
        if (value == CONV_NO_COUNT)
            continue;
        sum += value;
        known = true;
        if (value == 0)
            continue;
        conv_row_integer(row, ++e->tables->loss);
        conv_row_integer(row, e->process0 + process);
        conv_row_integer(row, thread);
        conv_row_string(row, conv_count_name((uint32_t)kind));
        conv_row_unsigned(row, value);
        rc = conv_row_put(row, err);
    }
    *ret = known ? conv_row_limit(sum) : CONV_NULL;
    return rc;
}

/* Samples that options left out; CONV_NULL: not known. */
static int64_t
left_out(const conv_counts *counts)
{
    static const pr_count_kind kinds[] = {PR_COUNT_SKIPPED_MODE,
                                          PR_COUNT_SKIPPED_THREADS,
                                          PR_COUNT_SKIPPED_ASYNC};
    uint64_t sum = 0;
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t value = counts->value[kinds[i]];
        known = known || value != CONV_NO_COUNT;
        sum += value == CONV_NO_COUNT ? 0 : value;
    }
    return known ? conv_row_limit(sum) : CONV_NULL;
}

static int64_t
microseconds_or_null(const conv_counts *counts, pr_count_kind kind)
{
    uint64_t value = counts->value[kind];
    return value == CONV_NO_COUNT ? CONV_NULL : conv_row_limit(value / 1000);
}

/* The scheduler's counts of the thread while it was recorded. */
static void
bind_scheduling(conv_row *row, const conv_counts *counts)
{
    conv_row_integer(row, microseconds_or_null(counts, PR_COUNT_CPU_NS));
    conv_row_integer(row, microseconds_or_null(counts, PR_COUNT_CPU_WAIT_NS));
    conv_row_integer(row, microseconds_or_null(counts, PR_COUNT_GIL_WAIT_NS));
    conv_row_integer(row, count_or_null(counts, PR_COUNT_SWITCHES_VOLUNTARY));
    conv_row_integer(row, count_or_null(counts, PR_COUNT_SWITCHES_INVOLUNTARY));
}

/* The runs of thread i have the ids from *run + 1 on. */
static pr_code
put_thread(conv_entry *e, conv_row *row, size_t i, int64_t lost, int64_t *run,
           pr_err *err)
{
    const conv_thread *thread = &e->model->threads[i];
    bool seen = thread->samples > 0;
    const conv_counts *counts = &thread->counts;
    conv_row_integer(row, e->thread0 + (int64_t)i);
    conv_row_integer(row, e->process0 + thread->process);
    conv_row_unsigned(row, thread->tid);
    conv_row_integer(row, thread->interp);
    if (thread->named)
        conv_row_name(row, string_of(e, thread->name));
    else
        conv_row_integer(row, CONV_NULL);
    conv_row_integer(row, thread->is_main);
    conv_row_integer(row, seen ? conv_row_limit(thread->first_us) : CONV_NULL);
    conv_row_integer(row, seen ? conv_row_limit(thread->end_us) : CONV_NULL);
    conv_row_unsigned(row, thread->samples);
    conv_row_unsigned(row, thread->weight_us);
    conv_row_unsigned(row, thread->unobserved_us);
    conv_row_integer(row, count_or_null(counts, PR_COUNT_PROVEN));
    conv_row_integer(row, count_or_null(counts, PR_COUNT_SLEEPING));
    conv_row_integer(row, count_or_null(counts, PR_COUNT_UNPROVEN));
    conv_row_integer(row, count_or_null(counts, PR_COUNT_STOPPED));
    conv_row_integer(row, lost);
    conv_row_integer(row, thread->runs ? *run + 1 : CONV_NULL);
    *run += (int64_t)thread->runs;
    conv_row_integer(row, thread->runs ? *run : CONV_NULL);
    conv_row_integer(row, left_out(counts));
    bind_scheduling(row, counts);
    return conv_row_put(row, err);
}

static pr_code
put_all_threads(conv_entry *e, conv_row *row, conv_row *loss, pr_err *err)
{
    int64_t lost, run = e->tables->run;
    pr_code rc = PR_OK;
    for (uint32_t i = 0; i < e->model->n_processes && rc == PR_OK; i++)
        rc = put_losses(e, loss, &e->model->processes[i].counts, i, CONV_NULL,
                        &lost, err);
    for (size_t i = 0; i < e->model->n_threads && rc == PR_OK; i++) {
        const conv_thread *thread = &e->model->threads[i];
        int64_t id = e->thread0 + (int64_t)i;
        rc = put_losses(e, loss, &thread->counts, thread->process, id, &lost,
                        err);
        if (rc == PR_OK)
            rc = put_thread(e, row, i, lost, &run, err);
    }
    return rc;
}

pr_code
conv_entry_put_threads(conv_entry *e, pr_err *err)
{
    conv_row row, loss = {0};
    pr_code rc = put_processes(e, err);
    if (rc != PR_OK)
        return rc;
    rc = conv_row_open(&row, e->tables->database, "thread", 24, err);
    if (rc == PR_OK)
        rc = conv_row_open(&loss, e->tables->database, "loss", 5, err);
    if (rc == PR_OK)
        rc = put_all_threads(e, &row, &loss, err);
    e->names_changed += row.text.changed;
    conv_row_close(&row);
    conv_row_close(&loss);
    return rc;
}
