/*
 * test_summary.c - three lines that say what matters, and nothing that did not
 * happen.
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
    .written = {.file_bytes = 12345},
    .sampler = {.policy = "nslice", .cpu_ns = 300000000}};
static const rec_options plain = {.period_ns = 1000000};
static const rec_options detailed = {.period_ns = 1000000, .stats = true};

static char *
text_of(const rec_summary *summary, const rec_options *options)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    assert_non_null(to);
    rec_summary_print(to, summary, options);
    fclose(to);
    return text;
}

static rec_summary
one(const rec_report *report)
{
    return (rec_summary){.report = report,
                         .pid = 42,
                         .files = 1,
                         .output = "run.bin",
                         .pattern = "run.*.bin",
                         .wall_ns = report->wall_ns};
}

static void
expect(const rec_summary *summary, const rec_options *options,
       const char *words, bool said)
{
    char *text = text_of(summary, options);
    if ((strstr(text, words) != NULL) != said)
        fail_msg("%s \"%s\" in\n%s", said ? "no" : "a", words, text);
    free(text);
}

static void
expect_said(const rec_report *report, const rec_options *options,
            const char *words)
{
    rec_summary s = one(report);
    expect(&s, options, words, true);
}

static void
expect_not_said(const rec_report *report, const rec_options *options,
                const char *words)
{
    rec_summary s = one(report);
    expect(&s, options, words, false);
}

static void
a_good_recording_needs_three_lines(void **state)
{
    (void)state;
    rec_summary s = one(&good);
    char *text = text_of(&s, &plain);
    assert_string_equal(
        text, "pyrec: 10000 samples of process 42 in 10.0 s, 12.3 kB in "
              "run.bin\n"
              "pyrec: 100.0 % proven; slowed down by at most 3.0 %\n"
              "pyrec: next: pyquery run.bin \"top 20 by self\"\n");
    free(text);
}

static void
the_next_command_can_be_pasted(void **state)
{
    (void)state;
    rec_summary s = one(&good);
    s.output = "my run.bin";
    s.pattern = "my run.*.bin";
    expect(&s, &plain, "next: pyquery 'my run.bin' \"top 20", true);
    s.files = 2;
    expect(&s, &plain, "next: pyconv 'my run.bin' 'my run.'*.bin --to", true);
    s.output = "-y.bin";
    s.pattern = "-y.*.bin";
    expect(&s, &plain, "next: pyconv ./-y.bin ./-y.*.bin --to", true);
}

static void
several_runs_are_warned_of_once(void **state)
{
    (void)state;
    rec_tally tally = {0};
    rec_options many = plain;
    many.tally = &tally;
    rec_report r = good;
    for (uint64_t missed = 0; missed <= 5000; missed += 2500) {
        r.missed = missed;
        rec_summary s = one(&r);
        expect(&s, &many, "warning", false);
        expect(&s, &many, "next", false);
    }
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    rec_tally_print(to, &tally);
    fclose(to);
    assert_string_equal(text,
                        "pyrec: warning: 4 of 6 recordings are bad: up to "
                        "33.3 % of the ticks were missed: its CPU was busy "
                        "(--realtime helps)\n");
    free(text);
}

static void
a_bad_recording_says_so_first(void **state)
{
    (void)state;
    rec_report r = good;
    r.missed = 1000;
    expect_not_said(&r, &plain, "bad");
    r.missed = 2500;
    rec_summary s = one(&r);
    char *text = text_of(&s, &plain);
    assert_memory_equal(text,
                        "pyrec: warning: a bad recording: 20.0 % of the ticks "
                        "were missed: its CPU was busy (--realtime helps)\n",
                        sizeof "pyrec: warning: a bad recording: 20.0 %");
    free(text);
    r = good;
    r.lost = 700;
    r.unproven = 500;
    expect_said(&r, &plain, "10.7 % of the samples are lost or unproven");
    rec_options remote = plain;
    remote.unwinder.strategy = REC_REMOTE;
    expect_not_said(&r, &remote, "bad");
    r = good;
    r.hung = true;
    expect_said(&r, &plain, "the kernel held the sampler");
}

static void
a_cost_above_a_tenth_is_warned_of_unless_it_is_bounded(void **state)
{
    (void)state;
    rec_report r = good;
    r.sampler.cpu_ns = 1100000000;
    expect_said(&r, &plain, "cost up to 11.0 % of the time (--overhead 1%");
    rec_options bounded = plain;
    bounded.overhead = 0.5;
    expect_not_said(&r, &bounded, "warning");
}

static void
the_time_in_which_the_target_was_stopped_is_a_cost(void **state)
{
    (void)state;
    rec_options blocking = plain;
    blocking.unwinder.strategy = REC_BLOCKING;
    rec_report r = good;
    r.held_ns = 500000000;
    expect_said(&r, &blocking, "slowed down by at most 8.0 %\n");
    r.held_ns = 900000000;
    expect_said(&r, &blocking,
                "cost up to 12.0 % of the time (without --blocking");
    rec_report sum = r;
    rec_report_add(&sum, &r);
    assert_int_equal(sum.held_ns, 1800000000);
}

static void
missed_ticks_are_said_with_the_remedy_that_helps(void **state)
{
    (void)state;
    rec_report r = good;
    r.missed = 500;
    expect_said(&r, &plain,
                "4.8 % of the ticks missed: its CPU was busy (--realtime "
                "helps)");
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
ticks_missed_in_a_gap_do_not_make_the_cpu_busy(void **state)
{
    (void)state;
    rec_report r = good;
    r.missed = 1010;
    r.sampler.gaps = (rec_spans){1, 1000000000};
    expect_said(&r, &plain, "; nothing could be sampled for 1.0 s, 1 time;");
    expect_not_said(&r, &plain, "busy");
    r.sampler.stood = (rec_spans){2, 2500000000};
    expect_said(&r, &plain,
                "; stopped, frozen or suspended for 2.5 s, 2 times;");
}

static void
shares_that_are_not_proven_have_their_reason(void **state)
{
    (void)state;
    rec_report r = good;
    r.lost = 50;
    r.unproven = 200;
    expect_said(&r, &plain, "97.6 % proven, 2.0 % unproven, 0.5 % lost;");
    rec_options remote = plain;
    remote.unwinder.strategy = REC_REMOTE;
    expect_said(&r, &remote, "--strategy remote proves no sample");
    r.sampler.strayed = true;
    expect_said(&r, &plain, "run pyrec where the target may");
    r.colocated = false;
    expect_said(&r, &plain, "hardly slowed down");
}

static void
details_appear_on_request(void **state)
{
    (void)state;
    rec_report r = good;
    r.degraded = 7;
    r.gc_lost = 8;
    r.truncated = 1;
    r.sampler.policy = "slice";
    static const char *const said[] = {
        "proven 9000, unchanged or asleep 1000",
        "7 frames without name or line",
        "8 collections overwritten",
        "1 stack cut at the limit of depth (--max-depth)",
        "sampler policy slice",
        "CAP_SYS_NICE avoids it"};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        expect_said(&r, &detailed, said[i]);
        expect_not_said(&r, &plain, said[i]);
    }
    rec_options realtime = detailed;
    realtime.realtime = true;
    expect_said(&r, &realtime, "--realtime is not permitted here");
}

static void
a_tree_is_one_recording(void **state)
{
    (void)state;
    rec_descendants_report children = {
        .seen = 5, .announced = true, .blind_ms = 20};
    rec_summary s = one(&good);
    s.files = 4;
    s.gone = 2;
    s.children = &children;
    char *text = text_of(&s, &plain);
    assert_string_equal(
        text, "pyrec: 10000 samples of 4 processes in 10.0 s, 12.3 kB in "
              "run.bin and 3 files run.*.bin; 5 children seen, 2 gone before "
              "pyrec could record them\n"
              "pyrec: 100.0 % proven; slowed down by at most 3.0 % in all\n"
              "pyrec: next: pyconv run.bin run.*.bin --to sqlite -o all.db\n");
    free(text);
    expect(&s, &detailed, "unseen", false);
    children.overruns = 2;
    expect(&s, &detailed, "2 times, more processes", true);
    children.announced = false;
    children.blind_ms = 35;
    expect(&s, &detailed, "less than 35 ms", true);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_recording_needs_three_lines),
        cmocka_unit_test(the_next_command_can_be_pasted),
        cmocka_unit_test(several_runs_are_warned_of_once),
        cmocka_unit_test(a_bad_recording_says_so_first),
        cmocka_unit_test(
            a_cost_above_a_tenth_is_warned_of_unless_it_is_bounded),
        cmocka_unit_test(the_time_in_which_the_target_was_stopped_is_a_cost),
        cmocka_unit_test(missed_ticks_are_said_with_the_remedy_that_helps),
        cmocka_unit_test(ticks_missed_in_a_gap_do_not_make_the_cpu_busy),
        cmocka_unit_test(shares_that_are_not_proven_have_their_reason),
        cmocka_unit_test(details_appear_on_request),
        cmocka_unit_test(a_tree_is_one_recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
