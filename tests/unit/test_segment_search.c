/*
 * test_segment_search.c - files that were cut, bent, or made to lie: whole
 * parts come back, the message names the others, and no file costs more than
 * it should.
 */
#include "tests/unit/story.h"

#include <inttypes.h>
#include <pyrec/reader.h>
#include <pyrec/writer.h>
#include <sys/mman.h>
#include <zstd.h>

#include "format/read/checkpoint_read.h"
#include "format/read/decode.h"
#include "format/read/segment_search.h"

/* ---- a small file and its true content ---- */

typedef struct sample_file {
    scratch s;
    uint8_t *bytes;
    size_t n;
    bool finished;
    story taken;
    /* of the whole file */
    uint64_t segments;
    uint64_t region_end;
} sample_file;

static const plot small = {2026, 3, 12, 9, 60, 4, true};

static void
sample_begin(sample_file *f, bool finished)
{
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *writer;
    pf_reader *reader = NULL;
    *f = (sample_file){.finished = finished};
    opts.segment_bytes = 300;
    scratch_begin(&f->s);
    story_begin(&f->taken);
    story_emit(&small, &f->taken.sink);
    assert_int_equal(pf_writer_open(f->s.path, &opts, &writer, NULL), PR_OK);
    story_emit(&small, writer);
    const pr_stats stats = {1, 2, 3, 4, PR_STATS_PRESENT};
    assert_int_equal(pr_sink_stats(writer, &stats, NULL), PR_OK);
    if (finished)
        assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    else
        writer->ops->abort(writer);
    f->bytes = scratch_read(&f->s, &f->n);
    assert_int_equal(pf_reader_open(f->s.path, NULL, &reader, NULL), PR_OK);
    f->segments = pf_reader_info(reader)->segments;
    assert_true(f->segments >= 3);
    f->region_end = f->n;
    if (finished)
        memcpy(&f->region_end, f->bytes + PF_HEADER_STRINGS, 8);
    pf_reader_free(reader);
}

static void
sample_end(sample_file *f)
{
    free(f->bytes);
    story_end(&f->taken);
    scratch_end(&f->s);
}

/* A reader's result for a file: its code, its story and its message. */
typedef struct outcome {
    pr_code code;
    bool opened;
    pf_info info;
    pf_reader_stats stats;
    pr_err err;
    story read;
} outcome;

static void
read_bytes(const sample_file *f, const uint8_t *bytes, size_t n, outcome *o)
{
    pf_reader *reader = NULL;
    *o = (outcome){.err = PR_ERR_INIT};
    scratch_write(&f->s, bytes, n);
    story_begin(&o->read);
    o->code = pf_reader_open(f->s.path, NULL, &reader, &o->err);
    o->opened = o->code == PR_OK;
    if (o->opened)
        o->code = pf_reader_replay(reader, NULL, &o->read.sink, NULL, &o->err);
    assert_true(o->code == o->err.code);
    assert_true(o->err.offset == PR_NO_OFFSET || o->err.offset <= n);
    if (o->opened) {
        o->info = *pf_reader_info(reader);
        pf_reader_get_stats(reader, &o->stats);
    }
    pf_reader_free(reader);
}

/* Is every sample of `part` one of `whole`?  Their stacks too, unless names
 * are lost. */
static bool
is_part(const story *part, const story *whole, bool names)
{
    for (size_t i = 0; i < part->n_threads; i++) {
        const story_thread *p = &part->thread[i];
        const story_thread *w = story_find_thread(whole, p->key);
        size_t at = 0;
        for (size_t j = 0; j < p->n; j++, at++) {
            while (w && at < w->n &&
                   (w->sample[at].time_us != p->sample[j].time_us ||
                    w->sample[at].status != p->sample[j].status ||
                    (names && w->sample[at].stack != p->sample[j].stack)))
                at++;
            if (!w || at >= w->n)
                return false;
        }
    }
    return true;
}

/* ---- cuts ---- */

/* R5: all whole segments of a cut file. */
static void
check_every_cut(bool finished)
{
    sample_file f;
    outcome o;
    sample_begin(&f, finished);
    uint64_t before = 0;
    for (size_t n = 0; n < f.n; n++) {
        read_bytes(&f, f.bytes, n, &o);
        assert_int_equal(o.code, n < 4 ? PR_FOREIGN : PR_CUT);
        assert_true(story_is_prefix(&o.read, &f.taken));
        assert_true(o.read.samples >= before);
        assert_true(!o.opened || o.info.state == PF_CUT);
        assert_true(!o.opened || o.info.samples == o.read.samples);
        if (n >= f.region_end)
            assert_true(story_same_samples(&o.read, &f.taken));
        before = o.read.samples;
        story_end(&o.read);
    }
    assert_true(before > 0);
    sample_end(&f);
}

static void
a_finished_file_cut_anywhere_gives_all_whole_segments(void **state)
{
    (void)state;
    check_every_cut(true);
}

static void
a_recording_cut_anywhere_gives_all_whole_segments(void **state)
{
    (void)state;
    check_every_cut(false);
}

/* ---- single bits ---- */

/* R4: no flipped bit changes emitted samples without being found. */
static void
check_every_bit(bool finished)
{
    sample_file f;
    outcome o;
    size_t found = 0, harmless = 0, shorter = 0;
    sample_begin(&f, finished);
    for (size_t bit = 0; bit < 8 * f.n; bit++) {
        f.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        read_bytes(&f, f.bytes, f.n, &o);
        f.bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        assert_true(is_part(&o.read, &f.taken, finished));
        bool whole = o.read.samples == f.taken.samples;
        if (o.code == PR_OK) {
            assert_true(story_same_samples(&o.read, &f.taken));
            harmless++;
        } else if (o.code == PR_CUT && !finished && !whole) {
            shorter++; /* the last segment seems not to have ended */
        } else {
            assert_true(o.code == PR_DAMAGED || !finished);
            found++;
        }
        /* one bit costs one segment at most */
        assert_true(o.stats.segments_damaged <= 1);
        story_end(&o.read);
    }
    printf("%zu bits: %zu found, %zu harmless, %zu cut shorter\n", 8 * f.n,
           found, harmless, shorter);
    if (finished)
        assert_int_equal(found, 8 * f.n);
    sample_end(&f);
}

static void
every_bit_of_a_finished_file_is_covered(void **state)
{
    (void)state;
    check_every_bit(true);
}

static void
no_bit_of_a_recording_changes_emitted_samples(void **state)
{
    (void)state;
    check_every_bit(false);
}

/* ---- lost segments ---- */

/* The first place of the checkpoint's magic from `at` on. */
static size_t
find_checkpoint(const sample_file *f, size_t at)
{
    const uint8_t *p = memmem(f->bytes + at, f->n - at, "PRCK", 4);
    assert_non_null(p);
    return (size_t)(p - f->bytes);
}

/* R6: damage of one segment costs that segment and names it. */
static void
a_damaged_segment_costs_itself(void **state)
{
    (void)state;
    for (int finished = 0; finished < 2; finished++) {
        sample_file f;
        outcome whole, o;
        sample_begin(&f, finished);
        read_bytes(&f, f.bytes, f.n, &whole);
        size_t second = find_checkpoint(&f, find_checkpoint(&f, 0) + 4);
        f.bytes[second - 20] ^= 0x40; /* in the records of segment 1 */
        read_bytes(&f, f.bytes, f.n, &o);
        assert_int_equal(o.code, PR_DAMAGED);
        assert_non_null(strstr(o.err.what, "segment 1"));
        assert_int_equal(o.info.state, PF_DAMAGED);
        assert_int_equal(o.stats.segments_damaged, 1);
        assert_int_equal(o.stats.segments_read, f.segments - 1);
        assert_true(is_part(&o.read, &f.taken, true));
        assert_true(o.read.samples > whole.read.samples / 2 &&
                    o.read.samples < whole.read.samples);
        story_end(&o.read);
        story_end(&whole.read);
        sample_end(&f);
    }
}

/* Times and depths stay, names are in the tables or gone with it. */
static void
a_lost_checkpoint_takes_its_names_and_no_others_samples(void **state)
{
    (void)state;
    for (int finished = 0; finished < 2; finished++) {
        sample_file f;
        outcome o;
        sample_begin(&f, finished);
        size_t first = find_checkpoint(&f, 0);
        f.bytes[first + 60] ^= 1; /* all names are in the first */
        read_bytes(&f, f.bytes, f.n, &o);
        assert_int_equal(o.code, PR_DAMAGED);
        assert_int_equal(o.stats.segments_damaged, 1);
        assert_true(o.read.samples > 0);
        assert_true(is_part(&o.read, &f.taken, finished));
        uint64_t lost = pr_hash_bytes("<lost>", 6);
        bool has_lost = false;
        for (size_t i = 0; i < o.read.n_strings; i++)
            has_lost |= o.read.string[i] == lost;
        assert_true(has_lost == !finished);
        story_end(&o.read);
        sample_end(&f);
    }
}

static void
bytes_after_the_end_are_found_and_harmless(void **state)
{
    (void)state;
    sample_file f;
    outcome o;
    sample_begin(&f, true);
    for (size_t more = 1; more < 200; more += 33) {
        uint8_t *longer = malloc(f.n + more);
        assert_non_null(longer);
        memcpy(longer, f.bytes, f.n);
        memset(longer + f.n, (int)more, more);
        read_bytes(&f, longer, f.n + more, &o);
        assert_int_equal(o.code, PR_DAMAGED);
        assert_non_null(strstr(o.err.what, "follow the end"));
        assert_true(story_same_samples(&o.read, &f.taken));
        story_end(&o.read);
        free(longer);
    }
    sample_end(&f);
}

/* A forger's work: the checksums are right, the tables name something else. */
static void
tables_that_say_something_else_are_found_by_verify(void **state)
{
    (void)state;
    sample_file f;
    pf_reader *reader = NULL;
    pr_err err = PR_ERR_INIT;
    sample_begin(&f, true);
    uint8_t *stats = f.bytes + f.n - PF_FOOTER_SIZE - PF_STATS_SIZE;
    uint64_t size = pf_load_u64(stats - PF_INDEX_TAIL_SIZE, false);
    uint8_t *index = stats - size;
    uint8_t *tables = f.bytes + f.region_end;
    f.bytes[f.region_end + 2] ^= 1; /* a letter of the second string */
    pf_put_u64(index + PF_INDEX_TABLES_CHECK,
               pr_hash_bytes(tables, (size_t)(index - tables)));
    pf_put_u64(index + PF_INDEX_CHECKSUM, 0);
    pf_put_u64(index + PF_INDEX_CHECKSUM, pr_hash_bytes(index, size));
    scratch_write(&f.s, f.bytes, f.n);
    assert_int_equal(pf_reader_open(f.s.path, NULL, &reader, &err), PR_OK);
    assert_int_equal(pf_reader_info(reader)->state, PF_DAMAGED);
    assert_int_equal(pf_reader_verify(reader, NULL, &err), PR_DAMAGED);
    assert_int_equal(err.offset, f.region_end);
    assert_int_equal(pf_reader_info(reader)->state, PF_DAMAGED);
    pf_reader_free(reader);
    sample_end(&f);
}

/* ---- bytes at the edge of a page ---- */

/* n bytes that end where reading is not allowed. */
typedef struct edge {
    uint8_t *map, *at;
    size_t size;
} edge;

static void
edge_begin(edge *e, const void *bytes, size_t n)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    e->size = (n / page + 2) * page;
    e->map = mmap(NULL, e->size, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(e->map != MAP_FAILED);
    assert_int_equal(mprotect(e->map + e->size - page, page, PROT_NONE), 0);
    e->at = e->map + e->size - page - n;
    memcpy(e->at, bytes, n);
}

static void
edge_end(edge *e)
{
    munmap(e->map, e->size);
}

/* The body of the first checkpoint, whole, walked at every length. */
static void
a_body_of_any_length_is_read_within_its_bytes(void **state)
{
    (void)state;
    static const pf_checkpoint_ops nobody = {.string = NULL};
    sample_file f;
    pf_checkpoint c;
    pf_buf decoded = {0};
    pf_cur body;
    size_t whole = 0;
    sample_begin(&f, true);
    size_t at = find_checkpoint(&f, 0) - PF_CHECKPOINT_MAGIC_AT;
    size_t n = (size_t)pf_checkpoint_length(f.bytes + at);
    assert_int_equal(pf_checkpoint_check(f.bytes + at, n, false, &c, NULL),
                     PR_OK);
    pf_budget budget;
    pf_budget_init(&budget, NULL, 1 << 20);
    assert_int_equal(
        pf_checkpoint_body(&c, false, &budget, &decoded, &body, NULL), PR_OK);
    for (size_t len = 0; len <= c.body_size; len++) {
        edge e;
        edge_begin(&e, body.p, len);
        pr_code code = pf_checkpoint_walk(pf_cur_of(e.at, len, false), &nobody,
                                          NULL, NULL);
        assert_true(code == PR_OK || code == PR_DAMAGED);
        whole += code == PR_OK;
        edge_end(&e);
    }
    assert_true(whole >= 2 && whole < 12); /* between two records only */
    free(decoded.p);
    sample_end(&f);
}

/* Records of one thread, decoded at every length, whole or to be continued. */
static void
records_of_any_length_are_read_within_their_bytes(void **state)
{
    (void)state;
    static const uint8_t records[] = {
        7,    0,       0,           0, 0, 0, 0,         0, 0, 0,         0,
        0,    PF_FULL, 0xe8,        7, 1, 2, 1,         0, 7, 0,         0,
        0,    0,       0,           0, 0, 0, 0,         0, 0, PF_REPEAT, 2,
        0xe8, 7,       1,           9, 2, 7, 0,         0, 0, 0,         0,
        0,    0,       0,           0, 0, 0, PF_SUFFIX, 1, 1, 1,         1,
        1,    7,       0,           0, 0, 0, 0,         0, 0, 0,         0,
        0,    0,       PF_POP_PUSH, 1, 1, 2, 0};
    for (size_t n = 0; n <= sizeof records; n++) {
        pf_names names;
        pf_budget budget;
        pf_decoder d;
        story s;
        size_t used = 0;
        edge e;
        pr_frame frame = {0, 0, 1, 1, 1, 1, 1, 1};
        pr_start start = {0, 0, 1, {3, 15, 2}, PR_MODE_WALL, 0};
        edge_begin(&e, records, n);
        story_begin(&s);
        pf_budget_init(&budget, NULL, 1 << 20);
        assert_int_equal(pf_names_init(&names, &budget, NULL), PR_OK);
        assert_int_equal(pf_names_string(&names, 0, "f", 1, NULL), PR_OK);
        assert_int_equal(pf_names_frame(&names, 0, &frame, NULL), PR_OK);
        assert_int_equal(pf_names_frame(&names, 1, &frame, NULL), PR_OK);
        story_start(&s.sink, &start, NULL);
        assert_int_equal(pf_symbols_emit(&names.symbols, &s.sink, NULL), PR_OK);
        assert_int_equal(pf_decoder_init(&d, &s.sink, &names, true, NULL),
                         PR_OK);
        pf_decoder_begin(&d, UINT32_MAX);
        assert_int_equal(
            pf_decoder_piece(&d, pf_cur_of(e.at, n, false), true, &used, NULL),
            PR_OK);
        assert_true(used <= n);
        /* the rest, in one piece, completes the story */
        assert_int_equal(
            pf_decoder_piece(
                &d, pf_cur_of(records + used, sizeof records - used, false),
                false, &used, NULL),
            PR_OK);
        assert_int_equal(s.samples, 5);
        assert_int_equal(s.thread[0].depth, 0);
        pf_decoder_release(&d);
        pf_names_release(&names);
        story_end(&s);
        edge_end(&e);
    }
}

/* ---- cost ---- */

/* 200,000 samples whose status alternates: each is a sample of a run. */
static void
alternating_status_costs_as_much_as_equal_status(void **state)
{
    (void)state;
    enum { SAMPLES = 200000 };
    scratch s;
    pf_writer_opts opts = PF_WRITER_OPTS_INIT;
    pr_sink *writer;
    pf_reader *reader;
    story read;
    plot names = {.threads = 1, .frames = 8};
    scratch_begin(&s);
    assert_int_equal(pf_writer_open(s.path, &opts, &writer, NULL), PR_OK);
    story_emit_names(&names, writer);
    const uint32_t push[] = {1, 2, 3};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        uint64_t time_us = 1000 * (uint64_t)(i + 1);
        uint8_t status = i % 2 ? PR_HAS_GIL : PR_ON_CPU;
        pr_delta d = {0, i ? 3 : 0, i ? 0 : 3, 1, push, &time_us, &status};
        assert_int_equal(PR_SINK_CALL(writer, delta, &d, NULL), PR_OK);
    }
    assert_int_equal(writer->ops->finish(writer, NULL), PR_OK);
    assert_int_equal(pf_reader_open(s.path, NULL, &reader, NULL), PR_OK);
    story_begin(&read);
    assert_int_equal(pf_reader_replay(reader, NULL, &read.sink, NULL, NULL),
                     PR_OK);
    assert_int_equal(read.samples, SAMPLES);
    assert_true(read.deltas < SAMPLES / 500); /* runs, not samples */
    for (size_t i = 0; i < SAMPLES; i++)
        assert_true(read.thread[0].sample[i].status ==
                    (i % 2 ? PR_HAS_GIL : PR_ON_CPU));
    story_end(&read);
    pf_reader_free(reader);
    scratch_end(&s);
}

/* A file of nothing but beginnings of checkpoints, each as long as it can be:
 * a check of all of them whole would cost the square of its size. */
static void
a_search_gives_up_on_a_file_made_of_false_checkpoints(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20, STEP = 64 };
    pf_buf file = {0};
    scratch s;
    pf_input in;
    pf_search search;
    pf_found found;
    scratch_begin(&s);
    assert_true(pf_buf_reserve(&file, SIZE));
    memset(file.p, 0, SIZE);
    for (uint32_t at = PF_HEADER_SIZE; at + STEP <= SIZE; at += STEP) {
        pf_put_le32(file.p + at, PF_CHECKPOINT_SKIP);
        pf_put_le32(file.p + at + 4, SIZE - at - PF_SKIP_HEADER_SIZE);
        memcpy(file.p + at + 8, PF_CHECKPOINT_MAGIC, 4);
    }
    scratch_write(&s, file.p, SIZE);
    assert_int_equal(pf_input_open(s.path, &in, NULL), PR_OK);
    pf_search_begin(&search, &in, false, in.size);
    uint64_t budget = search.budget;
    assert_int_equal(pf_search_next(&search, PF_HEADER_SIZE, &found, NULL),
                     PR_END);
    assert_true(search.traces);
    assert_true(budget <= 32 * in.size && search.budget < budget / 2);
    pf_search_end(&search);
    pf_input_close(&in);
    free(file.p);
    scratch_end(&s);
}

static void
the_end_of_a_zstd_frame_is_known_by_its_blocks(void **state)
{
    (void)state;
    enum { SIZE = 400000 };
    uint8_t *plain = malloc(SIZE);
    size_t room = ZSTD_compressBound(SIZE) + PF_HEADER_SIZE;
    uint8_t *file = malloc(room);
    uint64_t seed = 31, end;
    scratch s;
    pf_input in;
    scratch_begin(&s);
    assert_true(plain && file);
    printf("seed %" PRIu64 "\n", seed);
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < SIZE; i++) /* raw, run and packed blocks */
            plain[i] = (uint8_t)(kind == 0   ? story_random(&seed)
                                 : kind == 1 ? 7
                                             : i / 100);
        size_t n = ZSTD_compress(file, room, plain, SIZE, 3);
        assert_false(ZSTD_isError(n));
        memset(file + n, 1, 10);
        scratch_write(&s, file, n + 10);
        assert_int_equal(pf_input_open(s.path, &in, NULL), PR_OK);
        pf_frame_state frame;
        assert_int_equal(pf_zstd_frame(&in, 0, in.size, &frame, &end, NULL),
                         PR_OK);
        assert_int_equal(frame, PF_FRAME_WHOLE);
        assert_int_equal(end, n);
        assert_int_equal(pf_zstd_frame(&in, 0, n - 1, &frame, &end, NULL),
                         PR_OK);
        assert_int_equal(frame, PF_FRAME_OPEN);
        pf_input_close(&in);
    }
    free(plain);
    free(file);
    scratch_end(&s);
}

/* ---- memory ---- */

static long allowed_allocations = -1; /* < 0: all */

static bool
may_allocate(void)
{
    if (allowed_allocations == 0)
        return false;
    allowed_allocations -= allowed_allocations > 0;
    return true;
}

void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__wrap_malloc(size_t);
void *__wrap_calloc(size_t, size_t);
void *__wrap_realloc(void *, size_t);

void *
__wrap_malloc(size_t n)
{
    return may_allocate() ? __real_malloc(n) : NULL;
}

void *
__wrap_calloc(size_t n, size_t size)
{
    return may_allocate() ? __real_calloc(n, size) : NULL;
}

void *
__wrap_realloc(void *p, size_t n)
{
    return may_allocate() ? __real_realloc(p, n) : NULL;
}

/* Open and replay without a sink, with `allowed` allocations. */
static pr_code
read_with(const sample_file *f, long allowed)
{
    static const pr_sink_ops nothing = {.start = NULL};
    pr_sink sink = {&nothing};
    pf_reader *reader = NULL;
    pr_err err = PR_ERR_INIT;
    allowed_allocations = allowed;
    pr_code code = pf_reader_open(f->s.path, NULL, &reader, &err);
    if (code == PR_OK)
        code = pf_reader_replay(reader, NULL, &sink, NULL, &err);
    if (code == PR_OK)
        code = pf_reader_verify(reader, NULL, &err);
    allowed_allocations = -1;
    pf_reader_free(reader);
    assert_true(code == err.code);
    return code;
}

/* Finished, never finished, and with a lost checkpoint. */
static void
every_allocation_may_fail_once(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        sample_file f;
        long n = 0;
        pr_code want = kind == 0 ? PR_OK : kind == 1 ? PR_CUT : PR_DAMAGED;
        sample_begin(&f, kind != 1);
        if (kind == 2)
            f.bytes[find_checkpoint(&f, 0) + 60] ^= 1;
        scratch_write(&f.s, f.bytes, f.n);
        while (read_with(&f, n) == PR_NOMEM)
            n++;
        assert_int_equal(read_with(&f, n), want);
        assert_true(n > 10 && n < 1000);
        sample_end(&f);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_finished_file_cut_anywhere_gives_all_whole_segments),
        cmocka_unit_test(a_recording_cut_anywhere_gives_all_whole_segments),
        cmocka_unit_test(every_bit_of_a_finished_file_is_covered),
        cmocka_unit_test(no_bit_of_a_recording_changes_emitted_samples),
        cmocka_unit_test(a_damaged_segment_costs_itself),
        cmocka_unit_test(
            a_lost_checkpoint_takes_its_names_and_no_others_samples),
        cmocka_unit_test(bytes_after_the_end_are_found_and_harmless),
        cmocka_unit_test(tables_that_say_something_else_are_found_by_verify),
        cmocka_unit_test(a_body_of_any_length_is_read_within_its_bytes),
        cmocka_unit_test(records_of_any_length_are_read_within_their_bytes),
        cmocka_unit_test(alternating_status_costs_as_much_as_equal_status),
        cmocka_unit_test(a_search_gives_up_on_a_file_made_of_false_checkpoints),
        cmocka_unit_test(the_end_of_a_zstd_frame_is_known_by_its_blocks),
        cmocka_unit_test(every_allocation_may_fail_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
