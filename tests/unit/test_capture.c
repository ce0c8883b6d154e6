/*
 * test_capture.c - threads on two CPUs, read from both and then judged.
 */
#include "fake_target.h"
#include "own_switches.h"
#include "recorder/sample/capture.h"

enum { FIRST, SECOND, FIRST_CPU = FAKE_CPU, SECOND_CPU };

static int
begin(void **state)
{
    fake_target *f = fake_target_new(table_3_15, sizeof table_3_15);
    own_switches = 0;
    own_switches_hidden = false;
    static int cpus[] = {FIRST_CPU, SECOND_CPU};
    f->u.tick.next = (rec_cpu_list){cpus, 2, 0};
    fake_add_thread(f, fake_own_tid());
    fake_add_thread(f, 1);
    fake_put32(&f->fake, f->thread[SECOND].rseq, SECOND_CPU);
    fake_list(f);
    assert_int_equal(rec_emitter_tick(&f->u.emitter, 10, NULL), PR_OK);
    for (int i = 0; i < 2; i++) {
        fake_find(f, (size_t)i)->wanted = true;
        fake_find(f, (size_t)i)->sched.cpu = FIRST_CPU + (uint32_t)i;
    }
    *state = f;
    return 0;
}

static int
end(void **state)
{
    fake_target *f = *state;
    f->u.tick.next = (rec_cpu_list){0};
    rec_captures_release(&f->u.program);
    fake_target_free(f);
    return 0;
}

/* A round: all CPUs of the mask read, then one thread judges. */
static void
round_of(fake_target *f, unsigned mask)
{
    assert_int_equal(rec_captures_prepare(&f->u, NULL), PR_OK);
    for (int i = 0; i < 2; i++)
        if (mask & 1u << i)
            rec_captures_read(&f->u, FIRST_CPU + i);
    assert_int_equal(rec_captures_judge(&f->u, NULL), PR_OK);
}

static unsigned
wanted(fake_target *f)
{
    return (unsigned)fake_find(f, FIRST)->wanted |
           (unsigned)fake_find(f, SECOND)->wanted << 1;
}

static uint64_t
proven(fake_target *f, size_t i)
{
    return rec_count_get(&fake_find(f, i)->counts, PR_COUNT_PROVEN);
}

/* The first round reads code objects that its batches did not foresee: from
 * elsewhere, so it proves nothing, and the second asks for them. */
static void
two_cpus_prove_their_threads_in_the_round_that_foresees_all(void **state)
{
    fake_target *f = *state;
    round_of(f, 3);
    assert_int_equal(wanted(f), 3);
    fake_expect(f, "");
    round_of(f, 3);
    assert_int_equal(wanted(f), 0);
    assert_int_equal(proven(f, FIRST), 1);
    assert_int_equal(proven(f, SECOND), 1);
}

static void
a_tick_is_complete_only_after_both_cpus(void **state)
{
    fake_target *f = *state;
    round_of(f, 3);
    round_of(f, 1);
    assert_int_equal(wanted(f), 2);
    assert_int_equal(proven(f, FIRST), 1);
    assert_int_equal(proven(f, SECOND), 0);
    round_of(f, 2);
    assert_int_equal(wanted(f), 0);
    assert_int_equal(proven(f, FIRST), 1); /* it is not read twice */
    assert_int_equal(proven(f, SECOND), 1);
}

static void
a_thread_that_changed_its_cpu_stays_wanted_on_the_new_one(void **state)
{
    fake_target *f = *state;
    round_of(f, 3);
    fake_put32(&f->fake, f->thread[SECOND].rseq, FIRST_CPU);
    round_of(f, 3);
    assert_int_equal(wanted(f), 2);
    assert_int_equal(fake_find(f, SECOND)->sched.cpu, FIRST_CPU);
    round_of(f, 1);
    assert_int_equal(wanted(f), 0);
}

static void
switch_us(fake_target *f)
{
    (void)f;
    own_switches++;
}

static void
a_reader_that_was_switched_out_proves_nothing(void **state)
{
    fake_target *f = *state;
    round_of(f, 3);
    f->poke_at = f->thread[SECOND].tstate;
    f->poke = switch_us;
    round_of(f, 3);
    assert_int_equal(wanted(f), 2);
    assert_int_equal(proven(f, SECOND), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_cpus_prove_their_threads_in_the_round_that_foresees_all),
        TEST(a_tick_is_complete_only_after_both_cpus),
        TEST(a_thread_that_changed_its_cpu_stays_wanted_on_the_new_one),
        TEST(a_reader_that_was_switched_out_proves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
