/*
 * test_sched_state.c - the kernel's facts about a real thread.
 */
#include "sleeper.h"

static void
a_sleeper_did_not_run_until_it_is_woken(void **state)
{
    (void)state;
    sleeper h;
    rec_sched s;
    bool ran;
    sleeper_start(&h, 2);
    rec_sched_init(&s, 1000);
    sleeper_wait_until_asleep(&s, h.tid);
    assert_int_equal(rec_sched_ran(&s, getpid(), h.tid, &ran), REC_SCHED_KNOWN);
    assert_false(ran);
    assert_true(s.asleep);
    sleeper_wake(&h);
    assert_int_equal(rec_sched_ran(&s, getpid(), h.tid, &ran), REC_SCHED_KNOWN);
    assert_true(ran);
    assert_false(s.asleep);
    sleeper_finish(&h);
    rec_sched_release(&s);
}

static void
a_thread_that_runs_is_not_asleep(void **state)
{
    (void)state;
    rec_sched s;
    bool ran;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    rec_sched_init(&s, 1000);
    assert_int_equal(rec_sched_ran(&s, getpid(), tid, &ran), REC_SCHED_KNOWN);
    assert_true(rec_sched_read(&s, getpid(), tid));
    assert_int_equal(s.letter, 'R');
    assert_false(s.asleep);
    rec_sched_release(&s);
}

static void
a_thread_that_ended_is_gone(void **state)
{
    (void)state;
    sleeper h;
    rec_sched s;
    bool ran = false;
    sleeper_start(&h, 1);
    sleeper_finish(&h);
    rec_sched_init(&s, 1000);
    assert_int_equal(rec_sched_ran(&s, getpid(), h.tid, &ran), REC_SCHED_GONE);
    assert_true(ran);
    assert_false(s.counted);
    assert_false(rec_sched_read(&s, getpid(), h.tid));
    rec_sched_times times;
    assert_false(rec_sched_times_read(&s, getpid(), h.tid, &times));
    rec_sched_release(&s);
}

static void
times_only_grow(void **state)
{
    (void)state;
    rec_sched s;
    rec_sched_times before, after;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    rec_sched_init(&s, 1000);
    assert_true(rec_sched_times_read(&s, getpid(), tid, &before));
    sleeper h;
    sleeper_start(&h, 1);
    sleeper_finish(&h); /* joins: a switch away from the CPU, or none */
    assert_true(rec_sched_times_read(&s, getpid(), tid, &after));
    assert_true(after.run_ns > 0 && after.run_ns >= before.run_ns);
    assert_true(after.wait_ns >= before.wait_ns);
    assert_true(after.voluntary >= before.voluntary);
    assert_true(after.involuntary >= before.involuntary);
    rec_sched_release(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sleeper_did_not_run_until_it_is_woken),
        cmocka_unit_test(a_thread_that_runs_is_not_asleep),
        cmocka_unit_test(a_thread_that_ended_is_gone),
        cmocka_unit_test(times_only_grow),
    };
    return cmocka_run_group_tests_name("sched_state", tests, NULL, NULL);
}
