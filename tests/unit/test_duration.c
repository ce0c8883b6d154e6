/*
 * test_duration.c - lengths of time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <base/duration.h>
#include <stdio.h>

static void
a_duration_has_a_unit_or_is_in_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } times[] = {{"0.5", 500000000},
                 {"10", 10000000000},
                 {"10s", 10000000000},
                 {".25s", 250000000},
                 {"2m", 120000000000},
                 {"2min", 120000000000},
                 {"2MIN", 120000000000},
                 {"250ms", 250000000},
                 {"12.5us", 12500},
                 {"0.5ns", 1},
                 {"0.4ns", 0},
                 {"1h", 3600000000000},
                 {"1.5d", 129600000000000},
                 {"0.000000001", 1},
                 {"0.123456789123", 123456789},
                 {"1:30", 90000000000},
                 {"00:01:30.5", 90500000000},
                 {"100:00:00", 360000000000000},
                 {"18446744073709551615ns", UINT64_MAX},
                 {"18446744073.709551615", UINT64_MAX},
                 {"0", 0}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        uint64_t ns = 77;
        if (!pr_duration_parse(times[i].text, strlen(times[i].text), &ns) ||
            ns != times[i].ns)
            fail_msg("'%s': %llu", times[i].text, (unsigned long long)ns);
    }
}

static void
nothing_else_is_a_duration(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "s",
                                        ".",
                                        ".s",
                                        "1.",
                                        "1.s",
                                        "-1",
                                        "+1",
                                        " 1",
                                        "1 ",
                                        "1 s",
                                        "10x",
                                        "1e3",
                                        "inf",
                                        "0x10",
                                        "1:60",
                                        "1:2:60",
                                        "1:2:3:4",
                                        ":30",
                                        "1:",
                                        "1::2",
                                        "1.5:30",
                                        "1:2.5:3",
                                        "1:.5",
                                        "1:30s",
                                        "18446744073709551616ns",
                                        "18446744073.709551616",
                                        "300000d",
                                        "99999999999999999999999",
                                        "1mss",
                                        "1mi"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t ns = 77;
        if (pr_duration_parse(wrong[i], strlen(wrong[i]), &ns))
            fail_msg("'%s' is %llu", wrong[i], (unsigned long long)ns);
        assert_int_equal(ns, 77);
    }
}

static void
a_duration_ends_where_its_length_says(void **state)
{
    (void)state;
    uint64_t ns = 0;
    assert_true(pr_duration_parse("12..3", 2, &ns));
    assert_int_equal(ns, 12000000000);
    assert_true(pr_duration_parse("5ms", 2, &ns));
    assert_int_equal(ns, 300000000000);
}

/* Against the arithmetic of whole numbers: random digits before and after the
 * point in each unit. */
static void
decimals_count_to_the_last_nanosecond(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {
        {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"h", 3600000000000}};
    printf("# seed 20261130\n");
    srand(20261130);
    for (int i = 0; i < 20000; i++) {
        int u = rand() % 4;
        uint64_t whole = (uint64_t)(rand() % 10000);
        uint64_t thousandths = (uint64_t)(rand() % 1000);
        char text[64];
        snprintf(text, sizeof text, "%llu.%03llu%s", (unsigned long long)whole,
                 (unsigned long long)thousandths, units[u].name);
        uint64_t ns;
        assert_true(pr_duration_parse(text, strlen(text), &ns));
        assert_int_equal(ns, whole * units[u].ns +
                                 thousandths * (units[u].ns / 1000));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_duration_has_a_unit_or_is_in_seconds),
        cmocka_unit_test(nothing_else_is_a_duration),
        cmocka_unit_test(a_duration_ends_where_its_length_says),
        cmocka_unit_test(decimals_count_to_the_last_nanosecond),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
