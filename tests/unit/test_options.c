/*
 * test_options.c - the command line of pyrec.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/options.h"

static void
a_rate_is_samples_a_second(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t period_ns;
    } rates[] = {{"100", 10000000}, {"1khz", 1000000},  {"10k", 100000},
                 {"1kHz", 1000000}, {"250Hz", 4000000}, {"0.5", 2000000000},
                 {"2.5k", 400000},  {"1000k", 1000},    {".5hz", 2000000000},
                 {"1e3", 1000000}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        uint64_t period = 0;
        assert_int_equal(rec_parse_rate(rates[i].text, &period, NULL), PR_OK);
        assert_int_equal(period, rates[i].period_ns);
    }
}

static void
what_is_no_rate_is_refused_with_a_remedy(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",     "fast", "10ms", "1mhz", "-5",  "0",     "1001k", "nan", "inf",
        "0x10", "10 k", " 10",  "1k0",  "10%", "1khz ", "1e99",  "."};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t period = 77;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(rec_parse_rate(wrong[i], &period, &err), PR_USAGE);
        assert_int_equal(period, 77);
        assert_non_null(strstr(err.what, "'"));
    }
}

static void
a_time_has_a_unit_or_is_in_seconds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t ns;
    } times[] = {{"0.5", 500000000},
                 {"10s", 10000000000},
                 {"2m", 120000000000},
                 {"250ms", 250000000},
                 {"1h", 3600000000000}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        uint64_t ns = 0;
        assert_int_equal(rec_parse_time(times[i].text, &ns, NULL), PR_OK);
        assert_int_equal(ns, times[i].ns);
    }
    static const char *const wrong[] = {"", "0", "10x", "-1", "1e300", "s"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        uint64_t ns = 77;
        assert_int_equal(rec_parse_time(wrong[i], &ns, NULL), PR_USAGE);
        assert_int_equal(ns, 77);
    }
}

/* A command line is words between single blanks. */
static pr_code
parse(const char *line, rec_options *ret, pr_err *err)
{
    static char words[512]; /* the options point into it */
    char *argv[40], *rest = words;
    int argc = 0;
    assert_true(strlen(line) < sizeof words);
    strcpy(words, line);
    while (rest)
        argv[argc++] = strsep(&rest, " ");
    argv[argc] = NULL;
    return rec_options_parse(argc, argv, ret, err);
}

static void
a_whole_command_line_is_understood(void **state)
{
    (void)state;
    const char *line = "pyrec -p 42 -o run.bin -r10k -d 2m --threads main "
                       "--mode cpu --max-depth 100 --label branch=a=b "
                       "--label empty= -fq";
    rec_options o;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(parse(line, &o, &err), PR_OK);
    assert_int_equal(o.action, REC_ACTION_RECORD);
    assert_int_equal(o.pid, 42);
    assert_string_equal(o.output, "run.bin");
    assert_int_equal(o.period_ns, 100000);
    assert_int_equal(o.duration_ns, 120000000000);
    assert_int_equal(o.unwinder.threads, REC_THREADS_MAIN);
    assert_int_equal(o.unwinder.mode, PR_MODE_CPU);
    assert_int_equal(o.unwinder.max_depth, 100);
    assert_true(o.force && o.quiet && !o.stats);
    assert_int_equal(o.n_labels, 2);
    assert_int_equal(o.label[0].key_len, 6);
    assert_string_equal(o.label[0].value, "a=b");
    assert_string_equal(o.label[1].value, "");
    rec_options_release(&o);
}

static void
the_defaults_are_one_khz_until_the_target_ends(void **state)
{
    (void)state;
    rec_options o;
    assert_int_equal(parse("pyrec -p 42 -o x", &o, NULL), PR_OK);
    assert_int_equal(o.period_ns, 1000000);
    assert_int_equal(o.duration_ns, 0);
    assert_int_equal(o.unwinder.strategy, REC_AUTO);
    assert_int_equal(o.unwinder.gc, 1);
    rec_options_release(&o);
}

static void
wrong_use_names_what_is_wrong(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "pyrec",
        "pyrec -p 42",
        "pyrec -o x",
        "pyrec -p 0 -o x",
        "pyrec -p -1 -o x",
        "pyrec -p abc -o x",
        "pyrec -p 99999999999 -o x",
        "pyrec --no-such",
        "pyrec -p",
        "pyrec -p 1 -o x extra",
        "pyrec -p 1 -o x --mode fast",
        "pyrec -p 1 -o x --label nothing",
        "pyrec -p 1 -o x --max-depth 0",
        "pyrec -p 1 -o x --json",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        rec_options o;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(parse(lines[i], &o, &err), PR_USAGE);
        assert_true(err.what[0] != '\0');
        rec_options_release(&o);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_is_samples_a_second),
        cmocka_unit_test(what_is_no_rate_is_refused_with_a_remedy),
        cmocka_unit_test(a_time_has_a_unit_or_is_in_seconds),
        cmocka_unit_test(a_whole_command_line_is_understood),
        cmocka_unit_test(the_defaults_are_one_khz_until_the_target_ends),
        cmocka_unit_test(wrong_use_names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
