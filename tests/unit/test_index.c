/*
 * test_index.c - order, first occurrences and totals against brute force on
 * random recursive trees.  The seed is printed; argument 1 sets it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "converter/model/index.h"

enum { FUNCTIONS = 6, LINES = 2, DEPTH = 12, SAMPLES = 300, ROUNDS = 50 };

static unsigned seed;

typedef struct sample {
    uint32_t frame[DEPTH]; /* outermost first */
    uint32_t depth;
    uint32_t thread;
} sample;

static uint32_t
below(uint32_t n)
{
    return (uint32_t)rand() % n;
}

/* Frame i is line i % LINES of function i / LINES. */
static void
emit_frames(pr_sink *sink)
{
    for (uint32_t i = 0; i < FUNCTIONS; i++) {
        char name[2] = {(char)('a' + i), 0};
        assert_int_equal(PR_SINK_CALL(sink, string, name, 1, NULL), PR_OK);
    }
    for (uint32_t i = 0; i < FUNCTIONS * LINES; i++) {
        const pr_frame frame = {
            .file = 0, .func = i / LINES, .line = (int32_t)(i % LINES) + 1};
        assert_int_equal(PR_SINK_CALL(sink, frame, &frame, NULL), PR_OK);
    }
    for (uint64_t i = 0; i < 2; i++) {
        const pr_thread thread = {i, 0, 0, "", 0};
        assert_int_equal(PR_SINK_CALL(sink, thread, &thread, NULL), PR_OK);
    }
}

static void
emit_sample(pr_sink *sink, const sample *s, uint64_t time)
{
    uint32_t push[DEPTH];
    for (uint32_t i = 0; i < s->depth; i++)
        push[i] = s->frame[s->depth - 1 - i];
    const uint8_t status = 0;
    const pr_delta delta = {s->thread, 0, s->depth, 1, push, &time, &status};
    assert_int_equal(PR_SINK_CALL(sink, delta, &delta, NULL), PR_OK);
}

static conv_model *
make_model(sample *samples)
{
    const conv_model_opts opts = {.time = CONV_TIME_SAMPLES};
    const pr_start start = {.interval_us = 1};
    conv_model *model;
    assert_int_equal(conv_model_new(&opts, &model, NULL), PR_OK);
    pr_sink *sink = conv_model_sink(model);
    assert_int_equal(PR_SINK_CALL(sink, start, &start, NULL), PR_OK);
    emit_frames(sink);
    for (uint64_t i = 0; i < SAMPLES; i++) {
        sample *s = &samples[i];
        s->depth = below(DEPTH + 1);
        s->thread = below(2);
        for (uint32_t d = 0; d < s->depth; d++)
            s->frame[d] = below(FUNCTIONS * LINES);
        if (i && below(2)) { /* share a part with the one before */
            uint32_t shared = below(samples[i - 1].depth + 1);
            memcpy(s->frame, samples[i - 1].frame,
                   sizeof *s->frame * (shared < s->depth ? shared : s->depth));
        }
        emit_sample(sink, s, i);
    }
    assert_int_equal(sink->ops->finish(sink, NULL), PR_OK);
    return model;
}

static uint32_t
unit_of(uint32_t frame, conv_unit kind)
{
    return kind == CONV_UNIT_FRAME ? frame : frame / LINES;
}

static bool
holds_edge(const sample *s, conv_unit kind, conv_edge_key edge, uint32_t *every)
{
    *every = 0;
    for (uint32_t d = 1; d < s->depth; d++)
        *every += unit_of(s->frame[d - 1], kind) == edge.caller &&
                  unit_of(s->frame[d], kind) == edge.callee;
    return *every > 0;
}

static void
check_units(const sample *samples, conv_unit kind, const conv_totals *totals)
{
    for (uint32_t u = 0; u < totals->n; u++) {
        uint64_t self = 0, total = 0;
        for (size_t i = 0; i < SAMPLES; i++) {
            const sample *s = &samples[i];
            bool found = false;
            for (uint32_t d = 0; d < s->depth; d++)
                found = found || unit_of(s->frame[d], kind) == u;
            total += found;
            self += s->depth && unit_of(s->frame[s->depth - 1], kind) == u;
        }
        assert_int_equal(totals->self[u].n, self);
        assert_int_equal(totals->total[u].n, total);
        assert_int_equal(totals->total[u].weight_us, total);
    }
}

static void
check_edges(const sample *samples, conv_unit kind, const conv_totals *totals)
{
    for (size_t e = 0; e < totals->edges.n; e++) {
        conv_edge_key edge = conv_totals_edge(totals, e);
        uint64_t self = 0, total = 0, all = 0;
        for (size_t i = 0; i < SAMPLES; i++) {
            const sample *s = &samples[i];
            uint32_t every;
            total += holds_edge(s, kind, edge, &every);
            all += every;
            self += s->depth > 1 &&
                    unit_of(s->frame[s->depth - 1], kind) == edge.callee &&
                    unit_of(s->frame[s->depth - 2], kind) == edge.caller;
        }
        assert_int_equal(totals->edge[e].self.n, self);
        assert_int_equal(totals->edge[e].total.n, total);
        assert_int_equal(totals->edge[e].every.n, all);
    }
}

static void
totals_count_each_sample_once_whatever_recurses(void **state)
{
    (void)state;
    static sample samples[SAMPLES];
    for (int round = 0; round < ROUNDS; round++) {
        conv_model *model = make_model(samples);
        conv_index index;
        assert_int_equal(conv_index_build(model, &index, NULL), PR_OK);
        for (conv_unit kind = CONV_UNIT_FUNCTION; kind <= CONV_UNIT_FRAME;
             kind++) {
            conv_totals totals;
            assert_int_equal(
                conv_totals_build(model, &index, kind, &totals, NULL), PR_OK);
            check_units(samples, kind, &totals);
            check_edges(samples, kind, &totals);
            conv_totals_release(&totals);
        }
        conv_index_release(&index);
        conv_model_free(model);
    }
}

static void
positions_are_the_order_of_a_walk(void **state)
{
    (void)state;
    static sample samples[SAMPLES];
    for (int round = 0; round < ROUNDS; round++) {
        conv_model *model = make_model(samples);
        conv_index index;
        assert_int_equal(conv_index_build(model, &index, NULL), PR_OK);
        for (uint32_t p = 1; p < index.n; p++) {
            uint32_t parent = index.parent[p];
            assert_int_equal(index.position[index.node[p]], p);
            assert_true(parent < p);
            assert_true(p <= index.last[parent]);
            assert_true(index.last[p] <= index.last[parent]);
            assert_int_equal(index.depth[p], index.depth[parent] + 1);
            /* the next one is a child, or begins where a subtree ends */
            if (p + 1 < index.n)
                assert_true(index.parent[p + 1] == p || index.last[p] == p);
        }
        assert_int_equal(index.last[0], index.n - 1);
        conv_index_release(&index);
        conv_model_free(model);
    }
}

static bool
ancestor_has(const conv_model *model, const conv_index *index, uint32_t p,
             bool (*same)(const conv_model *, const conv_index *, uint32_t,
                          uint32_t))
{
    for (uint32_t a = index->parent[p]; a; a = index->parent[a])
        if (same(model, index, a, p))
            return true;
    return false;
}

static const conv_frame *
frame_at(const conv_model *model, const conv_index *index, uint32_t p)
{
    return conv_model_frame(model, model->nodes[index->node[p]].frame);
}

static bool
same_function(const conv_model *model, const conv_index *index, uint32_t a,
              uint32_t b)
{
    return frame_at(model, index, a)->function ==
           frame_at(model, index, b)->function;
}

static bool
same_line(const conv_model *model, const conv_index *index, uint32_t a,
          uint32_t b)
{
    return same_function(model, index, a, b) &&
           frame_at(model, index, a)->line == frame_at(model, index, b)->line;
}

static bool
same_edge(const conv_model *model, const conv_index *index, uint32_t a,
          uint32_t b)
{
    uint32_t pa = index->parent[a], pb = index->parent[b];
    return pa && pb && same_function(model, index, a, b) &&
           same_function(model, index, pa, pb);
}

static void
a_node_is_first_if_no_ancestor_has_its_function(void **state)
{
    (void)state;
    static sample samples[SAMPLES];
    for (int round = 0; round < ROUNDS; round++) {
        conv_model *model = make_model(samples);
        conv_index index;
        assert_int_equal(conv_index_build(model, &index, NULL), PR_OK);
        for (uint32_t p = 1; p < index.n; p++) {
            uint8_t want = 0;
            if (!ancestor_has(model, &index, p, same_function))
                want |= CONV_FIRST_FUNCTION;
            if (!ancestor_has(model, &index, p, same_line))
                want |= CONV_FIRST_LINE;
            if (index.parent[p] && !ancestor_has(model, &index, p, same_edge))
                want |= CONV_FIRST_EDGE;
            assert_int_equal(index.first[p], want);
        }
        conv_index_release(&index);
        conv_model_free(model);
    }
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_the_order_of_a_walk),
        cmocka_unit_test(a_node_is_first_if_no_ancestor_has_its_function),
        cmocka_unit_test(totals_count_each_sample_once_whatever_recurses),
    };
    seed =
        argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : (unsigned)time(NULL);
    printf("# seed %u\n", seed);
    srand(seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
