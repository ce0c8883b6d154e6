/*
 * handoff.c - a ring of batches between two threads.
 *
 * The caller fills the batch at `filled`, the thread passes on the batch at
 * `passed`; both only grow, and a batch is at their remainder by N_BATCHES.
 */
#include "converter/input/handoff.h"

#include <base/array.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A batch is full when it has one of them; all its arrays together then have
 * some hundred kilobytes, and stay in the caches. */
enum {
    N_BATCHES = 4,
    BATCH_DELTAS = 2048,
    BATCH_FRAMES = 32 * 1024,
    BATCH_SAMPLES = 16 * 1024
};

/* The arrays of all deltas, one after the other. */
typedef struct batch {
    pr_delta *delta; /* without their pointers */
    uint32_t *push;
    uint64_t *time_us;
    uint8_t *status;
    size_t n, n_push, n_samples;
    size_t cap, cap_push, cap_time, cap_status;
} batch;

typedef struct handoff {
    pr_sink sink;
    pr_sink_ops ops; /* delta() waits for nothing, all others do */
    pthread_t thread;
    bool started, hopeless; /* hopeless: the thread cannot be started */
    pthread_mutex_t lock;   /* guards all below */
    pthread_cond_t changed;
    uint64_t filled, passed;
    bool ending;
    pr_code failed;
    pr_err err;
    batch batch[N_BATCHES];
} handoff;

static handoff *
handoff_of(pr_sink *sink)
{
    return (handoff *)sink;
}

static batch *
batch_at(handoff *h, uint64_t i)
{
    return &h->batch[i % N_BATCHES];
}

/* ---- a batch ---- */

/* One more than is needed: arrays without an element are not NULL. */
static bool
make_room(batch *b, const pr_delta *delta)
{
    size_t n_push = b->n_push + delta->n_push + 1;
    size_t n_samples = b->n_samples + delta->n + 1;
    return pr_grow(&b->delta, &b->cap, b->n + 1, sizeof *b->delta) &&
           pr_grow(&b->push, &b->cap_push, n_push, sizeof *b->push) &&
           pr_grow(&b->time_us, &b->cap_time, n_samples, sizeof *b->time_us) &&
           pr_grow(&b->status, &b->cap_status, n_samples, 1);
}

static pr_code
append(batch *b, const pr_delta *delta, pr_err *err)
{
    if (!make_room(b, delta))
        return pr_no_memory(err);
    b->delta[b->n++] = *delta;
    if (delta->n_push)
        memcpy(b->push + b->n_push, delta->push,
               delta->n_push * sizeof *b->push);
    if (delta->n) {
        memcpy(b->time_us + b->n_samples, delta->time_us,
               delta->n * sizeof *b->time_us);
        memcpy(b->status + b->n_samples, delta->status, delta->n);
    }
    b->n_push += delta->n_push;
    b->n_samples += delta->n;
    return PR_OK;
}

static bool
is_full(const batch *b)
{
    return b->n >= BATCH_DELTAS || b->n_push >= BATCH_FRAMES ||
           b->n_samples >= BATCH_SAMPLES;
}

static void
empty(batch *b)
{
    b->n = b->n_push = b->n_samples = 0;
}

static pr_code
pass(const batch *b, pr_sink *next, pr_err *err)
{
    const uint32_t *push = b->push;
    const uint64_t *time_us = b->time_us;
    const uint8_t *status = b->status;
    pr_code rc = PR_OK;
    for (size_t i = 0; i < b->n && rc == PR_OK; i++) {
        pr_delta delta = b->delta[i];
        delta.push = push;
        delta.time_us = time_us;
        delta.status = status;
        rc = pr_sink_delta(next, &delta, err);
        push += delta.n_push;
        time_us += delta.n;
        status += delta.n;
    }
    return rc;
}

static void
release(batch *b)
{
    free(b->delta);
    free(b->push);
    free(b->time_us);
    free(b->status);
}

/* ---- the thread ---- */

/* The next batch, which stays at `passed`; NULL when there will be none. */
static batch *
take_batch(handoff *h, bool *ret_drop)
{
    pthread_mutex_lock(&h->lock);
    while (h->passed == h->filled && !h->ending)
        pthread_cond_wait(&h->changed, &h->lock);
    batch *b = h->passed < h->filled ? batch_at(h, h->passed) : NULL;
    *ret_drop = h->failed != PR_OK;
    pthread_mutex_unlock(&h->lock);
    return b;
}

static void *
run_thread(void *context)
{
    handoff *h = context;
    bool drop;
    for (batch *b; (b = take_batch(h, &drop));) {
        pr_err err = PR_ERR_INIT;
        pr_code rc = drop ? PR_OK : pass(b, h->sink.next, &err);
        pthread_mutex_lock(&h->lock);
        if (rc != PR_OK) {
            h->failed = rc;
            h->err = err;
        }
        h->passed++;
        pthread_cond_signal(&h->changed);
        pthread_mutex_unlock(&h->lock);
    }
    return NULL;
}

/* ---- the caller ---- */

/* Wait until at most `rest` batches are on their way. */
static pr_code
wait_for_thread(handoff *h, uint64_t rest, pr_err *err)
{
    pthread_mutex_lock(&h->lock);
    while (h->filled - h->passed > rest)
        pthread_cond_wait(&h->changed, &h->lock);
    pr_code rc = h->failed;
    if (rc != PR_OK && err && err->code == PR_OK)
        *err = h->err;
    pthread_mutex_unlock(&h->lock);
    return rc;
}

static pr_code
pass_here(batch *b, pr_sink *next, pr_err *err)
{
    pr_code rc = pass(b, next, err);
    empty(b);
    return rc;
}

/* The present batch goes to the thread. */
static void
hand_over(handoff *h)
{
    pthread_mutex_lock(&h->lock);
    h->filled++;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* All deltas so far are passed on. */
static pr_code
settle(handoff *h, pr_err *err)
{
    batch *b = batch_at(h, h->filled);
    if (!h->started)
        return pass_here(b, h->sink.next, err);
    if (b->n)
        hand_over(h);
    pr_code rc = wait_for_thread(h, 0, err);
    empty(batch_at(h, h->filled));
    return rc;
}

#define DIRECT(op, params, args)                                              \
    static pr_code direct_##op(pr_sink *sink, PR_SINK_LIST params,            \
                               pr_err *err)                                   \
    {                                                                         \
        pr_code rc = settle(handoff_of(sink), err);                           \
        return rc == PR_OK ? pr_sink_##op(sink->next, PR_SINK_LIST args, err) \
                           : rc;                                              \
    }
PR_SINK_MAP(DIRECT)
#undef DIRECT

static void
start_thread(handoff *h)
{
    h->started = pthread_create(&h->thread, NULL, run_thread, h) == 0;
    h->hopeless = !h->started;
}

/* A delta that alone is a batch makes none: memory stays bounded. */
static pr_code
put_delta(pr_sink *sink, const pr_delta *delta, pr_err *err)
{
    handoff *h = handoff_of(sink);
    batch *b = batch_at(h, h->filled);
    if (delta->n_push >= BATCH_FRAMES || delta->n >= BATCH_SAMPLES)
        return direct_delta(sink, delta, err);
    pr_code rc = append(b, delta, err);
    if (rc != PR_OK || !is_full(b))
        return rc;
    if (!h->started && !h->hopeless)
        start_thread(h);
    if (!h->started)
        return pass_here(b, h->sink.next, err);
    hand_over(h);
    rc = wait_for_thread(h, N_BATCHES - 1, err);
    empty(batch_at(h, h->filled));
    return rc;
}

/* ---- life ---- */

static void
free_handoff(handoff *h)
{
    pthread_mutex_lock(&h->lock);
    h->ending = true;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->lock);
    if (h->started)
        pthread_join(h->thread, NULL);
    pthread_mutex_destroy(&h->lock);
    pthread_cond_destroy(&h->changed);
    for (size_t i = 0; i < N_BATCHES; i++)
        release(&h->batch[i]);
    free(h);
}

static pr_code
handoff_finish(pr_sink *sink, pr_err *err)
{
    pr_sink *next = sink->next;
    pr_code rc = settle(handoff_of(sink), err);
    free_handoff(handoff_of(sink));
    if (rc == PR_OK)
        return next->ops->finish(next, err);
    next->ops->abort(next);
    return rc;
}

static void
handoff_abort(pr_sink *sink)
{
    pr_sink *next = sink->next;
    free_handoff(handoff_of(sink));
    next->ops->abort(next);
}

static const pr_sink_ops direct_ops = {
#define DIRECT_OP(op, params, args) .op = direct_##op,
    PR_SINK_MAP(DIRECT_OP)
#undef DIRECT_OP
        .finish = handoff_finish,
    .abort = handoff_abort,
};

pr_code
conv_handoff_new(pr_sink *next, pr_sink **ret, pr_err *err)
{
    handoff *h = calloc(1, sizeof *h);
    if (!h)
        return pr_no_memory(err);
    h->ops = direct_ops;
    h->ops.delta = put_delta;
    h->sink = (pr_sink){&h->ops, next};
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
    *ret = &h->sink;
    return PR_OK;
}
