/*
 * test_reader.c - the reader emits the calls that the writer got: finished
 * files, plain files of CPython's form, both byte orders, ranges of time, many
 * threads.
 */
#include "tests/unit/story.h"

#include <inttypes.h>
#include <pyrec/reader.h>
#include <pyrec/writer.h>
#include <sys/stat.h>
#include <zstd.h>

#include "format/bytes.h"
#include "format/limits.h"

/* ---- making and reading files ---- */

static void
write_plot(const plot *p, const scratch *s, pf_writer_opts opts)
{
    pr_err err = PR_ERR_INIT;
    pr_sink *writer;
    opts.force = 1;
    assert_int_equal(pf_writer_open(s->path, &opts, &writer, &err), PR_OK);
    story_emit(p, writer);
    pr_code code = writer->ops->finish(writer, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(code, PR_OK);
}

static pf_writer_opts
small_segments(uint32_t bytes)
{
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.segment_bytes = bytes;
    return opts;
}

static pf_reader *
open_file(const scratch *s)
{
    pr_err err = PR_ERR_INIT;
    pf_reader *reader = NULL;
    pr_code code = pf_reader_open(s->path, NULL, &reader, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(code, PR_OK);
    return reader;
}

/* Replay into a new story, all or a range. */
static pr_code
replay(pf_reader *reader, const pf_replay_opts *opts, story *ret, pr_err *err)
{
    uint64_t samples = 0;
    story_begin(ret);
    pr_code code = pf_reader_replay(reader, opts, &ret->sink, &samples, err);
    if (opts && opts->with_next)
        assert_true(samples <= ret->samples);
    else
        assert_int_equal(samples, ret->samples);
    return code;
}

static void
read_file(const scratch *s, int jobs, story *ret)
{
    pf_reader *reader = open_file(s);
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    pr_err err = PR_ERR_INIT;
    opts.jobs = jobs;
    pr_code code = replay(reader, &opts, ret, &err);
    assert_string_equal(err.what, "");
    assert_int_equal(code, PR_OK);
    assert_int_equal(pf_reader_info(reader)->state, PF_FINISHED);
    assert_int_equal(pf_reader_info(reader)->samples, ret->samples);
    assert_int_equal(pf_reader_verify(reader, NULL, &err), PR_OK);
    pf_reader_free(reader);
}

/* The story as emitted and as read agree; facts that only the file knows are
 * taken from it. */
static void
assert_same_story(story *taken, story *read)
{
    taken->stats = read->stats; /* computed by the writer */
    assert_true(story_same(taken, read));
}

static void
profiles_read_back_as_they_were_emitted(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        plot p = {seed,
                  1 + (uint32_t)(seed % 7),
                  6 + (uint32_t)seed,
                  1 + (uint32_t)(seed * 5 % 60),
                  400,
                  1 + (uint32_t)(seed * seed % 40),
                  seed % 2};
        scratch s;
        story taken, read;
        printf("seed %" PRIu64 "\n", seed);
        scratch_begin(&s);
        story_begin(&taken);
        story_emit(&p, &taken.sink);
        write_plot(&p, &s, small_segments(500 + (uint32_t)seed * 300));
        read_file(&s, 1, &read);
        assert_same_story(&taken, &read);
        assert_true(read.n_frames == taken.n_frames);
        story_end(&read);
        story_end(&taken);
        scratch_end(&s);
    }
}

static void
any_number_of_jobs_makes_the_same_calls(void **state)
{
    (void)state;
    plot p = {77, 5, 40, 30, 4000, 9, true};
    scratch s;
    story one, more;
    scratch_begin(&s);
    write_plot(&p, &s, small_segments(2000));
    read_file(&s, 0, &one);
    for (int jobs = 1; jobs < 6; jobs++) {
        read_file(&s, jobs, &more);
        assert_true(more.calls == one.calls);
        story_end(&more);
    }
    story_end(&one);
    scratch_end(&s);
}

/* The records of a plain file as two zstd frames, cut anywhere, with a
 * skippable frame between them. */
static void
compress_plain(const scratch *s)
{
    size_t n, room;
    uint64_t strings, frames;
    uint8_t *plain = scratch_read(s, &n);
    pf_buf file = {0};
    memcpy(&strings, plain + PF_HEADER_STRINGS, sizeof strings);
    memcpy(&frames, plain + PF_HEADER_FRAMES, sizeof frames);
    size_t half = (size_t)(strings - PF_HEADER_SIZE) / 2;
    room = ZSTD_compressBound((size_t)strings);
    assert_true(pf_buf_reserve(&file, 2 * room + n));
    pf_buf_bytes(&file, plain, PF_HEADER_SIZE);
    file.n +=
        ZSTD_compress(file.p + file.n, room, plain + PF_HEADER_SIZE, half, 1);
    pf_put_le32(file.p + file.n, PF_ZSTD_SKIP_MIN);
    pf_put_le32(file.p + file.n + 4, 0);
    file.n += 8;
    file.n +=
        ZSTD_compress(file.p + file.n, room, plain + PF_HEADER_SIZE + half,
                      (size_t)strings - PF_HEADER_SIZE - half, 1);
    uint64_t now = file.n;
    pf_put_u64(file.p + PF_HEADER_STRINGS, now);
    pf_put_u64(file.p + PF_HEADER_FRAMES, frames - strings + now);
    pf_put_u32(file.p + PF_HEADER_COMPRESSION, 1);
    pf_buf_bytes(&file, plain + strings, n - (size_t)strings);
    pf_put_u64(file.p + file.n - PF_FOOTER_SIZE + PF_FOOTER_FILE_SIZE, file.n);
    scratch_write(s, file.p, file.n);
    free(file.p);
    free(plain);
}

/* R3; the records fill several pieces, which cut some of them in two. */
static void
a_plain_file_reads_back_as_it_was_emitted(void **state)
{
    (void)state;
    plot p = {5, 4, 30, 40, 60000, 6, false};
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    opts.compression = PF_COMPRESSION_NONE;
    scratch s;
    story taken, read;
    scratch_begin(&s);
    story_begin(&taken);
    story_emit(&p, &taken.sink);
    write_plot(&p, &s, opts);
    for (int compressed = 0; compressed < 2; compressed++) {
        if (compressed)
            compress_plain(&s);
        read_file(&s, 1, &read);
        taken.stats = read.stats;
        assert_true(story_same_samples(&taken, &read));
        assert_true(story_same_start(&taken.start, &read.start));
        story_end(&read);
    }
    story_end(&taken);
    scratch_end(&s);
}

enum { LONG = PF_PIECE_DEPTH_MAX, LONG_IDS = 1 << 14, LONG_FRAMES = 20000 };
_Static_assert(3 * LONG > PF_PIECE_SIZE, "ids of three bytes fill a piece");

/* Little, much, less. */
static void
emit_long_stack(pr_sink *sink)
{
    const plot names = {1, 1, LONG_FRAMES, 1, 0, 1, false};
    const uint32_t keep[] = {0, 1, 1000}, n[] = {1, LONG - 1, 1};
    const uint8_t status = PR_HAS_GIL;
    uint32_t *push = malloc(LONG * sizeof *push);
    assert_non_null(push);
    for (uint32_t i = 0; i < LONG; i++)
        push[i] = LONG_IDS + i % (LONG_FRAMES - LONG_IDS);
    story_emit_names(&names, sink);
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t time = 1000 * (i + 1);
        pr_delta d = {0, keep[i], n[i], 1, push, &time, &status};
        assert_int_equal(PR_SINK_CALL(sink, delta, &d, NULL), PR_OK);
    }
    free(push);
}

static void
a_stack_of_a_plain_file_may_be_longer_than_a_piece(void **state)
{
    (void)state;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *writer;
    scratch s;
    story taken, read;
    opts.compression = PF_COMPRESSION_NONE;
    opts.force = 1;
    scratch_begin(&s);
    story_begin(&taken);
    emit_long_stack(&taken.sink);
    assert_int_equal(pf_writer_open(s.path, &opts, &writer, NULL), PR_OK);
    emit_long_stack(writer);
    assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    for (int compressed = 0; compressed < 2; compressed++) {
        if (compressed)
            compress_plain(&s);
        read_file(&s, 1, &read);
        assert_int_equal(read.samples, 3);
        assert_true(story_same_samples(&taken, &read));
        story_end(&read);
    }
    story_end(&taken);
    scratch_end(&s);
}

/* ---- ranges ---- */

/* The samples of `all` with from <= time < to, thread by thread; with the one
 * after them, if the options want it. */
static void
assert_is_range(const story *all, const story *part, const pf_replay_opts *opts)
{
    uint64_t n = 0;
    for (size_t i = 0; i < all->n_threads; i++) {
        const story_thread *a = &all->thread[i];
        const story_thread *b = story_find_thread(part, a->key);
        size_t k = 0;
        for (size_t j = 0; j < a->n; j++) {
            uint64_t time = a->sample[j].time_us;
            bool next = opts->with_next && k && time >= opts->to_us &&
                        a->sample[j - 1].time_us < opts->to_us;
            if (time < opts->from_us || (time >= opts->to_us && !next))
                continue;
            assert_true(b && k < b->n);
            assert_true(b->sample[k].time_us == a->sample[j].time_us &&
                        b->sample[k].stack == a->sample[j].stack &&
                        b->sample[k].status == a->sample[j].status);
            k++;
        }
        n += k;
    }
    assert_int_equal(part->samples, n);
}

static void
check_ranges(const scratch *s, uint64_t seed)
{
    pf_reader *reader = open_file(s);
    story all, part;
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    uint64_t end = 0, state = seed;
    assert_int_equal(replay(reader, NULL, &all, NULL), PR_OK);
    for (size_t i = 0; i < all.n_threads; i++)
        if (all.thread[i].n &&
            all.thread[i].sample[all.thread[i].n - 1].time_us > end)
            end = all.thread[i].sample[all.thread[i].n - 1].time_us;
    for (int i = 0; i < 40; i++) {
        opts.from_us = story_random(&state) % (end + 2);
        opts.to_us = opts.from_us + story_random(&state) % (end + 2);
        opts.jobs = i % 3;
        opts.with_next = i % 2;
        assert_int_equal(replay(reader, &opts, &part, NULL), PR_OK);
        assert_is_range(&all, &part, &opts);
        story_end(&part);
    }
    story_end(&all);
    pf_reader_free(reader);
}

static void
a_range_of_time_emits_its_samples_and_no_others(void **state)
{
    (void)state;
    printf("seed %d\n", 4711);
    plot p = {4711, 3, 20, 25, 3000, 12, true};
    pf_writer_opts plain = PF_WRITER_OPTS_INIT;
    plain.compression = PF_COMPRESSION_NONE;
    scratch s;
    scratch_begin(&s);
    write_plot(&p, &s, small_segments(3000));
    check_ranges(&s, 1);
    p.events = false;
    write_plot(&p, &s, plain);
    check_ranges(&s, 2);
    scratch_end(&s);
}

static void
segments_outside_a_range_are_not_read(void **state)
{
    (void)state;
    plot p = {8, 2, 20, 10, 4000, 5, false};
    scratch s;
    story part;
    scratch_begin(&s);
    write_plot(&p, &s, small_segments(4000));
    pf_reader *reader = open_file(&s);
    const pf_info *info = pf_reader_info(reader);
    pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
    pf_reader_stats stats;
    assert_true(info->segments > 10);
    opts.from_us = info->last_us / 2;
    opts.to_us = opts.from_us + 1000;
    assert_int_equal(replay(reader, &opts, &part, NULL), PR_OK);
    pf_reader_get_stats(reader, &stats);
    assert_true(stats.segments_read <= 2);
    assert_int_equal(stats.segments_read + stats.segments_skipped,
                     info->segments);
    story_end(&part);
    pf_reader_free(reader);
    scratch_end(&s);
}

/* ---- what is known without a replay ---- */

static void
metadata_and_counters_are_the_last_that_were_emitted(void **state)
{
    (void)state;
    plot names = {.threads = 2, .frames = 6, .events = true};
    const pr_count counts[] = {{PR_NO_THREAD, PR_COUNT_TICKS, 5},
                               {1, PR_COUNT_PROVEN, 3},
                               {PR_NO_THREAD, PR_COUNT_TICKS, 9}};
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    scratch s;
    pr_sink *writer;
    const char *value;
    size_t len;
    scratch_begin(&s);
    assert_int_equal(pf_writer_open(s.path, &opts, &writer, NULL), PR_OK);
    story_emit_names(&names, writer);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(PR_SINK_CALL(writer, count, &counts[i], NULL), PR_OK);
    assert_int_equal(PR_SINK_CALL(writer, meta, "host", "a\0b", 3, NULL),
                     PR_OK);
    assert_int_equal(
        PR_SINK_CALL(writer, meta, "label.branch", "late", 4, NULL), PR_OK);
    assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    pf_reader *reader = open_file(&s);
    assert_string_equal(pf_reader_meta(reader, 0, &value, &len), "host");
    assert_int_equal(len, 3);
    assert_memory_equal(value, "a\0b", 4);
    assert_string_equal(pf_reader_meta(reader, 1, &value, &len),
                        "label.branch");
    assert_string_equal(value, "late");
    assert_string_equal(pf_reader_meta(reader, 2, &value, &len), "wall_us");
    assert_null(pf_reader_meta(reader, 3, &value, &len));
    assert_true(pf_reader_info(reader)->start.wall_us == 1700000000000000);
    uint64_t ticks = 0, proven = 0;
    const pr_count *c;
    for (size_t i = 0; (c = pf_reader_count(reader, i)); i++) {
        ticks += c->thread == PR_NO_THREAD ? c->value : 0;
        proven += c->thread == 1 ? c->value : 0;
    }
    assert_int_equal(ticks, 9);
    assert_int_equal(proven, 3);
    pf_reader_free(reader);
    scratch_end(&s);
}

/* ---- sizes ---- */

static void
stacks_of_none_and_of_thousands_of_frames(void **state)
{
    (void)state;
    enum { DEEP = 5000 };
    uint32_t push[DEEP];
    uint64_t time = 0;
    uint8_t status = PR_HAS_GIL;
    plot names = {1, 1, 50, 1, 0, 1, false};
    pf_writer_opts opts = small_segments(20000);
    scratch s;
    story taken, read;
    scratch_begin(&s);
    story_begin(&taken);
    opts.force = 1;
    for (int pass = 0; pass < 2; pass++) {
        pr_sink *sink = &taken.sink;
        if (pass == 1)
            assert_int_equal(pf_writer_open(s.path, &opts, &sink, NULL), PR_OK);
        story_emit_names(&names, sink);
        time = 0;
        for (uint32_t i = 0, depth = 0; i < 60; i++) {
            /* none, deep, the same but its innermost, none ... */
            uint32_t keep = i % 4 == 2 ? depth - 1 : 0;
            uint32_t n = i % 4 == 1 ? DEEP : i % 4 == 2 ? 1 : 0;
            for (uint32_t j = 0; j < n; j++)
                push[j] = (i + j) % 50;
            time += 1000;
            pr_delta d = {0, keep, n, 1, push, &time, &status};
            assert_int_equal(PR_SINK_CALL(sink, delta, &d, NULL), PR_OK);
            depth = keep + n;
        }
        if (pass == 1)
            assert_int_equal(sink->ops->finish(sink, NULL), PR_OK);
    }
    read_file(&s, 1, &read);
    assert_true(story_same_samples(&taken, &read));
    assert_int_equal(read.samples, 60);
    story_end(&read);
    story_end(&taken);
    scratch_end(&s);
}

static void
thousands_of_threads_read_back(void **state)
{
    (void)state;
    plot p = {99, 3000, 30, 6, 12000, 3, false};
    scratch s;
    story taken, read;
    scratch_begin(&s);
    story_begin(&taken);
    story_emit(&p, &taken.sink);
    write_plot(&p, &s, small_segments(50000));
    read_file(&s, 2, &read);
    assert_same_story(&taken, &read);
    story_end(&read);
    story_end(&taken);
    scratch_end(&s);
}

/* ---- files by hand: what CPython 3.15 writes ---- */

/* How a file of CPython is made. */
typedef struct stock {
    bool swapped;
    bool zstd;
    uint32_t stats; /* size of the block: 0, 32, 56 */
    uint64_t samples;
    uint32_t threads;
    uint32_t capture;
} stock;

static void
put32(pf_buf *b, uint32_t v, bool swapped)
{
    v = pf_order32(v, swapped);
    pf_buf_bytes(b, &v, sizeof v);
}

static void
put64(pf_buf *b, uint64_t v, bool swapped)
{
    v = pf_order64(v, swapped);
    pf_buf_bytes(b, &v, sizeof v);
}

static void
put_double(pf_buf *b, double v, bool swapped)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put64(b, bits, swapped);
}

/* The head of a record. */
static void
put_record(pf_buf *b, uint64_t tid, uint32_t interp, uint8_t kind, bool swapped)
{
    put64(b, tid, swapped);
    put32(b, interp, swapped);
    pf_buf_u8(b, kind);
}

static void
put_stats(pf_buf *b, const stock *k)
{
    if (k->stats == 0)
        return;
    put_double(b, 2.5, k->swapped);
    put_double(b, 1000, k->swapped);
    if (k->stats == PF_STATS_SIZE) {
        put_double(b, 3.25, k->swapped);
        put_double(b, 0, k->swapped);
        put32(b, PF_STATS_KNOWN_ERROR, k->swapped);
        put32(b, 0, k->swapped);
    }
    pf_buf_bytes(b, PF_STATS_MAGIC, 8);
    put32(b, PF_STATS_VERSION, k->swapped);
    put32(b, k->stats, k->swapped);
}

/* A whole file around the records; two strings, two frames. */
static void
make_stock(const stock *k, const void *region, size_t region_size, pf_buf *file)
{
    static const uint8_t strings[] = {1, 'a', 1, 'f'};
    static const uint8_t frames[] = {0, 1, 2, 0, 1, 1, 255, 0,
                                     1, 3, 7, 0, 1, 0, 100};
    bool swapped = k->swapped;
    uint64_t at = PF_HEADER_SIZE + region_size;
    static const uint8_t python[] = {3, 15, 2, 0};
    put32(file, PF_MAGIC, swapped);
    put32(file, PF_VERSION, swapped);
    pf_buf_bytes(file, python, 4);
    put64(file, 5000000, swapped);
    put64(file, 1000, swapped);
    put64(file, k->samples, swapped);
    put32(file, k->threads, swapped);
    put64(file, at, swapped);
    put64(file, at + sizeof strings, swapped);
    put32(file, k->zstd, swapped);
    put32(file, k->capture, swapped);
    assert_int_equal(file->n, PF_HEADER_SIZE);
    pf_buf_bytes(file, region, region_size);
    pf_buf_bytes(file, strings, sizeof strings);
    pf_buf_bytes(file, frames, 14);
    put_stats(file, k);
    put32(file, 2, swapped);
    put32(file, 2, swapped);
    put64(file, file->n + 24, swapped);
    put64(file, 0, swapped);
    put64(file, 0, swapped);
}

/* Two threads, every kind of record; 7 samples. */
static void
put_all_kinds(pf_buf *b, bool swapped)
{
    static const uint8_t full[] = {0x90, 0x4e, 37, 3, 1, 0, 1};
    static const uint8_t repeat[] = {2, 100, 5, 0xe8, 7, 6};
    static const uint8_t suffix[] = {1, 4, 2, 1, 0};
    static const uint8_t pop[] = {1, 4, 1, 2, 1, 1};
    static const uint8_t empty[] = {9, 1, 0};
    put_record(b, 70, 0, PF_FULL, swapped);
    pf_buf_bytes(b, full, sizeof full);
    put_record(b, 70, 0, PF_REPEAT, swapped);
    pf_buf_bytes(b, repeat, sizeof repeat);
    put_record(b, 70, 0, PF_SUFFIX, swapped);
    pf_buf_bytes(b, suffix, sizeof suffix);
    put_record(b, 71, 3, PF_FULL, swapped);
    pf_buf_bytes(b, empty, sizeof empty);
    put_record(b, 70, 0, PF_POP_PUSH, swapped);
    pf_buf_bytes(b, pop, sizeof pop);
    put_record(b, 71, 3, PF_REPEAT, swapped);
    pf_buf_bytes(b, (const uint8_t[]){1, 5, 4}, 3);
}

static void
assert_all_kinds(const story *s)
{
    static const uint64_t times[] = {10000, 10100, 11100, 11101, 11102};
    static const uint8_t status[] = {37, 5, 6, 4, 4};
    assert_int_equal(s->n_threads, 2);
    assert_int_equal(s->samples, 7);
    const story_thread *a = &s->thread[0], *b = &s->thread[1];
    assert_int_equal(a->tid, 70);
    assert_int_equal(a->n, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(a->sample[i].time_us, times[i]);
        assert_int_equal(a->sample[i].status, status[i]);
    }
    const uint64_t f = s->frame[0], g = s->frame[1];
    const uint64_t stacks[][5] = {{g, f, g}, {g, f, f}, {g, f, g, g}};
    assert_true(a->sample[2].stack == pr_hash_bytes(stacks[0], 24));
    assert_true(a->sample[3].stack == pr_hash_bytes(stacks[1], 24));
    assert_true(a->sample[4].stack == pr_hash_bytes(stacks[2], 32));
    assert_int_equal(b->tid, 71);
    assert_int_equal(b->sample[1].time_us, 14);
    assert_true(b->sample[0].stack == pr_hash_bytes(stacks, 0));
}

static void
files_of_cpython_in_both_byte_orders(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        stock k = {.swapped = i & 1,
                   .stats = i < 2   ? 0u
                            : i < 4 ? 32u
                                    : 56u,
                   .samples = 7,
                   .threads = 2,
                   .capture = 0xf9};
        pf_buf region = {0}, file = {0};
        scratch s;
        story read;
        scratch_begin(&s);
        put_all_kinds(&region, k.swapped);
        make_stock(&k, region.p, region.n, &file);
        scratch_write(&s, file.p, file.n);
        read_file(&s, 1, &read);
        assert_all_kinds(&read);
        assert_int_equal(read.start.start_us, 5000000);
        assert_int_equal(read.start.python[1], 15);
        assert_int_equal(read.start.mode, PR_MODE_WALL);
        assert_int_equal(read.start.capture, 0xf8);
        uint32_t known = k.stats == 0    ? 0
                         : k.stats == 32 ? PR_STATS_PRESENT
                                         : PR_STATS_PRESENT | 1;
        assert_int_equal(read.stats.known, known);
        assert_true(read.stats.duration_s == (k.stats ? 2.5 : 0.0));
        assert_true(read.stats.error_percent == (k.stats == 56 ? 3.25 : 0.0));
        story_end(&read);
        scratch_end(&s);
        free(region.p);
        free(file.p);
    }
}

/* Sanitizers, and the emulators of other machines, would make minutes of it. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    !(defined(__x86_64__) || defined(__aarch64__))
#define SLOW_MACHINE 1
#else
#define SLOW_MACHINE 0
#endif
#if !SLOW_MACHINE

/* The header of a zstd block: 3 bytes, little-endian. */
static void
put_block(pf_buf *b, uint32_t size, uint32_t type, bool last)
{
    uint8_t header[4];
    pf_put_le32(header, size << 3 | type << 1 | last);
    pf_buf_bytes(b, header, 3);
}

/* A zstd frame of `first`, then n times the byte 1, in blocks of runs. */
static void
put_zstd_run(pf_buf *b, const pf_buf *first, uint64_t n)
{
    static const uint8_t start[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x50};
    pf_buf_bytes(b, start, sizeof start);
    put_block(b, (uint32_t)first->n, 0, false);
    pf_buf_bytes(b, first->p, first->n);
    while (n) {
        uint32_t size = n < PF_ZSTD_BLOCK_MAX ? (uint32_t)n : PF_ZSTD_BLOCK_MAX;
        n -= size;
        put_block(b, size, 1, n == 0);
        pf_buf_u8(b, 1);
    }
}

typedef struct counter {
    pr_sink sink;
    uint64_t samples, last_us;
} counter;

static pr_code
count_delta(pr_sink *sink, const pr_delta *d, pr_err *err)
{
    (void)err;
    counter *c = (counter *)sink;
    c->samples += d->n;
    c->last_us = d->time_us[d->n - 1];
    return PR_OK;
}

/* A run of 2^32 + 4 samples 1 us apart. */
static void
more_samples_than_32_bits_count(void **state)
{
    (void)state;
    static const pr_sink_ops ops = {.delta = count_delta};
    counter c = {{&ops}, 0, 0};
    uint64_t run = (1ull << 32) + 4;
    stock k = {.zstd = true, .samples = run + 1, .threads = 1};
    pf_buf first = {0}, region = {0}, file = {0};
    scratch s;
    scratch_begin(&s);
    put_record(&first, 70, 0, PF_FULL, false);
    pf_buf_bytes(&first, (const uint8_t[]){1, 1, 1, 0}, 4);
    put_record(&first, 70, 0, PF_REPEAT, false);
    pf_buf_varint(&first, run);
    put_zstd_run(&region, &first, 2 * run);
    make_stock(&k, region.p, region.n, &file);
    scratch_write(&s, file.p, file.n);
    pf_reader *reader = open_file(&s);
    assert_int_equal(pf_reader_replay(reader, NULL, &c.sink, NULL, NULL),
                     PR_OK);
    assert_true(c.samples == run + 1 && c.last_us == run + 1);
    pf_reader_free(reader);
    scratch_end(&s);
    free(first.p);
    free(region.p);
    free(file.p);
}
#endif

/* Write the made file and open it; the code, and the message in *err. */
static pr_code
open_bytes(const scratch *s, const void *bytes, size_t n, pr_err *err)
{
    pf_reader *reader = NULL;
    scratch_write(s, bytes, n);
    pr_err_clear(err);
    pr_code code = pf_reader_open(s->path, NULL, &reader, err);
    assert_true((code == PR_OK) == (reader != NULL));
    assert_true(code == err->code);
    pf_reader_free(reader);
    return code;
}

static void
the_header_of_a_pre_release_is_refused_by_name(void **state)
{
    (void)state;
    stock k = {.samples = 7, .threads = 2};
    pf_buf region = {0}, file = {0};
    pr_err err = PR_ERR_INIT;
    scratch s;
    scratch_begin(&s);
    put_all_kinds(&region, false);
    make_stock(&k, region.p, region.n, &file);
    /* the sample count loses its upper half, all after it moves up */
    memmove(file.p + 32, file.p + 36, 24);
    memset(file.p + 56, 0, 8);
    assert_int_equal(open_bytes(&s, file.p, file.n, &err), PR_FOREIGN);
    assert_non_null(strstr(err.what, "pre-release"));
    scratch_end(&s);
    free(region.p);
    free(file.p);
}

static void
a_file_that_is_not_a_profile_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *name;
    } cases[] = {
        {"", 0, "empty"},
        {"\x1f\x8b\x08\x00", 4, "gzip"},
        {"\x28\xb5\x2f\xfd\x24", 5, "zstd"},
        {"\x7f"
         "ELF\2",
         5, "ELF"},
        {"SQLite format 3\0", 16, "SQLite"},
        {"{\"a\": 1}", 8, "JSON"},
        {"[1]", 3, "JSON"},
        {"\xfb\xa9\x03", 3, "pstats"},
        {"{(\x03", 3, "pstats"},
        {"<svg>", 5, "XML"},
        {"main;f 12\n", 10, "text"},
        {"\0\1\2\3", 4, "unknown"},
        {"HCA", 3, "text"},
    };
    pr_err err = PR_ERR_INIT;
    scratch s;
    scratch_begin(&s);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(open_bytes(&s, cases[i].bytes, cases[i].n, &err),
                         PR_FOREIGN);
        assert_non_null(strstr(err.what, cases[i].name));
    }
    scratch_end(&s);
}

static void
newer_cut_and_damaged_are_different_answers(void **state)
{
    (void)state;
    stock k = {.samples = 7, .threads = 2};
    pf_buf region = {0}, file = {0};
    pr_err err = PR_ERR_INIT;
    scratch s;
    scratch_begin(&s);
    put_all_kinds(&region, false);
    make_stock(&k, region.p, region.n, &file);
    pf_put_u32(file.p + PF_HEADER_VERSION, 2);
    assert_int_equal(open_bytes(&s, file.p, file.n, &err), PR_NEWER);
    pf_put_u32(file.p + PF_HEADER_VERSION, PF_VERSION);
    pf_put_u32(file.p + PF_HEADER_COMPRESSION, 9);
    assert_int_equal(open_bytes(&s, file.p, file.n, &err), PR_NEWER);
    pf_put_u32(file.p + PF_HEADER_COMPRESSION, PF_COMPRESSION_NONE);
    for (size_t n = 4; n < file.n; n++)
        assert_int_equal(open_bytes(&s, file.p, n, &err), PR_CUT);
    memset(file.p + file.n - PF_FOOTER_SIZE, 0xff, 4); /* count of strings */
    assert_int_equal(open_bytes(&s, file.p, file.n, &err), PR_DAMAGED);
    scratch_end(&s);
    free(region.p);
    free(file.p);
}

static void
bytes_after_a_plain_file_are_found_and_harmless(void **state)
{
    (void)state;
    stock k = {.samples = 7, .threads = 2, .stats = 56};
    pf_buf region = {0}, file = {0};
    pr_err err = PR_ERR_INIT;
    scratch s;
    story read;
    scratch_begin(&s);
    put_all_kinds(&region, false);
    make_stock(&k, region.p, region.n, &file);
    pf_buf_bytes(&file, "more", 4);
    scratch_write(&s, file.p, file.n);
    pf_reader *reader = open_file(&s);
    assert_int_equal(pf_reader_info(reader)->state, PF_DAMAGED);
    assert_int_equal(replay(reader, NULL, &read, &err), PR_DAMAGED);
    assert_non_null(strstr(err.what, "4 bytes follow"));
    assert_all_kinds(&read);
    story_end(&read);
    pf_reader_free(reader);
    scratch_end(&s);
    free(region.p);
    free(file.p);
}

static void
an_impossible_file_is_refused(void **state)
{
    (void)state;
    pr_err err = PR_ERR_INIT;
    pf_reader *reader = NULL;
    scratch s;
    scratch_begin(&s);
    assert_int_equal(pf_reader_open(s.path, NULL, &reader, &err), PR_IO);
    pr_err_clear(&err);
    assert_int_equal(pf_reader_open(s.folder, NULL, &reader, &err), PR_USAGE);
    pr_err_clear(&err);
    assert_int_equal(mkfifo(s.path, 0600), 0);
    assert_int_equal(pf_reader_open(s.path, NULL, &reader, &err), PR_USAGE);
    assert_null(reader);
    scratch_end(&s);
}

/* ---- records that lie ---- */

/* Replay a file of one record that is wrong; the samples before it come. */
static void
assert_damaged(const uint8_t *bytes, size_t n, uint8_t kind, const char *why)
{
    stock k = {.samples = 8, .threads = 2};
    pf_buf region = {0}, file = {0};
    pr_err err = PR_ERR_INIT;
    scratch s;
    story read;
    scratch_begin(&s);
    put_all_kinds(&region, false);
    put_record(&region, 70, 0, kind, false);
    pf_buf_bytes(&region, bytes, n);
    make_stock(&k, region.p, region.n, &file);
    scratch_write(&s, file.p, file.n);
    pf_reader *reader = open_file(&s);
    assert_int_equal(replay(reader, NULL, &read, &err), PR_DAMAGED);
    assert_non_null(strstr(err.what, why));
    assert_true(read.samples >= 7);
    assert_int_equal(pf_reader_info(reader)->state, PF_DAMAGED);
    story_end(&read);
    pf_reader_free(reader);
    scratch_end(&s);
    free(region.p);
    free(file.p);
}

static void
records_that_lie_are_damage(void **state)
{
    (void)state;
    static const uint8_t shared[] = {1, 4, 5, 1, 0}, pop[] = {1, 4, 5, 0};
    static const uint8_t frame[] = {1, 4, 1, 2}, never[] = {0};
    static const uint8_t deep[] = {1, 4, 0xff, 0xff, 0xff, 0xff, 0x0f};
    static const uint8_t wide[] = {1, 4, 0xff, 0xff, 0xff, 0xff, 0x1f};
    static const uint8_t run[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                  0xff, 0xff, 0xff, 1,    1,    4};
    static const uint8_t late[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                   0xff, 0xff, 0xff, 1,    4,    0};
    assert_damaged(shared, sizeof shared, PF_SUFFIX, "keeps 5 frames");
    assert_damaged(pop, sizeof pop, PF_POP_PUSH, "removes 5 frames");
    assert_damaged(frame, sizeof frame, PF_FULL, "frame 2");
    assert_damaged(never, sizeof never, PF_REPEAT, "0 times");
    assert_damaged(deep, sizeof deep, PF_FULL, "frames");
    assert_damaged(wide, sizeof wide, PF_FULL, "not whole");
    assert_damaged(run, sizeof run, PF_REPEAT, "not whole");
    assert_damaged(late, sizeof late, PF_FULL, "steps back");
    assert_damaged(never, sizeof never, 4, "unknown kind 4");
    assert_damaged(never, 0, PF_FULL, "not whole");
}

static void
counts_that_do_not_match_are_damage(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        stock k = {.samples = 7u + (i == 0), .threads = 2u + (i == 1)};
        pf_buf region = {0}, file = {0};
        pr_err err = PR_ERR_INIT;
        scratch s;
        story read;
        scratch_begin(&s);
        put_all_kinds(&region, false);
        make_stock(&k, region.p, region.n, &file);
        scratch_write(&s, file.p, file.n);
        pf_reader *reader = open_file(&s);
        assert_int_equal(replay(reader, NULL, &read, &err), PR_DAMAGED);
        assert_all_kinds(&read);
        story_end(&read);
        pf_reader_free(reader);
        scratch_end(&s);
        free(region.p);
        free(file.p);
    }
}

/* ---- the budget ---- */

static void
a_file_beyond_the_budget_is_refused_by_name(void **state)
{
    (void)state;
    plot p = {3, 2, 20, 10, 300, 4, false};
    scratch s;
    scratch_begin(&s);
    write_plot(&p, &s, small_segments(1000));
    pf_reader_opts opts = PF_READER_OPTS_INIT;
    pf_reader *reader = NULL;
    pr_err err = PR_ERR_INIT;
    opts.memory = 1;
    assert_int_equal(pf_reader_open(s.path, &opts, &reader, &err), PR_LIMIT);
    assert_non_null(strstr(err.what, "of memory"));
    assert_non_null(strstr(err.hint, "--memory"));
    opts.memory = 64 << 20;
    pr_err_clear(&err);
    assert_int_equal(pf_reader_open(s.path, &opts, &reader, &err), PR_OK);
    pf_reader_free(reader);
    scratch_end(&s);
}

/* ---- the sink's words ---- */

static void
a_sink_that_fails_ends_the_replay_with_its_code(void **state)
{
    (void)state;
    plot p = {3, 2, 20, 10, 300, 4, false};
    scratch s;
    scratch_begin(&s);
    write_plot(&p, &s, small_segments(1000));
    pf_reader *reader = open_file(&s);
    for (int jobs = 1; jobs < 4; jobs++) {
        pf_replay_opts opts = PF_REPLAY_OPTS_INIT;
        pr_err err = PR_ERR_INIT;
        story read;
        opts.jobs = jobs;
        story_begin(&read);
        read.refuse_after = 100;
        assert_int_equal(
            pf_reader_replay(reader, &opts, &read.sink, NULL, &err), PR_LIMIT);
        assert_string_equal(err.what, "the sink is full");
        assert_int_equal(read.deltas, 100);
        story_end(&read);
    }
    assert_int_equal(pf_reader_info(reader)->state, PF_FINISHED);
    pf_reader_free(reader);
    scratch_end(&s);
}

typedef struct progress {
    uint64_t calls, last, total;
} progress;

static void
see_progress(void *context, uint64_t current, uint64_t total)
{
    progress *p = context;
    assert_true(current >= p->last && current <= total);
    p->last = current;
    p->total = total;
    p->calls++;
}

static void
progress_begins_with_nothing_and_ends_with_all(void **state)
{
    (void)state;
    plot p = {3, 2, 20, 10, 300, 4, false};
    scratch s;
    progress seen = {0, 0, 0};
    pr_progress taken = {see_progress, &seen};
    scratch_begin(&s);
    write_plot(&p, &s, small_segments(1000));
    pf_reader *reader = open_file(&s);
    assert_int_equal(pf_reader_verify(reader, &taken, NULL), PR_OK);
    assert_int_equal(seen.last, pf_reader_info(reader)->samples);
    assert_int_equal(seen.total, seen.last);
    assert_true(seen.calls > 2);
    pf_reader_free(reader);
    scratch_end(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(profiles_read_back_as_they_were_emitted),
        cmocka_unit_test(any_number_of_jobs_makes_the_same_calls),
        cmocka_unit_test(a_plain_file_reads_back_as_it_was_emitted),
        cmocka_unit_test(a_stack_of_a_plain_file_may_be_longer_than_a_piece),
        cmocka_unit_test(a_range_of_time_emits_its_samples_and_no_others),
        cmocka_unit_test(segments_outside_a_range_are_not_read),
        cmocka_unit_test(metadata_and_counters_are_the_last_that_were_emitted),
        cmocka_unit_test(stacks_of_none_and_of_thousands_of_frames),
        cmocka_unit_test(thousands_of_threads_read_back),
        cmocka_unit_test(files_of_cpython_in_both_byte_orders),
#if !SLOW_MACHINE
        cmocka_unit_test(more_samples_than_32_bits_count),
#endif
        cmocka_unit_test(the_header_of_a_pre_release_is_refused_by_name),
        cmocka_unit_test(a_file_that_is_not_a_profile_is_named),
        cmocka_unit_test(newer_cut_and_damaged_are_different_answers),
        cmocka_unit_test(bytes_after_a_plain_file_are_found_and_harmless),
        cmocka_unit_test(an_impossible_file_is_refused),
        cmocka_unit_test(records_that_lie_are_damage),
        cmocka_unit_test(counts_that_do_not_match_are_damage),
        cmocka_unit_test(a_file_beyond_the_budget_is_refused_by_name),
        cmocka_unit_test(a_sink_that_fails_ends_the_replay_with_its_code),
        cmocka_unit_test(progress_begins_with_nothing_and_ends_with_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
