/*
 * test_data_stack.c - the chunks of a data stack in a made-up memory: followed,
 * foreseen, and refused when they lie.
 */
#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/cpython/data_stack.h"

enum {
    USUAL = 16384,     /* DATA_STACK_CHUNK_SIZE, Python/pystate.c */
    FULL = USUAL - 64, /* of a chunk that another frame did not fit into */
    LARGE = 4 * USUAL,
    SLACK = 4096, /* bytes read beyond the top of a stack */
    FRAME = 0x1000
};

typedef struct world {
    fake_memory fake;
    rec_layout layout;
    rec_batch batch;
    rec_data_stack stack;
    uint64_t chunk; /* the current one */
} world;

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    uint8_t table[REC_TABLE_BYTES] = {0};
    memcpy(table, table_3_15, sizeof table_3_15);
    assert_int_equal(rec_layout_load(table, 0, &w->layout, NULL), PR_OK);
    fake_begin(&w->fake, 1 << 20);
    assert_int_equal(rec_batch_init(&w->batch, &w->fake.memory, NULL), PR_OK);
    w->stack.tstate = fake_alloc(&w->fake, rec_tstate_bytes(&w->layout));
    *state = w;
    return 0;
}

static int
end(void **state)
{
    world *w = *state;
    rec_data_stack_release(&w->stack);
    rec_batch_release(&w->batch);
    fake_end(&w->fake);
    free(w);
    return 0;
}

static void
set_current(world *w, uint64_t chunk, uint64_t top)
{
    const rec_layout *l = &w->layout;
    w->chunk = chunk;
    fake_put64(&w->fake, w->stack.tstate + l->tstate.datastack_chunk, chunk);
    fake_put64(&w->fake, w->stack.tstate + l->tstate.datastack_top, top);
}

/* A new current chunk of which `used` bytes hold frames. */
static uint64_t
push_chunk(world *w, uint64_t size, uint64_t used)
{
    uint64_t at = fake_alloc(&w->fake, size < USUAL ? USUAL : size);
    fake_put64(&w->fake, at + w->layout.chunk.previous, w->chunk);
    fake_put64(&w->fake, at + w->layout.chunk.size, size);
    set_current(w, at, at + used);
    return at;
}

/* One read of the thread; *ret_calls is its number of system calls. */
static pr_code
follow(world *w, uint64_t *ret_calls, pr_err *err)
{
    rec_shot shot;
    uint64_t before = w->fake.memory.reads;
    rec_batch_reset(&w->batch);
    assert_true(
        rec_data_stack_add(&w->stack, &w->layout, &w->batch, false, &shot));
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    pr_code code =
        rec_data_stack_follow(&w->stack, &w->layout, &w->batch, &shot, err);
    *ret_calls = w->fake.memory.reads - before;
    return code;
}

static void
expect_calls(world *w, uint64_t calls)
{
    uint64_t made;
    assert_int_equal(follow(w, &made, NULL), PR_OK);
    assert_int_equal(made, calls);
}

static void
expect_refused(world *w, const char *why)
{
    uint64_t made;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(follow(w, &made, &err), PR_TORN);
    assert_non_null(strstr(err.what, why));
}

/* ---- reads ---- */

static void
chunks_come_outermost_first_and_take_one_call_once_known(void **state)
{
    world *w = *state;
    uint64_t chunk[3];
    for (int i = 0; i < 3; i++)
        chunk[i] = push_chunk(w, USUAL, 1000);
    expect_calls(w, 1 + 3);
    assert_int_equal(w->stack.n_live, 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(w->stack.chunk[i].address, chunk[i]);
    expect_calls(w, 1);
    assert_int_equal(w->stack.n_live, 3);
}

static void
a_large_chunk_is_read_whole(void **state)
{
    world *w = *state;
    push_chunk(w, LARGE, LARGE - 8);
    expect_calls(w, 1 + 2); /* its usual size, then all of it */
    assert_non_null(rec_batch_find(&w->batch, w->chunk + LARGE - 16, 8));
    expect_calls(w, 1);
    assert_non_null(rec_batch_find(&w->batch, w->chunk + LARGE - 16, 8));
}

static void
a_chunk_is_read_as_far_as_its_top_and_some_slack(void **state)
{
    world *w = *state;
    push_chunk(w, LARGE, 1000);
    expect_calls(w, 1 + 2);
    uint64_t before = w->fake.memory.bytes;
    expect_calls(w, 1);
    assert_int_equal(w->fake.memory.bytes - before,
                     rec_tstate_bytes(&w->layout) + 1000 + SLACK);
    set_current(w, w->chunk, w->chunk + 1000 + SLACK);
    expect_calls(w, 1); /* it grew into the bytes read ahead */
    set_current(w, w->chunk, w->chunk + 1000 + 3 * SLACK);
    expect_calls(w, 2);
    assert_non_null(
        rec_batch_find(&w->batch, w->chunk + 1000 + 3 * SLACK - 8, 8));
    expect_calls(w, 1);
}

static void
a_new_chunk_costs_one_call_once(void **state)
{
    world *w = *state;
    push_chunk(w, USUAL, FULL);
    expect_calls(w, 2);
    push_chunk(w, USUAL, 100);
    expect_calls(w, 2);
    expect_calls(w, 1);
    assert_int_equal(w->stack.n_live, 2);
}

static void
a_chunk_that_was_freed_costs_no_call(void **state)
{
    world *w = *state;
    uint64_t outer = push_chunk(w, USUAL, FULL);
    uint64_t inner = push_chunk(w, USUAL, 100);
    expect_calls(w, 3);
    set_current(w, outer, outer + FULL);
    size_t size = w->fake.size;
    w->fake.size = inner - FAKE_BASE; /* unmapped */
    expect_calls(w, 1);
    assert_int_equal(w->stack.n_live, 1);
    w->fake.size = size;
    set_current(w, inner, inner + 100);
    expect_calls(w, 1); /* it was remembered for a while */
    assert_int_equal(w->stack.n_live, 2);
}

static void
frames_off_the_stack_are_read_in_the_same_call(void **state)
{
    world *w = *state;
    push_chunk(w, USUAL, 1000);
    expect_calls(w, 2);
    uint64_t off[3];
    for (int i = 0; i < 3; i++) {
        off[i] = fake_alloc(&w->fake, FRAME);
        fake_put64(&w->fake, off[i], 100 + (uint64_t)i);
        rec_data_stack_note_off(&w->stack, off[i]);
    }
    expect_calls(w, 1);
    for (int i = 0; i < 3; i++) {
        const uint8_t *p =
            rec_batch_find(&w->batch, off[i], w->layout.frame.size);
        assert_non_null(p);
        assert_int_equal(rec_u64(p), 100 + i);
    }
}

static void
frames_off_the_stack_are_remembered_up_to_a_bound(void **state)
{
    world *w = *state;
    for (uint64_t i = 0; i < 5000; i++)
        rec_data_stack_note_off(&w->stack, FAKE_BASE + 8 * i);
    assert_int_equal(w->stack.n_off, 512);
}

static void
a_thread_that_never_ran_python_has_no_chunk(void **state)
{
    world *w = *state;
    push_chunk(w, USUAL, 1000);
    expect_calls(w, 2);
    set_current(w, 0, 0);
    expect_calls(w, 1);
    assert_int_equal(w->stack.n_live, 0);
}

/* ---- chunks that lie ---- */

static void
a_size_that_holds_no_frame_or_too_much_is_refused(void **state)
{
    world *w = *state;
    const uint64_t sizes[] = {0, w->layout.chunk.head, (16 << 20) + 1,
                              UINT64_C(1) << 32 | USUAL, UINT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        push_chunk(w, USUAL, 1000);
        fake_put64(&w->fake, w->chunk + w->layout.chunk.size, sizes[i]);
        expect_refused(w, "size of stack chunk");
    }
}

static void
a_size_beyond_the_memory_is_refused(void **state)
{
    world *w = *state;
    push_chunk(w, USUAL, 1000);
    fake_put64(&w->fake, w->chunk + w->layout.chunk.size, 16 << 20);
    expect_refused(w, "not there");
}

static void
an_address_that_is_no_pointer_is_refused(void **state)
{
    world *w = *state;
    const uint64_t addresses[] = {8, FAKE_BASE + 1, UINT64_MAX - 7,
                                  UINT64_C(1) << 63};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        set_current(w, addresses[i], addresses[i] + 1000);
        expect_refused(w, "not a stack chunk");
    }
}

static void
a_top_outside_its_chunk_is_refused(void **state)
{
    world *w = *state;
    push_chunk(w, USUAL, 1000);
    const uint64_t tops[] = {0, w->chunk - 8, w->chunk + 8,
                             w->chunk + USUAL + 8, UINT64_MAX};
    for (size_t i = 0; i < sizeof tops / sizeof *tops; i++) {
        set_current(w, w->chunk, tops[i]);
        expect_refused(w, "top");
    }
    set_current(w, w->chunk, w->chunk + USUAL);
    uint64_t calls;
    assert_int_equal(follow(w, &calls, NULL), PR_OK);
}

static void
a_known_chunk_that_has_become_another_is_read_anew(void **state)
{
    world *w = *state;
    uint64_t outer = push_chunk(w, USUAL, 1000);
    uint64_t inner = push_chunk(w, USUAL, 100);
    expect_calls(w, 3);
    /* the same address , linked to another chunk */
    uint64_t other = fake_alloc(&w->fake, USUAL);
    fake_put64(&w->fake, other + w->layout.chunk.size, USUAL);
    fake_put64(&w->fake, inner + w->layout.chunk.previous, other);
    expect_calls(w, 1 + 2);
    assert_int_equal(w->stack.n_live, 2);
    assert_int_equal(w->stack.chunk[0].address, other);
    assert_int_not_equal(w->stack.chunk[0].address, outer);
    expect_calls(w, 1);
}

static void
a_ring_of_chunks_has_an_end(void **state)
{
    world *w = *state;
    uint64_t outer = push_chunk(w, USUAL, 1000);
    push_chunk(w, USUAL, 100);
    fake_put64(&w->fake, outer + w->layout.chunk.previous, w->chunk);
    uint64_t calls;
    assert_int_not_equal(follow(w, &calls, NULL), PR_OK);
    assert_true(calls <= 4097);
    fake_put64(&w->fake, outer + w->layout.chunk.previous, 0);
    assert_int_equal(follow(w, &calls, NULL), PR_OK);
    assert_int_equal(w->stack.n_live, 2);
}

/* ---- the chunk of an address ---- */

static void
an_address_is_found_in_its_chunk_only_if_all_its_bytes_are(void **state)
{
    world *w = *state;
    uint64_t outer = push_chunk(w, USUAL, 1000);
    uint64_t inner = push_chunk(w, USUAL, 1000);
    expect_calls(w, 3);
    const rec_data_stack *s = &w->stack;
    uint64_t head = w->layout.chunk.head;
    for (size_t hint = 0; hint < 4; hint++) {
        assert_int_equal(rec_data_stack_chunk(s, hint, outer + head, 8), 0);
        assert_int_equal(rec_data_stack_chunk(s, hint, inner + head, 8), 1);
        assert_int_equal(rec_data_stack_chunk(s, hint, inner + USUAL - 8, 8),
                         1);
        assert_true(rec_data_stack_chunk(s, hint, inner + head - 8, 8) ==
                    SIZE_MAX);
        assert_true(rec_data_stack_chunk(s, hint, inner + USUAL - 8, 16) ==
                    SIZE_MAX);
        assert_true(rec_data_stack_chunk(s, hint, inner + head, SIZE_MAX) ==
                    SIZE_MAX);
        assert_true(rec_data_stack_chunk(s, hint, UINT64_MAX - 7, 64) ==
                    SIZE_MAX);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(chunks_come_outermost_first_and_take_one_call_once_known),
        TEST(a_large_chunk_is_read_whole),
        TEST(a_chunk_is_read_as_far_as_its_top_and_some_slack),
        TEST(a_new_chunk_costs_one_call_once),
        TEST(a_chunk_that_was_freed_costs_no_call),
        TEST(frames_off_the_stack_are_read_in_the_same_call),
        TEST(frames_off_the_stack_are_remembered_up_to_a_bound),
        TEST(a_thread_that_never_ran_python_has_no_chunk),
        TEST(a_size_that_holds_no_frame_or_too_much_is_refused),
        TEST(a_size_beyond_the_memory_is_refused),
        TEST(an_address_that_is_no_pointer_is_refused),
        TEST(a_top_outside_its_chunk_is_refused),
        TEST(a_known_chunk_that_has_become_another_is_read_anew),
        TEST(a_ring_of_chunks_has_an_end),
        TEST(an_address_is_found_in_its_chunk_only_if_all_its_bytes_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
