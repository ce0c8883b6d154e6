/*
 * test_handoff.c - the next sink sees the calls that the caller makes, in the
 * same order, whichever thread makes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "converter/input/handoff.h"

#include <base/hash.h>

/* A sink that keeps a hash of its calls. */
typedef struct witness {
    pr_sink sink;
    uint64_t hash, deltas, samples;
    uint64_t fail_at; /* fails at this delta; 0: never */
    bool finished, aborted;
} witness;

static void
note(witness *w, const void *bytes, size_t len)
{
    w->hash = pr_hash_seeded(bytes, len, w->hash);
}

static pr_code
note_string(pr_sink *sink, const char *bytes, size_t len, pr_err *err)
{
    (void)err;
    note((witness *)sink, bytes, len);
    return PR_OK;
}

static pr_code
note_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    witness *w = (witness *)sink;
    const uint32_t head[] = {delta->thread, delta->keep, delta->n_push,
                             delta->n};
    w->deltas++;
    w->samples += delta->n;
    if (w->deltas == w->fail_at)
        return PR_FAIL(err, PR_LIMIT, "no more");
    note(w, head, sizeof head);
    note(w, delta->push, delta->n_push * sizeof *delta->push);
    note(w, delta->time_us, delta->n * sizeof *delta->time_us);
    note(w, delta->status, delta->n);
    return PR_OK;
}

static pr_code
note_finish(pr_sink *sink, pr_err *err)
{
    (void)err;
    ((witness *)sink)->finished = true;
    return PR_OK;
}

static void
note_abort(pr_sink *sink)
{
    ((witness *)sink)->aborted = true;
}

static const pr_sink_ops witness_ops = {
    .string = note_string,
    .delta = note_delta,
    .finish = note_finish,
    .abort = note_abort,
};

/* Deltas and strings of an arbitrary but fixed order; now and then a delta
 * that is larger than a batch. */
static pr_code
feed(pr_sink *sink, unsigned n, pr_err *err)
{
    enum { MOST = 40000 };
    static uint32_t push[MOST];
    static uint64_t time_us[MOST];
    static uint8_t status[MOST];
    pr_code rc = PR_OK;
    for (uint64_t i = 0; i < n && rc == PR_OK; i++) {
        uint64_t chance = pr_mix64(i + 1);
        bool large = chance % 5000 == 1;
        pr_delta delta = {(uint32_t)(chance % 7),
                          (uint32_t)i,
                          large ? MOST : (uint32_t)(chance >> 8) % 40,
                          large ? 0 : (uint32_t)(chance >> 16) % 20,
                          push,
                          time_us,
                          status};
        for (uint32_t k = 0; k < delta.n_push; k++)
            push[k] = (uint32_t)i + k;
        for (uint32_t k = 0; k < delta.n; k++) {
            time_us[k] = i * 100 + k;
            status[k] = (uint8_t)(i + k);
        }
        rc = pr_sink_delta(sink, &delta, err);
        if (rc == PR_OK && chance % 1000 == 2)
            rc = pr_sink_string(sink, (const char *)&i, sizeof i, err);
    }
    return rc;
}

static witness
direct(unsigned n)
{
    witness w = {.sink = {&witness_ops, NULL}};
    assert_int_equal(feed(&w.sink, n, NULL), PR_OK);
    return w;
}

static void
the_next_sink_sees_the_same_calls(void **state)
{
    (void)state;
    const unsigned counts[] = {0, 1, 100, 30000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        witness want = direct(counts[i]), got = {{&witness_ops, NULL}};
        pr_sink *sink;
        assert_int_equal(conv_handoff_new(&got.sink, &sink, NULL), PR_OK);
        assert_int_equal(feed(sink, counts[i], NULL), PR_OK);
        assert_int_equal(sink->ops->finish(sink, NULL), PR_OK);
        assert_true(got.finished && !got.aborted);
        assert_int_equal(got.samples, want.samples);
        assert_int_equal(got.hash, want.hash);
    }
}

/* The failure is that of the sink, whichever call returns it. */
static void
a_failure_comes_back_and_ends_the_next_sink(void **state)
{
    (void)state;
    const unsigned places[] = {1, 10, 2500, 9000, 20000};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        witness got = {{&witness_ops, NULL}, .fail_at = places[i]};
        pr_sink *sink;
        pr_err err = PR_ERR_INIT;
        assert_int_equal(conv_handoff_new(&got.sink, &sink, NULL), PR_OK);
        pr_code rc = feed(sink, 20000, &err);
        if (rc == PR_OK)
            rc = sink->ops->finish(sink, &err);
        else
            sink->ops->abort(sink);
        assert_int_equal(rc, PR_LIMIT);
        assert_string_equal(err.what, "no more");
        assert_int_equal(got.deltas, places[i]);
        assert_true(got.aborted && !got.finished);
    }
}

static void
an_aborted_handoff_aborts_the_next_sink(void **state)
{
    (void)state;
    const unsigned counts[] = {0, 10, 20000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        witness got = {{&witness_ops, NULL}};
        pr_sink *sink;
        assert_int_equal(conv_handoff_new(&got.sink, &sink, NULL), PR_OK);
        assert_int_equal(feed(sink, counts[i], NULL), PR_OK);
        sink->ops->abort(sink);
        assert_true(got.aborted && !got.finished);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_next_sink_sees_the_same_calls),
        cmocka_unit_test(a_failure_comes_back_and_ends_the_next_sink),
        cmocka_unit_test(an_aborted_handoff_aborts_the_next_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
