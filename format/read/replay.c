/*
 * replay.c - emit a profile file to a sink, and check one without a sink.
 */
#include "format/limits.h"
#include "format/read/decode.h"
#include "format/read/segment_loader.h"
#include "format/read/segments.h"
#include "format/read/stream.h"

#include <base/opts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct replay {
    pf_reader *r;
    pf_replay_opts opts;
    pr_sink *sink;
    pf_decoder decoder;
    uint64_t passed; /* samples emitted or skipped, for the progress */
    pr_err fault;    /* found by decoding: PR_DAMAGED */
    uint64_t lost;   /* samples after faults in records */
} replay;

static void
report(const replay *p)
{
    if (p->opts.progress.report)
        p->opts.progress.report(p->opts.progress.context, p->passed,
                                p->r->info.samples);
}

/* ---- calls before the samples ---- */

/* The wall clock is in start(). */
static pr_code
emit_meta(const replay *p, pr_err *err)
{
    const pf_metadata *all = &p->r->names.metadata;
    pr_code code = PR_OK;
    for (size_t i = 0; i < all->n && code == PR_OK; i++) {
        const pf_meta *m = &all->pair[i];
        if (!strcmp(m->key, PF_META_WALL))
            continue;
        code = PR_SINK_CALL(p->sink, meta, m->key, m->value, m->value_len, err);
    }
    return code;
}

/* Emit all names of the checkpoints before the samples; threads of a CPython
 * file come with their first sample. */
static pr_code
emit_names(replay *p, pr_err *err)
{
    const pf_names *names = &p->r->names;
    pr_code code = PR_SINK_CALL(p->sink, start, &p->r->info.start, err);
    if (code == PR_OK)
        code = emit_meta(p, err);
    const pf_processes *processes = &names->processes;
    for (size_t i = 0; i < processes->n && code == PR_OK; i++)
        code = pr_sink_process(p->sink, &processes->at[i].described, err);
#define EMIT_LISTED(op, type)                                   \
    for (size_t i = 0; i < names->n_##op && code == PR_OK; i++) \
        code = pr_sink_##op(p->sink, &names->op[i], err);
    PF_LISTED_MAP(EMIT_LISTED)
#undef EMIT_LISTED
    if (code == PR_OK)
        code = pf_symbols_emit(&p->r->names.symbols, p->sink, err);
    if (!p->r->info.has_checkpoints)
        return code;
    size_t n = p->r->names.n_threads;
    for (uint32_t i = 0; i < n && code == PR_OK; i++)
        code = pf_names_emit_thread(&p->r->names, i, p->sink, err);
    p->decoder.threads_emitted = (uint32_t)n;
    return code;
}

/* ---- calls beside the samples ---- */

static uint32_t
thread_of_ref(const replay *p, pf_ref ref)
{
    return pf_ref_is_process(ref) ? PR_NO_THREAD
                                  : pf_names_find_thread(&p->r->names, ref);
}

/* The number of a process by arrival; the open has added each process. */
static pr_code
find_process(replay *p, uint64_t file_index, uint32_t *ret, pr_err *err)
{
    pf_ref ref = {file_index, PF_REF_PROCESS_INTERP};
    return pf_names_process_of(&p->r->names, ref, ret, err);
}

static pr_code
find_owner(replay *p, pf_ref ref, uint32_t *ret_thread, uint32_t *ret_process,
           pr_err *err)
{
    *ret_thread = thread_of_ref(p, ref);
    if (*ret_thread != PR_NO_THREAD) {
        *ret_process = p->r->names.thread[*ret_thread].process;
        return PR_OK;
    }
    return pf_ref_is_process(ref) ? find_process(p, ref.tid, ret_process, err)
                                  : PR_OK;
}

/* to_us UINT64_MAX: there is no end. */
static bool
is_wanted(const replay *p, uint64_t first_us, uint64_t last_us)
{
    return last_us >= p->opts.from_us &&
           (first_us < p->opts.to_us || p->opts.to_us == UINT64_MAX);
}

static pr_code
emit_base(void *context, pf_ref ref, uint64_t base_us, pr_err *err)
{
    replay *p = context;
    return pf_decoder_base(&p->decoder, ref, base_us, err);
}

/* A range of time emits each counter as well, with its value since the start of
 * the recording. */
static pr_code
emit_count(void *context, pf_ref ref, const pr_count *count, pr_err *err)
{
    replay *p = context;
    pr_count emitted = *count;
    pr_code code = find_owner(p, ref, &emitted.thread, &emitted.process, err);
    if (code != PR_OK)
        return code;
    code = PR_SINK_CALL(p->sink, count, &emitted, err);
    p->decoder.sink_failed = code != PR_OK;
    return code;
}

static pr_code
emit_gc(void *context, const pr_gc_event *event, pr_err *err)
{
    replay *p = context;
    pr_gc_event emitted = *event;
    if (!is_wanted(p, event->start_us, event->stop_us))
        return PR_OK;
    pr_code code = find_process(p, event->process, &emitted.process, err);
    if (code != PR_OK)
        return code;
    code = PR_SINK_CALL(p->sink, gc, &emitted, err);
    p->decoder.sink_failed = code != PR_OK;
    return code;
}

static pr_code
emit_task(void *context, pf_ref ref, const pr_task *task, pr_err *err)
{
    replay *p = context;
    pr_task emitted = *task;
    pr_code code = find_owner(p, ref, &emitted.thread, &emitted.process, err);
    if (code != PR_OK)
        return code;
    code = PR_SINK_CALL(p->sink, task, &emitted, err);
    p->decoder.sink_failed = code != PR_OK;
    return code;
}

static pr_code
emit_mark(void *context, const pr_mark *mark, pr_err *err)
{
    replay *p = context;
    pr_mark emitted = *mark;
    if (!is_wanted(p, mark->time_us, mark->end_us))
        return PR_OK;
    pr_code code = find_process(p, mark->process, &emitted.process, err);
    if (code != PR_OK)
        return code;
    code = PR_SINK_CALL(p->sink, mark, &emitted, err);
    p->decoder.sink_failed = code != PR_OK;
    return code;
}

static const pf_checkpoint_ops base_ops = {.base = emit_base};
static const pf_checkpoint_ops rest_ops = {
    .count = emit_count,
    .gc = emit_gc,
    .task = emit_task,
    .mark = emit_mark,
};

/* ---- segments ---- */

/* Compare the decoded samples with those that the checkpoint promised. */
static pr_code
check_span(const replay *p, const pf_segment *s, pr_err *err)
{
    const pf_decoder *d = &p->decoder;
    bool same = d->samples == s->samples;
    if (same && s->samples)
        same = d->first_us == s->first_us && d->last_us == s->last_us;
    if (!same)
        return PR_FAIL(err, PR_DAMAGED,
                       "%" PRIu64 " samples where %" PRIu64 " were promised, "
                       "or at other times",
                       d->samples, s->samples);
    return PR_OK;
}

/* The typed records that a segment's checkpoint keeps for the replay. */
static pf_cur
kept_of(const pf_reader *r, const pf_segment *s)
{
    const uint8_t *bytes = s->kept_size ? r->kept.p + s->kept_at : NULL;
    return pf_cur_of(bytes, s->kept_size, r->swapped);
}

/* Emit the records of one segment. */
static pr_code
emit_records(replay *p, const pf_segment *s, pf_cur kept,
             const pf_loaded *loaded, pr_err *err)
{
    size_t used;
    pf_decoder_begin(&p->decoder, s->frame_end);
    pr_code code = pf_checkpoint_walk(kept, &base_ops, p, err);
    if (code == PR_OK)
        code =
            pf_decoder_piece(&p->decoder, loaded->records, false, &used, err);
    if (code == PR_OK)
        code = pf_decoder_end(&p->decoder, err);
    return code == PR_OK ? check_span(p, s, err) : code;
}

/* Note records that are wrong although their checksum is right.  The samples
 * before the fault were emitted, and no other segment depends on the rest. */
static void
note_wrong_records(replay *p, const pf_segment *s, uint64_t emitted,
                   const pr_err *why)
{
    if (s->samples > emitted)
        p->lost += s->samples - emitted;
    p->decoder.stats.segments_damaged++;
    if (p->fault.code == PR_OK)
        PR_FAIL_AT(&p->fault, PR_DAMAGED, s->data_at, "segment %" PRIu32 ": %s",
                   s->number, why->what);
}

static pr_code
emit_segment(replay *p, const pf_segment *s, const pf_loaded *loaded,
             pr_err *err)
{
    pf_cur kept = kept_of(p->r, s);
    pr_err why = loaded->err;
    pr_code code = loaded->code;
    uint64_t emitted = 0;
    if (code == PR_OK) {
        code = emit_records(p, s, kept, loaded, &why);
        emitted = p->decoder.samples;
    }
    p->decoder.stats.segments_read++;
    p->passed += s->samples;
    report(p);
    if (p->decoder.sink_failed || pf_is_hard(code)) {
        if (err && err->code == PR_OK)
            *err = why;
        return code;
    }
    if (code != PR_OK)
        note_wrong_records(p, s, emitted, &why);
    return pf_checkpoint_walk(kept, &rest_ops, p, err);
}

/* Emit the records of a checkpoint that are not samples. */
static pr_code
emit_kept(replay *p, const pf_segment *s, pr_err *err)
{
    pf_cur kept = kept_of(p->r, s);
    return pf_checkpoint_walk(kept, &rest_ops, p, err);
}

/* Threads with samples in the range, for which a segment after it was not found
 * so far. */
typedef struct next_choice {
    const pf_names *names;
    bool *awaits;  /* [names->n_threads] */
    bool in_range; /* is this segment, so its threads await one */
    bool found;    /* this segment has a thread that awaits one */
} next_choice;

static pr_code
note_thread(void *context, pf_ref ref, uint64_t base_us, pr_err *err)
{
    next_choice *c = context;
    uint32_t thread = pf_names_find_thread(c->names, ref);
    (void)base_us;
    (void)err;
    if (thread < c->names->n_threads) {
        c->found |= c->awaits[thread];
        c->awaits[thread] = c->in_range;
    }
    return PR_OK;
}

/* Want also the segments with the first samples after the range. */
static pr_code
choose_next(const replay *p, bool *wanted, pr_err *err)
{
    static const pf_checkpoint_ops thread_ops = {.base = note_thread};
    const pf_names *names = &p->r->names;
    next_choice c = {.names = names};
    c.awaits = calloc(names->n_threads + 1, sizeof *c.awaits);
    if (!c.awaits)
        return pr_no_memory(err);
    pr_code code = PR_OK;
    for (size_t i = 0; i < p->r->n_segments && code == PR_OK; i++) {
        const pf_segment *s = &p->r->segment[i];
        if (s->lost || s->samples == 0 || s->last_us < p->opts.from_us)
            continue;
        c.in_range = wanted[i];
        c.found = false;
        code = pf_checkpoint_walk(kept_of(p->r, s), &thread_ops, &c, err);
        wanted[i] |= c.found;
    }
    free(c.awaits);
    return code;
}

/* A segment without samples is always wanted, since it has no time and may hold
 * events of any time. */
static pr_code
choose_segments(const replay *p, bool *wanted, pr_err *err)
{
    for (size_t i = 0; i < p->r->n_segments; i++) {
        const pf_segment *s = &p->r->segment[i];
        wanted[i] = !s->lost &&
                    (s->samples == 0 || is_wanted(p, s->first_us, s->last_us));
    }
    return p->opts.with_next && p->opts.to_us != UINT64_MAX
               ? choose_next(p, wanted, err)
               : PR_OK;
}

static void
count_segments(replay *p, const bool *wanted)
{
    p->decoder.stats.segments_damaged = p->r->missing;
    for (size_t i = 0; i < p->r->n_segments; i++) {
        const pf_segment *s = &p->r->segment[i];
        p->decoder.stats.segments_damaged += s->lost;
        p->decoder.stats.segments_skipped += !s->lost && !wanted[i];
        if (!s->lost && !wanted[i])
            p->passed += s->samples;
    }
}

/* Emit the records of the checkpoints of unwanted segments up to `end`. */
static pr_code
emit_others(replay *p, const bool *wanted, size_t *next, size_t end,
            pr_err *err)
{
    pr_code code = PR_OK;
    for (; *next < end && code == PR_OK; ++*next)
        if (!wanted[*next])
            code = emit_kept(p, &p->r->segment[*next], err);
    return code;
}

static pr_code
emit_segments(replay *p, pr_err *err)
{
    pf_reader *r = p->r;
    pf_loader *loader;
    const pf_loaded *loaded;
    size_t i, next = 0;
    bool *wanted = calloc(r->n_segments + 1, sizeof *wanted);
    if (!wanted)
        return pr_no_memory(err);
    pr_code code = choose_segments(p, wanted, err);
    count_segments(p, wanted);
    report(p);
    if (code == PR_OK)
        code = pf_loader_new(&r->in, r->swapped, r->segment, wanted,
                             r->n_segments, p->opts.jobs, &loader, err);
    if (code != PR_OK) {
        free(wanted);
        return code;
    }
    while (code == PR_OK && (loaded = pf_loader_next(loader, &i))) {
        code = emit_others(p, wanted, &next, i, err);
        if (code == PR_OK)
            code = emit_segment(p, &r->segment[i], loaded, err);
    }
    if (code == PR_OK)
        code = emit_others(p, wanted, &next, r->n_segments, err);
    pf_loader_free(loader);
    free(wanted);
    return code;
}

/* ---- losses ---- */

/* Losses that the replay found have no known time. */
static pr_code
emit_gap(replay *p, const pf_gap *gap, pr_err *err)
{
    char text[96];
    if (gap->samples == 0 && gap->counted)
        return PR_OK;
    int n = gap->samples
                ? snprintf(text, sizeof text, "%s%" PRIu64 " samples",
                           gap->counted ? "" : "at least ", gap->samples)
                : snprintf(text, sizeof text, "an unknown number of samples");
    pr_mark mark = {.kind = PR_MARK_LOST,
                    .time_us = gap->from_us,
                    .end_us = gap->to_us,
                    .text = text,
                    .text_len = (size_t)n};
    return is_wanted(p, mark.time_us, mark.end_us)
               ? pr_sink_mark(p->sink, &mark, err)
               : PR_OK;
}

static pr_code
emit_losses(replay *p, pr_err *err)
{
    uint64_t last = p->r->info.last_us, lost;
    pr_count count = {.thread = PR_NO_THREAD, .kind = PR_COUNT_LOST_FILE};
    pr_code code = PR_OK;
    for (size_t i = 0; i < p->r->n_gaps && code == PR_OK; i++)
        code = emit_gap(p, &p->r->gap[i], err);
    if (p->lost && code == PR_OK)
        code = emit_gap(p, &(pf_gap){last, last, p->lost, true}, err);
    pf_gaps_sum(p->r, &lost);
    if (code != PR_OK || lost + p->lost == 0)
        return code;
    /* the counter of the names includes the gaps */
    const pr_count *counted = pf_names_find_count(&p->r->names, &count);
    count.value = (counted ? counted->value : 0) + p->lost;
    count.time_us = last;
    return pr_sink_count(p->sink, &count, err);
}

/* ---- one stream ---- */

/* Decode all pieces.  PR_DAMAGED in *why is an answer, not a failure. */
static pr_code
emit_pieces(replay *p, pf_stream *stream, pr_err *why)
{
    const uint8_t *piece;
    size_t n, used = 0;
    bool more = true;
    pf_decoder_begin(&p->decoder, UINT32_MAX);
    while (more) {
        pr_code code = pf_stream_next(stream, used, &piece, &n, &more, why);
        if (code != PR_OK)
            return code;
        code = pf_decoder_piece(&p->decoder, pf_cur_of(piece, n, p->r->swapped),
                                more, &used, why);
        if (code == PR_OK && more && used == 0 && n == PF_PIECE_MAX)
            code = PR_FAIL_AT(why, PR_DAMAGED, 0, "a record is malformed");
        if (code == PR_DAMAGED && !p->decoder.sink_failed)
            why->offset += pf_stream_at(stream);
        if (code != PR_OK)
            return code;
        p->passed = p->decoder.samples;
        report(p);
    }
    return PR_OK;
}

/* Compare the counts of CPython's header with the samples and threads found. */
static void
check_stock_totals(replay *p)
{
    const pf_header *h = &p->r->header;
    uint64_t samples = p->decoder.samples;
    uint32_t threads = p->decoder.threads_emitted;
    if (samples == h->samples && threads == h->threads)
        return;
    if (h->samples > samples)
        p->lost = h->samples - samples;
    PR_FAIL_AT(&p->fault, PR_DAMAGED, PF_HEADER_SAMPLES,
               "the header counts %" PRIu64 " samples of %" PRIu32
               " threads, the file has %" PRIu64 " of %" PRIu32,
               h->samples, h->threads, samples, threads);
}

/* CPython writes any time, also one that goes back. */
static void
check_clock(replay *p)
{
    if (p->decoder.moved && p->fault.code == PR_OK)
        PR_FAIL_AT(&p->fault, PR_DAMAGED, PF_HEADER_SIZE,
                   "the clock steps back: %" PRIu64
                   " samples are emitted at a later time than theirs",
                   p->decoder.moved);
}

static pr_code
emit_stream(replay *p, pr_err *err)
{
    pf_reader *r = p->r;
    pf_stream *stream;
    pr_err why = PR_ERR_INIT;
    pr_code code = pf_stream_new(&r->in, PF_HEADER_SIZE, r->region_end,
                                 r->info.compressed, &stream, err);
    if (code != PR_OK)
        return code;
    report(p);
    code = emit_pieces(p, stream, &why);
    pf_stream_free(stream);
    if (code == PR_OK) {
        check_stock_totals(p);
        check_clock(p);
    } else if (code == PR_DAMAGED && !p->decoder.sink_failed) {
        if (r->header.samples > p->decoder.samples)
            p->lost = r->header.samples - p->decoder.samples;
        PR_FAIL_AT(&p->fault, PR_DAMAGED, PF_HEADER_SIZE,
                   "byte %" PRIu64 " of the records: %s", why.offset, why.what);
        code = PR_OK;
    } else if (err && err->code == PR_OK) {
        *err = why;
    }
    return code;
}

/* ---- the interface ---- */

static pr_code
run(replay *p, pr_err *err)
{
    pr_code code = emit_names(p, err);
    if (code == PR_OK)
        code = p->r->info.has_checkpoints ? emit_segments(p, err)
                                          : emit_stream(p, err);
    if (code == PR_OK)
        code = emit_losses(p, err);
    if (code == PR_OK && p->r->info.stats.known & PR_STATS_PRESENT)
        code = PR_SINK_CALL(p->sink, stats, &p->r->info.stats, err);
    return code;
}

static void
keep_stats(const replay *p)
{
    const uint64_t *records = p->decoder.records;
    pf_reader_stats *s = &p->r->stats;
    *s = p->decoder.stats;
    s->repeat_records = records[PF_REPEAT];
    s->full_records = records[PF_FULL];
    s->suffix_records = records[PF_SUFFIX];
    s->pop_push_records = records[PF_POP_PUSH];
    s->total_samples = p->decoder.emitted;
    s->stack_reconstructions =
        s->full_records + s->suffix_records + s->pop_push_records;
}

/* The answer about the file: its first fault, and the sum of its losses. */
static pr_code
answer(const replay *p, pr_err *err)
{
    pf_reader *r = p->r;
    const pr_err *fault = &r->fault;
    uint64_t lost;
    bool counted = pf_gaps_sum(r, &lost);
    if (p->fault.code != PR_OK && fault->code != PR_DAMAGED)
        fault = &p->fault;
    if (fault->code == PR_OK)
        return PR_OK;
    lost += p->lost;
    r->info.samples_lost = lost;
    r->info.state = fault->code == PR_CUT ? PF_CUT : PF_DAMAGED;
    char loss[96];
    if (lost)
        snprintf(loss, sizeof loss, "%s%" PRIu64 " samples are lost",
                 counted ? "" : "at least ", lost);
    else
        snprintf(loss, sizeof loss, "%s",
                 counted ? "no sample is lost"
                         : "samples after its last whole segment are lost");
    return PR_FAIL_AT(err, fault->code, fault->offset, "'%.80s': %.120s; %s",
                      r->in.path, fault->what, loss);
}

pr_code
pf_reader_replay(pf_reader *r, const pf_replay_opts *opts, pr_sink *sink,
                 uint64_t *ret_samples, pr_err *err)
{
    replay p = {.r = r, .opts = PF_REPLAY_OPTS_INIT, .sink = sink};
    pr_code code = pr_opts_take(&p.opts, sizeof p.opts, opts, err);
    if (code == PR_OK)
        code = pf_decoder_init(&p.decoder, sink, &r->names,
                               !r->info.has_checkpoints, err);
    if (code != PR_OK)
        return code;
    p.decoder.from_us = p.opts.from_us;
    p.decoder.to_us = p.opts.to_us;
    p.decoder.with_next = p.opts.with_next != 0;
    code = run(&p, err);
    keep_stats(&p);
    if (ret_samples)
        *ret_samples = p.decoder.emitted;
    pf_decoder_release(&p.decoder);
    return code == PR_OK ? answer(&p, err) : code;
}

pr_code
pf_reader_verify(pf_reader *r, const pr_progress *progress, pr_err *err)
{
    static const pr_sink_ops nothing = {.start = NULL};
    pr_sink sink = {&nothing, NULL};
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    if (progress)
        opts.progress = *progress;
    return pf_reader_replay(r, &opts, &sink, NULL, err);
}
