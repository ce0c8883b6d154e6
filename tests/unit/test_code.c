/*
 * test_code.c - line tables against another decoding, the cache of code
 * objects against the calls that a sink got.
 */
#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/cpython/code.h"
#include "recorder/cpython/linetable.h"
#include <base/hash.h>
#include <stdint.h>
#include <time.h>

/* ---- line tables ---- */

typedef struct coded {
    uint8_t bytes[1 << 16];
    size_t len;
    rec_place place[1 << 14]; /* of each instruction, as it was meant */
    uint32_t n;
} coded;

static uint64_t
next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    return pr_mix64(*state);
}

static void
put_varint(coded *c, uint32_t v)
{
    while (v >= 64) {
        c->bytes[c->len++] = (uint8_t)(64 | (v & 63));
        v >>= 6;
    }
    c->bytes[c->len++] = (uint8_t)v;
}

static void
put_signed(coded *c, int32_t v)
{
    put_varint(c, v < 0 ? (uint32_t)-v << 1 | 1 : (uint32_t)v << 1);
}

/* Write the shortest entry that says `p`, for `units` instructions, as the
 * compiler does (Python/assemble.c write_location_info_entry()). */
static void
put_entry(coded *c, int32_t *line, rec_place p, uint32_t units)
{
    size_t at = c->len++;
    int32_t delta = p.line - *line;
    unsigned code;
    if (p.line == PR_NO_LINE) {
        code = 15;
    } else if (p.column == PR_NO_LINE) {
        code = 13;
        put_signed(c, delta);
    } else if (delta == 0 && p.end_line == p.line && p.column < 80 &&
               p.end_column - p.column < 16 && p.end_column >= p.column) {
        code = (unsigned)p.column >> 3;
        c->bytes[c->len++] =
            (uint8_t)((p.column & 7) << 4 | (p.end_column - p.column));
    } else if (delta >= 0 && delta < 3 && p.end_line == p.line &&
               p.column < 128 && p.end_column < 128) {
        code = 10 + (unsigned)delta;
        c->bytes[c->len++] = (uint8_t)p.column;
        c->bytes[c->len++] = (uint8_t)p.end_column;
    } else {
        code = 14;
        put_signed(c, delta);
        put_varint(c, (uint32_t)(p.end_line - p.line));
        put_varint(c, (uint32_t)p.column + 1);
        put_varint(c, (uint32_t)p.end_column + 1);
    }
    c->bytes[at] = (uint8_t)(0x80 | code << 3 | (units - 1));
    if (p.line != PR_NO_LINE)
        *line = p.line;
    for (uint32_t i = 0; i < units; i++)
        c->place[c->n++] = p;
}

static rec_place
random_place(uint64_t *state, int32_t line)
{
    uint64_t r = next_random(state);
    int32_t to = line + (int32_t)(r >> 8 & 7) - 2;
    if ((r & 15) == 0)
        to = line + (int32_t)(r >> 20 & 0xffff) - 0x4000;
    if (to < 0)
        to = 0;
    rec_place p = {to, to, (int32_t)(r >> 36 & 63), 0};
    if ((r >> 4 & 3) == 0)
        p.column += 100;
    p.end_column = p.column + (int32_t)(r >> 42 & 31);
    switch (r >> 60) {
    case 0:
        return (rec_place){PR_NO_LINE, PR_NO_LINE, PR_NO_LINE, PR_NO_LINE};
    case 1:
        p.column = p.end_column = PR_NO_LINE;
        break;
    case 2:
        p.end_line += (int32_t)(r >> 30 & 127);
        break;
    default:
        break;
    }
    return p;
}

static void
put_random_table(coded *c, uint64_t seed, int32_t line, uint32_t entries)
{
    uint64_t state = seed;
    c->len = c->n = 0;
    for (uint32_t i = 0; i < entries; i++)
        put_entry(c, &line, random_place(&state, line),
                  1 + (uint32_t)(next_random(&state) % 8));
}

static uint8_t *
copy_of(const void *bytes, size_t len)
{
    uint8_t *copy = malloc(len + 1);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    return copy;
}

static void
expect_place(const rec_lines *lines, uint32_t unit, const rec_place *want)
{
    rec_place got;
    assert_true(rec_lines_find(lines, unit, &got));
    assert_int_equal(got.line, want->line);
    assert_int_equal(got.end_line, want->end_line);
    assert_int_equal(got.column, want->column);
    assert_int_equal(got.end_column, want->end_column);
}

static void
every_entry_kind_decodes_to_its_places(void **state)
{
    (void)state;
    coded *c = malloc(sizeof *c);
    uint64_t seed = (uint64_t)time(NULL);
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint32_t round = 0; round < 200; round++) {
        put_random_table(c, seed + round, (int32_t)round * 50, round * 5);
        rec_lines lines;
        rec_place none;
        assert_int_equal(rec_lines_init(&lines, copy_of(c->bytes, c->len),
                                        c->len, (int32_t)round * 50, NULL),
                         PR_OK);
        assert_int_equal(lines.n_units, c->n);
        for (uint32_t i = c->n; i-- > 0;)
            expect_place(&lines, i, &c->place[i]);
        assert_false(rec_lines_find(&lines, c->n, &none));
        rec_lines_release(&lines);
    }
    free(c);
}

/* def f(x):
 *     return g(x,
 *              1)
 * with `def` on line 7, and its co_positions(), of CPython 3.12.1. */
static void
a_table_of_cpython_is_decoded(void **state)
{
    (void)state;
    static const uint8_t table[] = {0x80, 0x00, 0xdc, 0x0b, 0x0c, 0x88, 0x51,
                                    0xd8, 0x0d, 0x0e, 0xf3, 0x03, 0x01, 0x0c,
                                    0x10, 0xf0, 0x00, 0x01, 0x05, 0x10};
    static const rec_place want[] = {
        {7, 7, 0, 0},   {8, 8, 11, 12}, {8, 8, 11, 12}, {8, 8, 11, 12},
        {8, 8, 11, 12}, {8, 8, 11, 12}, {8, 8, 13, 14}, {9, 9, 13, 14},
        {8, 9, 11, 15}, {8, 9, 11, 15}, {8, 9, 11, 15}, {8, 9, 11, 15},
        {8, 9, 4, 15}};
    rec_lines lines;
    assert_int_equal(rec_lines_init(&lines, copy_of(table, sizeof table),
                                    sizeof table, 7, NULL),
                     PR_OK);
    assert_int_equal(lines.n_units, sizeof want / sizeof *want);
    for (uint32_t i = 0; i < lines.n_units; i++)
        expect_place(&lines, i, &want[i]);
    rec_lines_release(&lines);
}

static void
broken_tables_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x01",                         /* no entry begins so */
        "\x80",                         /* short form without its byte */
        "\xd0\x05",                     /* one line, one column */
        "\xe8",                         /* no line delta */
        "\xe8\x7f\x7f\x7f\x7f\x7f\x7f", /* varint without end */
        "\xf0\x02\x80\x01\x01",         /* the next entry inside of this */
        "\xe8\x7f\x7f\x7f\x7f\x7f\x3f", /* more than 32 bits */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rec_lines lines = {.len = 77};
        assert_int_equal(rec_lines_init(&lines, copy_of(bad[i], strlen(bad[i])),
                                        strlen(bad[i]), 1, NULL),
                         PR_TORN);
        assert_int_equal(lines.len, 77);
    }
}

/* ---- a sink that remembers ---- */

typedef struct memory_sink {
    pr_sink sink;
    char name[64][64];
    uint32_t n_names;
    pr_frame frame[256];
    uint32_t n_frames;
} memory_sink;

static pr_code
take_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)err;
    memory_sink *s = (memory_sink *)sink;
    assert_true(s->n_names < 64);
    snprintf(s->name[s->n_names++], 64, "%.*s", (int)len, bytes);
    return PR_OK;
}

static pr_code
take_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    (void)err;
    memory_sink *s = (memory_sink *)sink;
    assert_true(s->n_frames < 256);
    assert_true(frame->file < s->n_names && frame->func < s->n_names);
    s->frame[s->n_frames++] = *frame;
    return PR_OK;
}

static const pr_sink_ops sink_ops = {.string = take_string,
                                     .frame = take_frame};

/* ---- code objects ---- */

typedef struct world {
    fake_memory fake;
    rec_layout layout;
    memory_sink taken;
    rec_codes *codes;
    rec_batch batch;
    bool counted;
    uint64_t generation;
    rec_name_table names;
    uint64_t type;
} world;

static world *
world_of(const uint64_t *words, size_t size, uint32_t hint, bool free_threaded)
{
    world *w = calloc(1, sizeof *w);
    uint8_t table[REC_TABLE_BYTES] = {0};
    if (size)
        memcpy(table, words, size);
    if (free_threaded)
        table[16] = 1;
    fake_begin(&w->fake, 1 << 20);
    assert_int_equal(rec_layout_load(table, hint, &w->layout, NULL), PR_OK);
    w->taken.sink.ops = &sink_ops;
    rec_name_table_init(&w->names, &w->taken.sink);
    assert_int_equal(
        rec_codes_new(&w->layout, &w->names, true, &w->codes, NULL), PR_OK);
    assert_int_equal(rec_batch_init(&w->batch, &w->fake.memory, NULL), PR_OK);
    w->type = fake_type(&w->fake, &w->layout, "code", 0);
    return w;
}

static void
world_end(world *w)
{
    rec_codes_free(w->codes);
    rec_batch_release(&w->batch);
    rec_name_table_release(&w->names);
    fake_end(&w->fake);
    free(w);
}

static int
begin_3_15(void **state)
{
    *state = world_of(table_3_15, sizeof table_3_15, 0, false);
    return 0;
}

static int
begin_3_11(void **state)
{
    *state = world_of(NULL, 0, 0x030b07f0, false);
    return 0;
}

static int
end(void **state)
{
    world_end(*state);
    return 0;
}

/* Units 0..7 are line first + 1, 8..15 first + 2, columns 4..9. */
static const uint8_t two_lines[] = {0xdf, 4, 9, 0xdf, 4, 9};
enum { UNITS = 16 };

/* Write a code object to `at`. */
static void
put_code(world *w, uint64_t at, const char *name, int32_t first_line,
         uint64_t lines)
{
    const rec_layout *l = &w->layout;
    fake_memory *f = &w->fake;
    fake_put64(f, at + l->object.ob_type, w->type);
    fake_put64(f, at + l->code.n_units, UNITS);
    fake_put64(f, at + l->code.filename, fake_ascii(f, l, "file.py"));
    fake_put64(f, at + l->code.qualname, fake_ascii(f, l, name));
    fake_put64(f, at + l->code.linetable, lines);
    fake_put32(f, at + l->code.firstlineno, (uint32_t)first_line);
    if (l->code.framesize != REC_ABSENT) {
        fake_put32(f, at + l->code.framesize, 20);
    } else {
        fake_put32(f, at + l->code.stacksize, 7);
        fake_put32(f, at + l->code.nlocalsplus, 4);
    }
}

static uint64_t
fake_code(world *w, const char *name, int32_t first_line)
{
    uint64_t at = fake_alloc(&w->fake, w->layout.code.size + 2 * UNITS);
    put_code(w, at, name, first_line,
             fake_bytes(&w->fake, &w->layout, two_lines, sizeof two_lines));
    return at;
}

/* As the first code object of a new stack. */
static pr_code
get(world *w, uint64_t at, const rec_code **ret)
{
    rec_batch_reset(&w->batch);
    rec_codes_begin(w->codes, 1, w->counted ? &w->generation : NULL);
    return rec_codes_get(w->codes, &w->batch, at, ret, NULL);
}

static const rec_code *
got(world *w, uint64_t at)
{
    const rec_code *code;
    assert_int_equal(get(w, at, &code), PR_OK);
    return code;
}

/* The frame emitted for an instruction. */
static const pr_frame *
frame_of(world *w, uint64_t at, int64_t unit)
{
    const rec_code *code = got(w, at);
    uint32_t id;
    assert_int_equal(rec_codes_frame(w->codes, code,
                                     code->code_adaptive + (uint64_t)(2 * unit),
                                     PR_NO_OPCODE, &id, NULL),
                     PR_OK);
    assert_true(id < w->taken.n_frames);
    return &w->taken.frame[id];
}

static void
expect_frame(world *w, uint64_t at, int64_t unit, const char *name,
             int32_t line)
{
    const pr_frame *f = frame_of(w, at, unit);
    assert_string_equal(w->taken.name[f->func], name);
    assert_int_equal(f->line, line);
}

static void
an_instruction_becomes_a_frame_that_is_emitted_once(void **state)
{
    world *w = *state;
    uint64_t at = fake_code(w, "Shop.work", 10);
    w->counted = true;
    expect_frame(w, at, 0, "Shop.work", 11);
    expect_frame(w, at, 8, "Shop.work", 12);
    const pr_frame *f = frame_of(w, at, 15);
    assert_string_equal(w->taken.name[f->file], "file.py");
    assert_int_equal(f->column, 4);
    assert_int_equal(f->end_column, 9);
    assert_int_equal(f->first_line, 10);
    assert_int_equal(w->taken.n_frames, 2);
    assert_int_equal(w->taken.n_names, 2);
    uint64_t reads = w->fake.memory.reads;
    expect_frame(w, at, 8, "Shop.work", 12);
    assert_int_equal(w->fake.memory.reads, reads);
}

static void
a_frame_just_entered_has_the_line_of_its_def(void **state)
{
    world *w = *state;
    uint64_t at = fake_code(w, "f", 10);
    const pr_frame *f = frame_of(w, at, -1);
    assert_int_equal(f->line, 10);
    assert_int_equal(f->column, PR_NO_LINE);
}

static void
the_size_of_a_frame_is_known_in_every_version(void **state)
{
    world *w = *state;
    assert_int_equal(got(w, fake_code(w, "f", 1))->frame_words, 20);
    world *old = world_of(NULL, 0, 0x030b07f0, false);
    assert_int_equal(got(old, fake_code(old, "f", 1))->frame_words, 20);
    world_end(old);
}

static void
an_instruction_outside_is_torn_and_the_object_read_again(void **state)
{
    world *w = *state;
    uint64_t at = fake_code(w, "f", 1);
    const rec_code *code = got(w, at);
    const int64_t outside[] = {-4, 1, 2 * UNITS, -1};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        uint32_t id;
        code = got(w, at);
        assert_int_equal(
            rec_codes_frame(w->codes, code,
                            code->code_adaptive + (uint64_t)outside[i],
                            PR_NO_OPCODE, &id, NULL),
            PR_TORN);
        assert_false(rec_codes_is_verified(w->codes, at));
    }
    expect_frame(w, at, 0, "f", 2);
}

static void
an_object_that_is_not_code_is_torn(void **state)
{
    world *w = *state;
    const rec_layout *l = &w->layout;
    const rec_code *code;
    uint64_t good = fake_code(w, "good", 1), bad = fake_code(w, "bad", 1);
    got(w, good);
    fake_put64(&w->fake, bad + l->object.ob_type,
               fake_type(&w->fake, l, "code", 0));
    assert_int_equal(get(w, bad, &code), PR_TORN); /* not the known type */
    assert_int_equal(get(w, 0, &code), PR_TORN);
    assert_int_equal(get(w, good + 4, &code), PR_TORN);
    assert_int_equal(get(w, FAKE_BASE + w->fake.size - 16, &code), PR_TORN);
    uint64_t wild = fake_code(w, "wild", 1);
    fake_put64(&w->fake, wild + l->code.n_units, UINT64_MAX);
    assert_int_equal(get(w, wild, &code), PR_TORN);
    wild = fake_code(w, "wild", -5);
    assert_int_equal(get(w, wild, &code), PR_TORN);
    wild = fake_code(w, "wild", 1);
    fake_put32(&w->fake, wild + l->code.framesize, 3);
    assert_int_equal(get(w, wild, &code), PR_TORN);
}

static void
an_unreadable_name_costs_the_name_and_is_not_kept(void **state)
{
    world *w = *state;
    const rec_layout *l = &w->layout;
    uint64_t at = fake_code(w, "late", 1);
    uint64_t name = fake_ascii(&w->fake, l, "late");
    fake_put64(&w->fake, at + l->code.qualname, name);
    fake_put32(&w->fake, name + l->object.unicode_state, 0);
    const rec_code *code;
    assert_int_equal(get(w, at, &code), PR_TORN); /* it may be freed */
    expect_frame(w, at, 0, "<unknown>", 2);
    expect_frame(w, at, 0, "<unknown>", 2);
    assert_int_equal(rec_codes_degraded(w->codes), 2);
    fake_put64(&w->fake, at + l->code.qualname, fake_ascii(&w->fake, l, "now"));
    expect_frame(w, at, 0, "now", 2);
    assert_int_equal(rec_codes_degraded(w->codes), 2);
}

static void
an_unreadable_line_table_costs_the_lines(void **state)
{
    world *w = *state;
    uint64_t at = fake_code(w, "f", 30);
    fake_put64(&w->fake, at + w->layout.code.linetable, 0x40);
    const rec_code *code;
    assert_int_equal(get(w, at, &code), PR_TORN);
    expect_frame(w, at, 9, "f", 30);
    assert_int_equal(rec_codes_degraded(w->codes), 1);
}

static void
an_object_of_the_same_generation_costs_no_read(void **state)
{
    world *w = *state;
    uint64_t at = fake_code(w, "f", 10);
    w->counted = true;
    expect_frame(w, at, 0, "f", 11);
    uint64_t reads = w->fake.memory.reads;
    expect_frame(w, at, 8, "f", 12);
    assert_int_equal(w->fake.memory.reads, reads);
    w->generation++; /* another object was freed: one read shows it was not */
    expect_frame(w, at, 0, "f", 11);
    assert_int_equal(w->fake.memory.reads, reads + 1);
    expect_frame(w, at, 0, "f", 11);
    assert_int_equal(w->fake.memory.reads, reads + 1);
}

static void
a_generation_of_another_interpreter_is_not_believed(void **state)
{
    world *w = *state;
    uint64_t at = fake_code(w, "f", 10);
    w->counted = true;
    expect_frame(w, at, 0, "f", 11);
    rec_codes_begin(w->codes, 2, &w->generation);
    assert_false(rec_codes_is_verified(w->codes, at));
    rec_codes_begin(w->codes, 1, &w->generation);
    assert_true(rec_codes_is_verified(w->codes, at));
    rec_codes_begin(w->codes, 1, NULL);
    assert_false(rec_codes_is_verified(w->codes, at));
}

static void
expect_counts(world *w, uint64_t misses, uint64_t invalidations)
{
    uint64_t seen[3];
    rec_codes_counts(w->codes, &seen[0], &seen[1], &seen[2]);
    assert_int_equal(seen[1], misses);
    assert_int_equal(seen[2], invalidations);
}

/* Another object at the same address, with or without a count of them. */
static void
reused_memory_is_noticed_with_the_next_stack(void **state)
{
    world *w = *state;
    for (int counted = 0; counted < 2; counted++) {
        uint64_t at = fake_code(w, "old", 10);
        w->counted = counted;
        expect_frame(w, at, 0, "old", 11);
        uint64_t epoch = rec_codes_stamp(w->codes).epoch;
        put_code(w, at, "new", 50,
                 fake_bytes(&w->fake, &w->layout, two_lines, sizeof two_lines));
        w->generation++;
        expect_frame(w, at, 0, "new", 51);
        assert_true(rec_codes_stamp(w->codes).epoch != epoch);
        expect_counts(w, 2 * (uint64_t)(counted + 1), (uint64_t)counted + 1);
    }
}

/* All words are equal, but for the number that no other object has: 3.12 on. */
static void
an_object_of_equal_shape_differs_by_its_version(void **state)
{
    world *w = *state;
    const rec_layout *l = &w->layout;
    uint64_t at = fake_code(w, "f_1", 10);
    uint64_t name =
        rec_u64(w->fake.bytes + (at - FAKE_BASE) + l->code.qualname);
    expect_frame(w, at, 0, "f_1", 11);
    fake_put(&w->fake, name + l->object.ascii_data, "f_2", 3);
    fake_put32(&w->fake, at + l->code.firstlineno + 24, 77); /* co_version */
    expect_frame(w, at, 0, "f_2", 11);
    expect_counts(w, 2, 1);
}

/* 3.11 has no version: the objects that the words point to are compared. */
static void
an_object_of_equal_shape_differs_by_its_texts(void **state)
{
    world *w = *state;
    const rec_layout *l = &w->layout;
    uint64_t at = fake_code(w, "f_1", 10);
    const uint8_t *words = w->fake.bytes + (at - FAKE_BASE);
    expect_frame(w, at, 0, "f_1", 11);
    fake_put(&w->fake, rec_u64(words + l->code.qualname) + l->object.ascii_data,
             "f_2", 3);
    expect_frame(w, at, 0, "f_2", 11);
    expect_counts(w, 2, 1);
    uint64_t path = rec_u64(words + l->code.filename) + l->object.ascii_data;
    fake_put(&w->fake, path, "X", 1);
    const char *file =
        w->taken.name[frame_of(w, at, 0)->file]; /* strings as they came */
    assert_int_equal(file[0], 'X');
    expect_counts(w, 3, 2);
}

static void
an_object_that_stayed_costs_one_read_and_keeps_its_frames(void **state)
{
    world *w = *state;
    uint64_t at = fake_code(w, "same", 10);
    expect_frame(w, at, 0, "same", 11);
    uint64_t reads = w->fake.memory.reads;
    expect_frame(w, at, 0, "same", 11);
    assert_int_equal(w->fake.memory.reads, reads + 1);
    assert_int_equal(w->taken.n_frames, 1);
    expect_counts(w, 1, 0);
}

static void
objects_asked_for_together_are_one_read(void **state)
{
    world *w = *state;
    uint64_t at[3] = {fake_code(w, "a", 1), fake_code(w, "b", 2),
                      fake_code(w, "c", 3)};
    for (int i = 0; i < 3; i++)
        got(w, at[i]);
    uint64_t reads = w->fake.memory.reads;
    rec_batch_reset(&w->batch);
    rec_codes_begin(w->codes, 1, NULL);
    for (int i = 0; i < 3; i++)
        rec_codes_ask(w->codes, &w->batch, at[i]);
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    for (int i = 0; i < 3; i++) {
        const rec_code *code;
        assert_int_equal(rec_codes_get(w->codes, &w->batch, at[i], &code, NULL),
                         PR_OK);
        assert_true(rec_codes_is_verified(w->codes, at[i]));
    }
    assert_int_equal(w->fake.memory.reads, reads + 1);
}

static void
free_threaded_copies_of_the_instructions_are_known(void **state)
{
    (void)state;
    world *w = world_of(table_3_15, sizeof table_3_15, 0, true);
    /* these builds have the field; the table at hand is of one without */
    w->layout.code.tlbc = w->layout.code.size - 8;
    w->layout.code.code_adaptive = w->layout.code.size;
    uint64_t at = fake_alloc(&w->fake, w->layout.code.size + 2 * UNITS);
    put_code(w, at, "f", 10,
             fake_bytes(&w->fake, &w->layout, two_lines, sizeof two_lines));
    uint64_t copies = fake_alloc(&w->fake, 8 * 4);
    uint64_t mine = fake_alloc(&w->fake, 2 * UNITS);
    fake_put64(&w->fake, copies, 3);
    fake_put64(&w->fake, copies + 24, mine);
    fake_put64(&w->fake, at + w->layout.code.tlbc, copies);
    uint32_t id;
    assert_int_equal(rec_codes_frame(w->codes, got(w, at), mine + 2 * 8,
                                     PR_NO_OPCODE, &id, NULL),
                     PR_OK);
    assert_int_equal(w->taken.frame[id].line, 12);
    world_end(w);
}

static void
synthetic_frames_have_no_line(void **state)
{
    world *w = *state;
    uint32_t a, b;
    assert_int_equal(rec_codes_synthetic(w->codes, PR_SYNTHETIC_FILE,
                                         PR_GC_FUNC, 4, &a, NULL),
                     PR_OK);
    assert_int_equal(rec_codes_synthetic(w->codes, PR_SYNTHETIC_FILE,
                                         PR_GC_FUNC, 4, &b, NULL),
                     PR_OK);
    assert_int_equal(a, b);
    assert_int_equal(w->taken.frame[a].line, PR_NO_LINE);
    assert_string_equal(w->taken.name[w->taken.frame[a].func], PR_GC_FUNC);
}

#define TEST_3_15(name) cmocka_unit_test_setup_teardown(name, begin_3_15, end)
#define TEST_3_11(name) cmocka_unit_test_setup_teardown(name, begin_3_11, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_kind_decodes_to_its_places),
        cmocka_unit_test(a_table_of_cpython_is_decoded),
        cmocka_unit_test(broken_tables_are_refused),
        TEST_3_15(an_instruction_becomes_a_frame_that_is_emitted_once),
        TEST_3_15(a_frame_just_entered_has_the_line_of_its_def),
        TEST_3_15(the_size_of_a_frame_is_known_in_every_version),
        TEST_3_15(an_instruction_outside_is_torn_and_the_object_read_again),
        TEST_3_15(an_object_that_is_not_code_is_torn),
        TEST_3_15(an_unreadable_name_costs_the_name_and_is_not_kept),
        TEST_3_15(an_unreadable_line_table_costs_the_lines),
        TEST_3_15(an_object_of_the_same_generation_costs_no_read),
        TEST_3_15(a_generation_of_another_interpreter_is_not_believed),
        TEST_3_15(reused_memory_is_noticed_with_the_next_stack),
        TEST_3_15(an_object_of_equal_shape_differs_by_its_version),
        TEST_3_11(an_object_of_equal_shape_differs_by_its_texts),
        TEST_3_11(an_object_that_stayed_costs_one_read_and_keeps_its_frames),
        TEST_3_15(objects_asked_for_together_are_one_read),
        cmocka_unit_test(free_threaded_copies_of_the_instructions_are_known),
        TEST_3_15(synthetic_frames_have_no_line),
    };
    return cmocka_run_group_tests_name("code", tests, NULL, NULL);
}
