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

static void
an_option_without_effect_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *what;
    } wrong[] = {
        {"pyrec --every 10s --for 1s -p 1 -o x -f",
         "--force does not go with --every"},
        {"pyrec --every 10s --for 1s -p 1 -o x --stats",
         "--stats does not go with --every"},
        {"pyrec --repeat 2 -f -o x -- true",
         "--force does not go with --repeat"},
        {"pyrec -p 1 -q --stats", "--stats does not go with --quiet"},
        {"pyrec -p 1 --top --stats", "--stats does not go with --top"},
        {"pyrec -p 1 --blocking --strategy remote",
         "both --strategy and --blocking given"},
        {"pyrec -p 1 --dump --strategy remote --blocking",
         "both --strategy and --blocking given"},
        {"pyrec -p 1 -d 1 --for 2s", "both --duration and --for given"},
        {"pyrec --dump --tasks -p 1", "--dump does not go with --tasks"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rec_options o;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(parse(wrong[i].line, &o, &err), PR_USAGE);
        assert_string_equal(err.what, wrong[i].what);
        assert_true(err.hint[0] != '\0');
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

/* An option that has no effect misleads: pyrec refuses it. */
static void
an_action_that_prints_refuses_what_it_would_ignore(void **state)
{
    (void)state;
    static const struct {
        const char *line, *what;
    } wrong[] = {
        {"pyrec --dump -p 1 -o x", "--output does not go with --dump"},
        {"pyrec --dump -p 1 --children", "--children does not go with --dump"},
        {"pyrec --dump -p 1 -d 5", "--duration does not go with --dump"},
        {"pyrec --dump --tasks -p 1", "--dump does not go with --tasks"},
        {"pyrec --tasks --mode gil -p 1", "--mode does not go with --tasks"},
        {"pyrec --gc=1s -r 100 -p 1", "--rate does not go with --gc"},
        {"pyrec --check 1 --json", "--json does not go with --check"},
        {"pyrec --dump --every 9s --for 1s -p 1",
         "--every does not go with --dump"},
        {"pyrec --check 1 -- true", "--check takes a process, not a command"},
        {"pyrec --dump -- true", "--dump takes a process, not a command"},
        {"pyrec --dump", "--dump needs a process"},
        {"pyrec -p 1 -p 2", "two processes given, 1 and 2"},
    };
    static const char *const right[] = {
        "pyrec --dump --json -p 1 --async all --opcodes --blocking",
        "pyrec --dump -p 1 --threads main --mode gil --max-depth 9 --debug",
        "pyrec --tasks --json -q -p 1",
        "pyrec --gc=0.5 --json -p 1",
        "pyrec --check 1",
        "pyrec -p 1 -p 1",
        "pyrec --every 10s --help",
        "pyrec -o x --version",
    };
    rec_options o;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        pr_err err = PR_ERR_INIT;
        assert_int_equal(parse(wrong[i].line, &o, &err), PR_USAGE);
        assert_string_equal(err.what, wrong[i].what);
        rec_options_release(&o);
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        pr_err err = PR_ERR_INIT;
        if (parse(right[i], &o, &err) != PR_OK)
            fail_msg("%s: %s", right[i], err.what);
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
        cmocka_unit_test(an_option_without_effect_is_refused),
        cmocka_unit_test(a_repetition_that_lacks_something_names_it),
        cmocka_unit_test(an_action_that_prints_refuses_what_it_would_ignore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
