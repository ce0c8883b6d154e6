/*
 * test_stack.c - stacks in a made-up memory: whole, broken and hostile ones.
 */
#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/cpython/stack.h"

enum {
    CHUNK = 16384,
    CHUNK_HEAD = 24,
    WORDS = 20, /* of a frame */
    UNITS = 16,
    NAMES_MAX = 2048,
    OWNER_THREAD = 0,
    OWNER_GENERATOR = 1
};

/* ---- a sink that remembers names ---- */

typedef struct name_sink {
    pr_sink sink;
    char name[NAMES_MAX][64];
    uint32_t n_names;
    uint32_t func[NAMES_MAX]; /* of each frame */
    uint32_t n_frames;
} name_sink;

static pr_code
take_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)err;
    name_sink *s = (name_sink *)sink;
    snprintf(s->name[s->n_names++ % NAMES_MAX], 64, "%.*s", (int)len, bytes);
    return PR_OK;
}

static pr_code
take_frame(pr_sink *sink, const pr_frame *frame, pr_err *err)
{
    (void)err;
    name_sink *s = (name_sink *)sink;
    s->func[s->n_frames++ % NAMES_MAX] = frame->func;
    return PR_OK;
}

static const pr_sink_ops sink_ops = {.string = take_string,
                                     .frame = take_frame};

/* ---- a target with one thread ---- */

typedef struct world {
    fake_memory fake;
    rec_layout layout;
    name_sink taken;
    rec_codes *codes;
    bool counted;
    uint64_t generation;
    rec_name_table names;
    rec_batch batch;
    rec_data_stack source;
    rec_walker walker;
    rec_code_set set;
    rec_stack old, fresh;
    uint64_t type, lines;
    uint64_t tstate, base, shim, chunk, top, last; /* last: frame pushed */
    uint64_t gc_frame, must_pass, anchor;
    uint32_t keep, omitted;
} world;

static void
set_current(world *w, uint64_t frame)
{
    const rec_layout *l = &w->layout;
    fake_put64(&w->fake, w->tstate + l->tstate.current_frame, frame);
    fake_put64(&w->fake, w->tstate + l->tstate.datastack_chunk, w->chunk);
    fake_put64(&w->fake, w->tstate + l->tstate.datastack_top, w->top);
}

static void
put_frame(world *w, uint64_t at, uint64_t code, uint64_t previous, int owner)
{
    const rec_layout *l = &w->layout;
    uint8_t byte = (uint8_t)owner;
    fake_put64(&w->fake, at + l->frame.executable, code);
    fake_put64(&w->fake, at + l->frame.previous, previous);
    fake_put64(&w->fake, at + l->frame.instr_ptr,
               code ? code + l->code.code_adaptive + 4 : 0);
    fake_put(&w->fake, at + l->frame.owner, &byte, 1);
}

static void
push_chunk(world *w)
{
    uint64_t at = fake_alloc(&w->fake, CHUNK);
    fake_put64(&w->fake, at, w->chunk);
    fake_put64(&w->fake, at + 8, CHUNK);
    /* push_chunk() of Python/pystate.c leaves a slot out in the first one */
    w->top = at + CHUNK_HEAD + (w->chunk ? 0 : 8);
    w->chunk = at;
}

static uint64_t
code_named(world *w, const char *name)
{
    const rec_layout *l = &w->layout;
    fake_memory *f = &w->fake;
    uint64_t at = fake_alloc(f, l->code.size + 2 * UNITS);
    fake_put64(f, at + l->object.ob_type, w->type);
    fake_put64(f, at + l->code.n_units, UNITS);
    fake_put64(f, at + l->code.filename, fake_ascii(f, l, "file.py"));
    fake_put64(f, at + l->code.qualname, fake_ascii(f, l, name));
    fake_put64(f, at + l->code.linetable, w->lines);
    fake_put32(f, at + l->code.firstlineno, 1);
    fake_put32(f, at + l->code.framesize, WORDS);
    return at;
}

/* Call a function. */
static uint64_t
call(world *w, uint64_t code)
{
    if (w->top + 8 * WORDS > w->chunk + CHUNK)
        push_chunk(w);
    uint64_t at = w->top;
    w->top += 8 * WORDS;
    put_frame(w, at, code, w->last, OWNER_THREAD);
    w->last = at;
    set_current(w, at);
    return at;
}

static void
call_many(world *w, uint32_t n)
{
    char name[16];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "f%u", i);
        call(w, code_named(w, name));
    }
}

static world *
world_of(const uint64_t *words, size_t size)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    uint8_t table[REC_TABLE_BYTES] = {0};
    memcpy(table, words, size);
    fake_begin(&w->fake, 1 << 20);
    const rec_layout *l = &w->layout;
    assert_int_equal(rec_layout_load(table, 0, &w->layout, NULL), PR_OK);
    w->taken.sink.ops = &sink_ops;
    rec_name_table_init(&w->names, &w->taken.sink);
    w->counted = l->interp.code_generation != REC_ABSENT;
    assert_int_equal(rec_codes_new(l, &w->names, false, &w->codes, NULL),
                     PR_OK);
    assert_int_equal(rec_batch_init(&w->batch, &w->fake.memory, NULL), PR_OK);
    static const uint8_t one_line[] = {0xdf, 4, 9, 0xdf, 4, 9};
    w->type = fake_type(&w->fake, l, "code", 0);
    w->lines = fake_bytes(&w->fake, l, one_line, sizeof one_line);
    w->walker = (rec_walker){.layout = l, .codes = w->codes};
    w->tstate = fake_alloc(&w->fake, rec_tstate_bytes(l));
    w->source.tstate = w->tstate;
    w->base = fake_alloc(&w->fake, l->frame.size);
    w->shim = fake_alloc(&w->fake, l->frame.size);
    put_frame(w, w->base, 0, 0, l->frame.owner_shim);
    put_frame(w, w->shim, 0, w->base, l->frame.owner_shim);
    if (l->tstate.base_frame != REC_ABSENT)
        fake_put64(&w->fake, w->tstate + l->tstate.base_frame, w->base);
    push_chunk(w);
    w->last = w->shim;
    return w;
}

BEGIN(3_15, world_of)
BEGIN(3_13, world_of)

static int
end(void **state)
{
    world *w = *state;
    rec_code_set_release(&w->set);
    rec_stack_release(&w->old);
    rec_stack_release(&w->fresh);
    rec_walker_release(&w->walker);
    rec_data_stack_release(&w->source);
    rec_batch_release(&w->batch);
    rec_codes_free(w->codes);
    rec_name_table_release(&w->names);
    fake_end(&w->fake);
    free(w);
    return 0;
}

/* The calls of the sampler for a thread that stands still. */
static pr_code
check_now(world *w, pr_err *err)
{
    rec_shot shot;
    rec_batch_reset(&w->batch);
    rec_codes_begin(w->codes, 1, w->counted ? &w->generation : NULL);
    rec_stack_ask(&w->walker, &w->set, &w->batch);
    assert_true(
        rec_data_stack_add(&w->source, &w->layout, &w->batch, false, &shot));
    pr_code code = rec_batch_read(&w->batch, err);
    if (code == PR_OK)
        code = rec_data_stack_follow(&w->source, &w->layout, &w->batch, &shot,
                                     err);
    bool has_base = w->layout.tstate.base_frame != REC_ABSENT;
    rec_walk walk = {shot.current_frame, has_base ? w->base : 0,
                     w->must_pass,       w->gc_frame,
                     w->anchor,          &w->old};
    if (code == PR_OK)
        code = rec_stack_walk(&w->walker, &w->batch, &w->source, &walk, err);
    if (code == PR_OK)
        code = rec_stack_decode(&w->walker, &w->batch, &w->source, &w->set,
                                &w->old, &w->fresh, &w->keep, &w->omitted, err);
    return code;
}

/* The stack seen becomes the last one. */
static void
keep_it(world *w)
{
    rec_stack old = w->old;
    w->old = w->fresh;
    w->fresh = old;
}

static void
see(world *w)
{
    pr_err err = PR_ERR_INIT;
    pr_code code = check_now(w, &err);
    if (code != PR_OK)
        print_error("%s\n", err.what);
    assert_int_equal(code, PR_OK);
}

static const char *
name_at(const world *w, const rec_stack *stack, uint32_t i)
{
    assert_true(i < stack->n);
    return w->taken.name[w->taken.func[stack->v[i].id]];
}

static void
expect_torn(world *w, const char *why)
{
    pr_err err = PR_ERR_INIT;
    assert_int_equal(check_now(w, &err), PR_TORN);
    if (!strstr(err.what, why))
        print_error("'%s' instead of '%s'\n", err.what, why);
    assert_non_null(strstr(err.what, why));
}

/* ---- whole stacks ---- */

static void
frames_over_several_chunks_come_outermost_first(void **state)
{
    world *w = *state;
    call_many(w, 250);
    see(w);
    assert_int_equal(w->fresh.n, 250);
    assert_int_equal(w->keep, 0);
    assert_int_equal(w->source.n_live, 3);
    for (uint32_t i = 0; i < 250; i += 7) {
        char name[16];
        snprintf(name, sizeof name, "f%u", i);
        assert_string_equal(name_at(w, &w->fresh, i), name);
    }
}

static void
a_known_stack_takes_one_system_call(void **state)
{
    world *w = *state;
    call_many(w, 250);
    see(w);
    keep_it(w);
    uint64_t reads = w->fake.memory.reads;
    see(w);
    assert_int_equal(w->fake.memory.reads - reads, 1);
    assert_int_equal(w->keep, 250);
}

/* Code objects are freed elsewhere all the time (3.14+): the next read of the
 * stack also reads the words that identify its code objects. */
static void
code_freed_elsewhere_costs_one_system_call_once(void **state)
{
    world *w = *state;
    call_many(w, 50);
    see(w);
    keep_it(w);
    for (int i = 0; i < 4; i++) {
        uint64_t reads = w->fake.memory.reads;
        w->generation++;
        see(w);
        assert_int_equal(w->fake.memory.reads - reads, i == 0 ? 2 : 1);
        assert_int_equal(w->keep, 50);
        keep_it(w);
    }
    /* now and then: it is foreseen */
    for (int i = 0; i < 20; i++) {
        uint64_t reads = w->fake.memory.reads;
        w->generation += i % 4 == 0;
        see(w);
        assert_int_equal(w->fake.memory.reads - reads, 1);
        keep_it(w);
    }
    uint64_t pieces = w->batch.n;
    for (int i = 0; i < 20; i++) {
        see(w); /* quiet again: nothing is asked for but the stack */
        keep_it(w);
    }
    assert_true(w->batch.n < pieces);
}

/* The frames are as they were, and so are all addresses. */
static void
another_function_at_the_same_address_is_seen(void **state)
{
    world *w = *state;
    call_many(w, 3);
    uint64_t code = code_named(w, "old");
    call(w, code);
    call(w, code_named(w, "leaf"));
    see(w);
    keep_it(w);
    fake_put64(&w->fake, code + w->layout.code.qualname,
               fake_ascii(&w->fake, &w->layout, "new"));
    w->generation++;
    see(w);
    assert_string_equal(name_at(w, &w->fresh, 3), "new");
    assert_string_equal(name_at(w, &w->fresh, 4), "leaf");
    assert_int_equal(w->keep, 3);
}

/* A function returned and was freed; its memory keeps its words.  The stack is
 * read, then another function is made there and called, which frees nothing. */
static void
a_function_made_in_freed_memory_bears_its_own_name(void **state)
{
    world *w = *state;
    call_many(w, 3);
    uint64_t code = code_named(w, "old"), top = w->top, last = w->last;
    call(w, code);
    see(w);
    keep_it(w);
    w->top = top;
    w->last = last;
    set_current(w, last);
    w->generation++;
    see(w);
    keep_it(w);
    fake_put64(&w->fake, code + w->layout.code.qualname,
               fake_ascii(&w->fake, &w->layout, "new"));
    call(w, code);
    see(w);
    assert_string_equal(name_at(w, &w->fresh, 3), "new");
}

/* On 3.13 each read of a stack reads its code objects as well. */
static void
code_objects_near_each_other_are_one_piece(void **state)
{
    world *w = *state;
    call_many(w, 100);
    see(w);
    keep_it(w);
    see(w);
    assert_int_equal(w->keep, 100);
    assert_true(w->batch.n < 10);
    /* one is far away */
    fake_alloc(&w->fake, 100000);
    call(w, code_named(w, "far"));
    see(w);
    keep_it(w);
    uint64_t reads = w->fake.memory.reads;
    see(w);
    assert_int_equal(w->fake.memory.reads - reads, 1);
    assert_int_equal(w->keep, 101);
    assert_true(w->batch.used < 90000);
}

/* A code object that was freed lay where no memory is any more. */
static void
a_piece_that_is_gone_is_forgotten(void **state)
{
    world *w = *state;
    call_many(w, 5);
    fake_alloc(&w->fake, w->fake.size - w->fake.used - 1024);
    uint64_t code = code_named(w, "last");
    call(w, code);
    see(w);
    keep_it(w);
    rec_code_set_add(&w->set, FAKE_BASE + w->fake.size, 64);
    /* the piece fails, then what follows it, then its code object is read; the
     * others are missed at the next read */
    static const uint64_t calls[] = {3, 2, 1, 1};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        uint64_t reads = w->fake.memory.reads;
        see(w);
        keep_it(w);
        assert_int_equal(w->fake.memory.reads - reads, calls[i]);
    }
}

static void
only_changed_frames_are_decoded(void **state)
{
    world *w = *state;
    call_many(w, 120);
    see(w);
    keep_it(w);
    /* return twice, call another one */
    w->top -= 2 * 8 * WORDS;
    w->last -= 2 * 8 * WORDS;
    call(w, code_named(w, "other"));
    see(w);
    assert_int_equal(w->keep, 118);
    assert_int_equal(w->fresh.n, 119);
    assert_string_equal(name_at(w, &w->fresh, 118), "other");
    assert_string_equal(name_at(w, &w->fresh, 117), "f117");
}

static void
the_same_call_at_another_instruction_is_another_frame(void **state)
{
    world *w = *state;
    call_many(w, 3);
    see(w);
    keep_it(w);
    uint64_t at = w->last + w->layout.frame.instr_ptr;
    uint64_t instr;
    memcpy(&instr, w->fake.bytes + (at - FAKE_BASE), sizeof instr);
    fake_put64(&w->fake, at, instr + 2 * 9);
    see(w);
    assert_int_equal(w->keep, 2);
}

static void
a_stack_that_shrinks_below_a_chunk_is_seen(void **state)
{
    world *w = *state;
    call_many(w, 110);
    see(w);
    keep_it(w);
    assert_int_equal(w->source.n_live, 2);
    uint64_t first_chunk = w->source.chunk[0].address;
    uint64_t last = first_chunk + CHUNK_HEAD + 8 + 49 * 8 * WORDS;
    w->chunk = first_chunk;
    w->top = last + 8 * WORDS;
    set_current(w, last);
    see(w);
    assert_int_equal(w->fresh.n, 50);
    assert_int_equal(w->keep, 50);
}

static void
a_thread_without_frames_has_an_empty_stack(void **state)
{
    world *w = *state;
    set_current(w, w->base);
    see(w);
    assert_int_equal(w->fresh.n, 0);
}

static void
generators_and_shims_are_read_where_they_lie(void **state)
{
    world *w = *state;
    call_many(w, 2);
    uint64_t shim = fake_alloc(&w->fake, w->layout.frame.size);
    put_frame(w, shim, 0, w->last, w->layout.frame.owner_shim);
    uint64_t generator = fake_alloc(&w->fake, w->layout.frame.size);
    put_frame(w, generator, code_named(w, "gen"), shim, OWNER_GENERATOR);
    w->last = generator;
    call(w, code_named(w, "leaf"));
    see(w);
    keep_it(w);
    assert_int_equal(w->fresh.n + w->old.n, 4);
    assert_string_equal(name_at(w, &w->old, 2), "gen");
    uint64_t reads = w->fake.memory.reads;
    see(w); /* foreseen now */
    assert_int_equal(w->fake.memory.reads - reads, 1);
    w->walker.native = true;
    see(w);
    assert_int_equal(w->fresh.n, 6);
    assert_string_equal(name_at(w, &w->fresh, 0), "<native>");
    assert_string_equal(name_at(w, &w->fresh, 3), "<native>");
}

static void
a_collection_stands_inside_its_frame(void **state)
{
    world *w = *state;
    call_many(w, 2);
    w->gc_frame = w->last;
    call(w, code_named(w, "callback"));
    see(w);
    assert_int_equal(w->fresh.n, 4);
    assert_string_equal(name_at(w, &w->fresh, 1), "f1");
    assert_string_equal(name_at(w, &w->fresh, 2), "<GC>");
    assert_string_equal(name_at(w, &w->fresh, 3), "callback");
}

static void
a_deep_stack_keeps_its_ends_around_a_marker(void **state)
{
    world *w = *state;
    w->walker.max_depth = 21;
    call_many(w, 150);
    see(w);
    assert_int_equal(w->fresh.n, 21);
    assert_int_equal(w->omitted, 130);
    assert_string_equal(name_at(w, &w->fresh, 0), "f0");
    assert_string_equal(name_at(w, &w->fresh, 9), "f9");
    assert_string_equal(name_at(w, &w->fresh, 10), "<130 frames omitted>");
    assert_string_equal(name_at(w, &w->fresh, 11), "f140");
    assert_string_equal(name_at(w, &w->fresh, 20), "f149");
}

static void
a_finalizer_runs_after_the_frame_that_is_left(void **state)
{
    world *w = *state;
    for (uint32_t depth = 100; depth < 104; depth++) { /* a chunk holds 102 */
        call_many(w, depth);
        uint64_t caller = w->last;
        call(w, code_named(w, "returning"));
        w->last = caller; /* left, its locals being cleared */
        call(w, code_named(w, "finalizer"));
        see(w);
        assert_int_equal(w->fresh.n, depth + 1);
        assert_string_equal(name_at(w, &w->fresh, depth), "finalizer");
        w->chunk = w->source.chunk[0].address;
        w->top = w->chunk + CHUNK_HEAD + 8;
        w->last = w->shim;
    }
}

static void
the_callers_of_an_anchor_are_those_of_the_last_stack(void **state)
{
    world *w = *state;
    call_many(w, 150);
    see(w);
    keep_it(w);
    uint64_t reads = w->fake.memory.bytes;
    w->anchor = w->last; /* in the second chunk: the first is not read */
    w->source.first = 1;
    call(w, code_named(w, "leaf"));
    see(w);
    assert_true(w->fake.memory.bytes - reads < CHUNK + 4096);
    assert_int_equal(w->fresh.n, 151);
    assert_int_equal(w->keep, 150);
    assert_string_equal(name_at(w, &w->fresh, 0), "f0");
    assert_string_equal(name_at(w, &w->fresh, 150), "leaf");
}

static void
without_whole_last_callers_the_walk_goes_on(void **state)
{
    world *w = *state;
    w->walker.native = true;
    call_many(w, 150);
    see(w);
    keep_it(w);
    w->anchor = w->last;
    w->source.first = 1;
    see(w); /* <native> is among the callers */
    assert_int_equal(w->fresh.n, 151);
    assert_int_equal(w->keep, 151);
    w->anchor = w->last + 8; /* no frame of the last stack */
    see(w);
    assert_int_equal(w->keep, 151);
}

/* ---- broken ones ---- */

static void
a_gap_between_frames_is_torn(void **state)
{
    world *w = *state;
    call_many(w, 5);
    w->top += 8;
    call(w, code_named(w, "leaf"));
    expect_torn(w, "gap");
}

static void
a_stack_that_does_not_begin_in_its_first_chunk_is_torn(void **state)
{
    world *w = *state;
    call_many(w, 110);
    uint64_t first = w->chunk + CHUNK_HEAD; /* of the second chunk */
    fake_put64(&w->fake, first + w->layout.frame.previous, w->shim);
    expect_torn(w, "gap");
}

static void
a_stack_that_misses_its_base_is_torn(void **state)
{
    world *w = *state;
    uint64_t first = call(w, code_named(w, "first"));
    call_many(w, 5);
    fake_put64(&w->fake, first + w->layout.frame.previous, 0);
    expect_torn(w, "base");
}

/* greenlet 3.3.2 on 3.15.2: the entry shim of a new greenlet has no caller. */
static void
the_stack_of_a_greenlet_ends_in_its_entry_shim(void **state)
{
    world *w = *state;
    call_many(w, 5);
    fake_put64(&w->fake, w->shim + w->layout.frame.previous, 0);
    see(w);
    assert_int_equal(w->fresh.n, 5);
    assert_string_equal(name_at(w, &w->fresh, 0), "f0");
}

static void
an_entry_shim_in_the_middle_of_a_stack_is_not_its_end(void **state)
{
    world *w = *state;
    call_many(w, 3);
    uint64_t shim = fake_alloc(&w->fake, w->layout.frame.size);
    put_frame(w, shim, 0, 0, w->layout.frame.owner_shim);
    uint64_t inner = call(w, code_named(w, "inner"));
    fake_put64(&w->fake, inner + w->layout.frame.previous, shim);
    expect_torn(w, "gap");
}

static void
a_frame_without_code_is_torn(void **state)
{
    world *w = *state;
    call_many(w, 2);
    call(w, 1); /* a stackref that is NULL */
    call(w, code_named(w, "leaf"));
    expect_torn(w, "without code");
}

static void
a_frame_that_calls_itself_is_torn(void **state)
{
    world *w = *state;
    call_many(w, 5);
    fake_put64(&w->fake, w->last + w->layout.frame.previous, w->last);
    expect_torn(w, "itself");
}

static void
an_owner_that_does_not_fit_its_place_is_torn(void **state)
{
    world *w = *state;
    call_many(w, 5);
    uint8_t owner = OWNER_GENERATOR;
    fake_put(&w->fake, w->last + w->layout.frame.owner, &owner, 1);
    expect_torn(w, "owner");
    owner = 2;
    fake_put(&w->fake, w->last + w->layout.frame.owner, &owner, 1);
    expect_torn(w, "owner");
}

static void
an_instruction_outside_its_code_is_torn(void **state)
{
    world *w = *state;
    call_many(w, 5);
    fake_put64(&w->fake, w->last + w->layout.frame.instr_ptr, FAKE_BASE);
    pr_err err = PR_ERR_INIT;
    assert_int_equal(check_now(w, &err), PR_TORN);
}

static void
a_frame_above_the_top_is_torn(void **state)
{
    world *w = *state;
    call_many(w, 5);
    w->top -= 8 * WORDS;
    uint64_t leaf = w->last;
    set_current(w, leaf);
    see(w); /* within what is read ahead it is merely checked */
    fake_put64(&w->fake, w->tstate + w->layout.tstate.datastack_top,
               w->chunk + CHUNK + 8);
    expect_torn(w, "top");
}

static void
a_stack_that_ends_in_a_generator_is_torn(void **state)
{
    world *w = *state; /* 3.13: has no base frame */
    uint64_t generator = fake_alloc(&w->fake, w->layout.frame.size);
    put_frame(w, generator, code_named(w, "gen"), 0, OWNER_GENERATOR);
    set_current(w, generator);
    expect_torn(w, "generator");
}

static void
a_frame_that_must_be_passed_is_missed(void **state)
{
    world *w = *state;
    call_many(w, 5);
    w->must_pass = w->last;
    see(w);
    w->must_pass = w->last + 8;
    expect_torn(w, "misses");
}

/* ---- hostile ones ---- */

static void
two_frames_that_call_each_other_have_an_end(void **state)
{
    world *w = *state;
    call_many(w, 5);
    uint64_t below = w->last - 8 * WORDS;
    fake_put64(&w->fake, below + w->layout.frame.previous, w->last);
    pr_err err = PR_ERR_INIT;
    assert_int_equal(check_now(w, &err), PR_LIMIT);
}

static void
chunks_in_a_ring_have_an_end(void **state)
{
    world *w = *state;
    call_many(w, 250);
    see(w);
    fake_put64(&w->fake, w->source.chunk[0].address, w->chunk);
    w->source.n_chunks = 0;
    pr_err err = PR_ERR_INIT;
    assert_int_not_equal(check_now(w, &err), PR_OK);
}

static void
random_memory_is_never_believed_nor_followed_for_ever(void **state)
{
    world *w = *state;
    unsigned seed = 20261131;
    print_message("seed %u\n", seed);
    call_many(w, 150);
    size_t size = w->fake.used;
    uint8_t *whole = malloc(size);
    assert_non_null(whole);
    memcpy(whole, w->fake.bytes, size);
    see(w);
    keep_it(w);
    uint32_t survived = 0;
    for (int i = 0; i < 20000; i++) {
        for (int k = rand_r(&seed) % 8; k >= 0; k--) {
            size_t at = (size_t)rand_r(&seed) % (size - 8) & ~(size_t)7;
            uint64_t value = (uint64_t)rand_r(&seed);
            if (value % 3 == 0) /* a pointer to somewhere else in it */
                value = FAKE_BASE + value % size;
            else if (value % 3 == 1)
                value = value << 33 | value;
            memcpy(w->fake.bytes + at, &value, sizeof value);
        }
        survived += check_now(w, NULL) == PR_OK;
        memcpy(w->fake.bytes, whole, size);
    }
    free(whole);
    see(w); /* and nothing of it lasts */
    assert_int_equal(w->fresh.n, 150);
    assert_true(survived > 0 && survived < 20000);
}

#define TEST_15(f) cmocka_unit_test_setup_teardown(f, begin_3_15, end)
#define TEST_13(f) cmocka_unit_test_setup_teardown(f, begin_3_13, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_15(frames_over_several_chunks_come_outermost_first),
        TEST_13(frames_over_several_chunks_come_outermost_first),
        TEST_15(a_known_stack_takes_one_system_call),
        TEST_13(a_known_stack_takes_one_system_call),
        TEST_15(only_changed_frames_are_decoded),
        TEST_15(code_freed_elsewhere_costs_one_system_call_once),
        TEST_15(another_function_at_the_same_address_is_seen),
        TEST_13(another_function_at_the_same_address_is_seen),
        TEST_15(a_function_made_in_freed_memory_bears_its_own_name),
        TEST_13(a_function_made_in_freed_memory_bears_its_own_name),
        TEST_13(code_objects_near_each_other_are_one_piece),
        TEST_13(a_piece_that_is_gone_is_forgotten),
        TEST_15(the_same_call_at_another_instruction_is_another_frame),
        TEST_15(a_stack_that_shrinks_below_a_chunk_is_seen),
        TEST_15(a_thread_without_frames_has_an_empty_stack),
        TEST_15(generators_and_shims_are_read_where_they_lie),
        TEST_15(a_collection_stands_inside_its_frame),
        TEST_15(a_deep_stack_keeps_its_ends_around_a_marker),
        TEST_15(a_finalizer_runs_after_the_frame_that_is_left),
        TEST_13(a_finalizer_runs_after_the_frame_that_is_left),
        TEST_15(the_callers_of_an_anchor_are_those_of_the_last_stack),
        TEST_15(without_whole_last_callers_the_walk_goes_on),
        TEST_15(a_gap_between_frames_is_torn),
        TEST_13(a_stack_that_does_not_begin_in_its_first_chunk_is_torn),
        TEST_15(a_stack_that_misses_its_base_is_torn),
        TEST_15(the_stack_of_a_greenlet_ends_in_its_entry_shim),
        TEST_15(an_entry_shim_in_the_middle_of_a_stack_is_not_its_end),
        TEST_15(a_frame_without_code_is_torn),
        TEST_15(a_frame_that_calls_itself_is_torn),
        TEST_15(an_owner_that_does_not_fit_its_place_is_torn),
        TEST_15(an_instruction_outside_its_code_is_torn),
        TEST_15(a_frame_above_the_top_is_torn),
        TEST_13(a_stack_that_ends_in_a_generator_is_torn),
        TEST_13(a_frame_that_must_be_passed_is_missed),
        TEST_15(two_frames_that_call_each_other_have_an_end),
        TEST_15(chunks_in_a_ring_have_an_end),
        TEST_15(random_memory_is_never_believed_nor_followed_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
