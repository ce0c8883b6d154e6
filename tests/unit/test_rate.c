/*
 * test_rate.c - rates of sampling.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <base/rate.h>

static void
a_rate_is_a_number_a_second(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double hz;
    } rates[] = {{"100", 100},   {"1khz", 1000}, {"10k", 10000}, {"1kHz", 1000},
                 {"250Hz", 250}, {"0.5", 0.5},   {"2.5k", 2500}, {"1000k", 1e6},
                 {".5hz", 0.5},  {"1e3", 1000},  {"0", 0}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double hz = -1;
        assert_true(pr_rate_parse(rates[i].text, &hz));
        assert_true(hz == rates[i].hz);
    }
}

static void
nothing_else_is_a_rate(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",     "fast", "10ms", "1mhz", "-5",    "nan", "inf", "0x10",
        "10 k", " 10",  "1k0",  "10%",  "1khz ", ".",   "+1",  "1.2.3"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double hz = -1;
        assert_false(pr_rate_parse(wrong[i], &hz));
        assert_true(hz == -1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_a_number_a_second),
        cmocka_unit_test(nothing_else_is_a_rate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
