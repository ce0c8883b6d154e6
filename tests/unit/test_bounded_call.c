/*
 * test_bounded_call.c - a call that returns, and one that the kernel holds.
 *
 * The held call waits for a semaphore: by the kernel's counts that is the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/bounded_call.h"

#include <semaphore.h>
#include <sys/eventfd.h>
#include <unistd.h>

typedef struct work {
    sem_t go, released;
    bool ran;
} work;

static void
return_at_once(void *context)
{
    ((work *)context)->ran = true;
}

static void
wait_for_go(void *context)
{
    work *w = context;
    while (sem_wait(&w->go) != 0)
        ;
    w->ran = true;
}

static void
note_release(void *context)
{
    sem_post(&((work *)context)->released);
}

static work *
begin(void)
{
    static work w; /* the thread of a test that fails may still use it */
    w = (work){0};
    sem_init(&w.go, 0, 0);
    sem_init(&w.released, 0, 0);
    return &w;
}

/* The call comes back, later: what it worked on is released then. */
static void
come_back(work *w)
{
    assert_int_not_equal(sem_trywait(&w->released), 0);
    sem_post(&w->go);
    while (sem_wait(&w->released) != 0)
        ;
    assert_true(w->ran);
}

static void
a_call_that_returns_is_its_callers(void **state)
{
    (void)state;
    work *w = begin();
    rec_bound bound = {-1, UINT64_MAX};
    assert_true(
        rec_bounded_call(&(rec_job){return_at_once, note_release, w}, &bound));
    assert_true(w->ran);
    bound.end_ns = 0; /* although the time is over */
    w->ran = false;
    assert_true(
        rec_bounded_call(&(rec_job){return_at_once, note_release, w}, &bound));
    assert_true(w->ran);
    assert_int_not_equal(sem_trywait(&w->released), 0);
}

static void
a_held_call_is_left_when_the_time_is_over(void **state)
{
    (void)state;
    work *w = begin();
    rec_bound bound = {-1, 0};
    assert_false(
        rec_bounded_call(&(rec_job){wait_for_go, note_release, w}, &bound));
    come_back(w);
}

static void
a_held_call_is_left_after_a_signal(void **state)
{
    (void)state;
    work *w = begin();
    rec_bound bound = {eventfd(1, EFD_CLOEXEC), UINT64_MAX};
    assert_true(bound.signal_fd >= 0);
    assert_false(
        rec_bounded_call(&(rec_job){wait_for_go, note_release, w}, &bound));
    come_back(w);
    close(bound.signal_fd);
}

static void
progress_counts_and_not_time(void **state)
{
    (void)state;
    const uint64_t second = 1000000000;
    /* nothing asks for an end: ten seconds without progress */
    assert_false(rec_bound_is_over(109 * second, UINT64_MAX, 100 * second));
    assert_true(rec_bound_is_over(110 * second, UINT64_MAX, 100 * second));
    /* the time is over: half a second, but a call that moves goes on */
    assert_true(rec_bound_is_over(101 * second, 100 * second, 100 * second));
    assert_false(rec_bound_is_over(101 * second, 102 * second, 100 * second));
    assert_false(rec_bound_is_over(900 * second, 100 * second, 900 * second));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_that_returns_is_its_callers),
        cmocka_unit_test(a_held_call_is_left_when_the_time_is_over),
        cmocka_unit_test(a_held_call_is_left_after_a_signal),
        cmocka_unit_test(progress_counts_and_not_time),
    };
    return cmocka_run_group_tests_name("bounded_call", tests, NULL, NULL);
}
