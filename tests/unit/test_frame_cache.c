/*
 * test_frame_cache.c - the meaning of an anchor found in a thread state.
 */
#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/sample/frame_cache.h"

enum { FRAME = 0x7000, CALLER = 0x6f00, SEQ = 5 };

typedef struct world {
    rec_layout layout;
    rec_thread thread;
    uint8_t tstate[REC_CAP_TSTATE];
} world;

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    uint8_t table[REC_TABLE_BYTES] = {0};
    memcpy(table, table_3_15, sizeof table_3_15);
    assert_int_equal(rec_layout_load(table, 0, &w->layout, NULL), PR_OK);
    w->thread.known = true;
    w->thread.anchor = FRAME;
    w->thread.anchor_seq = SEQ;
    *state = w;
    return 0;
}

static int
end(void **state)
{
    free(*state);
    return 0;
}

static uint64_t
found(world *w, uint64_t frame, uint64_t seq)
{
    memcpy(w->tstate + w->layout.tstate.last_profiled_frame, &frame,
           sizeof frame);
    memcpy(w->tstate + w->layout.tstate.last_profiled_frame_seq, &seq,
           sizeof seq);
    return rec_frame_cache_get(&w->thread, &w->layout, w->tstate);
}

static void
an_anchor_that_nobody_touched_holds(void **state)
{
    assert_int_equal(found(*state, FRAME, SEQ), FRAME);
}

static void
a_caller_holds_when_the_target_counted(void **state)
{
    assert_int_equal(found(*state, CALLER, SEQ + 1), CALLER);
}

static void
the_same_address_after_a_return_is_another_frame(void **state)
{
    assert_int_equal(found(*state, FRAME, SEQ + 2), 0);
}

static void
an_entry_of_another_writer_does_not_hold(void **state)
{
    assert_int_equal(found(*state, CALLER, SEQ), 0);
}

static void
nothing_holds_that_was_not_written_or_not_known(void **state)
{
    world *w = *state;
    w->thread.known = false;
    assert_int_equal(found(w, FRAME, SEQ), 0);
    w->thread.known = true;
    rec_frame_cache_drop(&w->thread);
    assert_int_equal(found(w, FRAME, SEQ), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_anchor_that_nobody_touched_holds),
        TEST(a_caller_holds_when_the_target_counted),
        TEST(the_same_address_after_a_return_is_another_frame),
        TEST(an_entry_of_another_writer_does_not_hold),
        TEST(nothing_holds_that_was_not_written_or_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
