/*
 * record.c - one process into one file (record.h).
 */
#include "recorder/record.h"

#include "recorder/linux/clock.h"
#include "recorder/queue.h"
#include "recorder/sample/unwinder_internal.h"
#include <pyrec/version.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    QUEUE_BYTES = 8 << 20,
    CHECKPOINT_US = 1900000 /* the oldest sample a kill may cost */
};

struct rec_record {
    const rec_options *options;
    pid_t pid;
    pr_sink *queue; /* NULL once it was ended */
    rec_unwinder *unwinder;
    rec_sampler *sampler;
    uint64_t start_ns, origin_ns;
    pf_writer_stats written;
    char children[64]; /* how they were looked for; empty: they were not */
    uint64_t children_seen, children_gone;
};

/* ---- what the file says about the recording ---- */

static pr_code
tell(rec_record *r, const char *key, const char *value, pr_err *err)
{
    return PR_SINK_CALL(r->queue, meta, key, value, strlen(value), err);
}

static pr_code
tell_number(rec_record *r, const char *key, uint64_t value, pr_err *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return tell(r, key, text, err);
}

static pr_code
tell_command(rec_record *r, pr_err *err)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)r->pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    while (n > 0 && text[n - 1] == '\0')
        n--;
    for (size_t i = 0; i < n; i++)
        if (text[i] == '\0')
            text[i] = ' ';
    return PR_SINK_CALL(r->queue, meta, "command", text, n, err);
}

static pr_code
tell_labels(rec_record *r, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0; code == PR_OK && i < r->options->n_labels; i++) {
        const rec_label *l = &r->options->label[i];
        char key[256];
        snprintf(key, sizeof key, "label.%.*s", (int)l->key_len, l->key);
        code = tell(r, key, l->value, err);
    }
    return code;
}

static pr_code
tell_python(rec_record *r, pr_err *err)
{
    const rec_target *t = rec_unwinder_target(r->unwinder);
    char text[400];
    snprintf(text, sizeof text, "CPython %u.%u.%u%s (%s)", t->python[0],
             t->python[1], t->python[2],
             t->free_threaded ? " free-threaded" : "", t->runtime_path);
    return tell(r, "python.build", text, err);
}

static pr_code
tell_meta(rec_record *r, uint64_t wall_us, pr_err *err)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    pr_code code = tell_number(r, "wall_us", wall_us, err);
    if (code == PR_OK)
        code = tell(r, "host", host, err);
    if (code == PR_OK)
        code = tell_number(r, "pid", (uint64_t)r->pid, err);
    if (code == PR_OK)
        code = tell_command(r, err);
    if (code == PR_OK)
        code = tell_python(r, err);
    if (code == PR_OK)
        code = tell(r, "recorder", "pyrec " PYREC_VERSION, err);
    if (code == PR_OK)
        code = tell(r, "recorder.options", r->options->line, err);
    if (code == PR_OK)
        code = tell_labels(r, err);
    return code;
}

static uint32_t
captured(const rec_unwinder_opts *o)
{
    uint32_t bits = PR_CAPTURE_KNOWN;
    if (o->threads == REC_THREADS_ALL)
        bits |= PR_CAPTURE_ALL_THREADS;
    if (o->native)
        bits |= PR_CAPTURE_NATIVE;
    if (o->gc)
        bits |= PR_CAPTURE_GC;
    if (o->opcodes)
        bits |= PR_CAPTURE_OPCODES;
    if (o->strategy == REC_BLOCKING)
        bits |= PR_CAPTURE_BLOCKING;
    return bits;
}

static pr_code
tell_start(rec_record *r, pr_err *err)
{
    const rec_options *o = r->options;
    const rec_target *t = rec_unwinder_target(r->unwinder);
    uint64_t interval_us = o->period_ns / 1000;
    pr_start start = {.start_us = r->start_ns / 1000,
                      .wall_us = rec_clock_ns(CLOCK_REALTIME) / 1000,
                      .interval_us = interval_us ? interval_us : 1,
                      .python = {t->python[0], t->python[1], t->python[2]},
                      .mode = o->unwinder.mode,
                      .capture = captured(&o->unwinder)};
    pr_code code = PR_SINK_CALL(r->queue, start, &start, err);
    return code == PR_OK ? tell_meta(r, start.wall_us, err) : code;
}

/* ---- counters ---- */

double
rec_percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The counters of rec_stats by name, for the file and for people. */
static const struct {
    const char *name;
    size_t offset;
} counters[] = {
#define COUNTER(name)                    \
    {                                    \
#name, offsetof(rec_stats, name) \
    }
    COUNTER(total_samples),
    COUNTER(frame_cache_hits),
    COUNTER(frame_cache_misses),
    COUNTER(frame_cache_partial_hits),
    COUNTER(frames_read_from_cache),
    COUNTER(frames_read_from_memory),
    COUNTER(memory_reads),
    COUNTER(memory_bytes_read),
    COUNTER(code_object_cache_hits),
    COUNTER(code_object_cache_misses),
    COUNTER(stale_cache_invalidations),
    COUNTER(batched_read_attempts),
    COUNTER(batched_read_successes),
    COUNTER(batched_read_misses),
    COUNTER(batched_read_segments_requested),
    COUNTER(batched_read_segments_completed),
#undef COUNTER
};

enum { N_COUNTERS = sizeof counters / sizeof *counters, N_RATES = 4 };

typedef struct rate {
    const char *name;
    double percent;
} rate;

static void
rates_of(const rec_stats *s, rate ret[N_RATES])
{
    uint64_t hits = s->frame_cache_hits + s->frame_cache_partial_hits;
    ret[0] = (rate){"frame_cache_hit_rate",
                    rec_percent(hits, hits + s->frame_cache_misses)};
    ret[1] = (rate){
        "code_object_cache_hit_rate",
        rec_percent(s->code_object_cache_hits,
                    s->code_object_cache_hits + s->code_object_cache_misses)};
    ret[2] = (rate){
        "batched_read_success_rate",
        rec_percent(s->batched_read_successes, s->batched_read_attempts)};
    ret[3] = (rate){"batched_read_segment_completion_rate",
                    rec_percent(s->batched_read_segments_completed,
                                s->batched_read_segments_requested)};
}

static uint64_t
counter_value(const rec_stats *s, size_t i)
{
    uint64_t value;
    memcpy(&value, (const char *)s + counters[i].offset, sizeof value);
    return value;
}

const char *
rec_counter_get(const rec_stats *stats, size_t i, char *ret_value, size_t size)
{
    if (i < N_COUNTERS) {
        snprintf(ret_value, size, "%" PRIu64, counter_value(stats, i));
        return counters[i].name;
    }
    rate rates[N_RATES];
    rates_of(stats, rates);
    if (i >= N_COUNTERS + N_RATES)
        return NULL;
    snprintf(ret_value, size, "%.2f", rates[i - N_COUNTERS].percent);
    return rates[i - N_COUNTERS].name;
}

static pr_code
tell_counters(rec_record *r, pr_err *err)
{
    rec_stats stats;
    rec_unwinder_get_stats(r->unwinder, &stats);
    pr_code code = PR_OK;
    char key[64], value[32];
    const char *name;
    for (size_t i = 0; code == PR_OK; i++) {
        name = rec_counter_get(&stats, i, value, sizeof value);
        if (!name)
            break;
        snprintf(key, sizeof key, "stats.%s", name);
        code = tell(r, key, value, err);
    }
    return code;
}

static void
count_up(const rec_record *r, rec_report *t)
{
    const rec_unwinder *u = r->unwinder;
    t->proven = rec_tick_total(u, PR_COUNT_PROVEN);
    t->sleeping = rec_tick_total(u, PR_COUNT_SLEEPING);
    t->unproven = rec_tick_total(u, PR_COUNT_UNPROVEN);
    t->stopped = rec_tick_total(u, PR_COUNT_STOPPED);
    t->ticks = rec_tick_total(u, PR_COUNT_TICKS);
    t->missed = rec_tick_total(u, PR_COUNT_MISSED);
    t->missed_queue = rec_tick_total(u, PR_COUNT_MISSED_QUEUE);
    t->late = rec_tick_total(u, PR_COUNT_LATE);
    t->retries = rec_tick_total(u, PR_COUNT_RETRIES);
    t->hops = rec_tick_total(u, PR_COUNT_HOPS);
    t->truncated = rec_tick_total(u, PR_COUNT_TRUNCATED);
    t->degraded = rec_tick_total(u, PR_COUNT_DEGRADED);
    t->gc_lost = rec_tick_total(u, PR_COUNT_GC_LOST);
    t->lost = 0;
    for (int kind = PR_COUNT_LOST_TORN; kind <= PR_COUNT_LOST_OTHER; kind++)
        t->lost += rec_tick_total(u, (pr_count_kind)kind);
    rec_unwinder_get_stats(u, &t->stats);
}

uint64_t
rec_report_samples(const rec_report *t)
{
    return t->proven + t->sleeping + t->unproven + t->stopped;
}

/* ---- the end ---- */

static pr_code
tell_policy(rec_record *r, const rec_report *t, pr_err *err)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s%s", t->sampler.policy,
             t->sampler.strayed ? ", partly from other CPUs" : "",
             rec_tick_has_rseq(r->unwinder) ? "" : ", without rseq");
    return tell(r, "recorder.policy", text, err);
}

static pr_code
tell_end(rec_record *r, const rec_report *t, pr_err *err)
{
    rec_tick_count(r->unwinder, PR_COUNT_CHILDREN, r->children_seen);
    rec_tick_count(r->unwinder, PR_COUNT_CHILDREN_GONE, r->children_gone);
    pr_code code = rec_unwinder_emit_counts(r->unwinder, err);
    if (code == PR_OK)
        code = tell_policy(r, t, err);
    if (code == PR_OK && r->children[0])
        code = tell(r, "recorder.children", r->children, err);
    if (code == PR_OK)
        code = tell_counters(r, err);
    if (code != PR_OK)
        return code;
    double s = (double)t->wall_ns / 1e9;
    pr_stats stats = {
        .duration_s = s,
        .rate_hz = s > 0 ? (double)t->ticks / s : 0,
        .error_percent = rec_percent(t->lost, t->lost + rec_report_samples(t)),
        .missed_percent = rec_percent(t->missed, t->missed + t->ticks),
        .known = PR_STATS_PRESENT | 3};
    return PR_SINK_CALL(r->queue, stats, &stats, err);
}

static pr_code
finish_file(rec_record *r, const rec_report *t, pr_err *err)
{
    pr_sink *queue = r->queue;
    pr_code code = tell_end(r, t, err);
    r->queue = NULL;
    if (code == PR_OK)
        return queue->ops->finish(queue, err);
    pr_err first = PR_ERR_INIT;
    if (queue->ops->finish(queue, &first) != PR_OK && err)
        *err = first; /* why the queue refused is the writer's error */
    return code;
}

static pr_code
end_recording(rec_record *r, rec_report *t, pr_err *err)
{
    pr_code code = rec_sampler_join(r->sampler, &t->sampler, err);
    t->wall_ns = t->sampler.end_ns - r->start_ns;
    t->colocated = r->options->unwinder.strategy != REC_REMOTE;
    count_up(r, t);
    if (code != PR_OK && rec_report_samples(t) == 0)
        return code; /* nothing worth a file */
    if (code != PR_OK && code != PR_NO_PROCESS) {
        pr_err ended = PR_ERR_INIT;
        if (finish_file(r, t, &ended) != PR_OK && err)
            *err = ended;
        return code;
    }
    pr_err_clear(err);
    return finish_file(r, t, err);
}

static void
release(rec_record *r)
{
    if (r->queue)
        r->queue->ops->abort(r->queue);
    rec_unwinder_free(r->unwinder);
    free(r);
}

pr_code
rec_record_finish(rec_record *r, rec_report *ret, pr_err *err)
{
    rec_report t = {0};
    pr_code code = end_recording(r, &t, err);
    t.written = r->written;
    release(r);
    *ret = t;
    return code;
}

/* ---- the beginning ---- */

/* Close what would be too old at the next flush: now, right behind the
 * counters, so that a checkpoint counts just the samples it holds. */
static pr_code
writer_tick(pr_sink *out, uint64_t now_us, pr_err *err)
{
    return pf_writer_tick(out, now_us + REC_FLUSH_US, err);
}

static pr_code
start_writing(rec_record *r, const char *output, pr_err *err)
{
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.checkpoint_us = CHECKPOINT_US;
    opts.fsync = r->options->fsync;
    opts.force = r->options->force;
    pr_sink *writer;
    pr_code code = pf_writer_open(output, &opts, &writer, err);
    if (code != PR_OK)
        return code;
    pf_writer_keep_stats(writer, &r->written);
    code = tell_start(r, err);
    if (code == PR_OK)
        code = rec_queue_start(r->queue, writer, writer_tick, err);
    if (code != PR_OK)
        writer->ops->abort(writer);
    return code;
}

/* What is left of the duration; at least something. */
static uint64_t
time_left(const rec_record *r)
{
    uint64_t passed = r->start_ns - r->origin_ns;
    uint64_t duration = r->options->duration_ns;
    if (!duration)
        return 0;
    return passed < duration ? duration - passed : 1;
}

static pr_code
start_sampling(rec_record *r, pr_err *err)
{
    const rec_options *o = r->options;
    rec_strategy how = o->unwinder.strategy;
    rec_sampler_opts opts = {.start_ns = r->start_ns,
                             .period_ns = o->period_ns,
                             .duration_ns = time_left(r),
                             .seed = r->start_ns,
                             .pinned = how == REC_AUTO || how == REC_COLOCATED,
                             .polls = how == REC_REMOTE,
                             .realtime = o->realtime};
    return rec_sampler_start(r->unwinder, r->queue, &opts, &r->sampler, err);
}

pr_code
rec_record_start(const rec_options *options, pid_t pid, const char *output,
                 uint64_t origin_ns, rec_record **ret, pr_err *err)
{
    rec_record *r = calloc(1, sizeof *r);
    if (!r)
        return pr_no_memory(err);
    r->options = options;
    r->pid = pid;
    r->origin_ns = origin_ns;
    pr_code code = rec_queue_new(QUEUE_BYTES, &r->queue, err);
    if (code == PR_OK)
        code = rec_unwinder_open(pid, &options->unwinder, r->queue,
                                 &r->unwinder, err);
    if (code == PR_OK) {
        r->start_ns = rec_unwinder_start_ns(r->unwinder);
        code = start_writing(r, output, err);
    }
    if (code == PR_OK)
        code = start_sampling(r, err);
    if (code != PR_OK) {
        release(r);
        return code;
    }
    *ret = r;
    return PR_OK;
}

int
rec_record_fd(const rec_record *r)
{
    return rec_sampler_fd(r->sampler);
}

void
rec_record_stop(rec_record *r)
{
    rec_sampler_stop(r->sampler);
}

void
rec_record_note_children(rec_record *r, const char *how, uint64_t seen,
                         uint64_t gone)
{
    snprintf(r->children, sizeof r->children, "%s", how);
    r->children_seen = seen;
    r->children_gone = gone;
}
