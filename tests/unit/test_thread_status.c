/*
 * test_thread_status.c - the status bits of a sample, in a made-up target.
 */
#include "fake_target.h"
#include "recorder/sample/thread_status.h"

enum { MAIN, OTHER };

static fake_target *
with_two_threads(const uint64_t *table, size_t size)
{
    fake_target *f = fake_target_new(table, size);
    fake_add_thread(f, fake_own_tid());
    fake_add_thread(f, 1); /* no thread of this process */
    return f;
}

BEGIN(3_15, with_two_threads)
BEGIN(3_13, with_two_threads)

static int
end(void **state)
{
    fake_target_free(*state);
    return 0;
}

static const rec_layout *
layout(const fake_target *f)
{
    return &f->u.program.runtime.layout;
}

static uint8_t
status_of(fake_target *f, size_t i)
{
    fake_list(f);
    rec_batch *b = f->u.tick.batch;
    rec_batch_reset(b);
    size_t piece =
        rec_batch_add(b, f->thread[i].tstate, rec_tstate_bytes(layout(f)));
    assert_int_equal(rec_batch_read(b, NULL), PR_OK);
    return rec_status_of(&f->u, fake_find(f, i), piece);
}

/* An object whose type has these flags. */
static uint64_t
object(fake_target *f, uint64_t flags)
{
    uint64_t at = fake_alloc(&f->fake, layout(f)->object.size);
    fake_put64(&f->fake, at + layout(f)->object.ob_type,
               fake_type(&f->fake, layout(f), "type", flags));
    return at;
}

/* The value of the thread's own item of the chain of exceptions. */
static void
set_own_value(fake_target *f, size_t i, uint64_t value)
{
    fake_put64(&f->fake,
               f->thread[i].tstate + layout(f)->tstate.exc_state +
                   layout(f)->exc.exc_value,
               value);
}

/* ---- the GIL ---- */

static void
the_holder_of_a_locked_gil_has_it(void **state)
{
    fake_target *f = *state;
    fake_hold(f, OTHER);
    assert_int_equal(status_of(f, OTHER), PR_HAS_GIL);
    assert_int_equal(status_of(f, MAIN), PR_MAIN_THREAD);
}

static void
the_last_holder_of_an_open_gil_has_it_not(void **state)
{
    fake_target *f = *state;
    fake_hold(f, OTHER);
    fake_hold(f, SIZE_MAX);
    assert_int_equal(status_of(f, OTHER), 0);
}

static void
a_thread_that_waits_for_the_gil_requests_it(void **state)
{
    fake_target *f = *state;
    fake_put32(&f->fake,
               f->thread[OTHER].tstate + layout(f)->tstate.gil_requested, 1);
    fake_hold(f, MAIN);
    assert_int_equal(status_of(f, OTHER), PR_GIL_REQUESTED);
    /* it has it, and its word is not cleared yet */
    fake_hold(f, OTHER);
    assert_int_equal(status_of(f, OTHER), PR_HAS_GIL);
}

/* ---- exceptions ---- */

static void
an_exception_that_is_raised_or_handled_is_seen(void **state)
{
    fake_target *f = *state;
    uint64_t at = f->thread[OTHER].tstate + layout(f)->tstate.current_exception;
    assert_int_equal(status_of(f, OTHER), 0);
    uint64_t exception = object(f, REC_TYPE_EXCEPTION);
    fake_put64(&f->fake, at, exception);
    assert_int_equal(status_of(f, OTHER), PR_HAS_EXCEPTION);
    fake_put64(&f->fake, at, 0);
    set_own_value(f, OTHER, exception);
    assert_int_equal(status_of(f, OTHER), PR_HAS_EXCEPTION);
    set_own_value(f, OTHER, 0);
    assert_int_equal(status_of(f, OTHER), 0);
}

static void
up_to_3_13_none_is_no_exception(void **state)
{
    fake_target *f = *state;
    uint64_t none = object(f, 0);
    set_own_value(f, OTHER, none);
    assert_int_equal(status_of(f, OTHER), 0);
    assert_int_equal(f->u.program.none, none);
    uint64_t reads = f->u.program.memory.reads;
    assert_int_equal(status_of(f, OTHER), 0);
    uint64_t known = f->u.program.memory.reads - reads;
    set_own_value(f, OTHER, object(f, REC_TYPE_EXCEPTION));
    reads = f->u.program.memory.reads;
    assert_int_equal(status_of(f, OTHER), PR_HAS_EXCEPTION);
    /* once None is known, no type is read */
    assert_int_equal(f->u.program.memory.reads - reads, known);
}

static void
an_exception_of_the_caller_of_a_generator_is_seen(void **state)
{
    fake_target *f = *state;
    const rec_layout *l = layout(f);
    uint64_t own = f->thread[OTHER].tstate + l->tstate.exc_state;
    uint64_t item = fake_alloc(&f->fake, l->frame.size);
    fake_put64(&f->fake, item + l->exc.previous_item, own);
    fake_put64(&f->fake, f->thread[OTHER].tstate + l->tstate.exc_info, item);
    assert_int_equal(status_of(f, OTHER), 0);
    set_own_value(f, OTHER, object(f, REC_TYPE_EXCEPTION));
    assert_int_equal(status_of(f, OTHER), PR_HAS_EXCEPTION);
    set_own_value(f, OTHER, 0);
    fake_put64(&f->fake, item + l->exc.exc_value,
               object(f, REC_TYPE_EXCEPTION));
    assert_int_equal(status_of(f, OTHER), PR_HAS_EXCEPTION);
}

static void
a_chain_of_exceptions_that_lies_has_an_end(void **state)
{
    fake_target *f = *state;
    const rec_layout *l = layout(f);
    uint64_t item = fake_alloc(&f->fake, l->frame.size);
    const uint64_t next[] = {item, 1, UINT64_MAX - 7, FAKE_BASE + f->fake.size};
    fake_put64(&f->fake, f->thread[OTHER].tstate + l->tstate.exc_info, item);
    for (size_t i = 0; i < sizeof next / sizeof *next; i++) {
        fake_put64(&f->fake, item + l->exc.previous_item, next[i]);
        assert_int_equal(status_of(f, OTHER), 0);
    }
}

/* ---- on a CPU ---- */

static void
a_thread_that_runs_now_is_on_a_cpu(void **state)
{
    fake_target *f = *state;
    fake_list(f);
    assert_int_equal(rec_status_now(&f->u, fake_find(f, MAIN)),
                     PR_ON_CPU | PR_MAIN_THREAD);
}

static void
a_thread_that_ended_has_no_known_status(void **state)
{
    fake_target *f = *state;
    fake_list(f); /* the kernel knows no thread OTHER of this process */
    assert_int_equal(rec_status_now(&f->u, fake_find(f, OTHER)),
                     PR_CPU_UNKNOWN);
    /* nor is a state that became another thread's */
    rec_thread *main = fake_find(f, MAIN);
    fake_put64(&f->fake,
               f->thread[MAIN].tstate + layout(f)->tstate.native_thread_id, 5);
    assert_int_equal(rec_status_now(&f->u, main),
                     PR_CPU_UNKNOWN | PR_MAIN_THREAD);
}

static void
a_status_that_is_refreshed_keeps_what_cannot_have_changed(void **state)
{
    fake_target *f = *state;
    fake_list(f);
    rec_thread *t = fake_find(f, OTHER);
    t->status = PR_HAS_EXCEPTION | PR_ON_CPU;
    t->sched.letter = 'S';
    assert_int_equal(rec_status_again(&f->u, t, true), PR_HAS_EXCEPTION);
    uint64_t at = f->thread[OTHER].tstate + layout(f)->tstate.gil_requested;
    fake_put32(&f->fake, at, 1);
    t->sched.letter = 'R';
    assert_int_equal(rec_status_again(&f->u, t, true),
                     PR_HAS_EXCEPTION | PR_ON_CPU | PR_GIL_REQUESTED);
    t->status = PR_GIL_REQUESTED;
    fake_put32(&f->fake, at, 0);
    t->sched.letter = 'S';
    assert_int_equal(rec_status_again(&f->u, t, true), 0);
    fake_put32(&f->fake, at, 1);
    t->status = PR_HAS_GIL; /* excludes a request */
    assert_int_equal(rec_status_again(&f->u, t, true), PR_HAS_GIL);
}

/* ---- modes ---- */

static void
a_mode_keeps_the_samples_with_its_bit(void **state)
{
    (void)state;
    const struct {
        pr_mode mode;
        uint8_t bit; /* 0: all are kept */
    } modes[] = {{PR_MODE_WALL, 0},
                 {PR_MODE_ALL, 0},
                 {PR_MODE_CPU, PR_ON_CPU},
                 {PR_MODE_GIL, PR_HAS_GIL},
                 {PR_MODE_EXCEPTION, PR_HAS_EXCEPTION}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        rec_unwinder_opts opts = REC_UNWINDER_OPTS_INIT;
        opts.mode = modes[i].mode;
        for (unsigned status = 0; status < 64; status++) {
            bool kept = !modes[i].bit || (status & modes[i].bit);
            assert_int_equal(rec_status_matches(&opts, (uint8_t)status), kept);
        }
        opts.keep_idle = 1;
        assert_true(rec_status_matches(&opts, 0));
    }
}

#define TEST_15(f) cmocka_unit_test_setup_teardown(f, begin_3_15, end)
#define TEST_13(f) cmocka_unit_test_setup_teardown(f, begin_3_13, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_15(the_holder_of_a_locked_gil_has_it),
        TEST_13(the_holder_of_a_locked_gil_has_it),
        TEST_15(the_last_holder_of_an_open_gil_has_it_not),
        TEST_15(a_thread_that_waits_for_the_gil_requests_it),
        TEST_15(an_exception_that_is_raised_or_handled_is_seen),
        TEST_13(an_exception_that_is_raised_or_handled_is_seen),
        TEST_13(up_to_3_13_none_is_no_exception),
        TEST_15(an_exception_of_the_caller_of_a_generator_is_seen),
        TEST_15(a_chain_of_exceptions_that_lies_has_an_end),
        TEST_15(a_thread_that_runs_now_is_on_a_cpu),
        TEST_15(a_thread_that_ended_has_no_known_status),
        TEST_15(a_status_that_is_refreshed_keeps_what_cannot_have_changed),
        TEST_15(a_mode_keeps_the_samples_with_its_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
