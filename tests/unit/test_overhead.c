/*
 * test_overhead.c - the rate follows the cost of a sample, down to the bound and
 * up to the nominal rate.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "recorder/overhead.h"

enum { MS = 1000000, WINDOW = 250 * MS };

/* Ticks that cost cost_ns each, for `windows` windows.  Returns the share of
 * time that they cost in all. */
static double
run(rec_overhead *o, uint64_t *now, uint64_t *cpu, uint64_t cost_ns,
    int windows)
{
    uint64_t begin = *now, before = *cpu;
    for (int i = 0; i < windows; i++) {
        *now += WINDOW;
        *cpu += WINDOW / o->period_ns * cost_ns;
        rec_overhead_update(o, *now, *cpu);
    }
    return (double)(*cpu - before) / (double)(*now - begin);
}

static void
the_cost_stays_under_the_bound(void **state)
{
    (void)state;
    static const uint64_t costs[] = {5000, 32000, 100000};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) {
        uint64_t now = 0, cpu = 0;
        rec_overhead o = rec_overhead_begin(0.01, MS, now);
        assert_true(run(&o, &now, &cpu, costs[i], 40) <= 0.01);
    }
}

static void
a_cheap_sample_has_the_nominal_rate(void **state)
{
    (void)state;
    uint64_t now = 0, cpu = 0;
    rec_overhead o = rec_overhead_begin(0.05, MS, now);
    assert_true(o.period_ns > MS);
    run(&o, &now, &cpu, 10000, 10);
    assert_int_equal(o.period_ns, MS);
}

static void
a_dear_sample_lowers_the_rate_at_once(void **state)
{
    (void)state;
    uint64_t now = 0, cpu = 0;
    rec_overhead o = rec_overhead_begin(0.01, MS, now);
    run(&o, &now, &cpu, 10000, 20);
    run(&o, &now, &cpu, 500000, 2);
    assert_true(run(&o, &now, &cpu, 500000, 10) <= 0.01);
    assert_true(o.period_ns <= 1000 * MS);
}

static void
a_recording_that_ends_is_not_a_gain(void **state)
{
    (void)state;
    uint64_t now = 0, cpu = 0;
    rec_overhead o = rec_overhead_begin(0.01, MS, now);
    run(&o, &now, &cpu, 100000, 20);
    uint64_t period = o.period_ns;
    rec_overhead_update(&o, now + WINDOW, cpu / 2);
    assert_int_equal(o.period_ns, period);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cost_stays_under_the_bound),
        cmocka_unit_test(a_cheap_sample_has_the_nominal_rate),
        cmocka_unit_test(a_dear_sample_lowers_the_rate_at_once),
        cmocka_unit_test(a_recording_that_ends_is_not_a_gain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
