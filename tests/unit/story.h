/*
 * story.h - for tests of the format: the calls that a sink got, in a form that
 * can be compared, and profiles to emit.
 *
 * A story does not depend on how samples were cut into deltas: each sample is
 * (time, status, hash of its resolved stack).  The sink checks what producers
 * promise (sink.h P1 to P3) on the way.
 */
#ifndef TESTS_UNIT_STORY_H
#define TESTS_UNIT_STORY_H

#include <base/array.h>
#include <base/hash.h>
#include <fcntl.h>
#include <pyrec/error.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef STORY_TRAPS /* under a fuzzer: a broken promise is a crash */
#define assert_true(condition) \
    do {                       \
        if (!(condition))      \
            __builtin_trap();  \
    } while (0)
#define assert_false(condition) assert_true(!(condition))
#define assert_int_equal(a, b)  assert_true((a) == (b))
#define assert_non_null(p)      assert_true((p) != NULL)
#else
#include <setjmp.h>

#include <cmocka.h>
#endif
#include <pyrec/sink.h>

typedef struct story_sample {
    uint64_t time_us, stack;
    uint8_t status;
} story_sample;

typedef struct story_thread {
    uint64_t key; /* tid, interpreter, name */
    uint64_t tid;
    uint64_t *frame; /* hash of each frame of its stack, outermost first */
    size_t depth, frame_cap;
    story_sample *sample;
    size_t n, cap;
} story_thread;

typedef struct story {
    pr_sink sink;
    bool started, stopped;
    pr_start start;
    uint64_t *string; /* hash of each */
    size_t n_strings, string_cap;
    uint64_t *frame; /* hash of each, by its strings' hashes */
    size_t n_frames, frame_cap;
    story_thread *thread;
    size_t n_threads, thread_cap;
    uint64_t samples, deltas;
    uint64_t calls;       /* hash of every call, in order */
    uint64_t events;      /* sum of hashes: metadata, gc, tasks, marks */
    uint64_t (*count)[2]; /* owner and kind, last value */
    size_t n_counts, count_cap;
    pr_stats stats;
    int refuse_after; /* calls until delta() fails with PR_LIMIT; < 0 never */
} story;

static inline uint64_t
story_mix(uint64_t a, uint64_t b)
{
    return pr_mix64(a * 31 + b + 1);
}

static inline void
story_call(story *s, uint64_t kind, uint64_t hash)
{
    assert_true(s->started && !s->stopped);
    s->calls = story_mix(s->calls, story_mix(kind, hash));
}

static inline pr_code
story_start(pr_sink *sink, const pr_start *start, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    assert_false(s->started);
    s->started = true;
    s->start = *start;
    return PR_OK;
}

static inline pr_code
story_meta(pr_sink *sink, const char *key, const char *value, size_t len,
           pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    uint64_t hash =
        story_mix(pr_hash_bytes(key, strlen(key)), pr_hash_bytes(value, len));
    story_call(s, 1, hash);
    s->events += hash;
    return PR_OK;
}

static inline pr_code
story_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    assert_true(pr_grow(&s->string, &s->string_cap, s->n_strings + 1,
                        sizeof *s->string));
    s->string[s->n_strings++] = pr_hash_bytes(bytes, len);
    story_call(s, 2, s->string[s->n_strings - 1]);
    return PR_OK;
}

static inline pr_code
story_frame(pr_sink *sink, const pr_frame *f, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    assert_true(f->file < s->n_strings && f->func < s->n_strings);
    const uint64_t parts[] = {s->string[f->file],      s->string[f->func],
                              (uint64_t)f->line,       (uint64_t)f->end_line,
                              (uint64_t)f->column,     (uint64_t)f->end_column,
                              (uint64_t)f->first_line, f->opcode};
    assert_true(
        pr_grow(&s->frame, &s->frame_cap, s->n_frames + 1, sizeof *s->frame));
    s->frame[s->n_frames++] = pr_hash_bytes(parts, sizeof parts);
    story_call(s, 3, s->frame[s->n_frames - 1]);
    return PR_OK;
}

static inline pr_code
story_take_thread(pr_sink *sink, const pr_thread *t, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    assert_true(pr_grow(&s->thread, &s->thread_cap, s->n_threads + 1,
                        sizeof *s->thread));
    uint64_t key = story_mix(story_mix(t->tid, t->interp),
                             pr_hash_bytes(t->name, t->name_len));
    s->thread[s->n_threads++] = (story_thread){.key = key, .tid = t->tid};
    story_call(s, 4, key);
    return PR_OK;
}

static inline void
story_take_stack(story *s, story_thread *t, const pr_delta *d)
{
    assert_true(d->keep <= t->depth);
    size_t depth = (size_t)d->keep + d->n_push;
    assert_true(pr_grow(&t->frame, &t->frame_cap, depth, sizeof *t->frame));
    for (size_t i = 0; i < d->n_push; i++) {
        assert_true(d->push[i] < s->n_frames);
        t->frame[depth - 1 - i] = s->frame[d->push[i]];
    }
    t->depth = depth;
}

static inline pr_code
story_leave(pr_sink *sink, uint32_t thread, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    assert_true(thread < s->n_threads);
    s->thread[thread].depth = 0;
    story_call(s, 11, thread);
    return PR_OK;
}

static inline pr_code
story_delta(pr_sink *sink, const pr_delta *d, pr_err *err)
{
    story *s = (story *)sink;
    if (s->refuse_after >= 0 && s->refuse_after-- == 0)
        return PR_FAIL(err, PR_LIMIT, "the sink is full");
    assert_true(d->thread < s->n_threads && d->n >= 1);
    story_thread *t = &s->thread[d->thread];
    story_take_stack(s, t, d);
    uint64_t stack = pr_hash_bytes(t->frame, t->depth * sizeof *t->frame);
    assert_true(pr_grow(&t->sample, &t->cap, t->n + d->n, sizeof *t->sample));
    for (uint32_t i = 0; i < d->n; i++) {
        assert_true(t->n == 0 || d->time_us[i] >= t->sample[t->n - 1].time_us);
        t->sample[t->n++] = (story_sample){d->time_us[i], stack, d->status[i]};
    }
    s->samples += d->n;
    s->deltas++;
    story_call(
        s, 5,
        story_mix(story_mix(d->thread, d->keep), story_mix(d->n_push, d->n)));
    return PR_OK;
}

/* The owner of a count or a task. */
static inline uint64_t
story_owner(const story *s, uint32_t thread)
{
    assert_true(thread == PR_NO_THREAD || thread < s->n_threads);
    return thread == PR_NO_THREAD ? 0 : s->thread[thread].tid;
}

static inline pr_code
story_count(pr_sink *sink, const pr_count *c, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    uint64_t key = story_mix(story_owner(s, c->thread), c->kind);
    story_call(s, 6, story_mix(key, c->value));
    size_t i = 0;
    while (i < s->n_counts && s->count[i][0] != key)
        i++;
    if (i == s->n_counts) {
        assert_true(
            pr_grow(&s->count, &s->count_cap, ++s->n_counts, sizeof *s->count));
        s->count[i][0] = key;
    }
    s->count[i][1] = c->value;
    return PR_OK;
}

static inline pr_code
story_gc(pr_sink *sink, const pr_gc_event *e, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    const uint64_t parts[] = {e->interp,        e->generation,  e->start_us,
                              e->stop_us,       e->collections, e->collected,
                              e->uncollectable, e->candidates,  e->heap_size,
                              e->duration_ns};
    uint64_t hash = pr_hash_bytes(parts, sizeof parts);
    story_call(s, 7, hash);
    s->events += hash;
    return PR_OK;
}

static inline pr_code
story_task(pr_sink *sink, const pr_task *t, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    uint64_t hash = story_mix(story_owner(s, t->thread), t->key + t->time_us);
    hash = story_mix(hash, pr_hash_bytes(t->name, t->name_len));
    for (uint32_t i = 0; i < t->n_parents; i++)
        hash = story_mix(hash, t->parent[i]);
    story_call(s, 8, hash);
    s->events += hash;
    return PR_OK;
}

static inline pr_code
story_mark(pr_sink *sink, const pr_mark *m, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    uint64_t hash = story_mix(m->kind, story_mix(m->time_us, m->end_us));
    hash = story_mix(hash, pr_hash_bytes(m->text, m->text_len));
    story_call(s, 9, hash);
    s->events += hash;
    return PR_OK;
}

static inline pr_code
story_stats(pr_sink *sink, const pr_stats *stats, pr_err *err)
{
    (void)err;
    story *s = (story *)sink;
    s->stats = *stats;
    story_call(s, 10, stats->known);
    return PR_OK;
}

static const pr_sink_ops story_ops = {
    .start = story_start,
    .meta = story_meta,
    .string = story_string,
    .frame = story_frame,
    .thread = story_take_thread,
    .leave = story_leave,
    .delta = story_delta,
    .count = story_count,
    .gc = story_gc,
    .task = story_task,
    .mark = story_mark,
    .stats = story_stats,
};

static inline void
story_begin(story *s)
{
    *s = (story){.sink = {&story_ops}, .refuse_after = -1};
}

static inline void
story_end(story *s)
{
    for (size_t i = 0; i < s->n_threads; i++) {
        free(s->thread[i].frame);
        free(s->thread[i].sample);
    }
    free(s->thread);
    free(s->string);
    free(s->frame);
    free(s->count);
    story_begin(s);
}

static inline const story_thread *
story_find_thread(const story *s, uint64_t key)
{
    for (size_t i = 0; i < s->n_threads; i++)
        if (s->thread[i].key == key)
            return &s->thread[i];
    return NULL;
}

/* Does `part` hold a beginning of each of the threads of `whole`?  Threads
 * without samples do not count. */
static inline bool
story_is_prefix(const story *part, const story *whole)
{
    for (size_t i = 0; i < part->n_threads; i++) {
        const story_thread *p = &part->thread[i];
        const story_thread *w = story_find_thread(whole, p->key);
        if (p->n && (!w || w->n < p->n))
            return false;
        for (size_t j = 0; j < p->n; j++)
            if (p->sample[j].time_us != w->sample[j].time_us ||
                p->sample[j].stack != w->sample[j].stack ||
                p->sample[j].status != w->sample[j].status)
                return false;
    }
    return true;
}

static inline bool
story_same_samples(const story *a, const story *b)
{
    return a->samples == b->samples && story_is_prefix(a, b);
}

static inline bool
story_same_start(const pr_start *a, const pr_start *b)
{
    return a->start_us == b->start_us && a->wall_us == b->wall_us &&
           a->interval_us == b->interval_us && a->mode == b->mode &&
           a->capture == b->capture &&
           !memcmp(a->python, b->python, sizeof a->python);
}

/* Order does not matter; a counter that is 0 need not be taken. */
static inline uint64_t
story_counts(const story *s)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < s->n_counts; i++)
        if (s->count[i][1])
            sum += story_mix(s->count[i][0], s->count[i][1]);
    return sum;
}

static inline bool
story_same(const story *a, const story *b)
{
    return story_same_samples(a, b) && story_same_start(&a->start, &b->start) &&
           a->events == b->events && story_counts(a) == story_counts(b) &&
           a->stats.known == b->stats.known &&
           a->stats.duration_s == b->stats.duration_s &&
           a->stats.rate_hz == b->stats.rate_hz;
}

/* ---- profiles to emit ---- */

/* The properties of a generated profile. */
typedef struct plot {
    uint64_t seed;
    uint32_t threads, frames, max_depth;
    uint32_t deltas;
    uint32_t max_run; /* samples of a delta */
    bool events;      /* metadata, counts, collections, tasks, marks */
} plot;

static inline uint64_t
story_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return pr_mix64(*state);
}

static inline void
story_emit_names(const plot *p, pr_sink *sink)
{
    pr_start start = {123456,      p->events ? 1700000000000000 : 0,
                      1000,        {3, 14, 1},
                      PR_MODE_ALL, PR_CAPTURE_KNOWN | PR_CAPTURE_GC};
    static const char *const odd[] = {"", "plain.py", "\xc3\xa4;\n",
                                      "\xed\xb3\xa9.py", "a\0b"};
    char name[32];
    assert_int_equal(PR_SINK_CALL(sink, start, &start, NULL), PR_OK);
    if (p->events)
        assert_int_equal(
            PR_SINK_CALL(sink, meta, "label.branch", "main", 4, NULL), PR_OK);
    for (uint32_t i = 0; i < p->frames; i++) {
        size_t len = i < 5 ? (i == 4 ? 3 : strlen(odd[i]))
                           : (size_t)snprintf(name, sizeof name, "f%u.py", i);
        assert_int_equal(
            PR_SINK_CALL(sink, string, i < 5 ? odd[i] : name, len, NULL),
            PR_OK);
        pr_frame f = {i / 2,  i, (int32_t)(i * 7), (int32_t)(i * 7 + i % 3), 4,
                      (int)i, 0, (uint8_t)i};
        if (i % 5 == 4)
            f = (pr_frame){i / 2,      i,          PR_NO_LINE, PR_NO_LINE,
                           PR_NO_LINE, PR_NO_LINE, 0,          PR_NO_OPCODE};
        assert_int_equal(PR_SINK_CALL(sink, frame, &f, NULL), PR_OK);
    }
    for (uint32_t i = 0; i < p->threads; i++) {
        pr_thread t = {1000 + i / 2, i % 2, i == 0, "", 0};
        assert_int_equal(PR_SINK_CALL(sink, thread, &t, NULL), PR_OK);
    }
}

static inline void
story_emit_event(pr_sink *sink, const plot *p, uint64_t time_us, uint64_t kind)
{
    uint32_t thread = (uint32_t)(time_us % p->threads);
    pr_count count = {kind & 8 ? thread : PR_NO_THREAD, PR_COUNT_PROVEN,
                      time_us};
    pr_gc_event gc = {0, 2, time_us, time_us + 5, 1, 2, 3, 4, 5, 6};
    const uint64_t parent[] = {1, time_us};
    pr_task task = {time_us, time_us, thread, "task", 4, parent, 2};
    pr_mark mark = {PR_MARK_GAP, time_us, time_us + 9, "why", 3};
    pr_code code = PR_OK;
    if (kind % 4 == 0)
        code = PR_SINK_CALL(sink, count, &count, NULL);
    else if (kind % 4 == 1)
        code = PR_SINK_CALL(sink, gc, &gc, NULL);
    else if (kind % 4 == 2)
        code = PR_SINK_CALL(sink, task, &task, NULL);
    else
        code = PR_SINK_CALL(sink, mark, &mark, NULL);
    assert_int_equal(code, PR_OK);
}

/* Emit the profile that follows from the plot; without finish(). */
static inline void
story_emit(const plot *p, pr_sink *sink)
{
    uint64_t state = p->seed;
    uint32_t *depth = calloc(p->threads, sizeof *depth);
    uint64_t *time = calloc(p->threads, sizeof *time);
    uint32_t *push = calloc(p->max_depth + 1, sizeof *push);
    uint64_t *times = calloc(p->max_run, sizeof *times);
    uint8_t *status = calloc(p->max_run, 1);
    assert_true(depth && time && push && times && status);
    story_emit_names(p, sink);
    for (uint32_t i = 0; i < p->deltas; i++) {
        uint32_t t = (uint32_t)(story_random(&state) % p->threads);
        uint64_t r = story_random(&state);
        if ((r >> 40) % 32 == 0) { /* it ended, and comes again */
            assert_int_equal(PR_SINK_CALL(sink, leave, t, NULL), PR_OK);
            depth[t] = 0;
        }
        uint32_t keep = (uint32_t)(r % (depth[t] + 1));
        uint32_t n = (uint32_t)((r >> 20) % (p->max_depth - keep + 1));
        if (r >> 60 < 6) { /* the stack stays */
            keep = depth[t];
            n = 0;
        }
        for (uint32_t j = 0; j < n; j++)
            push[j] = (uint32_t)(story_random(&state) % p->frames);
        uint32_t run = 1 + (uint32_t)(story_random(&state) % p->max_run);
        for (uint32_t j = 0; j < run; j++) {
            r = story_random(&state);
            time[t] += r % 8 ? 900 + (r >> 8) % 200 : (r >> 8) % 40000;
            times[j] = time[t];
            status[j] = (uint8_t)(r >> 50);
        }
        pr_delta d = {t, keep, n, run, push, times, status};
        assert_int_equal(PR_SINK_CALL(sink, delta, &d, NULL), PR_OK);
        depth[t] = keep + n;
        if (p->events && i % 8 == 3)
            story_emit_event(sink, p, time[t], i / 8);
    }
    free(depth);
    free(time);
    free(push);
    free(times);
    free(status);
}

/* ---- deltas from the bytes of a fuzzer ---- */

enum { STORY_OP = 4, STORY_RUN_MAX = 32 };

/* A thread's last time and depth, and the last delta made of it. */
typedef struct story_lane {
    uint64_t time_us;
    uint32_t depth;
    uint32_t push[256];
    uint64_t times[STORY_RUN_MAX];
    uint8_t status[STORY_RUN_MAX];
} story_lane;

/* A delta from STORY_OP bytes: thread, frames left, frames pushed, samples and
 * distance.  It lives as long as the thread's next one is not made. */
static inline pr_delta
story_delta_of(story_lane *lanes, uint32_t threads, uint32_t frames,
               const uint8_t *op)
{
    uint32_t thread = op[0] % threads;
    story_lane *l = &lanes[thread];
    uint32_t keep = l->depth - op[1] % (l->depth + 1);
    uint32_t n = 1 + op[3] % STORY_RUN_MAX;
    for (uint32_t i = 0; i < op[2]; i++)
        l->push[i] = (op[0] + op[2] + i * op[1]) % frames;
    for (uint32_t i = 0; i < n; i++) {
        l->time_us += (uint64_t)op[3] * op[3] >> 2 << (op[0] >> 4);
        l->times[i] = l->time_us;
        l->status[i] = (uint8_t)(op[0] + (op[3] & 64 ? i : 0));
    }
    l->depth = keep + op[2];
    return (pr_delta){thread, keep, op[2], n, l->push, l->times, l->status};
}

/* ---- files ---- */

/* A folder of its own with one file. */
typedef struct scratch {
    char folder[32];
    char path[64];
} scratch;

static inline void
scratch_begin(scratch *s)
{
    strcpy(s->folder, "/tmp/pyrec-test-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/run.bin", s->folder);
}

static inline void
scratch_end(scratch *s)
{
    unlink(s->path);
    rmdir(s->folder);
}

/* Written over, not truncated first: some file systems then wait for disks. */
static inline void
scratch_write(const scratch *s, const void *bytes, size_t n)
{
    int fd = open(s->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_true(pwrite(fd, bytes, n, 0) == (ssize_t)n);
    assert_int_equal(ftruncate(fd, (off_t)n), 0);
    assert_int_equal(close(fd), 0);
}

/* The whole file; the caller frees it. */
static inline uint8_t *
scratch_read(const scratch *s, size_t *ret_n)
{
    FILE *f = fopen(s->path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *ret_n = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(*ret_n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *ret_n, f), *ret_n);
    fclose(f);
    return bytes;
}

#endif
