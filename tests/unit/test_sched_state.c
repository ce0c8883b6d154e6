/*
 * test_sched_state.c - the kernel's facts about a real thread.
 */
#include "eventually.h"
#include "sleeper.h"

#include <limits.h>

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

/* Share this thread's CPU, and do not preempt it when woken. */
static void
queue_after_us(const sleeper *h, cpu_set_t *ret_old)
{
    cpu_set_t one;
    const struct sched_param param = {0};
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    assert_int_equal(sched_getaffinity(0, sizeof *ret_old, ret_old), 0);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    assert_int_equal(sched_setaffinity(h->tid, sizeof one, &one), 0);
    assert_int_equal(sched_setscheduler(h->tid, SCHED_BATCH, &param), 0);
}

/* Wake it and read its letter at once; then let it run. */
static bool
is_queued_when_woken(sleeper *h, rec_sched *s)
{
    bool ran;
    sleeper_wait_until_asleep(s, h->tid);
    sem_post(&h->go);
    assert_true(rec_sched_read_letter(s, getpid(), h->tid));
    assert_int_equal(rec_sched_ran(s, getpid(), h->tid, &ran), REC_SCHED_KNOWN);
    sem_wait(&h->ready);
    return s->letter == 'R' && !ran;
}

static void
a_woken_thread_is_queued_before_it_runs(void **state)
{
    (void)state;
    sleeper h;
    rec_sched s;
    cpu_set_t old;
    bool queued = false;
    sleeper_start(&h, INT_MAX);
    rec_sched_init(&s, 1000);
    queue_after_us(&h, &old);
    EVENTUALLY(queued || (queued = is_queued_when_woken(&h, &s)));
    assert_int_equal(sched_setaffinity(0, sizeof old, &old), 0);
    h.rounds = 0;
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
        cmocka_unit_test(a_woken_thread_is_queued_before_it_runs),
        cmocka_unit_test(a_thread_that_runs_is_not_asleep),
        cmocka_unit_test(a_thread_that_ended_is_gone),
        cmocka_unit_test(times_only_grow),
    };
    return cmocka_run_group_tests_name("sched_state", tests, NULL, NULL);
}
