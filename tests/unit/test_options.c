/*
 * test_options.c - the command line of pyrec.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/options.h"

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

/* The options of "-OPTION VALUE". */
static pr_code
parse_value(char option, const char *value, rec_options *ret, pr_err *err)
{
    char line[128];
    snprintf(line, sizeof line, "pyrec -p 1 -o x -%c %s", option, value);
    pr_code code = parse(line, ret, err);
    rec_options_release(ret);
    return code;
}

static void
a_rate_sets_the_period(void **state)
{
    (void)state;
    rec_options o;
    assert_int_equal(parse_value('r', "2.5k", &o, NULL), PR_OK);
    assert_int_equal(o.period_ns, 400000);
    static const char *const wrong[] = {"fast", "0", "1001k", "1e99"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pr_err err = PR_ERR_INIT;
        assert_int_equal(parse_value('r', wrong[i], &o, &err), PR_USAGE);
        assert_non_null(strstr(err.what, wrong[i]));
    }
}

static void
a_duration_has_bounds(void **state)
{
    (void)state;
    rec_options o;
    assert_int_equal(parse_value('d', "250ms", &o, NULL), PR_OK);
    assert_int_equal(o.duration_ns, 250000000);
    static const char *const wrong[] = {"0", "0.9ms", "3661d", "10x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pr_err err = PR_ERR_INIT;
        assert_int_equal(parse_value('d', wrong[i], &o, &err), PR_USAGE);
        assert_non_null(strstr(err.what, wrong[i]));
    }
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
    assert_int_equal(parse("pyrec -p 42 --no-command-line", &o, NULL), PR_OK);
    assert_null(o.output); /* a name of pyrec's own */
    assert_true(o.no_command_line && !o.wait);
    rec_options_release(&o);
}

static void
wrong_use_names_the_fault(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "pyrec",
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

/* Each sentence is about the fault alone. */
static void
a_repetition_that_lacks_something_names_it(void **state)
{
    (void)state;
    static const struct {
        const char *line, *what;
    } wrong[] = {
        {"pyrec --repeat 2 -- true", "--repeat needs a folder with -o"},
        {"pyrec --repeat 2 --in-turn a=true -- true",
         "--repeat needs a folder with -o"},
        {"pyrec --repeat 2 -o x", "--repeat needs a command to record"},
        {"pyrec --repeat 2 -o x -p 1", "--repeat needs a command to record"},
        {"pyrec --in-turn a=true -o x -- true", "--in-turn needs --repeat"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rec_options o;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(parse(wrong[i].line, &o, &err), PR_USAGE);
        assert_string_equal(err.what, wrong[i].what);
        assert_string_equal(err.hint, "pyrec -o DIR --repeat N -- COMMAND");
        rec_options_release(&o);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_sets_the_period),
        cmocka_unit_test(a_duration_has_bounds),
        cmocka_unit_test(a_whole_command_line_is_understood),
        cmocka_unit_test(the_defaults_are_one_khz_until_the_target_ends),
        cmocka_unit_test(wrong_use_names_the_fault),
        cmocka_unit_test(a_repetition_that_lacks_something_names_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
