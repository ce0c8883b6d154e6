/*
 * test_writer.c - the writer: all that it was given stands in the file,
 * whatever happens to the recording (spec/format.md 11.2 W1 to W10).
 *
 * Linked with --wrap for the allocator and write(): see LINK_test_writer in
 * the Makefile.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/read/checkpoint_read.h"
#include <cmocka.h>
#include <pyrec/reader.h>
#include <pyrec/writer.h>
#include <zstd.h>

/* ---- faults ---- */

static long allocations, failing_allocation; /* counted from 1; 0: none */

static bool
allocation_fails(void)
{
    return ++allocations == failing_allocation;
}

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
char *__real_strdup(const char *);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);
char *__wrap_strdup(const char *);

void *
__wrap_malloc(size_t n)
{
    return allocation_fails() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
    return allocation_fails() ? NULL : __real_realloc(p, n);
}

char *
__wrap_strdup(const char *s)
{
    return allocation_fails() ? NULL : __real_strdup(s);
}

static long writes;
static size_t most_bytes; /* that one write() takes; 0: any */
static bool interrupted;  /* every second write() */

ssize_t __real_write(int, const void *, size_t);
ssize_t __wrap_write(int, const void *, size_t);

ssize_t
__wrap_write(int fd, const void *bytes, size_t n)
{
    writes++;
    if (interrupted && writes % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    if (most_bytes > 0 && n > most_bytes)
        n = most_bytes;
    return __real_write(fd, bytes, n);
}

/* ---- files ---- */

static char folder[] = "/tmp/pyrec-writer-XXXXXX";
static char path[64], other_path[64];

static int
make_folder(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/run.bin", folder);
    snprintf(other_path, sizeof other_path, "%s/other.bin", folder);
    return 0;
}

static int
remove_folder(void **state)
{
    (void)state;
    unlink(path);
    unlink(other_path);
    return rmdir(folder);
}

static int
clear(void **state)
{
    (void)state;
    unlink(path);
    unlink(other_path);
    failing_allocation = 0;
    most_bytes = 0;
    interrupted = false;
    return 0;
}

static bool
exists(const char *name)
{
    return access(name, F_OK) == 0;
}

typedef struct file {
    uint8_t *bytes;
    size_t n;
} file;

static file
slurp(const char *name)
{
    FILE *f = fopen(name, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    file got = {NULL, (size_t)ftell(f)};
    rewind(f);
    got.bytes = malloc(got.n + 1);
    assert_int_equal(fread(got.bytes, 1, got.n, f), got.n);
    fclose(f);
    return got;
}

/* ---- samples emitted, and a sink that takes them back ---- */

#define DEEP    12
#define THREADS 5
#define FRAMES  40

typedef struct sample {
    uint64_t time_us;
    uint32_t depth;
    uint8_t status;
    uint32_t stack[DEEP]; /* outermost first */
} sample;

typedef struct lane {
    sample *samples;
    size_t n, cap;
    sample last; /* its stack is the thread's */
} lane;

typedef struct taker {
    pr_sink sink;
    pr_start start;
    lane lane[THREADS];
    pr_thread thread[THREADS]; /* without names */
    char name[THREADS][16];
    uint32_t n_threads, n_strings, n_frames;
    pr_frame frame[FRAMES];
    char meta[256];
    uint64_t count[PR_COUNT_KINDS];
    pr_gc_event gc;
    pr_task task;
    pr_mark mark;
} taker;

static void
keep_sample(lane *l, const sample *s)
{
    assert_true(pr_grow(&l->samples, &l->cap, l->n + 1, sizeof *l->samples));
    l->samples[l->n++] = *s;
}

static void
apply(lane *l, const pr_delta *d)
{
    assert_true(d->keep <= l->last.depth && d->keep + d->n_push <= DEEP);
    l->last.depth = d->keep + d->n_push;
    for (uint32_t i = 0; i < d->n_push; i++)
        l->last.stack[l->last.depth - 1 - i] = d->push[i];
    for (uint32_t i = 0; i < d->n; i++) {
        l->last.time_us = d->time_us[i];
        l->last.status = d->status[i];
        keep_sample(l, &l->last);
    }
}

static taker *
taker_of(pr_sink *sink)
{
    return (taker *)sink;
}

static pr_code
take_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    (void)err;
    taker_of(sink)->start = *start;
    return PR_OK;
}

static pr_code
take_meta(pr_sink *sink, const char *key, const char *value, size_t len,
          pr_err *err)
{
    (void)err;
    char *meta = taker_of(sink)->meta;
    size_t n = strlen(meta);
    snprintf(meta + n, sizeof taker_of(sink)->meta - n, "%s=%.*s;", key,
             (int)len, value);
    return PR_OK;
}

static pr_code
take_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)bytes;
    (void)len;
    (void)err;
    taker_of(sink)->n_strings++;
    return PR_OK;
}

static pr_code
take_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    (void)err;
    taker *t = taker_of(sink);
    assert_true(t->n_frames < FRAMES);
    t->frame[t->n_frames++] = *frame;
    return PR_OK;
}

static pr_code
take_rename(pr_sink *sink, uint32_t thread, const char *name, size_t len,
            pr_err *err)
{
    (void)err;
    snprintf(taker_of(sink)->name[thread], 16, "%.*s", (int)len, name);
    return PR_OK;
}

static pr_code
take_thread(pr_sink *sink, const pr_thread *thread, pr_err *err)
{
    taker *t = taker_of(sink);
    assert_true(t->n_threads < THREADS);
    t->thread[t->n_threads] =
        (pr_thread){.tid = thread->tid, .interp = thread->interp};
    return take_rename(sink, t->n_threads++, thread->name, thread->name_len,
                       err);
}

static pr_code
take_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    (void)err;
    apply(&taker_of(sink)->lane[delta->thread], delta);
    return PR_OK;
}

static pr_code
take_count(pr_sink *sink, const pr_count *count, pr_err *err)
{
    (void)err;
    taker_of(sink)->count[count->kind] = count->value;
    return PR_OK;
}

static pr_code
take_gc(pr_sink *sink, const pr_gc_event *event, pr_err *err)
{
    (void)err;
    taker_of(sink)->gc = *event;
    return PR_OK;
}

static pr_code
take_task(pr_sink *sink, const pr_task *task, pr_err *err)
{
    (void)err;
    taker_of(sink)->task = *task;
    return PR_OK;
}

static pr_code
take_mark(pr_sink *sink, const pr_mark *mark, pr_err *err)
{
    (void)err;
    taker_of(sink)->mark = *mark;
    return PR_OK;
}

static const pr_sink_ops taker_ops = {
    .start = take_start,
    .meta = take_meta,
    .string = take_string,
    .frame = take_frame,
    .thread = take_thread,
    .rename = take_rename,
    .delta = take_delta,
    .count = take_count,
    .gc = take_gc,
    .task = take_task,
    .mark = take_mark,
};

static void
taker_release(taker *t)
{
    for (int i = 0; i < THREADS; i++)
        free(t->lane[i].samples);
}

/* Read a file that is whole, or cut but readable, and give its info. */
static pf_info
take(const char *name, taker *t)
{
    *t = (taker){.sink.ops = &taker_ops};
    pr_err err = PR_ERR_INIT;
    pf_reader *reader;
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    uint64_t n = 0;
    if (pf_reader_open(name, NULL, &reader, &err) != PR_OK)
        fail_msg("cannot read %s: %s", name, err.what);
    pf_info info = *pf_reader_info(reader);
    pr_code rc = pf_reader_replay(reader, &opts, &t->sink, &n, &err);
    pf_reader_free(reader);
    if (rc != PR_OK && rc != PR_CUT)
        fail_msg("cannot replay %s: %s", name, err.what);
    assert_int_equal(rc == PR_CUT, info.state == PF_CUT);
    assert_int_equal(n, info.samples);
    return info;
}

/* ---- a generated profile ---- */

typedef struct model {
    pr_sink *sink;
    uint64_t random;
    uint64_t now_us;
    lane lane[THREADS];
} model;

static uint32_t
below(model *m, uint32_t n)
{
    m->random ^= m->random << 13;
    m->random ^= m->random >> 7;
    m->random ^= m->random << 17;
    return (uint32_t)(m->random >> 33) % n;
}

static pr_code
emit_beginning(pr_sink *sink, pr_err *err)
{
    pr_start start = {.start_us = 5000,
                      .wall_us = 1700000000000000,
                      .interval_us = 100,
                      .python = {3, 14, 1},
                      .mode = PR_MODE_GIL,
                      .capture = PR_CAPTURE_KNOWN | PR_CAPTURE_GC};
    pr_code rc = PR_SINK_CALL(sink, start, &start, err);
    if (rc == PR_OK)
        rc = PR_SINK_CALL(sink, meta, "host", "box", 3, err);
    for (int i = 0; i < FRAMES && rc == PR_OK; i++) {
        char name[32];
        int n = snprintf(name, sizeof name, "name %d \xed\xa0\x80", i);
        pr_frame frame = {.file = 0,
                          .func = (uint32_t)i,
                          .line = 10 * i,
                          .end_line = 10 * i + 2,
                          .column = i % 3 - 1,
                          .end_column = i % 3 - 1,
                          .first_line = 10 * i,
                          .opcode = (uint8_t)i};
        rc = PR_SINK_CALL(sink, string, name, (size_t)n, err);
        if (rc == PR_OK)
            rc = PR_SINK_CALL(sink, frame, &frame, err);
    }
    for (uint32_t i = 0; i < THREADS && rc == PR_OK; i++) {
        /* one native thread in two interpreters */
        pr_thread thread = {.tid = 100 + i / 2,
                            .interp = i % 2,
                            .is_main = i == 0,
                            .name = "worker",
                            .name_len = 6};
        rc = PR_SINK_CALL(sink, thread, &thread, err);
    }
    return rc;
}

/* Some samples of one thread: emitted, and kept. */
static pr_code
emit_some(model *m, uint32_t thread, uint32_t n, pr_err *err)
{
    uint64_t time_us[64];
    uint8_t status[64];
    uint32_t push[DEEP];
    lane *l = &m->lane[thread];
    pr_delta d = {thread, l->last.depth, 0, n, push, time_us, status};
    if (below(m, 3) == 0) {
        d.keep = below(m, l->last.depth + 1);
        d.n_push = below(m, DEEP + 1 - d.keep);
    }
    for (uint32_t i = 0; i < d.n_push; i++)
        push[i] = below(m, FRAMES);
    for (uint32_t i = 0; i < n; i++) {
        time_us[i] = m->now_us += below(m, 4) * below(m, 200);
        status[i] = (uint8_t)below(m, 256);
    }
    apply(l, &d);
    return PR_SINK_CALL(m->sink, delta, &d, err);
}

static pr_code
emit_any(model *m, pr_err *err)
{
    uint32_t thread = below(m, THREADS);
    return emit_some(m, thread, 1 + below(m, 50), err);
}

static pr_code
emit_model(model *m, uint32_t deltas, pr_err *err)
{
    pr_code rc = emit_beginning(m->sink, err);
    for (uint32_t i = 0; i < deltas && rc == PR_OK; i++)
        rc = emit_any(m, err);
    return rc;
}

static void
model_release(model *m)
{
    for (int i = 0; i < THREADS; i++)
        free(m->lane[i].samples);
}

static model
model_of(unsigned seed)
{
    return (model){.random = (seed + 1) * 0x9e3779b97f4a7c15u};
}

static void
assert_same_samples(const lane *taken, const lane *got)
{
    assert_true(got->n <= taken->n);
    for (size_t i = 0; i < got->n; i++) {
        const sample *a = &taken->samples[i], *b = &got->samples[i];
        assert_true(a->time_us == b->time_us);
        assert_int_equal(a->status, b->status);
        assert_int_equal(a->depth, b->depth);
        assert_memory_equal(a->stack, b->stack, a->depth * sizeof *a->stack);
    }
}

/* The sink took all emitted samples, or the beginning of them in each thread. */
static void
assert_taken(const model *m, const taker *t)
{
    for (uint32_t i = 0; i < t->n_threads; i++) {
        uint64_t taken = (t->thread[i].tid - 100) * 2 + t->thread[i].interp;
        assert_true(taken < THREADS);
        assert_same_samples(&m->lane[taken], &t->lane[i]);
    }
}

static pr_sink *
open_writer(const char *name, const pf_writer_opts *opts)
{
    pr_sink *sink = NULL;
    pr_err err = PR_ERR_INIT;
    if (pf_writer_open(name, opts, &sink, &err) != PR_OK)
        fail_msg("%s", err.what);
    return sink;
}

static void
finish(pr_sink *sink)
{
    pr_err err = PR_ERR_INIT;
    if (sink->ops->finish(sink, &err) != PR_OK)
        fail_msg("%s", err.what);
}

/* A recording with its names and threads taken. */
static pr_sink *
begin(const char *name, const pf_writer_opts *opts)
{
    pr_sink *sink = open_writer(name, opts);
    assert_int_equal(emit_beginning(sink, NULL), PR_OK);
    return sink;
}

static model
emitted_model(unsigned seed, uint32_t deltas, const pf_writer_opts *opts)
{
    model m = model_of(seed);
    m.sink = open_writer(path, opts);
    assert_int_equal(emit_model(&m, deltas, NULL), PR_OK);
    return m;
}

#define MUST_TAKE(...) assert_int_equal(PR_SINK_CALL(__VA_ARGS__, NULL), PR_OK)

static pf_writer_opts
small_segments(void)
{
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.segment_bytes = 2000;
    opts.level = 1;
    return opts;
}

/* ---- what stands in the file (W4, W5, W6) ---- */

static void
round_trip(const pf_writer_opts *opts, unsigned seed)
{
    model m = emitted_model(seed, 1000, opts);
    finish(m.sink);
    size_t taken = 0;
    for (int i = 0; i < THREADS; i++)
        taken += m.lane[i].n;
    taker t;
    pf_info info = take(path, &t);
    assert_int_equal(info.state, PF_FINISHED);
    assert_int_equal(t.n_threads, THREADS);
    assert_taken(&m, &t);
    assert_int_equal(info.samples, taken);
    assert_int_equal(t.start.start_us, 5000);
    assert_int_equal(t.start.mode, PR_MODE_GIL);
    assert_int_equal(t.start.python[1], 14);
    taker_release(&t);
    model_release(&m);
    unlink(path);
}

static void
samples_come_back_as_they_were_emitted(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < 20; seed++) {
        print_message("seed %u\n", seed);
        pf_writer_opts opts = small_segments();
        opts.checkpoint_us = seed % 2 ? 20000 : 0;
        round_trip(&opts, seed);
        opts.compression = PF_COMPRESSION_NONE;
        round_trip(&opts, seed);
    }
}

static void
frames_and_metadata_come_back_as_they_were_emitted(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    model m = emitted_model(1, 300, &opts);
    finish(m.sink);
    taker t;
    take(path, &t);
    assert_int_equal(t.n_strings, FRAMES);
    assert_int_equal(t.n_frames, FRAMES);
    assert_int_equal(t.frame[7].func, 7);
    assert_int_equal(t.frame[7].end_line, 72);
    assert_int_equal(t.frame[7].first_line, 70);
    assert_int_equal(t.frame[7].opcode, 7);
    assert_non_null(strstr(t.meta, "host=box;"));
    assert_true(t.start.wall_us == 1700000000000000);
    taker_release(&t);
    model_release(&m);
}

static void
events_come_back_as_they_were_emitted(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = begin(path, &opts);
    pr_gc_event gc = {1, 2, 3, 4, 5, 6, 7, 8, 9, UINT64_MAX};
    uint64_t parents[] = {11, 12};
    pr_task task = {10, 20, PR_NO_THREAD, "task", 4, parents, 2};
    pr_mark mark = {PR_MARK_GAP, 30, 40, "gap", 3};
    pr_count count = {PR_NO_THREAD, PR_COUNT_TICKS, 99};
    MUST_TAKE(sink, gc, &gc);
    MUST_TAKE(sink, task, &task);
    MUST_TAKE(sink, mark, &mark);
    MUST_TAKE(sink, count, &count);
    MUST_TAKE(sink, rename, 0, "boss", 4);
    finish(sink);
    taker t;
    assert_int_equal(take(path, &t).samples, 0);
    assert_true(t.gc.duration_ns == UINT64_MAX && t.gc.heap_size == 9);
    assert_int_equal(t.task.key, 10);
    assert_int_equal(t.task.n_parents, 2);
    assert_int_equal(t.mark.end_us, 40);
    assert_int_equal(t.count[PR_COUNT_TICKS], 99);
    assert_string_equal(t.name[0], "boss");
    taker_release(&t);
}

/* Emit n samples of thread 0, one frame deep, a fixed time apart. */
static pr_code
emit_steady(pr_sink *sink, uint64_t *now_us, uint32_t n, uint64_t apart_us,
            pr_err *err)
{
    static const uint32_t frame = 3;
    static const uint8_t status = PR_HAS_GIL;
    pr_code rc = PR_OK;
    for (uint32_t i = 0; i < n && rc == PR_OK; i++) {
        *now_us += apart_us;
        pr_delta d = {0, 0, 1, 1, &frame, now_us, &status};
        rc = PR_SINK_CALL(sink, delta, &d, err);
    }
    return rc;
}

static void
must_tell_steady(pr_sink *sink, uint64_t *now_us, uint32_t n, uint64_t apart_us)
{
    assert_int_equal(emit_steady(sink, now_us, n, apart_us, NULL), PR_OK);
}

static void
a_stack_that_is_removed_and_put_back_costs_no_record(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pf_writer_stats stats;
    pr_sink *sink = begin(path, &opts);
    uint64_t now = 0;
    pf_writer_keep_stats(sink, &stats);
    must_tell_steady(sink, &now, 1000, 10);
    finish(sink);
    assert_int_equal(stats.full_records, 1);
    assert_int_equal(stats.repeat_records, 1);
    assert_int_equal(stats.repeat_samples, 999);
    assert_int_equal(stats.total_samples, 1000);
    assert_int_equal(stats.frames_saved, 999);
    assert_int_equal(stats.suffix_records + stats.pop_push_records, 0);
}

static void
a_run_longer_than_a_segment_is_split(void **state)
{
    (void)state;
    enum { LONG = 100000 };
    uint64_t *times = malloc(LONG * sizeof *times);
    uint8_t *status = calloc(LONG, 1);
    for (uint32_t i = 0; i < LONG; i++)
        times[i] = 1000 * (uint64_t)i;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.segment_bytes = 20000;
    opts.checkpoint_us = UINT32_MAX;
    pr_sink *sink = begin(path, &opts);
    uint32_t stack[] = {1, 2};
    pr_delta d = {0, 0, 2, LONG, stack, times, status};
    MUST_TAKE(sink, delta, &d);
    pf_writer_stats stats;
    pf_writer_get_stats(sink, &stats);
    assert_in_range(stats.segments, 3 * LONG / 28000, 3 * LONG / 18000);
    assert_in_range(stats.repeat_records, 3 * LONG / 8192, 3 * LONG / 4096);
    finish(sink);
    taker t;
    assert_int_equal(take(path, &t).samples, LONG);
    assert_true(t.lane[0].samples[LONG - 1].time_us == 1000 * (LONG - 1));
    assert_int_equal(t.lane[0].samples[LONG - 1].depth, 2);
    taker_release(&t);
    free(times);
    free(status);
}

/* The reader's taker is small: count what comes instead. */
typedef struct depth_sink {
    pr_sink sink;
    uint32_t depth, frames;
} depth_sink;

static pr_code
take_depth(pr_sink *sink, const pr_delta *d, pr_err *err)
{
    (void)err;
    depth_sink *s = (depth_sink *)sink;
    s->depth = d->keep + d->n_push;
    s->frames += d->n_push;
    return PR_OK;
}

static void
a_stack_of_thousands_of_frames_is_written_once_and_then_its_changes(
    void **state)
{
    (void)state;
    enum { DEPTH = 20000 };
    uint32_t *stack = malloc(DEPTH * sizeof *stack);
    for (uint32_t i = 0; i < DEPTH; i++)
        stack[i] = i % FRAMES;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = begin(path, &opts);
    pr_err err = PR_ERR_INIT;
    uint64_t time[] = {1, 2, 3, 4};
    uint8_t status[] = {0, 0, 0, 0};
    pr_delta all = {0, 0, DEPTH, 1, stack, &time[0], status};
    pr_delta top = {0, DEPTH - 1, 2, 1, stack + 5, &time[1], status};
    pr_delta most = {0, 200, 1, 1, stack + 7, &time[2], status};
    pr_delta only_less = {0, 3, 0, 1, NULL, &time[3], status};
    MUST_TAKE(sink, delta, &all);
    MUST_TAKE(sink, delta, &top);
    MUST_TAKE(sink, delta, &most);
    MUST_TAKE(sink, delta, &only_less);
    pf_writer_stats stats;
    pf_writer_get_stats(sink, &stats);
    assert_int_equal(stats.total_frames_written, DEPTH + 3);
    assert_int_equal(stats.full_records, 1);
    assert_int_equal(stats.suffix_records, 1); /* shares 200, not pops 19801 */
    /* pops 1; and shares 3, but CPython reads that right with new frames only */
    assert_int_equal(stats.pop_push_records, 2);
    finish(sink);
    static const pr_sink_ops ops = {.delta = take_depth};
    depth_sink got = {.sink.ops = &ops};
    pf_reader *reader;
    pf_replay_opts replay = PF_REPLAY_OPTS_INIT;
    assert_int_equal(pf_reader_open(path, NULL, &reader, &err), PR_OK);
    assert_int_equal(pf_reader_replay(reader, &replay, &got.sink, NULL, &err),
                     PR_OK);
    pf_reader_free(reader);
    assert_int_equal(got.depth, 3);
    assert_int_equal(got.frames, DEPTH + 3);
    free(stack);
}

static void
any_number_of_threads_is_kept_apart(void **state)
{
    (void)state;
    enum { MANY = 50000 };
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = begin(path, &opts);
    pr_err err = PR_ERR_INIT;
    uint32_t stack[] = {1, 2};
    uint8_t status = 0;
    for (uint32_t i = THREADS; i < MANY; i++) {
        pr_thread thread = {.tid = 1000 + i};
        MUST_TAKE(sink, thread, &thread);
    }
    for (uint64_t now = 1; now < 4; now++)
        for (uint32_t i = 0; i < MANY; i++) {
            pr_delta d = {i, 0, 2, 1, stack, &now, &status};
            MUST_TAKE(sink, delta, &d);
        }
    finish(sink);
    pf_reader *reader;
    assert_int_equal(pf_reader_open(path, NULL, &reader, &err), PR_OK);
    assert_int_equal(pf_reader_info(reader)->threads, MANY);
    assert_int_equal(pf_reader_info(reader)->samples, 3 * MANY);
    assert_int_equal(pf_reader_verify(reader, NULL, &err), PR_OK);
    pf_reader_free(reader);
}

static void
names_alone_close_a_segment_when_they_are_many(void **state)
{
    (void)state;
    enum { LENGTH = 1 << 20, NAMES = 40 };
    char *name = calloc(1, LENGTH);
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.level = 1;
    pr_sink *sink = begin(path, &opts);
    for (int i = 0; i < NAMES; i++) {
        name[i] = 'x';
        MUST_TAKE(sink, string, name, LENGTH);
    }
    pf_writer_stats stats;
    pf_writer_get_stats(sink, &stats);
    assert_int_equal(stats.segments, 2);
    finish(sink);
    free(name);
    taker t;
    pf_info info = take(path, &t);
    assert_int_equal(info.segments, 3);
    assert_int_equal(t.n_strings, FRAMES + NAMES);
}

static void
a_name_too_large_for_a_checkpoint_is_refused(void **state)
{
    (void)state;
    size_t n = ((size_t)64 << 20) + 1;
    char *name = calloc(1, n);
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = open_writer(path, &opts);
    pr_err err = PR_ERR_INIT;
    assert_int_equal(PR_SINK_CALL(sink, string, name, n, &err), PR_LIMIT);
    sink->ops->abort(sink);
    free(name);
}

static void
writers_do_not_disturb_one_another(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    model alone = emitted_model(3, 500, &opts);
    pr_err err = PR_ERR_INIT;
    finish(alone.sink);
    file expected = slurp(path);
    unlink(path);
    model a = model_of(3), b = model_of(3);
    a.sink = open_writer(path, &opts);
    b.sink = open_writer(other_path, &opts);
    assert_int_equal(emit_beginning(a.sink, &err), PR_OK);
    assert_int_equal(emit_beginning(b.sink, &err), PR_OK);
    for (int i = 0; i < 500; i++) {
        assert_int_equal(emit_any(&a, &err), PR_OK);
        assert_int_equal(emit_any(&b, &err), PR_OK);
    }
    finish(a.sink);
    finish(b.sink);
    const char *name[] = {path, other_path};
    for (int k = 0; k < 2; k++) {
        file got = slurp(name[k]);
        assert_int_equal(got.n, expected.n);
        assert_memory_equal(got.bytes, expected.bytes, got.n);
        free(got.bytes);
    }
    free(expected.bytes);
    model_release(&alone);
    model_release(&a);
    model_release(&b);
}

/* ---- segments (W1, W3, W7) ---- */

/* Walk the sample region; give each segment to `see`. */
typedef struct piece {
    const uint8_t *data, *checkpoint;
    size_t data_bytes, checkpoint_bytes;
} piece;

static size_t
split(file f, piece *pieces, size_t most)
{
    uint64_t end = pf_load_u64(f.bytes + PF_HEADER_STRINGS, false);
    size_t at = PF_HEADER_SIZE, n = 0;
    for (; at < end && n < most; n++) {
        piece *p = &pieces[n];
        p->data = f.bytes + at;
        p->data_bytes = ZSTD_findFrameCompressedSize(p->data, f.n - at);
        assert_false(ZSTD_isError(p->data_bytes));
        p->checkpoint = p->data + p->data_bytes;
        assert_int_equal(pf_load_le32(p->checkpoint), PF_CHECKPOINT_SKIP);
        p->checkpoint_bytes = pf_load_le32(p->checkpoint + 4) + 8u;
        at += p->data_bytes + p->checkpoint_bytes;
    }
    assert_int_equal(at, end);
    return n;
}

static void
a_threads_first_record_in_a_segment_is_full(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    model m = model_of(5);
    m.sink = open_writer(path, &opts);
    pr_err err = PR_ERR_INIT;
    assert_int_equal(emit_beginning(m.sink, &err), PR_OK);
    /* one thread: its records are all there are */
    for (int i = 0; i < 400; i++)
        assert_int_equal(emit_some(&m, 0, 5, &err), PR_OK);
    finish(m.sink);
    file f = slurp(path);
    piece pieces[64];
    size_t n = split(f, pieces, 64);
    assert_true(n > 3);
    for (size_t i = 0; i < n; i++) {
        uint8_t records[8192];
        size_t got = ZSTD_decompress(records, sizeof records, pieces[i].data,
                                     pieces[i].data_bytes);
        assert_in_range(got, i + 1 < n ? 2000 : PF_RECORD_SIZE, 2200);
        assert_int_equal(pf_load_u64(records, false), 100);
        assert_int_equal(records[PF_RECORD_KIND], PF_FULL);
    }
    free(f.bytes);
    model_release(&m);
}

static void
each_segment_is_one_write(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    writes = 0;
    model m = emitted_model(6, 500, &opts);
    pf_writer_stats stats;
    pf_writer_get_stats(m.sink, &stats);
    assert_true(stats.segments > 5);
    assert_int_equal(writes, 1 + stats.segments); /* and the header */
    finish(m.sink);
    model_release(&m);
}

static void
a_segment_closes_when_its_time_is_up(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.checkpoint_us = 1000;
    pf_writer_stats stats;
    pr_sink *sink = begin(path, &opts);
    uint64_t now = 0;
    must_tell_steady(sink, &now, 10, 100);
    pf_writer_get_stats(sink, &stats);
    assert_int_equal(stats.segments, 0); /* 100 to 1000: below its limit */
    must_tell_steady(sink, &now, 1, 100);
    pf_writer_get_stats(sink, &stats);
    assert_int_equal(stats.segments, 1);
    must_tell_steady(sink, &now, 90, 100);
    pf_writer_get_stats(sink, &stats);
    assert_int_equal(stats.segments, 10);
    finish(sink);
    taker t;
    assert_int_equal(take(path, &t).samples, 101);
    taker_release(&t);
}

static uint64_t
bytes_after_tick(pr_sink *sink, uint64_t now_us)
{
    pr_err err = PR_ERR_INIT;
    pf_writer_stats stats;
    assert_int_equal(pf_writer_tick(sink, now_us, &err), PR_OK);
    pf_writer_get_stats(sink, &stats);
    return stats.file_bytes;
}

static void
a_tick_closes_an_old_segment_and_nothing_else(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.checkpoint_us = 1000;
    pr_sink *sink = begin(path, &opts);
    uint64_t now = 0;
    /* names without samples */
    uint64_t header = bytes_after_tick(sink, 5000);
    assert_int_equal(header, PF_HEADER_SIZE);
    assert_int_equal(bytes_after_tick(sink, 5999), header);
    uint64_t names = bytes_after_tick(sink, 6000);
    assert_true(names > header);
    /* nothing new */
    assert_int_equal(bytes_after_tick(sink, 50000), names);
    /* samples */
    now = 50000;
    must_tell_steady(sink, &now, 1, 1);
    assert_int_equal(bytes_after_tick(sink, now + 999), names);
    assert_true(bytes_after_tick(sink, now + 1000) > names);
    finish(sink);
    taker t;
    pf_info info = take(path, &t);
    assert_int_equal(info.samples, 1);
    assert_int_equal(info.segments, 2);
    taker_release(&t);
}

static void
only_a_segment_without_records_hides_its_content_size(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.checkpoint_us = 1000;
    pr_sink *sink = begin(path, &opts);
    uint64_t now = 0;
    bytes_after_tick(sink, 0);
    bytes_after_tick(sink, 1000);
    must_tell_steady(sink, &now, 30, 100);
    finish(sink);
    file f = slurp(path);
    piece pieces[8];
    size_t n = split(f, pieces, 8);
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        unsigned long long size =
            ZSTD_getFrameContentSize(pieces[i].data, pieces[i].data_bytes);
        assert_int_equal(size == ZSTD_CONTENTSIZE_UNKNOWN, i == 0);
        assert_false(size == 0 || size == ZSTD_CONTENTSIZE_ERROR);
    }
    free(f.bytes);
}

static void
a_count_is_written_again_only_when_it_changed(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.checkpoint_us = 1000;
    pr_sink *sink = begin(path, &opts);
    pr_count count = {0, PR_COUNT_PROVEN, 7};
    MUST_TAKE(sink, count, &count);
    bytes_after_tick(sink, 0);
    uint64_t taken = bytes_after_tick(sink, 1000);
    MUST_TAKE(sink, count, &count);
    bytes_after_tick(sink, 2000);
    assert_int_equal(bytes_after_tick(sink, 9000), taken);
    count.value = 8;
    MUST_TAKE(sink, count, &count);
    bytes_after_tick(sink, 10000);
    assert_true(bytes_after_tick(sink, 11000) > taken);
    finish(sink);
    taker t;
    take(path, &t);
    assert_int_equal(t.count[PR_COUNT_PROVEN], 8);
    taker_release(&t);
}

static void
an_empty_profile_is_a_whole_file(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    for (int plain = 0; plain < 2; plain++) {
        opts.compression = plain ? PF_COMPRESSION_NONE : PF_COMPRESSION_ZSTD;
        pr_sink *sink = open_writer(path, &opts);
        pr_start start = {.start_us = 1, .interval_us = 1};
        MUST_TAKE(sink, start, &start);
        finish(sink);
        taker t;
        pf_info info = take(path, &t);
        assert_int_equal(info.state, PF_FINISHED);
        assert_int_equal(info.samples, 0);
        assert_int_equal(info.threads, 0);
        unlink(path);
    }
}

/* Zero the file up to `end`. */
static void
zero_start(size_t end)
{
    static const uint8_t zeros[4096];
    FILE *f = fopen(path, "r+b");
    assert_non_null(f);
    for (size_t at = 0; at < end; at += sizeof zeros)
        assert_int_equal(fwrite(zeros, 1, sizeof zeros, f), sizeof zeros);
    fclose(f);
}

/* W9 */
static void
the_second_half_of_a_file_describes_the_recording(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    model m = emitted_model(30, 4000, &opts);
    finish(m.sink);
    file whole = slurp(path);
    zero_start(whole.n / 2);
    taker t = {.sink.ops = &taker_ops};
    pf_reader *reader;
    pr_err err = PR_ERR_INIT;
    uint64_t n;
    assert_int_equal(pf_reader_open(path, NULL, &reader, &err), PR_OK);
    assert_int_equal(pf_reader_replay(reader, NULL, &t.sink, &n, &err),
                     PR_DAMAGED);
    assert_int_equal(t.start.start_us, 5000);
    assert_int_equal(t.start.mode, PR_MODE_GIL);
    assert_non_null(strstr(t.meta, "host=box;"));
    for (uint32_t i = 0; i < THREADS; i++)
        assert_string_equal(t.name[i], "worker");
    assert_true(n > 0);
    pf_reader_free(reader);
    taker_release(&t);
    model_release(&m);
    free(whole.bytes);
}

/* Each repetition doubles the file at least. */
static void
the_description_is_repeated_rarely(void **state)
{
    (void)state;
    piece pieces[400];
    pf_writer_opts opts = small_segments();
    model m = emitted_model(31, 4000, &opts);
    finish(m.sink);
    file f = slurp(path);
    size_t n = split(f, pieces, 400), described = 0, last = 0;
    for (size_t i = 0; i < n; i++) {
        pf_checkpoint c;
        pf_cur body;
        pf_buf scratch = {0};
        pf_budget budget;
        const piece *p = &pieces[i];
        pf_budget_init(&budget, NULL, f.n);
        assert_int_equal(pf_checkpoint_check(p->checkpoint, p->checkpoint_bytes,
                                             false, &c, NULL),
                         PR_OK);
        assert_int_equal(
            pf_checkpoint_body(&c, false, &budget, &scratch, &body, NULL),
            PR_OK);
        size_t at = (size_t)(p->data - f.bytes);
        if (*body.p == PF_TYPE_HEADER) {
            assert_true(at >= 2 * last);
            last = at;
            described++;
        }
        free(scratch.p);
    }
    assert_in_range(described, 2, 12);
    model_release(&m);
    free(f.bytes);
}

static void
options_of_another_version_are_taken_or_refused(void **state)
{
    (void)state;
    pr_sink *sink;
    pr_err err = PR_ERR_INIT;
    finish(begin(path, NULL));
    unlink(path);
    struct {
        pf_writer_opts opts;
        uint64_t later;
    } newer = {PF_WRITER_OPTS_INIT, 0};
    newer.opts.size = sizeof newer;
    finish(begin(path, &newer.opts));
    unlink(path);
    newer.later = 1;
    assert_int_equal(pf_writer_open(path, &newer.opts, &sink, &err), PR_USAGE);
    pf_writer_opts unset = {0};
    assert_int_equal(pf_writer_open(path, &unset, &sink, &err), PR_USAGE);
    assert_false(exists(path));
}

/* ---- the end of a recording (W2) ---- */

static void
abort_keeps_the_checkpoints_and_drops_the_rest(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    model m = emitted_model(8, 500, &opts);
    pf_writer_stats stats;
    pf_writer_get_stats(m.sink, &stats);
    m.sink->ops->abort(m.sink);
    taker t;
    pf_info info = take(path, &t);
    assert_int_equal(info.state, PF_CUT);
    assert_int_equal(info.segments, stats.segments);
    assert_int_equal(info.file_bytes, stats.file_bytes);
    assert_in_range(info.samples, 1, stats.total_samples - 1);
    assert_taken(&m, &t);
    taker_release(&t);
    model_release(&m);
}

static void
abort_before_the_first_segment_leaves_no_file(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    uint64_t now = 0;
    pr_sink *sink = begin(path, &opts);
    assert_true(exists(path));
    must_tell_steady(sink, &now, 100, 10);
    sink->ops->abort(sink);
    assert_false(exists(path));
}

static void
abort_leaves_the_file_that_another_put_in_its_place(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.force = 1;
    pr_sink *first = open_writer(path, &opts);
    pr_sink *second = open_writer(path, &opts);
    pr_err err = PR_ERR_INIT;
    first->ops->abort(first);
    assert_int_equal(emit_beginning(second, &err), PR_OK);
    finish(second);
    taker t;
    assert_int_equal(take(path, &t).state, PF_FINISHED);
}

static void
abort_of_a_plain_file_leaves_no_file(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    opts.compression = PF_COMPRESSION_NONE;
    model m = emitted_model(9, 500, &opts);
    m.sink->ops->abort(m.sink);
    assert_false(exists(path));
    model_release(&m);
}

static void
a_profile_that_did_not_start_does_not_finish(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = open_writer(path, &opts);
    pr_err err = PR_ERR_INIT;
    assert_int_equal(sink->ops->finish(sink, &err), PR_INTERNAL);
    assert_false(exists(path));
}

static void
a_write_may_take_less_than_all_and_be_interrupted(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    most_bytes = 7;
    interrupted = true;
    round_trip(&opts, 4);
}

static void
syncing_changes_nothing_in_the_file(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    opts.fsync = 1;
    round_trip(&opts, 5);
}

/* Nothing grows beyond `bytes`: as on a full disk, write() takes a part and
 * then fails. */
static void
limit_files(rlim_t bytes)
{
    struct rlimit limit = {bytes, RLIM_INFINITY};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Counts recordings that failed and the files that they left. */
static void
fill_disks(const pf_writer_opts *opts, int *ret_failed, int *ret_kept)
{
    signal(SIGXFSZ, SIG_IGN);
    int failed = 0, kept = 0;
    for (rlim_t room = 10; room < 40000; room = room * 5 / 4) {
        model m = model_of(10);
        m.sink = open_writer(path, opts);
        pr_err err = PR_ERR_INIT;
        limit_files(room);
        pr_code rc = emit_model(&m, 300, &err);
        if (rc == PR_OK)
            rc = m.sink->ops->finish(m.sink, &err);
        else
            m.sink->ops->abort(m.sink);
        limit_files(RLIM_INFINITY);
        if (rc != PR_OK) {
            failed++;
            assert_int_equal(rc, PR_IO);
            assert_int_equal(err.sys, EFBIG);
            assert_non_null(strstr(err.what, exists(path)
                                                 ? "bytes, which are whole"
                                                 : "and is removed"));
        }
        if (exists(path)) {
            taker t;
            pf_info info = take(path, &t);
            assert_int_equal(info.state, rc == PR_OK ? PF_FINISHED : PF_CUT);
            assert_true(info.file_bytes <= room);
            assert_true(info.samples > 0);
            kept += rc != PR_OK;
            assert_taken(&m, &t);
            taker_release(&t);
        }
        model_release(&m);
        unlink(path);
    }
    print_message("%d recordings failed, %d files were left\n", failed, kept);
    *ret_failed = failed;
    *ret_kept = kept;
}

static void
a_full_disk_leaves_all_checkpointed_samples(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    int failed, kept;
    fill_disks(&opts, &failed, &kept);
    assert_true(failed > 10 && kept > 3);
}

static void
a_full_disk_leaves_no_plain_file(void **state)
{
    (void)state;
    pf_writer_opts opts = small_segments();
    opts.compression = PF_COMPRESSION_NONE;
    int failed, kept;
    fill_disks(&opts, &failed, &kept);
    assert_true(failed > 10 && kept == 0);
}

/* ---- where it may write ---- */

static void
an_existing_file_is_kept_unless_forced(void **state)
{
    (void)state;
    FILE *f = fopen(path, "w");
    fputs("precious", f);
    fclose(f);
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = NULL;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(pf_writer_open(path, &opts, &sink, &err), PR_EXISTS);
    assert_null(sink);
    assert_non_null(strstr(err.hint, "--force"));
    file kept = slurp(path);
    assert_memory_equal(kept.bytes, "precious", 8);
    free(kept.bytes);
    opts.force = 1;
    f = fopen(path, "r"); /* a reader of the old one goes on reading it */
    sink = open_writer(path, &opts);
    pr_err_clear(&err);
    assert_int_equal(emit_beginning(sink, &err), PR_OK);
    finish(sink);
    char old[16] = "";
    assert_non_null(fgets(old, sizeof old, f));
    assert_string_equal(old, "precious");
    fclose(f);
    taker t;
    assert_int_equal(take(path, &t).state, PF_FINISHED);
}

static void
nothing_is_written_or_removed_through_a_link(void **state)
{
    (void)state;
    FILE *f = fopen(other_path, "w");
    fputs("precious", f);
    fclose(f);
    assert_int_equal(symlink(other_path, path), 0);
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    for (opts.force = 0; opts.force < 2; opts.force++) {
        pr_sink *sink = NULL;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(pf_writer_open(path, &opts, &sink, &err), PR_USAGE);
        assert_non_null(strstr(err.what, "is a symbolic link"));
    }
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    file kept = slurp(other_path);
    assert_memory_equal(kept.bytes, "precious", 8);
    free(kept.bytes);
}

static void
a_profile_is_for_its_owner(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    struct stat st;
    mode_t before = umask(0);
    for (opts.force = 0; opts.force < 2; opts.force++) {
        pr_err err = PR_ERR_INIT;
        pr_sink *sink = open_writer(path, &opts);
        assert_int_equal(emit_beginning(sink, &err), PR_OK);
        finish(sink);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(chmod(path, 0644), 0);
    }
    umask(before);
}

static void
a_file_that_is_not_regular_is_refused_with_a_hint(void **state)
{
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    const char *names[] = {path, folder, "/dev/full", "/dev/null"};
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.force = 1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pr_sink *sink = NULL;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(pf_writer_open(names[i], &opts, &sink, &err),
                         PR_USAGE);
        assert_non_null(strstr(err.what, names[i]));
        assert_true(err.hint[0] != '\0');
        assert_null(sink);
        assert_true(exists(names[i]));
    }
}

static void
a_folder_that_is_not_there_is_named(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = NULL;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(pf_writer_open("/nonexistent/run.bin", &opts, &sink, &err),
                     PR_IO);
    assert_int_equal(err.sys, ENOENT);
    assert_non_null(strstr(err.what, "/nonexistent/run.bin"));
    assert_non_null(strstr(err.hint, "folder"));
}

/* ---- what the caller may not do ---- */

static void
expect_refused(pr_sink *sink, pr_delta d)
{
    pr_err err = PR_ERR_INIT;
    assert_int_equal(PR_SINK_CALL(sink, delta, &d, &err), PR_INTERNAL);
    assert_true(err.what[0] != '\0');
}

/* W10 */
static void
broken_promises_are_refused(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = begin(path, &opts);
    pr_err err = PR_ERR_INIT;
    uint64_t now = 0, early = 5;
    uint8_t status = 0;
    uint32_t frame = 1, unknown = FRAMES;
    must_tell_steady(sink, &now, 1, 10);
    expect_refused(sink, (pr_delta){THREADS, 0, 1, 1, &frame, &now, &status});
    expect_refused(sink, (pr_delta){0, 0, 1, 1, &unknown, &now, &status});
    expect_refused(sink, (pr_delta){0, 2, 0, 1, &frame, &now, &status});
    expect_refused(sink, (pr_delta){0, 1, 0, 0, &frame, &now, &status});
    expect_refused(sink, (pr_delta){0, 1, 0, 1, &frame, &early, &status});
    pr_thread again = {.tid = 100, .interp = 0};
    assert_int_equal(PR_SINK_CALL(sink, thread, &again, &err), PR_INTERNAL);
    pr_frame orphan = {.file = FRAMES};
    pr_err_clear(&err);
    assert_int_equal(PR_SINK_CALL(sink, frame, &orphan, &err), PR_INTERNAL);
    pr_count count = {THREADS, PR_COUNT_TICKS, 1};
    pr_err_clear(&err);
    assert_int_equal(PR_SINK_CALL(sink, count, &count, &err), PR_INTERNAL);
    char key[257];
    memset(key, 'k', 256);
    key[256] = '\0';
    pr_err_clear(&err);
    assert_int_equal(PR_SINK_CALL(sink, meta, key, "", 0, &err), PR_LIMIT);
    pr_err_clear(&err);
    assert_int_equal(PR_SINK_CALL(sink, meta, "", "", 0, &err), PR_LIMIT);
    /* nothing of that is in the file */
    finish(sink);
    taker t;
    pf_info info = take(path, &t);
    assert_int_equal(info.samples, 1);
    assert_int_equal(info.threads, 1); /* with a sample */
    taker_release(&t);
}

/* ---- memory ---- */

static pr_code
whole_recording(pr_err *err)
{
    pf_writer_opts opts = small_segments();
    pr_sink *sink;
    pr_code rc = pf_writer_open(path, &opts, &sink, err);
    if (rc != PR_OK)
        return rc;
    pr_count count = {0, PR_COUNT_PROVEN, 1};
    pr_mark mark = {PR_MARK_USER, 1, 1, "mark", 4};
    uint64_t now = 0;
    rc = emit_beginning(sink, err);
    if (rc == PR_OK)
        rc = PR_SINK_CALL(sink, count, &count, err);
    if (rc == PR_OK)
        rc = PR_SINK_CALL(sink, mark, &mark, err);
    if (rc == PR_OK)
        rc = emit_steady(sink, &now, 2000, 10, err);
    if (rc == PR_OK)
        return sink->ops->finish(sink, err);
    sink->ops->abort(sink);
    return rc;
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    pr_err err = PR_ERR_INIT;
    allocations = 0;
    assert_int_equal(whole_recording(&err), PR_OK);
    long n = allocations;
    assert_true(n > 10);
    for (long i = 1; i <= n; i++) {
        unlink(path);
        pr_err_clear(&err);
        allocations = 0;
        failing_allocation = i;
        pr_code rc = whole_recording(&err);
        failing_allocation = 0;
        assert_int_equal(rc, PR_NOMEM);
        assert_int_equal(err.code, PR_NOMEM);
        if (!exists(path))
            continue;
        taker t;
        assert_int_equal(take(path, &t).state, PF_CUT);
        taker_release(&t);
    }
}

static void
a_sample_of_a_known_stack_allocates_nothing(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *sink = begin(path, &opts);
    uint64_t now = 0;
    must_tell_steady(sink, &now, 30000, 100);
    allocations = 0;
    must_tell_steady(sink, &now, 9000, 100);
    assert_int_equal(allocations, 0);
    finish(sink);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, clear)
    const struct CMUnitTest tests[] = {
        TEST(samples_come_back_as_they_were_emitted),
        TEST(frames_and_metadata_come_back_as_they_were_emitted),
        TEST(events_come_back_as_they_were_emitted),
        TEST(a_stack_that_is_removed_and_put_back_costs_no_record),
        TEST(a_run_longer_than_a_segment_is_split),
        TEST(
            a_stack_of_thousands_of_frames_is_written_once_and_then_its_changes),
        TEST(any_number_of_threads_is_kept_apart),
        TEST(names_alone_close_a_segment_when_they_are_many),
        TEST(a_name_too_large_for_a_checkpoint_is_refused),
        TEST(writers_do_not_disturb_one_another),
        TEST(a_threads_first_record_in_a_segment_is_full),
        TEST(each_segment_is_one_write),
        TEST(a_segment_closes_when_its_time_is_up),
        TEST(a_tick_closes_an_old_segment_and_nothing_else),
        TEST(only_a_segment_without_records_hides_its_content_size),
        TEST(a_count_is_written_again_only_when_it_changed),
        TEST(an_empty_profile_is_a_whole_file),
        TEST(the_second_half_of_a_file_describes_the_recording),
        TEST(the_description_is_repeated_rarely),
        TEST(options_of_another_version_are_taken_or_refused),
        TEST(abort_keeps_the_checkpoints_and_drops_the_rest),
        TEST(abort_before_the_first_segment_leaves_no_file),
        TEST(abort_leaves_the_file_that_another_put_in_its_place),
        TEST(abort_of_a_plain_file_leaves_no_file),
        TEST(a_profile_that_did_not_start_does_not_finish),
        TEST(a_write_may_take_less_than_all_and_be_interrupted),
        TEST(syncing_changes_nothing_in_the_file),
        TEST(a_full_disk_leaves_all_checkpointed_samples),
        TEST(a_full_disk_leaves_no_plain_file),
        TEST(an_existing_file_is_kept_unless_forced),
        TEST(nothing_is_written_or_removed_through_a_link),
        TEST(a_profile_is_for_its_owner),
        TEST(a_file_that_is_not_regular_is_refused_with_a_hint),
        TEST(a_folder_that_is_not_there_is_named),
        TEST(broken_promises_are_refused),
        TEST(each_allocation_may_fail),
        TEST(a_sample_of_a_known_stack_allocates_nothing),
    };
#undef TEST
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
