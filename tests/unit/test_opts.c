/*
 * test_opts.c - options of callers that were built against another version.
 */
#include "tests/unit/query_fixture.h"
#include "tests/unit/story.h"

#include <base/opts.h>
#include <pyrec/compare.h>
#include <pyrec/convert.h>
#include <pyrec/reader.h>
#include <pyrec/unwinder.h>
#include <pyrec/writer.h>

typedef struct options {
    size_t size;
    int a, b;
} options;

static void
options_of_older_and_newer_callers_are_taken(void **state)
{
    (void)state;
    struct {
        options known;
        int more[2];
    } newer = {{sizeof newer, 3, 4}, {0, 0}};
    options older = {offsetof(options, b), 7, 8}, taken = {0, 1, 2};
    assert_int_equal(pr_opts_take(&taken, sizeof taken, NULL, NULL), PR_OK);
    assert_int_equal(taken.a, 1);
    assert_int_equal(pr_opts_take(&taken, sizeof taken, &older, NULL), PR_OK);
    assert_int_equal(taken.a, 7);
    assert_int_equal(taken.b, 2);
    assert_int_equal(taken.size, sizeof taken);
    assert_int_equal(pr_opts_take(&taken, sizeof taken, &newer, NULL), PR_OK);
    assert_int_equal(taken.b, 4);
}

static void
options_that_are_not_known_are_refused(void **state)
{
    (void)state;
    struct {
        options known;
        int more[2];
    } newer = {{sizeof newer, 3, 4}, {0, 1}};
    options unset = {0, 7, 8}, taken = {0, 1, 2};
    pr_err err = PR_ERR_INIT;
    assert_int_equal(pr_opts_take(&taken, sizeof taken, &newer, &err),
                     PR_USAGE);
    assert_string_equal(err.what, "an option that this version does not know");
    assert_int_equal(pr_opts_take(&taken, sizeof taken, &unset, NULL),
                     PR_USAGE);
    assert_int_equal(taken.a, 1);
    assert_int_equal(taken.b, 2);
}

/* ---- all functions that take options ---- */

#define EXPECT_UNSET(call)                                                   \
    do {                                                                     \
        pr_err err = PR_ERR_INIT;                                            \
        assert_int_equal(call, PR_USAGE);                                    \
        assert_string_equal(err.what, "the size of the options is not set"); \
    } while (0)

static void
a_recording_wants_their_size(void **state)
{
    (void)state;
    story none;
    rec_unwinder *unwinder;
    pr_sink *writer;
    story_begin(&none);
    EXPECT_UNSET(rec_unwinder_open(getpid(), &(rec_unwinder_opts){0},
                                   &none.sink, &unwinder, &err));
    EXPECT_UNSET(
        pf_writer_open("none.bin", &(pf_writer_opts){0}, &writer, &err));
    story_end(&none);
}

static void
a_reader_wants_their_size(void **state)
{
    (void)state;
    scratch s;
    const plot p = {1, 2, 5, 3, 10, 4, false};
    scratch_begin(&s);
    pr_err none = PR_ERR_INIT;
    pr_sink *writer;
    pf_reader *reader;
    assert_int_equal(pf_writer_open(s.path, NULL, &writer, &none), PR_OK);
    story_emit(&p, writer);
    assert_int_equal(writer->ops->finish(writer, &none), PR_OK);
    EXPECT_UNSET(pf_reader_open(s.path, &(pf_reader_opts){0}, &reader, &err));
    assert_int_equal(pf_reader_open(s.path, NULL, &reader, &none), PR_OK);
    story read;
    story_begin(&read);
    EXPECT_UNSET(
        pf_reader_replay(reader, &(pf_replay_opts){0}, &read.sink, NULL, &err));
    story_end(&read);
    pf_reader_free(reader);
    scratch_end(&s);
}

static void
a_conversion_wants_their_size(void **state)
{
    (void)state;
    const char *const input[] = {"none.bin"};
    const conv_opts unset = {0};
    conv_growth growth = {0};
    conv_report report;
    sqlite3 *database;
    EXPECT_UNSET(conv_run(input, 1, "pstats", "none", &unset, NULL, &err));
    EXPECT_UNSET(conv_to_memory(input, 1, &unset, &database, &err));
    EXPECT_UNSET(conv_grow("none.bin", "none", &unset, &growth, &report, &err));
    EXPECT_UNSET(conv_archive_open("none", "none", &unset, &database, &err));
}

static void
a_comparison_wants_their_size(void **state)
{
    (void)state;
    fixture f;
    conv_comparison head;
    q_check_answer answer;
    fixture_begin(&f);
    fixture_write(&f, FIXTURE_ROWS);
    q_database *database = fixture_open(&f);
    EXPECT_UNSET(conv_compare(&(conv_sides){0}, &(conv_compare_opts){0}, NULL,
                              &head, &err));
    EXPECT_UNSET(q_run_check(database, "check none.db", &(q_check_opts){0},
                             &answer, &err));
    q_close(database);
    fixture_end(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_of_older_and_newer_callers_are_taken),
        cmocka_unit_test(options_that_are_not_known_are_refused),
        cmocka_unit_test(a_recording_wants_their_size),
        cmocka_unit_test(a_reader_wants_their_size),
        cmocka_unit_test(a_conversion_wants_their_size),
        cmocka_unit_test(a_comparison_wants_their_size),
    };
    return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}
