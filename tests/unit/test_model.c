/*
 * test_model.c - names, the tree, runs and their weights; the sinks in front.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "converter/filter/chain.h"
#include "converter/input/merge.h"
#include "converter/model/model.h"

static pr_err error;

static pr_sink *
new_model(conv_model_opts opts, conv_model **model)
{
    error = (pr_err)PR_ERR_INIT;
    assert_int_equal(conv_model_new(&opts, model, &error), PR_OK);
    return conv_model_sink(*model);
}

static void
emit_start(pr_sink *sink, pr_mode mode, uint64_t start_us)
{
    const pr_start start = {.start_us = start_us,
                            .interval_us = 1000,
                            .python = {3, 13, 1},
                            .mode = mode};
    assert_int_equal(PR_SINK_CALL(sink, start, &start, &error), PR_OK);
}

static void
emit_string(pr_sink *sink, const char *text)
{
    assert_int_equal(PR_SINK_CALL(sink, string, text, strlen(text), &error),
                     PR_OK);
}

static void
emit_frame(pr_sink *sink, uint32_t file, uint32_t func, int32_t line,
           int32_t first_line)
{
    const pr_frame frame = {file, func, line,       line,
                            0,    9,    first_line, PR_NO_OPCODE};
    assert_int_equal(PR_SINK_CALL(sink, frame, &frame, &error), PR_OK);
}

static void
emit_thread(pr_sink *sink, uint64_t tid)
{
    const pr_thread thread = {tid, 0, 0, "", 0};
    assert_int_equal(PR_SINK_CALL(sink, thread, &thread, &error), PR_OK);
}

/* One sample. */
static pr_code
emit(pr_sink *sink, uint32_t thread, uint32_t keep, const uint32_t *push,
     uint32_t n_push, uint64_t time, uint8_t status)
{
    const pr_delta delta = {thread, keep, n_push, 1, push, &time, &status};
    return PR_SINK_CALL(sink, delta, &delta, &error);
}

/* Two files with a function each on two lines, one thread. */
static void
emit_names(pr_sink *sink)
{
    emit_string(sink, "/a.py");
    emit_string(sink, "f");
    emit_string(sink, "/b.py");
    emit_string(sink, "g");
    emit_frame(sink, 0, 1, 11, 10);
    emit_frame(sink, 0, 1, 12, 10);
    emit_frame(sink, 2, 3, 21, 20);
    emit_frame(sink, 2, 3, 22, 20);
    emit_thread(sink, 7);
}

static size_t
read_runs(const conv_thread *thread, conv_model_run *run, size_t most)
{
    conv_cursor cursor;
    size_t n = 0;
    conv_cursor_init(&cursor, thread);
    while (n < most && conv_cursor_next(&cursor, &run[n]))
        n++;
    return n;
}

static void
equal_stacks_are_one_node_and_one_run(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink = new_model((conv_model_opts){0}, &model);
    emit_start(sink, PR_MODE_WALL, 0);
    emit_names(sink);
    const uint32_t f_g[] = {2, 0}, g[] = {3}, again[] = {2};
    assert_int_equal(emit(sink, 0, 0, f_g, 2, 100, 1), PR_OK);
    assert_int_equal(emit(sink, 0, 2, NULL, 0, 1100, 1), PR_OK);
    assert_int_equal(emit(sink, 0, 1, g, 1, 2100, 1), PR_OK);
    assert_int_equal(emit(sink, 0, 1, again, 1, 3100, 1), PR_OK);
    assert_int_equal(emit(sink, 0, 2, NULL, 0, 4100, 3), PR_OK);
    assert_int_equal(sink->ops->finish(sink, &error), PR_OK);

    conv_model_run run[8];
    assert_int_equal(model->n_nodes, 4); /* empty, f, f;g, f;g' */
    assert_int_equal(read_runs(&model->threads[0], run, 8), 4);
    assert_int_equal(run[0].n, 2);
    assert_int_equal(run[0].first_us, 100);
    assert_int_equal(run[0].last_us, 1100);
    assert_int_equal(run[0].node, run[2].node);
    assert_int_equal(run[2].node, run[3].node);
    assert_int_equal(run[2].status, 1);
    assert_int_equal(run[3].status, 3);
    assert_int_equal(model->samples, 5);
    conv_model_free(model);
}

static void
at_the_level_of_functions_lines_do_not_part_stacks(void **state)
{
    (void)state;
    const conv_level levels[] = {CONV_LEVEL_FUNCTION, CONV_LEVEL_LINE};
    const size_t nodes[] = {3, 4};
    for (size_t i = 0; i < 2; i++) {
        conv_model *model;
        pr_sink *sink =
            new_model((conv_model_opts){.level = levels[i]}, &model);
        emit_start(sink, PR_MODE_WALL, 0);
        emit_names(sink);
        const uint32_t f_g[] = {2, 0}, g[] = {3};
        emit(sink, 0, 0, f_g, 2, 100, 1);
        emit(sink, 0, 1, g, 1, 1100, 1);
        assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
        assert_int_equal(model->n_nodes, nodes[i]);
        assert_int_equal(conv_model_line_of(model, 1), 20);
        conv_model_free(model);
    }
}

static void
a_sample_weighs_up_to_the_next_but_two_intervals_at_most(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink =
        new_model((conv_model_opts){.time = CONV_TIME_REAL}, &model);
    emit_start(sink, PR_MODE_WALL, 0);
    emit_names(sink);
    const uint32_t f[] = {0}, g[] = {2};
    emit(sink, 0, 0, f, 1, 0, 0);
    emit(sink, 0, 0, g, 1, 700, 0);  /* f: 700 */
    emit(sink, 0, 0, f, 1, 9700, 0); /* g: 2000, 7000 not seen */
    assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
    conv_model_run run[4];
    assert_int_equal(read_runs(&model->threads[0], run, 4), 3);
    assert_int_equal(run[0].weight_us, 700);
    assert_int_equal(run[1].weight_us, 2000);
    assert_int_equal(run[2].weight_us, 1000); /* the last: one interval */
    assert_int_equal(model->unobserved_us, 7000);
    assert_int_equal(model->threads[0].end_us, 10700);
    conv_model_free(model);
}

static void
a_gap_after_the_last_sample_was_not_observed(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink =
        new_model((conv_model_opts){.time = CONV_TIME_REAL}, &model);
    emit_start(sink, PR_MODE_WALL, 0);
    emit_names(sink);
    emit_thread(sink, 8);
    const uint32_t f[] = {0};
    const pr_mark marks[] = {{PR_MARK_GAP, 100, 200, "early", 5, 0},
                             {PR_MARK_GAP, 5000, 9000, "last", 4, 0},
                             {PR_MARK_EXEC, 5000, 99000, "no gap", 6, 0}};
    emit(sink, 0, 0, f, 1, 1000, 0);
    emit(sink, 1, 0, f, 1, 4500, 0);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        assert_int_equal(sink->ops->mark(sink, &marks[i], &error), PR_OK);
    assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
    assert_int_equal(model->threads[0].unobserved_us, 0); /* it had ended */
    assert_int_equal(model->threads[1].end_us, 5500);
    assert_int_equal(model->threads[1].unobserved_us, 3500);
    assert_int_equal(model->unobserved_us, 3500);
    conv_model_free(model);
}

static void
in_filtered_modes_each_sample_weighs_one_interval(void **state)
{
    (void)state;
    const pr_mode modes[] = {PR_MODE_CPU, PR_MODE_GIL, PR_MODE_EXCEPTION};
    for (size_t i = 0; i < 3; i++) {
        conv_model *model;
        pr_sink *sink =
            new_model((conv_model_opts){.time = CONV_TIME_REAL}, &model);
        emit_start(sink, modes[i], 0);
        emit_names(sink);
        const uint32_t f[] = {0};
        emit(sink, 0, 0, f, 1, 0, 0);
        emit(sink, 0, 1, NULL, 0, 50000, 0);
        assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
        assert_int_equal(model->weight_us, 2000);
        assert_int_equal(model->unobserved_us, 0);
        conv_model_free(model);
    }
}

static void
names_emitted_twice_are_one(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink = new_model((conv_model_opts){0}, &model);
    emit_start(sink, PR_MODE_WALL, 0);
    emit_names(sink);
    emit_string(sink, "/a.py");
    emit_string(sink, "f");
    emit_frame(sink, 4, 5, 11, 10);
    const uint32_t one[] = {0}, two[] = {4};
    emit(sink, 0, 0, one, 1, 0, 0);
    emit(sink, 0, 0, two, 1, 1000, 0);
    assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
    assert_int_equal(model->strings.n, 5);
    assert_int_equal(model->functions.n, 2);
    assert_int_equal(model->n_nodes, 2);
    conv_model_free(model);
}

static void
a_function_is_known_by_path_name_and_first_line(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink = new_model((conv_model_opts){0}, &model);
    emit_names(sink);
    emit_frame(sink, 0, 1, 31, 30); /* another f in /a.py */
    assert_int_equal(model->functions.n, 3);
    assert_true(conv_model_function_hash(model, 0) !=
                conv_model_function_hash(model, 2));
    assert_true(conv_model_function_hash(model, 0) !=
                conv_model_function_hash(model, 1));
    sink->ops->abort(sink);
    conv_model_free(model);
}

static void
an_unknown_id_is_refused(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink = new_model((conv_model_opts){0}, &model);
    emit_start(sink, PR_MODE_WALL, 0);
    emit_names(sink);
    const uint32_t unknown[] = {99}, f[] = {0};
    assert_int_equal(emit(sink, 0, 0, unknown, 1, 0, 0), PR_INTERNAL);
    assert_int_equal(emit(sink, 5, 0, f, 1, 0, 0), PR_INTERNAL);
    assert_int_equal(emit(sink, 0, 3, f, 1, 0, 0), PR_INTERNAL);
    assert_int_equal(emit(sink, 0, 0, f, 1, 5, 0), PR_OK);
    assert_int_equal(emit(sink, 0, 1, NULL, 0, 4, 0), PR_INTERNAL);
    sink->ops->abort(sink);
    conv_model_free(model);
}

static void
long_and_far_runs_survive_the_log(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink = new_model((conv_model_opts){0}, &model);
    emit_start(sink, PR_MODE_WALL, 0);
    emit_names(sink);
    const uint32_t f[] = {0};
    emit(sink, 0, 0, f, 1, 1, 255);
    emit(sink, 0, 1, NULL, 0, UINT64_MAX - 5, 0);
    assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
    conv_model_run run[3];
    assert_int_equal(read_runs(&model->threads[0], run, 3), 2);
    assert_int_equal(run[0].status, 255);
    assert_true(run[1].first_us == UINT64_MAX - 5);
    conv_model_free(model);
}

/* ---- filter ---- */

static void
hidden_frames_are_cut_out_of_any_stack(void **state)
{
    (void)state;
    conv_model *model;
    pr_sink *sink, *end = new_model((conv_model_opts){0}, &model);
    const conv_filters all = {0};
    conv_filtered filtered;
    assert_int_equal(
        conv_filters_open(&all, 0, false, NULL, &filtered, end, &sink, &error),
        PR_OK);
    emit_start(sink, PR_MODE_WALL, 0);
    emit_names(sink);
    const uint32_t f[] = {0};
    emit(sink, 0, 0, f, 1, 0, 0); /* before anything is hidden */
    emit_string(sink, "/x/_sync_coordinator.py");
    emit_frame(sink, 4, 1, 5, 1); /* frame 4 */
    const uint32_t hidden[] = {4}, g_hidden_f[] = {2, 4, 0}, g2[] = {3};
    emit(sink, 0, 1, hidden, 1, 1000, 0);     /* f */
    emit(sink, 0, 0, g_hidden_f, 3, 2000, 0); /* f;g */
    emit(sink, 0, 2, g2, 1, 3000, 0);         /* f;g' */
    emit(sink, 0, 2, NULL, 0, 4000, 0);       /* f */
    assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
    conv_model_run run[8];
    assert_int_equal(read_runs(&model->threads[0], run, 8), 4);
    assert_int_equal(run[0].n, 2);
    assert_int_equal(run[3].node, run[0].node);
    assert_int_equal(model->nodes[run[1].node].parent, run[0].node);
    assert_int_equal(model->nodes[run[2].node].parent, run[0].node);
    assert_int_not_equal(run[1].node, run[2].node);
    conv_model_free(model);
}

/* ---- merge ---- */

static void
profiles_of_one_process_lie_after_each_other(void **state)
{
    (void)state;
    conv_model *model;
    conv_merge *merge;
    pr_sink *end = new_model((conv_model_opts){0}, &model);
    assert_int_equal(conv_merge_new(end, false, true, &merge, &error), PR_OK);
    pr_sink *sink = conv_merge_sink(merge);
    const uint32_t f[] = {0};
    const pr_count count = {0, PR_COUNT_PROVEN, 3};
    for (uint32_t i = 0; i < 2; i++) {
        conv_merge_next(merge, i * 5000ull, 0, false);
        emit_start(sink, PR_MODE_WALL, i * 5000ull);
        if (i == 1)
            emit_string(sink, "/other.py"); /* other ids this time */
        emit_names(sink);
        if (i == 1)
            emit_frame(sink, 1, 2, 11, 10);
        const uint32_t same[] = {4};
        emit(sink, 0, 0, i ? same : f, 1, 100, 0);
        PR_SINK_CALL(sink, count, &count, &error);
    }
    assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
    conv_model_run run[4];
    assert_int_equal(model->n_threads, 1);
    assert_int_equal(read_runs(&model->threads[0], run, 4), 1);
    assert_int_equal(run[0].first_us, 100);
    assert_int_equal(run[0].last_us, 5100);
    assert_int_equal(model->threads[0].counts.value[PR_COUNT_PROVEN], 6);
    conv_model_free(model);
}

static void
profiles_that_overlap_or_differ_are_not_merged(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        conv_model *model;
        conv_merge *merge;
        pr_sink *end = new_model((conv_model_opts){0}, &model);
        assert_int_equal(conv_merge_new(end, false, true, &merge, &error),
                         PR_OK);
        pr_sink *sink = conv_merge_sink(merge);
        const uint32_t f[] = {0};
        conv_merge_next(merge, 0, 0, false);
        emit_start(sink, PR_MODE_WALL, 0);
        emit_names(sink);
        assert_int_equal(emit(sink, 0, 0, f, 1, 9000, 0), PR_OK);
        const pr_start start = {.interval_us = 1000,
                                .mode = how ? PR_MODE_WALL : PR_MODE_CPU};
        const pr_thread thread = {7, 0, 0, "", 0};
        conv_merge_next(merge, 100, how == 2, false);
        pr_code rc = PR_SINK_CALL(sink, start, &start, &error);
        if (how > 0) {
            assert_int_equal(rc, PR_OK);
            rc = PR_SINK_CALL(sink, thread, &thread, &error);
        }
        if (how == 1) {
            assert_int_equal(rc, PR_OK);
            rc = emit(sink, 0, 0, NULL, 0, 1, 0);
        }
        assert_int_equal(rc, PR_INCOMPARABLE);
        sink->ops->abort(sink);
        conv_model_free(model);
    }
}

/* Two threads whose samples lie as far apart as times go. */
static void
no_sum_of_times_overflows(void **state)
{
    (void)state;
    const conv_time times[] = {CONV_TIME_REAL, CONV_TIME_NOMINAL};
    for (size_t i = 0; i < 2; i++) {
        conv_model *model;
        pr_sink *sink = new_model((conv_model_opts){.time = times[i]}, &model);
        const pr_start start = {.interval_us = UINT64_MAX / 2 + 7,
                                .mode = PR_MODE_WALL};
        assert_int_equal(PR_SINK_CALL(sink, start, &start, &error), PR_OK);
        emit_names(sink);
        emit_thread(sink, 2);
        const uint32_t f[] = {0};
        for (uint32_t thread = 0; thread < 2; thread++) {
            emit(sink, thread, 0, f, 1, 0, 0);
            emit(sink, thread, 1, NULL, 0, UINT64_MAX / 2 + 1, 0);
            emit(sink, thread, 1, NULL, 0, UINT64_MAX, 0);
        }
        assert_int_equal(sink->ops->finish(sink, &error), PR_OK);
        assert_int_equal(model->weight_us, INT64_MAX);
        assert_int_equal(model->threads[0].weight_us, INT64_MAX);
        assert_int_equal(model->threads[1].weight_us, 0);
        conv_model_free(model);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_stacks_are_one_node_and_one_run),
        cmocka_unit_test(at_the_level_of_functions_lines_do_not_part_stacks),
        cmocka_unit_test(
            a_sample_weighs_up_to_the_next_but_two_intervals_at_most),
        cmocka_unit_test(no_sum_of_times_overflows),
        cmocka_unit_test(a_gap_after_the_last_sample_was_not_observed),
        cmocka_unit_test(in_filtered_modes_each_sample_weighs_one_interval),
        cmocka_unit_test(names_emitted_twice_are_one),
        cmocka_unit_test(a_function_is_known_by_path_name_and_first_line),
        cmocka_unit_test(an_unknown_id_is_refused),
        cmocka_unit_test(long_and_far_runs_survive_the_log),
        cmocka_unit_test(hidden_frames_are_cut_out_of_any_stack),
        cmocka_unit_test(profiles_of_one_process_lie_after_each_other),
        cmocka_unit_test(profiles_that_overlap_or_differ_are_not_merged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
