/*
 * writer.c - the sink that writes a profile file.
 *
 *  I1 Up to out.size the file is the header and whole segments; whatever
 *     happens, it is cut back to that (spec/format.md 3, unfinished file).
 *  I2 A checkpoint names every string, frame and thread that its segment uses
 *     and that no checkpoint before it named.
 *  I3 Nothing of a file is overwritten but the header, once, at the end.
 *
 * A plain file has no checkpoints: only its end makes it readable.
 */
#include "format/limits.h"
#include "format/write/checkpoint_write.h"
#include "format/write/end_write.h"
#include "format/write/output.h"
#include <pyrec/writer.h>

#include <base/opts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* About 1 us a sample that changes (tests/bench/bench_writer.c), 5 % smaller
 * than the level 5 of CPython; the next levels cost double for 2 %. */
#define DEFAULT_LEVEL         12
#define DEFAULT_SEGMENT_BYTES (1u << 20)
#define DEFAULT_CHECKPOINT_US 2000000u

/* A reader holds a segment in memory, and each record may bring a thread
 * whose base the checkpoint has to name. */
#define SEGMENT_BYTES_MAX (16u << 20)

/* The lines of an index: with its other bytes, a reader still takes it. */
#define INDEX_BYTES_MAX (PF_INDEX_MAX - 128u)

/* Names and events may gather this much before a segment closes for them. */
#define NOTES_MAX ((size_t)16 << 20)

typedef struct pf_writer {
    pr_sink sink; /* first: the public handle */
    bool plain;
    pf_output out;
    pf_packer packer; /* not of a plain file */
    pf_encoder encoder;
    pf_pending notes;
    pf_list index;
    uint32_t n_processes; /* emitted */
    uint64_t bytes_compressed;
    uint64_t noted_us; /* a tick saw notes without samples; UINT64_MAX: none */
    uint8_t header[PF_HEADER_SIZE];
    pr_stats stats;
    pf_writer_stats *keep_stats; /* may be NULL */
} pf_writer;

static pf_writer *
of(pr_sink *sink)
{
    return (pf_writer *)sink;
}

/* ---- segments ---- */

static void
add_to_index(pf_writer *w)
{
    const pf_encoder *e = &w->encoder;
    pf_buf *b = &w->index.items;
    pf_buf_varint(b, w->packer.data_bytes);
    pf_buf_varint(b, w->packer.out.n - w->packer.data_bytes);
    pf_buf_varint(b, e->first_us);
    pf_buf_varint(b, e->last_us - e->first_us);
    pf_buf_varint(b, e->samples);
    w->index.n++;
}

static pr_code
write_segment(pf_writer *w, pr_err *err)
{
    pf_packer *packer = &w->packer;
    bool all = pf_pending_describe(&w->notes, w->out.size);
    pr_code rc = pf_packer_pack(packer, &w->encoder, &w->notes,
                                all ? w->header : NULL, err);
    if (rc != PR_OK)
        return rc;
    rc = pf_output_append(&w->out, packer->out.p, packer->out.n, err);
    if (rc != PR_OK)
        return rc;
    w->bytes_compressed += packer->data_bytes;
    pf_pending_written(&w->notes);
    add_to_index(w);
    if (w->index.items.failed)
        return pr_no_memory(err);
    if (w->index.items.n > INDEX_BYTES_MAX)
        return PR_FAIL(err, PR_LIMIT, "too many segments for one file");
    return PR_OK;
}

/* All that waits goes into the file. */
static pr_code
close_segment(pf_writer *w, pr_err *err)
{
    pf_encoder *e = &w->encoder;
    pr_code rc = pf_encoder_flush(e, err);
    if (rc == PR_OK)
        rc = w->plain
                 ? pf_output_append(&w->out, e->records.p, e->records.n, err)
                 : write_segment(w, err);
    if (rc != PR_OK)
        return rc;
    pf_encoder_next(e);
    w->noted_us = UINT64_MAX;
    return PR_OK;
}

/* Before another note is taken. */
static pr_code
make_room(pf_writer *w, pr_err *err)
{
    if (pf_pending_weight(&w->notes) < NOTES_MAX)
        return PR_OK;
    return close_segment(w, err);
}

/* ---- the sink ---- */

static void
make_header(pf_writer *w, const pr_start *start)
{
    uint32_t mode = start->mode == PR_MODE_UNKNOWN
                        ? 0
                        : ((uint32_t)start->mode + 1) & PF_CAPTURE_MODE_MASK;
    uint8_t *h = w->header;
    pf_put_u32(h + PF_HEADER_MAGIC, PF_MAGIC);
    pf_put_u32(h + PF_HEADER_VERSION, PF_VERSION);
    memcpy(h + PF_HEADER_PYTHON, start->python, sizeof start->python);
    pf_put_u64(h + PF_HEADER_START, start->start_us);
    pf_put_u64(h + PF_HEADER_INTERVAL, start->interval_us);
    pf_put_u32(h + PF_HEADER_COMPRESSION,
               w->plain ? PF_COMPRESSION_NONE : PF_COMPRESSION_ZSTD);
    pf_put_u32(h + PF_HEADER_CAPTURE,
               (start->capture & ~PF_CAPTURE_MODE_MASK) | mode);
}

/* The header has no field for it. */
static pr_code
note_wall_clock(pf_writer *w, uint64_t wall_us, pr_err *err)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%" PRIu64, wall_us);
    return pf_pending_meta(&w->notes, PF_META_WALL, text, (size_t)n, err);
}

static pr_code
writer_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    pf_writer *w = of(sink);
    if (start->interval_us == 0)
        return PR_FAIL(err, PR_INTERNAL, "interval is 0");
    make_header(w, start);
    pr_code rc = pf_output_append(&w->out, w->header, PF_HEADER_SIZE, err);
    if (rc == PR_OK && start->wall_us != 0)
        rc = note_wall_clock(w, start->wall_us, err);
    return rc;
}

static pr_code
writer_meta(pr_sink *sink, const char *key, const char *value, size_t len,
            pr_err *err)
{
    pf_writer *w = of(sink);
    pr_code rc = make_room(w, err);
    return rc ? rc : pf_pending_meta(&w->notes, key, value, len, err);
}

static pr_code
writer_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    pf_writer *w = of(sink);
    pr_code rc = make_room(w, err);
    return rc ? rc : pf_pending_string(&w->notes, bytes, len, err);
}

static pr_code
writer_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    pf_writer *w = of(sink);
    pr_code rc = make_room(w, err);
    return rc ? rc : pf_pending_frame(&w->notes, frame, err);
}

/* Processes have dense indices; process 0 exists without its emission. */
static pr_code
check_process(const pf_writer *w, uint32_t process, pr_err *err)
{
    uint32_t n = w->n_processes ? w->n_processes : 1;
    if (process >= n)
        return PR_FAIL(err, PR_INTERNAL, "process %" PRIu32 " was not emitted",
                       process);
    return PR_OK;
}

static pr_code
writer_process(pr_sink *sink, const pr_process *process, pr_err *err)
{
    pf_writer *w = of(sink);
    if (process->index > w->n_processes)
        return PR_FAIL(err, PR_INTERNAL,
                       "process %" PRIu32 " comes before process %" PRIu32,
                       process->index, w->n_processes);
    if (process->index == PF_REF_PROCESS_INTERP)
        return PR_FAIL(err, PR_LIMIT, "too many processes");
    pr_code rc = make_room(w, err);
    if (rc == PR_OK)
        rc = pf_pending_process(&w->notes, process, err);
    if (rc == PR_OK && process->index == w->n_processes)
        w->n_processes++;
    return rc;
}

static pr_code
writer_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    pf_writer *w = of(sink);
    pf_encoder *e = &w->encoder;
    pr_code rc = check_process(w, thread->process, err);
    if (rc != PR_OK || (rc = make_room(w, err)) != PR_OK ||
        (rc = pf_encoder_thread(e, thread, err)) != PR_OK)
        return rc;
    return pf_pending_thread(&w->notes, e->lane[e->n_lanes - 1].ref, thread,
                             err);
}

static pr_code
find_lane(const pf_writer *w, uint32_t thread, const pf_lane **ret, pr_err *err)
{
    if (thread >= w->encoder.n_lanes)
        return PR_FAIL(err, PR_INTERNAL, "thread %" PRIu32 " was not emitted",
                       thread);
    *ret = &w->encoder.lane[thread];
    return PR_OK;
}

/* How records name a thread, or a process if there is no thread. */
static pr_code
find_ref(const pf_writer *w, uint32_t thread, uint32_t process, pf_ref *ret,
         pr_err *err)
{
    const pf_lane *lane;
    pr_code rc = thread == PR_NO_THREAD ? check_process(w, process, err)
                                        : find_lane(w, thread, &lane, err);
    if (rc == PR_OK)
        *ret = thread == PR_NO_THREAD ? pf_ref_of_process(process) : lane->ref;
    return rc;
}

static pr_code
writer_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
              pr_err *err)
{
    pf_writer *w = of(sink);
    const pf_lane *lane;
    pr_code rc = find_lane(w, thread, &lane, err);
    if (rc != PR_OK || (rc = make_room(w, err)) != PR_OK)
        return rc;
    pr_thread renamed = {.tid = lane->tid,
                         .interp = lane->interp,
                         .is_main = lane->is_main,
                         .name = name,
                         .name_len = len,
                         .process = lane->process};
    return pf_pending_thread(&w->notes, lane->ref, &renamed, err);
}

#define WRITE_LISTED(op, type)                                                \
    static pr_code writer_##op(pr_sink *sink, const type *entry, pr_err *err) \
    {                                                                         \
        pf_writer *w = of(sink);                                              \
        pr_code rc = check_process(w, entry->process, err);                   \
        if (rc == PR_OK)                                                      \
            rc = make_room(w, err);                                           \
        return rc ? rc : pf_pending_##op(&w->notes, entry, err);              \
    }
PF_LISTED_MAP(WRITE_LISTED)
#undef WRITE_LISTED

static pr_code
writer_leave(pr_sink *sink, uint32_t thread, pr_err *err)
{
    return pf_encoder_leave(&of(sink)->encoder, thread, err);
}

static pr_code
writer_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    pf_writer *w = of(sink);
    pf_encoder *e = &w->encoder;
    pf_change change;
    pr_code rc = pf_encoder_change(e, delta, w->notes.frames.n, &change, err);
    for (uint32_t done = 0; rc == PR_OK;) {
        rc = pf_encoder_put(e, delta, &change, &done, err);
        if (rc != PR_OK || (done == delta->n && !pf_encoder_full(e)))
            break;
        rc = close_segment(w, err);
        if (done == delta->n)
            break;
    }
    return rc;
}

static pr_code
writer_count(pr_sink *sink, const pr_count *count, pr_err *err)
{
    pf_writer *w = of(sink);
    pf_ref ref;
    pr_code rc = find_ref(w, count->thread, count->process, &ref, err);
    if (rc != PR_OK || (rc = make_room(w, err)) != PR_OK)
        return rc;
    return pf_pending_count(&w->notes, ref, count, err);
}

static pr_code
writer_gc(pr_sink *sink, const pr_gc_event *event, pr_err *err)
{
    pf_writer *w = of(sink);
    pr_code rc = check_process(w, event->process, err);
    if (rc == PR_OK)
        rc = make_room(w, err);
    return rc ? rc : pf_pending_gc(&w->notes, event, err);
}

static pr_code
writer_task(pr_sink *sink, const pr_task *task, pr_err *err)
{
    pf_writer *w = of(sink);
    pf_ref ref;
    pr_code rc = find_ref(w, task->thread, task->process, &ref, err);
    if (rc != PR_OK || (rc = make_room(w, err)) != PR_OK)
        return rc;
    return pf_pending_task(&w->notes, ref, task, err);
}

static pr_code
writer_mark(pr_sink *sink, const pr_mark *mark, pr_err *err)
{
    pf_writer *w = of(sink);
    pr_code rc = check_process(w, mark->process, err);
    if (rc == PR_OK)
        rc = make_room(w, err);
    return rc ? rc : pf_pending_mark(&w->notes, mark, err);
}

static pr_code
writer_stats(pr_sink *sink, const pr_stats *stats, pr_err *err)
{
    (void)err;
    of(sink)->stats = *stats;
    return PR_OK;
}

/* ---- the end ---- */

static pr_code
write_tail(pf_writer *w, pr_err *err)
{
    pf_ending ending = {
        .at = w->out.size,
        .samples = w->encoder.stats.total_samples,
        .threads = w->encoder.threads,
        .stats = &w->stats,
        .index = w->plain ? NULL : &w->index,
    };
    pf_buf tail = {0};
    pr_code rc = pf_end_make(&ending, &w->notes, w->header, &tail, err);
    if (rc == PR_OK)
        rc = pf_output_append(&w->out, tail.p, tail.n, err);
    free(tail.p);
    if (rc != PR_OK)
        return rc;
    rc = pf_output_patch(&w->out, 0, w->header, PF_HEADER_SIZE, err);
    if (rc != PR_OK)
        pf_output_cut(&w->out, ending.at);
    return rc;
}

static bool
has_news(const pf_writer *w)
{
    return w->encoder.n_bases > 0 || pf_pending_weight(&w->notes) > 0;
}

static void
release(pf_writer *w)
{
    if (w->keep_stats)
        pf_writer_get_stats(&w->sink, w->keep_stats);
    pf_packer_release(&w->packer);
    pf_encoder_release(&w->encoder);
    pf_pending_release(&w->notes);
    free(w->index.items.p);
    free(w);
}

static void
writer_abort(pr_sink *sink)
{
    pf_writer *w = of(sink);
    pf_output_abandon(&w->out, !w->out.kept || w->index.n == 0);
    release(w);
}

static pr_code
writer_finish(pr_sink *sink, pr_err *err)
{
    pf_writer *w = of(sink);
    pr_code rc = PR_OK;
    if (w->out.size < PF_HEADER_SIZE)
        rc = PR_FAIL(err, PR_INTERNAL, "a profile ends that did not start");
    else if (w->plain || has_news(w) || w->index.n == 0)
        rc = close_segment(w, err);
    if (rc == PR_OK)
        rc = write_tail(w, err);
    if (rc != PR_OK) {
        writer_abort(sink);
        return rc;
    }
    rc = pf_output_close(&w->out, err);
    release(w);
    return rc;
}

#define OP_LISTED(op, type) .op = writer_##op,
/* clang-format off */
static const pr_sink_ops writer_ops = {
    PF_LISTED_MAP(OP_LISTED)
    .start = writer_start,
    .meta = writer_meta,
    .string = writer_string,
    .frame = writer_frame,
    .process = writer_process,
    .thread = writer_thread,
    .rename = writer_rename,
    .leave = writer_leave,
    .delta = writer_delta,
    .count = writer_count,
    .gc = writer_gc,
    .task = writer_task,
    .mark = writer_mark,
    .stats = writer_stats,
    .finish = writer_finish,
    .abort = writer_abort,
};
/* clang-format on */
#undef OP_LISTED

/* ---- beside the sink ---- */

static void
init_encoder(pf_writer *w, const pf_writer_opts *opts)
{
    size_t bytes =
        opts->segment_bytes ? opts->segment_bytes : DEFAULT_SEGMENT_BYTES;
    uint64_t us =
        opts->checkpoint_us ? opts->checkpoint_us : DEFAULT_CHECKPOINT_US;
    if (bytes > SEGMENT_BYTES_MAX)
        bytes = SEGMENT_BYTES_MAX;
    pf_encoder_init(&w->encoder, bytes, w->plain ? UINT64_MAX : us, w->plain);
}

pr_code
pf_writer_open(const char *path, const pf_writer_opts *given, pr_sink **ret,
               pr_err *err)
{
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_code rc = pr_opts_take(&opts, sizeof opts, given, err);
    if (rc != PR_OK)
        return rc;
    pf_writer *w = calloc(1, sizeof *w);
    if (!w)
        return pr_no_memory(err);
    w->sink.ops = &writer_ops;
    w->plain = opts.compression == PF_COMPRESSION_NONE;
    w->notes.tables_only = w->plain;
    w->noted_us = UINT64_MAX;
    init_encoder(w, &opts);
    int level = opts.level ? opts.level : DEFAULT_LEVEL;
    rc = w->plain ? PR_OK : pf_packer_init(&w->packer, level, err);
    if (rc == PR_OK)
        rc = pf_output_open(&w->out, path, opts.force != 0, opts.fsync != 0,
                            err);
    if (rc != PR_OK) {
        release(w);
        return rc;
    }
    w->out.kept = !w->plain;
    *ret = &w->sink;
    return PR_OK;
}

pr_code
pf_writer_tick(pr_sink *writer, uint64_t now_us, pr_err *err)
{
    pf_writer *w = of(writer);
    const pf_encoder *e = &w->encoder;
    if (e->n_bases > 0)
        return now_us < e->close_us ? PR_OK : close_segment(w, err);
    if (!has_news(w))
        return PR_OK;
    if (w->noted_us > now_us)
        w->noted_us = now_us;
    return now_us - w->noted_us < e->checkpoint_us ? PR_OK
                                                   : close_segment(w, err);
}

void
pf_writer_get_stats(const pr_sink *writer, pf_writer_stats *ret)
{
    const pf_writer *w = (const pf_writer *)writer;
    pf_writer_stats stats = w->encoder.stats;
    stats.bytes_compressed = w->bytes_compressed;
    stats.segments = w->index.n;
    stats.file_bytes = w->out.size;
    *ret = stats;
}

void
pf_writer_keep_stats(pr_sink *writer, pf_writer_stats *into)
{
    of(writer)->keep_stats = into;
}
