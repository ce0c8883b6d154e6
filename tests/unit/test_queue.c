/*
 * test_queue.c - each call that enters the queue leaves it once and in order.
 */
#include <base/hash.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "recorder/queue.h"

/* A sink that hashes its calls; two with equal hashes got the same calls in
 * the same order. */
typedef struct listener {
    pr_sink sink;
    uint64_t hash;
    uint64_t deltas, samples, ticks;
    uint64_t fail_after; /* deltas; 0: never */
    bool *finished, *aborted;
    struct listener *into; /* gets a copy at the end */
} listener;

static void
hear(listener *l, const void *bytes, size_t n)
{
    if (n)
        l->hash = pr_hash_seeded(bytes, n, l->hash + n);
}

static pr_code
hear_string(pr_sink *s, const char *bytes, size_t len, pr_err *err)
{
    (void)err;
    hear((listener *)s, bytes, len);
    return PR_OK;
}

static pr_code
hear_meta(pr_sink *s, const char *key, const char *value, size_t len,
          pr_err *err)
{
    (void)err;
    hear((listener *)s, key, strlen(key));
    hear((listener *)s, value, len);
    return PR_OK;
}

static pr_code
hear_thread(pr_sink *s, const pr_thread *t, pr_err *err)
{
    (void)err;
    hear((listener *)s, &t->tid, sizeof t->tid);
    hear((listener *)s, t->name, t->name_len);
    return PR_OK;
}

static pr_code
hear_mark(pr_sink *s, const pr_mark *m, pr_err *err)
{
    (void)err;
    hear((listener *)s, &m->time_us, sizeof m->time_us);
    hear((listener *)s, m->text, m->text_len);
    return PR_OK;
}

static pr_code
hear_task(pr_sink *s, const pr_task *t, pr_err *err)
{
    (void)err;
    hear((listener *)s, &t->key, sizeof t->key);
    hear((listener *)s, t->name, t->name_len);
    hear((listener *)s, t->parent, t->n_parents * sizeof *t->parent);
    return PR_OK;
}

static pr_code
hear_delta(pr_sink *s, const pr_delta *d, pr_err *err)
{
    listener *l = (listener *)s;
    if (l->fail_after && l->deltas == l->fail_after)
        return PR_FAIL(err, PR_IO, "no space");
    uint32_t head[4] = {d->thread, d->keep, d->n_push, d->n};
    hear(l, head, sizeof head);
    hear(l, d->push, d->n_push * sizeof *d->push);
    hear(l, d->time_us, d->n * sizeof *d->time_us);
    hear(l, d->status, d->n);
    l->deltas++;
    l->samples += d->n;
    return PR_OK;
}

static void
leave(listener *l, bool *how)
{
    if (l->into)
        *l->into = *l;
    *how = true;
    free(l);
}

static pr_code
hear_finish(pr_sink *s, pr_err *err)
{
    (void)err;
    leave((listener *)s, ((listener *)s)->finished);
    return PR_OK;
}

static void
hear_abort(pr_sink *s)
{
    leave((listener *)s, ((listener *)s)->aborted);
}

static const pr_sink_ops listener_ops = {.meta = hear_meta,
                                         .string = hear_string,
                                         .thread = hear_thread,
                                         .delta = hear_delta,
                                         .task = hear_task,
                                         .mark = hear_mark,
                                         .finish = hear_finish,
                                         .abort = hear_abort};

static pr_code
hear_tick(pr_sink *s, uint64_t now_us, pr_err *err)
{
    (void)err;
    ((listener *)s)->ticks++;
    hear((listener *)s, &now_us, sizeof now_us);
    return PR_OK;
}

static listener *
new_listener(listener *into, bool *finished, bool *aborted)
{
    listener *l = calloc(1, sizeof *l);
    assert_non_null(l);
    l->sink.ops = &listener_ops;
    l->into = into;
    l->finished = finished;
    l->aborted = aborted;
    return l;
}

/* One of all kinds of call, with lengths and values of a seed. */
static pr_code
emit_something(pr_sink *sink, unsigned *seed, bool queued)
{
    static char text[5000];
    static uint32_t push[600];
    static uint64_t times[300];
    static uint8_t status[300];
    pr_err err = PR_ERR_INIT;
    size_t len = (size_t)rand_r(seed) % sizeof text;
    memset(text, rand_r(seed), len);
    switch (rand_r(seed) % 8) {
    case 0:
        return PR_SINK_CALL(sink, string, text, len, &err);
    case 1:
        return PR_SINK_CALL(sink, meta, "some.key", text, len, &err);
    case 2: {
        pr_thread t = {(uint64_t)rand_r(seed), 0, 1, text, len % 100};
        return PR_SINK_CALL(sink, thread, &t, &err);
    }
    case 3: {
        pr_mark m = {PR_MARK_USER, len, len, text, len};
        return PR_SINK_CALL(sink, mark, &m, &err);
    }
    case 4: {
        uint64_t parent[3] = {1, 2, len};
        pr_task t = {len, 7, 0, text, len, parent, (uint32_t)(len % 4)};
        return PR_SINK_CALL(sink, task, &t, &err);
    }
    case 5:
        return queued ? rec_queue_tick(sink, len, &err)
                      : hear_tick(sink, len, &err);
    default:
        break;
    }
    uint32_t n = 1 + (uint32_t)rand_r(seed) % 300;
    uint32_t n_push = (uint32_t)rand_r(seed) % 600;
    uint64_t now = (uint64_t)rand_r(seed);
    for (uint32_t i = 0; i < n; i++) {
        now += rand_r(seed) % 4 ? 1000 : (uint64_t)(rand_r(seed) % 2000);
        times[i] = now;
        status[i] = (uint8_t)(rand_r(seed) % 9 == 0);
    }
    for (uint32_t i = 0; i < n_push; i++)
        push[i] = (uint32_t)rand_r(seed);
    pr_delta d = {(uint32_t)len % 5, 3, n_push, n, push, times, status};
    return PR_SINK_CALL(sink, delta, &d, &err);
}

static void
all_calls_come_out_as_they_went_in(void **state)
{
    (void)state;
    unsigned seed = 20261130, again = seed;
    printf("seed %u\n", seed);
    bool finished = false, aborted = false, plain_end = false;
    listener heard = {0}, plain = {0};
    pr_sink *queue, *direct = &new_listener(&plain, &plain_end, &aborted)->sink;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_queue_new(1, &queue, &err), PR_OK);
    assert_int_equal(
        rec_queue_start(queue, &new_listener(&heard, &finished, &aborted)->sink,
                        hear_tick, &err),
        PR_OK);
    for (int i = 0; i < 20000; i++) { /* many times the ring */
        assert_int_equal(emit_something(queue, &seed, true), PR_OK);
        assert_int_equal(emit_something(direct, &again, false), PR_OK);
    }
    assert_int_equal(queue->ops->finish(queue, &err), PR_OK);
    assert_int_equal(direct->ops->finish(direct, &err), PR_OK);
    assert_true(finished);
    assert_false(aborted);
    assert_true(heard.samples > 100000 && heard.ticks > 1000);
    assert_int_equal(heard.samples, plain.samples);
    assert_true(heard.hash == plain.hash);
}

static void
a_queue_says_how_much_room_it_has(void **state)
{
    (void)state;
    pr_sink *queue;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_queue_new(100000, &queue, &err), PR_OK);
    assert_int_equal(rec_queue_size(queue), 131072);
    assert_int_equal(rec_queue_free(queue), 131072);
    char text[1000] = "";
    assert_int_equal(PR_SINK_CALL(queue, string, text, sizeof text, &err),
                     PR_OK);
    size_t used = 131072 - rec_queue_free(queue);
    assert_true(used >= 1000 && used < 1100);
    /* without an encoder it must fail, not wait for ever */
    pr_code code = PR_OK;
    for (int i = 0; i < 200 && code == PR_OK; i++)
        code = PR_SINK_CALL(queue, string, text, sizeof text, &err);
    assert_int_equal(code, PR_LIMIT);
    queue->ops->abort(queue);
}

static void
the_first_failure_reaches_the_producer_and_the_end(void **state)
{
    (void)state;
    bool finished = false, aborted = false;
    pr_sink *queue;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_queue_new(1, &queue, &err), PR_OK);
    listener *l = new_listener(NULL, &finished, &aborted);
    l->fail_after = 10;
    assert_int_equal(rec_queue_start(queue, &l->sink, NULL, &err), PR_OK);
    uint64_t time = 0;
    uint8_t status = 0;
    pr_delta d = {0, 0, 0, 1, NULL, &time, &status};
    pr_code code = PR_OK;
    while (code == PR_OK) /* a full ring makes the encoder run */
        code = PR_SINK_CALL(queue, delta, &d, &err);
    assert_int_equal(code, PR_IO);
    pr_err_clear(&err);
    assert_int_equal(queue->ops->finish(queue, &err), PR_IO);
    assert_string_equal(err.what, "no space");
    assert_true(aborted);
    assert_false(finished);
}

static void
abort_reaches_the_output_after_all_earlier_calls(void **state)
{
    (void)state;
    bool finished = false, aborted = false;
    listener heard = {0};
    pr_sink *queue;
    pr_err err = PR_ERR_INIT;
    assert_int_equal(rec_queue_new(1, &queue, &err), PR_OK);
    assert_int_equal(
        rec_queue_start(queue, &new_listener(&heard, &finished, &aborted)->sink,
                        NULL, &err),
        PR_OK);
    uint64_t time[3] = {1, 2, 3};
    uint8_t status[3] = {0};
    pr_delta d = {0, 0, 0, 3, NULL, time, status};
    assert_int_equal(PR_SINK_CALL(queue, delta, &d, &err), PR_OK);
    queue->ops->abort(queue);
    assert_true(aborted);
    assert_int_equal(heard.samples, 3);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_calls_come_out_as_they_went_in),
        cmocka_unit_test(a_queue_says_how_much_room_it_has),
        cmocka_unit_test(the_first_failure_reaches_the_producer_and_the_end),
        cmocka_unit_test(abort_reaches_the_output_after_all_earlier_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
