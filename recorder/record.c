/*
 * record.c - one process into one file (record.h).
 */
#include "recorder/record.h"

#include "recorder/counters.h"
#include "recorder/linux/clock.h"
#include "recorder/queue.h"
#include "recorder/sample/unwinder_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    STARVED_MS =
        10000,      /* a sampler that waits for a processor may end so late */
    AGAIN_MS = 100, /* between two checks of its state */
    QUEUE_BYTES = 8 << 20,
    CHECKPOINT_US = 1900000 /* the oldest sample a kill may cost */
};

struct rec_record {
    rec_record_opts opts;
    pr_sink *queue; /* NULL once it was ended */
    rec_unwinder *unwinder;
    rec_sampler *sampler;
    uint64_t start_ns, stop_ns; /* stop_ns 0: it was not asked to end */
    uint64_t end_us; /* wall clock: the process ended; 0: it lives on */
    pf_writer_stats written;
    char children[64]; /* how they were watched; empty: they were not */
    uint64_t children_seen, children_gone;
};

/* ---- the metadata of the recording ---- */

static uint32_t
captured(const rec_unwinder_opts *o, const rec_target *t)
{
    uint32_t bits = PR_CAPTURE_KNOWN;
    if (o->threads == REC_THREADS_ALL)
        bits |= PR_CAPTURE_ALL_THREADS;
    if (o->native)
        bits |= PR_CAPTURE_NATIVE;
    if (o->gc && t->shows_gc)
        bits |= PR_CAPTURE_GC;
    if (o->opcodes)
        bits |= PR_CAPTURE_OPCODES;
    if (o->strategy == REC_BLOCKING)
        bits |= PR_CAPTURE_BLOCKING;
    return bits;
}

static pr_code
emit_start(rec_record *r, pr_err *err)
{
    const rec_record_opts *o = &r->opts;
    const rec_target *t = rec_unwinder_target(r->unwinder);
    uint64_t interval_us = o->period_ns / 1000;
    pr_start start = {.start_us = r->start_ns / 1000,
                      .wall_us = rec_clock_ns(CLOCK_REALTIME) / 1000,
                      .interval_us = interval_us ? interval_us : 1,
                      .python = {t->python[0], t->python[1], t->python[2]},
                      .mode = o->unwinder.mode,
                      .capture = captured(&o->unwinder, t)};
    pr_code code = PR_SINK_CALL(r->queue, start, &start, err);
    return code == PR_OK ? rec_metadata_emit(&o->metadata, t, r->queue, err)
                         : code;
}

static pr_code
emit_counters(rec_record *r, pr_err *err)
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
        code = rec_metadata_text(r->queue, key, value, err);
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
    t->truncated = rec_tick_total(u, PR_COUNT_TRUNCATED);
    t->degraded = rec_tick_total(u, PR_COUNT_DEGRADED);
    t->gc_lost = rec_tick_total(u, PR_COUNT_GC_LOST);
    t->lost = 0;
    for (int kind = PR_COUNT_LOST_TORN; kind <= PR_COUNT_LOST_OTHER; kind++)
        t->lost += rec_tick_total(u, (pr_count_kind)kind);
    t->held_ns = rec_tick_held_ns(u);
    rec_unwinder_get_stats(u, &t->stats);
}

void
rec_report_add(rec_report *sum, const rec_report *t)
{
    uint64_t *to[] = {&sum->proven,   &sum->sleeping,     &sum->unproven,
                      &sum->stopped,  &sum->lost,         &sum->ticks,
                      &sum->missed,   &sum->missed_queue, &sum->truncated,
                      &sum->degraded, &sum->gc_lost,      &sum->held_ns};
    const uint64_t from[] = {t->proven,   t->sleeping,     t->unproven,
                             t->stopped,  t->lost,         t->ticks,
                             t->missed,   t->missed_queue, t->truncated,
                             t->degraded, t->gc_lost,      t->held_ns};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++)
        *to[i] += from[i];
    if (t->wall_ns > sum->wall_ns)
        sum->wall_ns = t->wall_ns;
    sum->written.file_bytes += t->written.file_bytes;
    sum->colocated = sum->colocated || t->colocated;
    sum->hung = sum->hung || t->hung;
    rec_counters_add(&sum->stats, &t->stats);
    rec_sampler_report_add(&sum->sampler, &t->sampler);
}

uint64_t
rec_report_samples(const rec_report *t)
{
    return t->proven + t->sleeping + t->unproven + t->stopped;
}

/* ---- the end ---- */

static pr_code
emit_policy(rec_record *r, const rec_report *t, pr_err *err)
{
    char text[128];
    snprintf(text, sizeof text, "%s%s%s", t->sampler.policy,
             t->sampler.strayed ? ", partly from other CPUs" : "",
             rec_tick_has_rseq(r->unwinder) ? "" : ", without rseq");
    return rec_metadata_text(r->queue, "recorder.policy", text, err);
}

static pr_code
emit_end(rec_record *r, const rec_report *t, pr_err *err)
{
    rec_tick_count(r->unwinder, PR_COUNT_CHILDREN, r->children_seen);
    rec_tick_count(r->unwinder, PR_COUNT_CHILDREN_GONE, r->children_gone);
    pr_code code = rec_unwinder_emit_counts(r->unwinder, err);
    if (code == PR_OK)
        code = emit_policy(r, t, err);
    if (code == PR_OK && r->children[0])
        code =
            rec_metadata_text(r->queue, "recorder.children", r->children, err);
    if (code == PR_OK && r->end_us)
        code = rec_metadata_number(r->queue, "process.end_us", r->end_us, err);
    if (code == PR_OK)
        code = emit_counters(r, err);
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
    pr_code code = emit_end(r, t, err);
    r->queue = NULL;
    pr_code finished = queue->ops->finish(queue, code == PR_OK ? err : NULL);
    return code == PR_OK ? finished : code;
}

/* Why there is no sample, by the fate of those that were due. */
static pr_code
explain_empty(const rec_report *t, pid_t pid, pr_err *err)
{
    if (t->lost)
        return PR_FAIL(err, PR_TORN,
                       "no sample of process %d: all %" PRIu64
                       " that were due are lost",
                       (int)pid, t->lost);
    if (t->missed && t->ticks == 0)
        return PR_FAIL(err, PR_TORN,
                       "no sample of process %d: all %" PRIu64
                       " ticks were missed",
                       (int)pid, t->missed);
    if (t->ticks == 0)
        return PR_FAIL(err, PR_TORN,
                       "no sample of process %d: the recording ended before "
                       "its first tick",
                       (int)pid);
    return PR_FAIL(err, PR_TORN,
                   "no sample of process %d: it has no thread that the options "
                   "choose",
                   (int)pid);
}

/* A sampler that cannot hand over a sample fails with the thread's name, but it
 * was the file that failed. */
static pr_code
join_sampler(rec_record *r, rec_report *t, pr_err *err)
{
    pr_err sampler = PR_ERR_INIT, output = PR_ERR_INIT;
    pr_code code = rec_sampler_join(r->sampler, &t->sampler, &sampler);
    pr_code written = rec_queue_check(r->queue, &output);
    if (err && err->code == PR_OK)
        *err = written != PR_OK ? output : sampler;
    return written != PR_OK ? written : code;
}

/* A file that failed is closed as it is: the part that it holds is whole. */
static pr_code
end_recording(rec_record *r, rec_report *t, pr_err *err)
{
    pr_code code = join_sampler(r, t, err);
    pid_t pid = rec_unwinder_target(r->unwinder)->pid;
    if (code == PR_NO_PROCESS)
        r->end_us = rec_clock_ns(CLOCK_REALTIME) / 1000;
    r->sampler = NULL;
    t->wall_ns = t->sampler.end_ns - r->start_ns;
    count_up(r, t);
    if (code == PR_OK && rec_report_samples(t) == 0)
        code = explain_empty(t, pid, err);
    if (code != PR_OK && rec_report_samples(t) == 0)
        return code; /* nothing worth a file */
    if (code != PR_OK && code != PR_NO_PROCESS) {
        finish_file(r, t, NULL);
        return code;
    }
    pr_err_clear(err);
    return finish_file(r, t, err);
}

/* The kernel holds a read of the target. */
pr_code
rec_record_explain_held(pid_t pid, pr_err *err)
{
    PR_FAIL(err, PR_IO, "process %d: a read of its memory does not return",
            (int)pid);
    pr_err_hint(err, "what provides that memory (a file server, a handler of "
                     "userfaultfd) does not answer");
    return PR_IO;
}

/* The kernel holds the sampler, in a read of the target for example.  The
 * sampler keeps the objects that it works on.  The file ends with the samples
 * that the sampler has put into the queue; pyrec removes a file without a
 * complete tick. */
static pr_code
abandon(rec_record *r, rec_report *t, pr_err *err)
{
    bool sampled = rec_sampler_has_ticked(r->sampler);
    t->hung = true;
    t->wall_ns = rec_now_ns() - r->start_ns;
    pr_code code = rec_queue_end(r->queue, sampled, err);
    if (code == PR_OK && !sampled)
        code =
            rec_record_explain_held(rec_unwinder_target(r->unwinder)->pid, err);
    return code;
}

static void
release(rec_record *r)
{
    if (r->queue)
        r->queue->ops->abort(r->queue);
    rec_unwinder_free(r->unwinder);
    free(r);
}

/* How long it has not ended although it should. */
static uint64_t
overdue_ms(const rec_record *r)
{
    return r->stop_ns ? (rec_now_ns() - r->stop_ns) / 1000000 : 0;
}

/* Is the sampler neither at its end nor waiting for a processor?  On a machine
 * whose processors are all taken it may wait for one for seconds. */
static bool
is_held(const rec_record *r)
{
    uint64_t ms = overdue_ms(r);
    return ms >= STARVED_MS ||
           (ms >= REC_RECORD_END_MS && !rec_sampler_is_runnable(r->sampler));
}

static bool
wait_for_end(const rec_record *r)
{
    uint64_t ms = overdue_ms(r);
    int wait_ms =
        ms < REC_RECORD_END_MS ? (int)(REC_RECORD_END_MS - ms) : AGAIN_MS;
    while (!rec_sampler_has_ended(r->sampler, wait_ms)) {
        if (!r->stop_ns || is_held(r))
            return false;
        wait_ms = AGAIN_MS;
    }
    return true;
}

pr_code
rec_record_finish(rec_record *r, rec_report *ret, pr_err *err)
{
    rec_report t = {.colocated = r->opts.unwinder.strategy != REC_REMOTE};
    bool ended = wait_for_end(r);
    pr_code code = ended ? end_recording(r, &t, err) : abandon(r, &t, err);
    t.written = r->written;
    if (ended)
        release(r);
    *ret = t;
    return code;
}

bool
rec_record_is_overdue(const rec_record *r)
{
    return r->stop_ns && is_held(r);
}

/* ---- the beginning ---- */

/* Close a segment that would be too old at the next flush: now, right after the
 * counters, so that a checkpoint counts just the samples that it holds. */
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
    opts.fsync = r->opts.fsync;
    opts.force = r->opts.force;
    pr_sink *writer;
    pr_code code = pf_writer_open(output, &opts, &writer, err);
    if (code != PR_OK)
        return code;
    pf_writer_keep_stats(writer, &r->written);
    code = emit_start(r, err);
    if (code == PR_OK)
        code = rec_queue_start(r->queue, writer, writer_tick, err);
    if (code != PR_OK)
        writer->ops->abort(writer);
    return code;
}

static pr_code
start_sampling(rec_record *r, pr_err *err)
{
    const rec_record_opts *o = &r->opts;
    rec_strategy how = o->unwinder.strategy;
    rec_sampler_opts opts = {.start_ns = r->start_ns,
                             .period_ns = o->period_ns,
                             .duration_ns = o->duration_ns,
                             .seed = r->start_ns,
                             .pinned = how == REC_AUTO || how == REC_COLOCATED,
                             .polls = how == REC_REMOTE,
                             .realtime = o->realtime};
    return rec_sampler_start(r->unwinder, r->queue, &opts, &r->sampler, err);
}

/* Reads of the target, on the thread of a bounded call. */
typedef struct reading {
    rec_record *record;
    pid_t pid;
    pr_code code;
    pr_err err;
    pr_err *wanted; /* &err; NULL: nobody wants the reason, which costs time */
} reading;

static void
run_attach(void *context)
{
    reading *a = context;
    rec_record *r = a->record;
    a->code = rec_unwinder_open(a->pid, &r->opts.unwinder, r->queue,
                                &r->unwinder, a->wanted);
}

static void
release_attach(void *context)
{
    reading *a = context;
    release(a->record);
    free(a);
}

static void
run_prepare(void *context)
{
    reading *a = context;
    a->code = rec_tick_prepare(a->record->unwinder, a->wanted);
}

/* *ret_held: the kernel holds the reads, and the record is theirs. */
static pr_code
read_target(rec_record *r, pid_t pid, const rec_job *how,
            const rec_bound *bound, bool *ret_held, pr_err *err)
{
    reading *a = calloc(1, sizeof *a);
    if (!a)
        return pr_no_memory(err);
    *a = (reading){.record = r, .pid = pid, .err = PR_ERR_INIT};
    a->wanted = err ? &a->err : NULL;
    rec_job job = {how->run, how->release, a};
    if (bound)
        *ret_held = !rec_bounded_call(&job, bound);
    else
        how->run(a);
    if (*ret_held)
        return rec_record_explain_held(pid, err);
    pr_code code = a->code;
    if (code != PR_OK && err && err->code == PR_OK)
        *err = a->err;
    free(a);
    return code;
}

pr_code
rec_record_attach(const rec_record_opts *opts, pid_t pid,
                  const rec_bound *bound, rec_record **ret, bool *ret_held,
                  pr_err *err)
{
    static const rec_job how = {.run = run_attach, .release = release_attach};
    rec_record *r = calloc(1, sizeof *r);
    *ret_held = false;
    if (!r)
        return pr_no_memory(err);
    r->opts = *opts;
    pr_code code = rec_queue_new(QUEUE_BYTES, &r->queue, err);
    if (code == PR_OK)
        code = read_target(r, pid, &how, bound, ret_held, err);
    if (code == PR_OK)
        *ret = r;
    else if (!*ret_held)
        release(r);
    return code;
}

/* Find all threads.  A reader that is left and comes back still has the ring,
 * the unwinder and the record, which are never freed. */
static pr_code
prepare(rec_record *r, const rec_bound *bound, bool *ret_held, pr_err *err)
{
    static const rec_job how = {.run = run_prepare, .release = free};
    pid_t pid = rec_unwinder_target(r->unwinder)->pid;
    pr_code code = read_target(r, pid, &how, bound, ret_held, err);
    if (*ret_held)
        rec_queue_end(r->queue, false, NULL);
    return code;
}

pr_code
rec_record_begin(rec_record *r, const char *output, const rec_bound *bound,
                 bool *ret_held, pr_err *err)
{
    *ret_held = false;
    r->start_ns = rec_unwinder_start_ns(r->unwinder);
    pr_code code = start_writing(r, output, err);
    if (code == PR_OK)
        code = prepare(r, bound, ret_held, err);
    if (code == PR_OK)
        code = start_sampling(r, err);
    if (code != PR_OK && !*ret_held)
        release(r);
    return code;
}

void
rec_record_free(rec_record *r)
{
    if (r)
        release(r);
}

int
rec_record_fd(const rec_record *r)
{
    return rec_sampler_fd(r->sampler);
}

void
rec_record_stop(rec_record *r)
{
    if (!r->stop_ns)
        r->stop_ns = rec_now_ns();
    rec_sampler_stop(r->sampler);
}

void
rec_record_set_period(rec_record *r, uint64_t period_ns)
{
    rec_sampler_set_period(r->sampler, period_ns);
}

uint64_t
rec_record_cpu_ns(const rec_record *r)
{
    return rec_sampler_cpu_ns(r->sampler);
}

void
rec_record_note_children(rec_record *r, const char *how, uint64_t seen,
                         uint64_t gone)
{
    snprintf(r->children, sizeof r->children, "%s", how);
    r->children_seen = seen;
    r->children_gone = gone;
}
