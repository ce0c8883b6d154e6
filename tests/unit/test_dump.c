/*
 * test_dump.c - the dump of a made-up process, as text and JSON.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "recorder/dump.h"

typedef struct output {
    char *text;
    size_t len;
    FILE *to;
} output;

static void
begin_output(output *o)
{
    o->to = open_memstream(&o->text, &o->len);
    assert_non_null(o->to);
}

static void
expect_output(output *o, const char *want)
{
    fclose(o->to);
    assert_string_equal(o->text, want);
    free(o->text);
}

static void
emit_string(pr_sink *sink, const char *bytes, size_t len)
{
    assert_int_equal(sink->ops->string(sink, bytes, len, NULL), PR_OK);
}

/* Two threads: one in main() -> "wo\nrk" -> <native>, then the same without
 * the innermost frame; one that was never seen. */
static void
emit_process(pr_sink *sink)
{
    static const rec_target target = {
        .pid = 42, .python = {3, 14, 1}, .free_threaded = 0};
    const pr_frame frames[] = {
        {0, 1, 10, 11, 4, 9, 7, 100},
        {0, 2, 20, 20, PR_NO_LINE, PR_NO_LINE, 19, PR_NO_OPCODE},
        {3, 4, PR_NO_LINE, PR_NO_LINE, PR_NO_LINE, PR_NO_LINE, 0,
         PR_NO_OPCODE}};
    const pr_thread threads[] = {{51, 1, 0, "", 0}, {50, 0, 1, "Main\x1b", 5}};
    const uint32_t push[] = {2, 1, 0};
    const uint64_t time = 5;
    const uint8_t status = PR_MAIN_THREAD | PR_ON_CPU;
    rec_dump_set_target(sink, &target);
    emit_string(sink, "a.py", 4);
    emit_string(sink, "main", 4);
    emit_string(sink, "wo\nrk", 5);
    emit_string(sink, "~", 1);
    emit_string(sink, "<native>", 8);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(sink->ops->frame(sink, &frames[i], NULL), PR_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(sink->ops->thread(sink, &threads[i], NULL), PR_OK);
    const pr_delta whole = {1, 0, 3, 1, push, &time, &status};
    const pr_delta popped = {1, 2, 0, 1, NULL, &time, &status};
    assert_int_equal(sink->ops->delta(sink, &whole, NULL), PR_OK);
    assert_int_equal(sink->ops->delta(sink, &popped, NULL), PR_OK);
    assert_false(rec_dump_is_whole(sink));
}

static void
text_shows_the_innermost_frame_first(void **state)
{
    (void)state;
    output o;
    begin_output(&o);
    pr_sink *sink;
    assert_int_equal(rec_dump_new(o.to, false, &sink, NULL), PR_OK);
    emit_process(sink);
    assert_int_equal(sink->ops->finish(sink, NULL), PR_OK);
    expect_output(&o, "process 42: CPython 3.14.1, 2 threads\n"
                      "\n"
                      "thread 50 \"Main\\x1b\": main, on CPU\n"
                      "    wo\\nrk (a.py:20)\n"
                      "    main (a.py:10) POP_JUMP_IF_FALSE\n"
                      "\n"
                      "thread 51 of interpreter 1\n"
                      "    (its stack changed during every read)\n");
}

static void
json_has_all_that_is_known(void **state)
{
    (void)state;
    output o;
    begin_output(&o);
    pr_sink *sink;
    assert_int_equal(rec_dump_new(o.to, true, &sink, NULL), PR_OK);
    emit_process(sink);
    assert_int_equal(sink->ops->finish(sink, NULL), PR_OK);
    expect_output(
        &o,
        "{\"pid\":42,\"python\":\"3.14.1\",\"free_threaded\":false,"
        "\"threads\":[\n"
        "{\"tid\":50,\"interpreter\":0,\"name\":\"Main\\u001b\","
        "\"main_thread\":true,\"has_gil\":false,\"on_cpu\":true,"
        "\"gil_requested\":false,\"has_exception\":false,\"sampled\":true,"
        "\"frames\":[{\"function\":\"wo\\nrk\",\"file\":\"a.py\","
        "\"line\":20,\"end_line\":20},"
        "{\"function\":\"main\",\"file\":\"a.py\",\"line\":10,\"end_line\":11,"
        "\"column\":4,\"end_column\":9,\"opcode\":100,"
        "\"opcode_name\":\"POP_JUMP_IF_FALSE\"}]},\n"
        "{\"tid\":51,\"interpreter\":1,\"name\":\"\",\"main_thread\":false,"
        "\"has_gil\":false,\"on_cpu\":false,\"gil_requested\":false,"
        "\"has_exception\":false,\"sampled\":false,\"frames\":[]}]}\n");
}

static void
a_dump_that_is_given_up_writes_nothing(void **state)
{
    (void)state;
    output o;
    begin_output(&o);
    pr_sink *sink;
    assert_int_equal(rec_dump_new(o.to, true, &sink, NULL), PR_OK);
    emit_process(sink);
    sink->ops->abort(sink);
    expect_output(&o, "");
}

static void
an_output_that_is_full_is_an_error(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "w");
    pr_sink *sink;
    pr_err err = PR_ERR_INIT;
    assert_non_null(full);
    assert_int_equal(rec_dump_new(full, false, &sink, &err), PR_OK);
    emit_process(sink);
    assert_int_equal(sink->ops->finish(sink, &err), PR_IO);
    fclose(full);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_shows_the_innermost_frame_first),
        cmocka_unit_test(json_has_all_that_is_known),
        cmocka_unit_test(a_dump_that_is_given_up_writes_nothing),
        cmocka_unit_test(an_output_that_is_full_is_an_error),
    };
    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
