/*
 * test_sampler.c - the schedule, a pure function of time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "recorder/sampler.h"

static const rec_schedule khz = {5000000000, 1000000, 42};

static void
a_tick_is_due_in_the_first_half_of_its_period(void **state)
{
    (void)state;
    uint64_t least = UINT64_MAX, most = 0;
    for (uint64_t i = 0; i < 100000; i++) {
        uint64_t after = rec_schedule_due(&khz, i) - rec_schedule_grid(&khz, i);
        assert_true(after < khz.period_ns / 2);
        least = after < least ? after : least;
        most = after > most ? after : most;
    }
    assert_true(least < 100 && most > khz.period_ns / 2 - 100);
}

static void
the_random_part_is_spread_evenly_and_ticks_do_not_resemble(void **state)
{
    (void)state;
    enum { BINS = 10, TICKS = 100000 };
    uint64_t bin[BINS] = {0};
    double product = 0;
    double last = 0;
    for (uint64_t i = 0; i < TICKS; i++) {
        uint64_t after = rec_schedule_due(&khz, i) - rec_schedule_grid(&khz, i);
        bin[after * BINS / (khz.period_ns / 2)]++;
        double x = (double)after / (double)(khz.period_ns / 2) - 0.5;
        product += x * last;
        last = x;
    }
    double chi = 0;
    for (int i = 0; i < BINS; i++) {
        double d = (double)bin[i] - TICKS / BINS;
        chi += d * d / (TICKS / BINS);
    }
    assert_true(chi < 27.9); /* 9 degrees of freedom, 1 in 1000 */
    /* neighbours: the mean of the product has deviation 1/12/sqrt(n) */
    assert_true(product / TICKS < 0.001 && product / TICKS > -0.001);
}

static void
seeds_give_different_schedules(void **state)
{
    (void)state;
    rec_schedule other = khz;
    other.seed++;
    int same = 0;
    for (uint64_t i = 0; i < 1000; i++)
        same += rec_schedule_due(&khz, i) == rec_schedule_due(&other, i);
    assert_true(same < 10);
}

static void
the_next_tick_is_the_next_number_if_there_is_time(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t now = rec_schedule_due(&khz, i) + 20000;
        assert_int_equal(rec_schedule_next(&khz, i, now), i + 1);
    }
}

static void
a_stall_is_skipped_and_not_made_up_for(void **state)
{
    (void)state;
    for (uint64_t stall = 1; stall < 50000000; stall += 333333) {
        uint64_t now = rec_schedule_due(&khz, 7) + stall;
        uint64_t next = rec_schedule_next(&khz, 7, now);
        assert_true(next > 7);
        /* never in the past, never later than it must be */
        assert_true(rec_schedule_due(&khz, next) >= now);
        for (uint64_t i = 8; i < next; i++)
            assert_true(rec_schedule_due(&khz, i) < now);
    }
}

static void
the_present_tick_is_never_in_the_future_nor_overtaken(void **state)
{
    (void)state;
    assert_int_equal(rec_schedule_present(&khz, 0), 0);
    for (uint64_t now = khz.start_ns; now < khz.start_ns + 50000000;
         now += 333333) {
        uint64_t present = rec_schedule_present(&khz, now);
        assert_true(rec_schedule_grid(&khz, present) <= now);
        assert_true(rec_schedule_grid(&khz, present + 1) > now);
    }
}

static void
a_stall_is_ten_ticks_and_at_least_a_tenth_of_a_second(void **state)
{
    (void)state;
    rec_schedule slow = {0, 250000000, 1};
    assert_int_equal(rec_schedule_stall_ns(&khz), 100000000);
    assert_int_equal(rec_schedule_stall_ns(&slow), 2500000000);
}

static void
the_shortest_period_has_a_schedule(void **state)
{
    (void)state;
    rec_schedule s = {0, 1, 1};
    assert_int_equal(rec_schedule_due(&s, 10), 10);
    assert_int_equal(rec_schedule_next(&s, 10, 1000), 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tick_is_due_in_the_first_half_of_its_period),
        cmocka_unit_test(
            the_random_part_is_spread_evenly_and_ticks_do_not_resemble),
        cmocka_unit_test(seeds_give_different_schedules),
        cmocka_unit_test(the_next_tick_is_the_next_number_if_there_is_time),
        cmocka_unit_test(a_stall_is_skipped_and_not_made_up_for),
        cmocka_unit_test(the_present_tick_is_never_in_the_future_nor_overtaken),
        cmocka_unit_test(a_stall_is_ten_ticks_and_at_least_a_tenth_of_a_second),
        cmocka_unit_test(the_shortest_period_has_a_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
