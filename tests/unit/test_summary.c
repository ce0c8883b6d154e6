/*
 * test_summary.c - nothing that went wrong is kept back, and nothing is said
 * that did not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/summary.h"

/* Ten seconds at 1 kHz without a fault. */
static const rec_report good = {
    .proven = 9000,
    .sleeping = 1000,
    .ticks = 10000,
    .wall_ns = 10000000000,
    .colocated = true,
    .sampler = {.policy = "nslice", .cpu_ns = 300000000}};
static const rec_options plain = {.period_ns = 1000000};

static char *
summary_of(const rec_report *report, const rec_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    rec_summary_print(to, report, options, 42, "run.bin");
    fclose(to);
    return text;
}

static void
expect_said(const rec_report *report, const rec_options *options,
            const char *words)
{
    char *text = summary_of(report, options);
    if (!strstr(text, words))
        fail_msg("no \"%s\" in\n%s", words, text);
    free(text);
}

static void
expect_not_said(const rec_report *report, const rec_options *options,
                const char *words)
{
    char *text = summary_of(report, options);
    if (strstr(text, words))
        fail_msg("\"%s\" in\n%s", words, text);
    free(text);
}

static void
a_good_recording_needs_three_lines(void **state)
{
    (void)state;
    char *text = summary_of(&good, &plain);
    assert_string_equal(
        text, "pyrec: 10000 samples of process 42 in 10.0 s, 0 bytes in "
              "run.bin\n"
              "pyrec: proven 9000, unchanged or asleep 1000, stopped 0, not "
              "proven 0, lost 0\n"
              "pyrec: the target was slowed down by at most about 3.0 % "
              "(sampler on its CPU, policy nslice)\n");
    free(text);
}

static void
missed_ticks_are_said_with_the_remedy_that_helps(void **state)
{
    (void)state;
    rec_report r = good;
    r.missed = 500;
    expect_said(&r, &plain,
                "500 ticks missed (4.76 %), its CPU was busy "
                "(--realtime helps)");
    rec_options realtime = plain;
    realtime.realtime = true;
    r.sampler.policy = "fifo";
    expect_not_said(&r, &realtime, "helps");
    r.sampler.policy = "slice";
    expect_said(&r, &plain, "--realtime with CAP_SYS_NICE helps");
    r.missed_queue = 500;
    expect_said(&r, &plain, "writing was too slow (a lower --rate helps)");
}

static void
what_was_missed_in_a_gap_does_not_make_the_cpu_busy(void **state)
{
    (void)state;
    rec_report r = good;
    r.missed = 1010;
    r.sampler.gaps = (rec_spans){1, 1000000000};
    expect_said(&r, &plain,
                "nothing could be sampled for 1.0 s in all, 1 "
                "time\n");
    expect_not_said(&r, &plain, "busy");
    r.sampler.stood = (rec_spans){2, 2500000000};
    expect_said(&r, &plain, "stood still for 2.5 s in all, 2 times\n");
}

static void
doubts_are_said_above_one_in_a_hundred(void **state)
{
    (void)state;
    rec_report r = good;
    r.lost = 50;
    r.unproven = 40;
    expect_not_said(&r, &plain, "warning");
    r.unproven = 100;
    expect_said(&r, &plain, "1.5 % of the samples are lost or not proven");
    rec_options remote = plain;
    remote.unwinder.strategy = REC_REMOTE;
    expect_said(&r, &remote, "--strategy remote proves no sample");
    expect_not_said(&r, &remote, "not proven: shares");
}

static void
a_right_that_is_missing_is_named(void **state)
{
    (void)state;
    rec_report r = good;
    r.sampler.policy = "slice";
    expect_said(&r, &plain, "CAP_SYS_NICE avoids it");
    rec_options realtime = plain;
    realtime.realtime = true;
    expect_said(&r, &realtime, "--realtime is not permitted here");
    r = good;
    r.sampler.strayed = true;
    expect_said(&r, &plain, "run pyrec where the target may");
    expect_said(&r, &plain, "at most about");
    r.unproven = r.proven;
    r.proven = 0;
    expect_said(&r, &plain, "of another CPU)");
    r.sampler.polled = true;
    expect_said(&r, &plain, "polling: the period is too short to sleep");
}

static void
what_could_not_be_read_is_counted(void **state)
{
    (void)state;
    rec_report r = good;
    r.degraded = 7;
    r.gc_lost = 8;
    r.truncated = 9;
    expect_said(&r, &plain, "7 frames without their name or line");
    expect_said(&r, &plain, "8 collections were overwritten");
    expect_said(&r, &plain, "9 stacks cut at the limit of depth (--max-depth)");
}

static void
children_that_may_be_unseen_are_said_so(void **state)
{
    (void)state;
    const rec_descendants_report reports[] = {
        {.seen = 5, .told = true, .blind_ms = 20},
        {.seen = 5, .told = true, .overruns = 2, .blind_ms = 20},
        {.seen = 5, .blind_ms = 35}};
    const char *words[] = {"5 children seen, 3 recorded, 1 gone",
                           "2 times, more processes", "less than 35 ms"};
    for (size_t i = 0; i < 3; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        rec_summary_print_children(to, &reports[i], 3, 1);
        fclose(to);
        assert_non_null(strstr(text, words[i]));
        assert_int_equal(strstr(text, "unseen") != NULL, i > 0);
        free(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_recording_needs_three_lines),
        cmocka_unit_test(missed_ticks_are_said_with_the_remedy_that_helps),
        cmocka_unit_test(what_was_missed_in_a_gap_does_not_make_the_cpu_busy),
        cmocka_unit_test(doubts_are_said_above_one_in_a_hundred),
        cmocka_unit_test(a_right_that_is_missing_is_named),
        cmocka_unit_test(what_could_not_be_read_is_counted),
        cmocka_unit_test(children_that_may_be_unseen_are_said_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
