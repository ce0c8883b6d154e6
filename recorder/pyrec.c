/*
 * pyrec.c - record a running CPython into a profile.
 */
#include "recorder/options.h"
#include "recorder/queue.h"
#include "recorder/sampler.h"
#include "recorder/tick.h"
#include <pyrec/version.h>
#include <pyrec/writer.h>

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum {
    QUEUE_BYTES = 8 << 20,
    CHECKPOINT_US = 1500000, /* with the sampler's flush at most 2 s */
    STATUS_EVERY_MS = 500
};

typedef struct recording {
    const rec_options *options;
    pr_sink *queue; /* NULL once it was ended */
    rec_unwinder *unwinder;
    rec_sampler *sampler;
    pf_writer_stats written;
    rec_sampler_report report;
    uint64_t start_ns;
    int signal_fd;
} recording;

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static int
fail(const pr_err *err)
{
    char text[1024];
    pr_err_format(err, text, sizeof text);
    fprintf(stderr, "pyrec: error: %s\n", text);
    return pr_exit_status(err->code);
}

/* ---- what the file says about the recording ---- */

static pr_code
tell(recording *r, const char *key, const char *value, pr_err *err)
{
    return PR_SINK_CALL(r->queue, meta, key, value, strlen(value), err);
}

static pr_code
tell_number(recording *r, const char *key, uint64_t value, pr_err *err)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    return tell(r, key, text, err);
}

static pr_code
tell_command(recording *r, pr_err *err)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/proc/%d/cmdline", (int)r->options->pid);
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
tell_labels(recording *r, pr_err *err)
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
tell_python(recording *r, pr_err *err)
{
    const rec_target *t = rec_unwinder_target(r->unwinder);
    char text[400];
    snprintf(text, sizeof text, "CPython %u.%u.%u%s (%s)", t->python[0],
             t->python[1], t->python[2],
             t->free_threaded ? " free-threaded" : "", t->runtime_path);
    return tell(r, "python.build", text, err);
}

static pr_code
tell_meta(recording *r, uint64_t wall_us, pr_err *err)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    pr_code code = tell_number(r, "wall_us", wall_us, err);
    if (code == PR_OK)
        code = tell(r, "host", host, err);
    if (code == PR_OK)
        code = tell_number(r, "pid", (uint64_t)r->options->pid, err);
    if (code == PR_OK)
        code = tell_command(r, err);
    if (code == PR_OK)
        code = tell_python(r, err);
    if (code == PR_OK)
        code = tell(r, "recorder", "pyrec " PYREC_VERSION, err);
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
tell_start(recording *r, pr_err *err)
{
    const rec_options *o = r->options;
    const rec_target *t = rec_unwinder_target(r->unwinder);
    uint64_t interval_us = o->period_ns / 1000;
    pr_start start = {.start_us = r->start_ns / 1000,
                      .wall_us = clock_ns(CLOCK_REALTIME) / 1000,
                      .interval_us = interval_us ? interval_us : 1,
                      .python = {t->python[0], t->python[1], t->python[2]},
                      .mode = o->unwinder.mode,
                      .capture = captured(&o->unwinder)};
    pr_code code = PR_SINK_CALL(r->queue, start, &start, err);
    return code == PR_OK ? tell_meta(r, start.wall_us, err) : code;
}

/* ---- counters ---- */

typedef struct totals {
    uint64_t proven, sleeping, unproven, stopped, lost;
    uint64_t ticks, missed, missed_queue, late, retries, hops, truncated;
} totals;

static totals
totals_of(const rec_unwinder *u)
{
    totals t = {
        .proven = rec_tick_total(u, PR_COUNT_PROVEN),
        .sleeping = rec_tick_total(u, PR_COUNT_SLEEPING),
        .unproven = rec_tick_total(u, PR_COUNT_UNPROVEN),
        .stopped = rec_tick_total(u, PR_COUNT_STOPPED),
        .ticks = rec_tick_total(u, PR_COUNT_TICKS),
        .missed = rec_tick_total(u, PR_COUNT_MISSED),
        .missed_queue = rec_tick_total(u, PR_COUNT_MISSED_QUEUE),
        .late = rec_tick_total(u, PR_COUNT_LATE),
        .retries = rec_tick_total(u, PR_COUNT_RETRIES),
        .hops = rec_tick_total(u, PR_COUNT_HOPS),
        .truncated = rec_tick_total(u, PR_COUNT_TRUNCATED),
    };
    for (int kind = PR_COUNT_LOST_TORN; kind <= PR_COUNT_LOST_OTHER; kind++)
        t.lost += rec_tick_total(u, (pr_count_kind)kind);
    return t;
}

static uint64_t
samples_of(const totals *t)
{
    return t->proven + t->sleeping + t->unproven + t->stopped;
}

static double
percent(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* The counters of rec_stats by name, for the file and for --stats. */
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
                    percent(hits, hits + s->frame_cache_misses)};
    ret[1] = (rate){
        "code_object_cache_hit_rate",
        percent(s->code_object_cache_hits,
                s->code_object_cache_hits + s->code_object_cache_misses)};
    ret[2] =
        (rate){"batched_read_success_rate",
               percent(s->batched_read_successes, s->batched_read_attempts)};
    ret[3] = (rate){"batched_read_segment_completion_rate",
                    percent(s->batched_read_segments_completed,
                            s->batched_read_segments_requested)};
}

static uint64_t
counter_value(const rec_stats *s, size_t i)
{
    uint64_t value;
    memcpy(&value, (const char *)s + counters[i].offset, sizeof value);
    return value;
}

static pr_code
tell_counters(recording *r, pr_err *err)
{
    rec_stats stats;
    rec_unwinder_get_stats(r->unwinder, &stats);
    char key[64], text[32];
    pr_code code = PR_OK;
    for (size_t i = 0; code == PR_OK && i < N_COUNTERS; i++) {
        snprintf(key, sizeof key, "stats.%s", counters[i].name);
        code = tell_number(r, key, counter_value(&stats, i), err);
    }
    rate rates[N_RATES];
    rates_of(&stats, rates);
    for (size_t i = 0; code == PR_OK && i < N_RATES; i++) {
        snprintf(key, sizeof key, "stats.%s", rates[i].name);
        snprintf(text, sizeof text, "%.2f", rates[i].percent);
        code = tell(r, key, text, err);
    }
    return code;
}

static void
print_counters(const recording *r)
{
    rec_stats stats;
    rec_unwinder_get_stats(r->unwinder, &stats);
    for (size_t i = 0; i < N_COUNTERS; i++)
        fprintf(stderr, "  %-34s %" PRIu64 "\n", counters[i].name,
                counter_value(&stats, i));
    rate rates[N_RATES];
    rates_of(&stats, rates);
    for (size_t i = 0; i < N_RATES; i++)
        fprintf(stderr, "  %-38s %.2f %%\n", rates[i].name, rates[i].percent);
}

/* ---- the end of a recording ---- */

static pr_code
tell_end(recording *r, pr_err *err)
{
    totals t = totals_of(r->unwinder);
    pr_code code = rec_unwinder_tell_counts(r->unwinder, err);
    if (code == PR_OK)
        code = tell(r, "recorder.policy", r->report.policy, err);
    if (code == PR_OK)
        code = tell_counters(r, err);
    if (code != PR_OK)
        return code;
    double s = (double)(r->report.end_ns - r->start_ns) / 1e9;
    pr_stats stats = {.duration_s = s,
                      .rate_hz = s > 0 ? (double)t.ticks / s : 0,
                      .error_percent = percent(t.lost, t.lost + samples_of(&t)),
                      .missed_percent = percent(t.missed, t.missed + t.ticks),
                      .known = PR_STATS_PRESENT | 3};
    return PR_SINK_CALL(r->queue, stats, &stats, err);
}

static void
print_losses(const totals *t)
{
    if (t->missed)
        fprintf(stderr, "pyrec: %" PRIu64 " ticks missed (%.2f %%)%s\n",
                t->missed, percent(t->missed, t->missed + t->ticks),
                t->missed_queue ? ", writing was too slow" : "");
    if (t->truncated)
        fprintf(stderr, "pyrec: %" PRIu64 " stacks cut at the limit of depth\n",
                t->truncated);
    uint64_t doubtful = t->unproven + t->lost;
    double share = percent(doubtful, samples_of(t) + t->lost);
    if (share > 1)
        fprintf(stderr,
                "pyrec: warning: %.1f %% of the samples are lost or not "
                "proven: shares may be biased\n",
                share);
}

static void
print_summary(const recording *r)
{
    totals t = totals_of(r->unwinder);
    uint64_t wall = r->report.end_ns - r->start_ns;
    fprintf(stderr,
            "pyrec: %" PRIu64 " samples in %.1f s, %" PRIu64 " bytes in %s\n",
            samples_of(&t), (double)wall / 1e9, r->written.file_bytes,
            r->options->output);
    fprintf(stderr,
            "pyrec: proven %" PRIu64 ", unchanged or asleep %" PRIu64
            ", not proven %" PRIu64 ", lost %" PRIu64 "\n",
            t.proven, t.sleeping, t.unproven, t.lost);
    fprintf(stderr, "pyrec: sampler %s, %.2f %% of a CPU\n", r->report.policy,
            percent(r->report.cpu_ns, wall));
    print_losses(&t);
    if (r->options->stats)
        print_counters(r);
}

/* ---- recording ---- */

static pr_code
open_signals(recording *r, pr_err *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    r->signal_fd = signalfd(-1, &set, SFD_CLOEXEC);
    if (r->signal_fd < 0)
        return PR_FAIL(err, PR_INTERNAL, errno, PR_NO_OFFSET,
                       "cannot receive signals");
    return PR_OK;
}

static pr_code
writer_tick(pr_sink *out, uint64_t now_us, pr_err *err)
{
    return pf_writer_tick(out, now_us, err);
}

static pr_code
start_writing(recording *r, pr_err *err)
{
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.checkpoint_us = CHECKPOINT_US;
    opts.fsync = r->options->fsync;
    opts.force = r->options->force;
    pr_sink *writer;
    pr_code code = pf_writer_open(r->options->output, &opts, &writer, err);
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

static pr_code
start_sampling(recording *r, pr_err *err)
{
    const rec_options *o = r->options;
    rec_sampler_opts opts = {.start_ns = r->start_ns,
                             .period_ns = o->period_ns,
                             .duration_ns = o->duration_ns,
                             .seed = r->start_ns,
                             .pinned = o->unwinder.strategy != REC_REMOTE,
                             .realtime = o->realtime};
    return rec_sampler_start(r->unwinder, r->queue, &opts, &r->sampler, err);
}

static void
print_status(const recording *r)
{
    uint64_t s = (clock_ns(CLOCK_MONOTONIC) - r->start_ns) / 1000000000;
    fprintf(stderr, "\rpyrec: recording %d, %" PRIu64 ":%02" PRIu64,
            (int)r->options->pid, s / 60, s % 60);
}

/* Until the sampler ends, by itself or because a signal asks for it. */
static void
wait_for_end(recording *r)
{
    bool status = !r->options->quiet && isatty(STDERR_FILENO);
    struct pollfd fds[2] = {{r->signal_fd, POLLIN, 0},
                            {rec_sampler_fd(r->sampler), POLLIN, 0}};
    while (!(fds[1].revents & POLLIN)) {
        if (poll(fds, 2, status ? STATUS_EVERY_MS : -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents & POLLIN) {
            struct signalfd_siginfo info;
            (void)!read(r->signal_fd, &info, sizeof info);
            rec_sampler_stop(r->sampler);
        }
        if (status)
            print_status(r);
    }
    if (status)
        fputs("\n", stderr);
}

static pr_code
finish(recording *r, pr_err *err)
{
    pr_sink *queue = r->queue;
    pr_code code = tell_end(r, err);
    r->queue = NULL;
    if (code == PR_OK)
        return queue->ops->finish(queue, err);
    pr_err first = PR_ERR_INIT;
    if (queue->ops->finish(queue, &first) != PR_OK)
        *err = first; /* why the queue refused is the writer's error */
    return code;
}

static pr_code
sample(recording *r, pr_err *err)
{
    wait_for_end(r);
    pr_code code = rec_sampler_join(r->sampler, &r->report, err);
    totals t = totals_of(r->unwinder);
    if (code == PR_NO_PROCESS && samples_of(&t) == 0)
        return code;
    if (code != PR_OK && code != PR_NO_PROCESS) {
        pr_err ended = PR_ERR_INIT;
        if (finish(r, &ended) != PR_OK)
            *err = ended;
        return code;
    }
    pr_err_clear(err);
    return finish(r, err);
}

static pr_code
record_with(recording *r, pr_err *err)
{
    pr_code code = open_signals(r, err);
    if (code == PR_OK)
        code = rec_queue_new(QUEUE_BYTES, &r->queue, err);
    if (code == PR_OK)
        code = rec_unwinder_open(r->options->pid, &r->options->unwinder,
                                 r->queue, &r->unwinder, err);
    r->start_ns = clock_ns(CLOCK_MONOTONIC);
    if (code == PR_OK)
        code = start_writing(r, err);
    if (code == PR_OK)
        code = start_sampling(r, err);
    if (code == PR_OK)
        code = sample(r, err);
    return code;
}

static int
record(const rec_options *options)
{
    recording r = {.options = options, .signal_fd = -1};
    pr_err err = PR_ERR_INIT;
    pr_code code = record_with(&r, &err);
    if (r.queue)
        r.queue->ops->abort(r.queue);
    if (code == PR_OK && !options->quiet)
        print_summary(&r);
    rec_unwinder_free(r.unwinder);
    if (r.signal_fd >= 0)
        close(r.signal_fd);
    return code == PR_OK ? 0 : fail(&err);
}

/* ---- the other things it does ---- */

static int
check(pid_t pid)
{
    pr_err err = PR_ERR_INIT;
    rec_target t;
    if (rec_is_python(pid, &t, &err) != PR_OK)
        return fail(&err);
    printf("%d is CPython %u.%u.%u%s, %s\n", (int)pid, t.python[0], t.python[1],
           t.python[2], t.free_threaded ? " (free-threaded)" : "",
           t.runtime_path);
    return 0;
}

int
main(int argc, char **argv)
{
    rec_options options;
    pr_err err = PR_ERR_INIT;
    pr_code code = rec_options_parse(argc, argv, &options, &err);
    int status = 0;
    if (code != PR_OK)
        status = fail(&err);
    else if (options.action == REC_ACTION_HELP)
        fputs(rec_options_help(), stdout);
    else if (options.action == REC_ACTION_VERSION)
        puts("pyrec " PYREC_VERSION);
    else if (options.action == REC_ACTION_CHECK)
        status = check(options.pid);
    else
        status = record(&options);
    rec_options_release(&options);
    return status;
}
