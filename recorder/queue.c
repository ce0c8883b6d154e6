/*
 * queue.c - the ring, the form of a message in it, and the encoder.
 *
 * A message is a head, the fixed part of a sink call and its bytes, padded to
 * 8.  It never wraps: a PAD message fills the end of the ring.  `head` is
 * written by the producer, `tail` by the encoder; both only grow.
 */
#include "recorder/queue.h"

#include <base/array.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    RING_LEAST = 64 * 1024,
    ENCODER_SLEEP_MS = 100, /* longest time that a message waits */
    PRODUCER_WAIT_MS = 1
};

/* One kind for each operation of a sink, and the queue's own. */
typedef enum message_kind {
#define MESSAGE_KIND(op, params, args) MESSAGE_##op,
    PR_SINK_MAP(MESSAGE_KIND)
#undef MESSAGE_KIND
        MESSAGE_TICK,
    MESSAGE_PAD,
    MESSAGE_FINISH,
    MESSAGE_ABORT
} message_kind;

typedef struct message {
    uint32_t size; /* with this head, a multiple of 8 */
    uint32_t kind;
} message;

/* Samples in equal distance and state: idle threads have thousands of them. */
typedef struct sample_row {
    uint64_t first_us, step_us;
    uint32_t n;
    uint32_t status;
} sample_row;

typedef struct delta_part {
    uint32_t thread, keep, n_push, n, n_rows, reserved;
} delta_part;

typedef struct queue {
    pr_sink sink;
    uint8_t *ring;
    size_t size;
    _Atomic uint64_t head, tail;
    _Atomic int failed; /* a pr_code */
    atomic_bool asleep;
    sem_t work;
    pthread_t encoder;
    bool started;
    atomic_bool ending;   /* without a last message */
    atomic_bool aborting; /* the end is abort() */
    pr_sink *out;         /* the encoder's */
    rec_queue_idle idle;
    pr_err error;    /* the encoder's, until it ended */
    uint64_t *times; /* the encoder's: the samples of one delta */
    uint8_t *status;
    size_t cap_times, cap_status;
    pr_pair *pairs; /* the encoder's: metadata of one process */
    size_t cap_pairs;
} queue;

static queue *
queue_of(pr_sink *sink)
{
    return (queue *)sink;
}

static size_t
round8(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

/* ---- the producer's side ---- */

static size_t
free_bytes(const queue *q)
{
    return q->size - (size_t)(atomic_load(&q->head) - atomic_load(&q->tail));
}

static void
wake_encoder(queue *q)
{
    if (atomic_exchange(&q->asleep, false))
        sem_post(&q->work);
}

static void
sleep_ms(long ms)
{
    struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

/* The encoder's error is complete before `failed` shows it: the producer's is
 * the output's own, not an effect of it. */
static pr_code
check_failed(const queue *q, pr_err *err)
{
    pr_code code = (pr_code)atomic_load(&q->failed);
    if (code != PR_OK && err && err->code == PR_OK)
        *err = q->error;
    return code;
}

static pr_code
wait_for_room(queue *q, size_t bytes, pr_err *err)
{
    while (free_bytes(q) < bytes) {
        pr_code code = check_failed(q, err);
        if (code != PR_OK)
            return code;
        if (!q->started)
            return PR_FAIL(err, PR_LIMIT,
                           "queue is full before its encoder runs");
        wake_encoder(q);
        sleep_ms(PRODUCER_WAIT_MS);
    }
    return PR_OK;
}

/* Room for a message with `body` bytes; *ret is the body.  Visible to the
 * encoder after commit(). */
static pr_code
reserve(queue *q, message_kind kind, size_t body, uint8_t **ret, pr_err *err)
{
    pr_code code = check_failed(q, err);
    if (code != PR_OK)
        return code;
    size_t bytes = round8(sizeof(message) + body);
    if (body > q->size / 2 - 64)
        return PR_FAIL(err, PR_LIMIT,
                       "message of %zu bytes is too large for the queue", body);
    size_t at = (size_t)atomic_load(&q->head) & (q->size - 1);
    size_t pad = q->size - at < bytes ? q->size - at : 0;
    code = wait_for_room(q, bytes + pad, err);
    if (code != PR_OK)
        return code;
    if (pad) {
        message m = {(uint32_t)pad, MESSAGE_PAD};
        memcpy(q->ring + at, &m, sizeof m);
        atomic_fetch_add(&q->head, pad);
        at = 0;
    }
    message m = {(uint32_t)bytes, (uint32_t)kind};
    memcpy(q->ring + at, &m, sizeof m);
    *ret = q->ring + at + sizeof m;
    return PR_OK;
}

static pr_code
commit(queue *q)
{
    size_t at = (size_t)atomic_load(&q->head) & (q->size - 1);
    message m;
    memcpy(&m, q->ring + at, sizeof m);
    atomic_fetch_add(&q->head, m.size);
    if (free_bytes(q) < q->size / 4 * 3)
        wake_encoder(q);
    return PR_OK;
}

/* A fixed part and the bytes its pointers mean. */
static pr_code
put(pr_sink *sink, message_kind kind, const void *part, size_t part_len,
    const void *bytes, size_t len, pr_err *err)
{
    queue *q = queue_of(sink);
    uint8_t *p;
    pr_code code = reserve(q, kind, part_len + len, &p, err);
    if (code != PR_OK)
        return code;
    memcpy(p, part, part_len);
    if (len)
        memcpy(p + part_len, bytes, len);
    return commit(q);
}

#define PUT_FIXED(op, type)                                         \
    static pr_code put_##op(pr_sink *s, const type *v, pr_err *err) \
    {                                                               \
        return put(s, MESSAGE_##op, v, sizeof *v, NULL, 0, err);    \
    }
PR_SINK_FIXED_MAP(PUT_FIXED)
#undef PUT_FIXED

static pr_code
put_meta(pr_sink *s, const char *key, const char *value, size_t len,
         pr_err *err)
{
    uint64_t lens[2] = {strlen(key) + 1, len};
    uint8_t *p;
    pr_code code = reserve(queue_of(s), MESSAGE_meta,
                           sizeof lens + lens[0] + len, &p, err);
    if (code != PR_OK)
        return code;
    memcpy(p, lens, sizeof lens);
    memcpy(p + sizeof lens, key, lens[0]);
    if (len)
        memcpy(p + sizeof lens + lens[0], value, len);
    return commit(queue_of(s));
}

static pr_code
put_string(pr_sink *s, const char *bytes, size_t len, pr_err *err)
{
    uint64_t n = len;
    return put(s, MESSAGE_string, &n, sizeof n, bytes, len, err);
}

static size_t
text_bytes(const pr_process *v)
{
    size_t n = v->command.len + v->host.len + v->scope.len;
    for (uint32_t i = 0; i < v->n_meta; i++)
        n += v->meta[i].key.len + v->meta[i].value.len;
    return n;
}

static uint8_t *
put_text(uint8_t *p, const pr_text *text)
{
    if (text->len)
        memcpy(p, text->bytes, text->len);
    return p + text->len;
}

/* The struct, its pairs, then the bytes of all texts in that order. */
static pr_code
put_process(pr_sink *s, const pr_process *v, pr_err *err)
{
    size_t pairs = v->n_meta * sizeof *v->meta;
    uint8_t *p;
    pr_code code = reserve(queue_of(s), MESSAGE_process,
                           sizeof *v + pairs + text_bytes(v), &p, err);
    if (code != PR_OK)
        return code;
    memcpy(p, v, sizeof *v);
    if (pairs)
        memcpy(p + sizeof *v, v->meta, pairs);
    p = put_text(p + sizeof *v + pairs, &v->command);
    p = put_text(p, &v->host);
    p = put_text(p, &v->scope);
    for (uint32_t i = 0; i < v->n_meta; i++) {
        p = put_text(p, &v->meta[i].key);
        p = put_text(p, &v->meta[i].value);
    }
    return commit(queue_of(s));
}

static pr_code
put_thread(pr_sink *s, const pr_thread *v, pr_err *err)
{
    return put(s, MESSAGE_thread, v, sizeof *v, v->name, v->name_len, err);
}

static pr_code
put_rename(pr_sink *s, uint32_t thread, const char *name, size_t len,
           pr_err *err)
{
    uint64_t part[2] = {thread, len};
    return put(s, MESSAGE_rename, part, sizeof part, name, len, err);
}

static pr_code
put_leave(pr_sink *s, uint32_t thread, pr_err *err)
{
    return put(s, MESSAGE_leave, &thread, sizeof thread, NULL, 0, err);
}

/* How many of the samples from i on are one row. */
static uint32_t
row_length(const pr_delta *d, uint32_t i)
{
    uint32_t n = 1;
    if (i + 1 < d->n && d->status[i + 1] == d->status[i]) {
        uint64_t step = d->time_us[i + 1] - d->time_us[i];
        while (i + n < d->n && d->status[i + n] == d->status[i] &&
               d->time_us[i + n] - d->time_us[i + n - 1] == step)
            n++;
    }
    return n;
}

static uint32_t
count_rows(const pr_delta *d)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < d->n; i += row_length(d, i))
        n++;
    return n;
}

static pr_code
put_delta(pr_sink *s, const pr_delta *d, pr_err *err)
{
    delta_part part = {d->thread, d->keep, d->n_push, d->n, count_rows(d), 0};
    size_t rows = part.n_rows * sizeof(sample_row);
    size_t push = d->n_push * sizeof *d->push;
    uint8_t *p;
    pr_code code =
        reserve(queue_of(s), MESSAGE_delta, sizeof part + rows + push, &p, err);
    if (code != PR_OK)
        return code;
    memcpy(p, &part, sizeof part);
    p += sizeof part;
    for (uint32_t i = 0, n; i < d->n; i += n) {
        n = row_length(d, i);
        sample_row row = {d->time_us[i],
                          n > 1 ? d->time_us[i + 1] - d->time_us[i] : 0, n,
                          d->status[i]};
        memcpy(p, &row, sizeof row);
        p += sizeof row;
    }
    if (push)
        memcpy(p, d->push, push);
    return commit(queue_of(s));
}

static pr_code
put_task(pr_sink *s, const pr_task *v, pr_err *err)
{
    size_t parents = v->n_parents * sizeof *v->parent;
    uint8_t *p;
    pr_code code = reserve(queue_of(s), MESSAGE_task,
                           sizeof *v + parents + v->name_len, &p, err);
    if (code != PR_OK)
        return code;
    memcpy(p, v, sizeof *v);
    if (parents)
        memcpy(p + sizeof *v, v->parent, parents);
    if (v->name_len)
        memcpy(p + sizeof *v + parents, v->name, v->name_len);
    return commit(queue_of(s));
}

static pr_code
put_mark(pr_sink *s, const pr_mark *v, pr_err *err)
{
    return put(s, MESSAGE_mark, v, sizeof *v, v->text, v->text_len, err);
}

pr_code
rec_queue_check(const pr_sink *s, pr_err *err)
{
    return check_failed((const queue *)s, err);
}

pr_code
rec_queue_tick(pr_sink *s, uint64_t now_us, pr_err *err)
{
    return put(s, MESSAGE_TICK, &now_us, sizeof now_us, NULL, 0, err);
}

size_t
rec_queue_free(const pr_sink *sink)
{
    return free_bytes((const queue *)sink);
}

size_t
rec_queue_size(const pr_sink *sink)
{
    return ((const queue *)sink)->size;
}

/* ---- the encoder's side ---- */

static pr_code
pass_delta(queue *q, const uint8_t *p)
{
    delta_part part;
    memcpy(&part, p, sizeof part);
    p += sizeof part;
    if (!pr_grow(&q->times, &q->cap_times, part.n, sizeof *q->times) ||
        !pr_grow(&q->status, &q->cap_status, part.n, sizeof *q->status))
        return pr_no_memory(&q->error);
    uint32_t at = 0;
    for (uint32_t i = 0; i < part.n_rows; i++) {
        sample_row row;
        memcpy(&row, p, sizeof row);
        p += sizeof row;
        for (uint32_t k = 0; k < row.n; k++, at++) {
            q->times[at] = row.first_us + k * row.step_us;
            q->status[at] = (uint8_t)row.status;
        }
    }
    /* messages and their parts are multiples of 8: p is aligned */
    pr_delta d = {part.thread,     part.keep, part.n_push, part.n,
                  (const void *)p, q->times,  q->status};
    return PR_SINK_CALL(q->out, delta, &d, &q->error);
}

static pr_code
pass_meta(queue *q, const uint8_t *p)
{
    uint64_t lens[2];
    memcpy(lens, p, sizeof lens);
    const char *key = (const char *)p + sizeof lens;
    return PR_SINK_CALL(q->out, meta, key, key + lens[0], (size_t)lens[1],
                        &q->error);
}

static void
take_text(pr_text *text, const uint8_t **p)
{
    text->bytes = (const char *)*p;
    *p += text->len;
}

static pr_code
pass_process(queue *q, const uint8_t *p)
{
    pr_process v;
    memcpy(&v, p, sizeof v);
    p += sizeof v;
    if (!pr_grow(&q->pairs, &q->cap_pairs, v.n_meta, sizeof *q->pairs))
        return pr_no_memory(&q->error);
    if (v.n_meta)
        memcpy(q->pairs, p, v.n_meta * sizeof *q->pairs);
    p += v.n_meta * sizeof *q->pairs;
    take_text(&v.command, &p);
    take_text(&v.host, &p);
    take_text(&v.scope, &p);
    for (uint32_t i = 0; i < v.n_meta; i++) {
        take_text(&q->pairs[i].key, &p);
        take_text(&q->pairs[i].value, &p);
    }
    v.meta = q->pairs;
    return pr_sink_process(q->out, &v, &q->error);
}

static pr_code
pass_thread(queue *q, const uint8_t *p)
{
    pr_thread v;
    memcpy(&v, p, sizeof v);
    v.name = (const char *)p + sizeof v;
    return PR_SINK_CALL(q->out, thread, &v, &q->error);
}

static pr_code
pass_rename(queue *q, const uint8_t *p)
{
    uint64_t part[2];
    memcpy(part, p, sizeof part);
    return PR_SINK_CALL(q->out, rename, (uint32_t)part[0],
                        (const char *)p + sizeof part, (size_t)part[1],
                        &q->error);
}

static pr_code
pass_leave(queue *q, const uint8_t *p)
{
    uint32_t thread;
    memcpy(&thread, p, sizeof thread);
    return PR_SINK_CALL(q->out, leave, thread, &q->error);
}

static pr_code
pass_task(queue *q, const uint8_t *p)
{
    pr_task v;
    memcpy(&v, p, sizeof v);
    v.parent = (const void *)(p + sizeof v);
    v.name = (const char *)p + sizeof v + v.n_parents * sizeof *v.parent;
    return PR_SINK_CALL(q->out, task, &v, &q->error);
}

static pr_code
pass_mark(queue *q, const uint8_t *p)
{
    pr_mark v;
    memcpy(&v, p, sizeof v);
    v.text = (const char *)p + sizeof v;
    return PR_SINK_CALL(q->out, mark, &v, &q->error);
}

static pr_code
pass_string(queue *q, const uint8_t *p)
{
    uint64_t n;
    memcpy(&n, p, sizeof n);
    return PR_SINK_CALL(q->out, string, (const char *)p + sizeof n, (size_t)n,
                        &q->error);
}

static pr_code
pass_tick(queue *q, const uint8_t *p)
{
    uint64_t now_us;
    memcpy(&now_us, p, sizeof now_us);
    return q->idle ? q->idle(q->out, now_us, &q->error) : PR_OK;
}

/* Bodies start 8 bytes into 8-aligned messages, so a struct without pointers is
 * passed on from where it lies. */
#define PASS_FIXED(op, type)                                     \
    static pr_code pass_##op(queue *q, const uint8_t *p)         \
    {                                                            \
        const void *v = p;                                       \
        return pr_sink_##op(q->out, (const type *)v, &q->error); \
    }
PR_SINK_FIXED_MAP(PASS_FIXED)
#undef PASS_FIXED

static pr_code
pass(queue *q, message_kind kind, const uint8_t *p)
{
    switch (kind) {
#define PASS_CASE(op, params, args) \
    case MESSAGE_##op:              \
        return pass_##op(q, p);
        PR_SINK_MAP(PASS_CASE)
#undef PASS_CASE
    case MESSAGE_TICK:
        return pass_tick(q, p);
    case MESSAGE_PAD:
    case MESSAGE_FINISH:
    case MESSAGE_ABORT:
        break;
    }
    return PR_OK;
}

/* Take one message; false when it was the last one. */
static bool
take(queue *q)
{
    uint64_t tail = atomic_load(&q->tail);
    const uint8_t *at = q->ring + ((size_t)tail & (q->size - 1));
    message m;
    memcpy(&m, at, sizeof m);
    if (atomic_load(&q->failed) == PR_OK) {
        pr_code code = pass(q, (message_kind)m.kind, at + sizeof m);
        if (code != PR_OK)
            atomic_store(&q->failed, (int)code);
    }
    atomic_store(&q->tail, tail + m.size);
    if (m.kind == MESSAGE_ABORT)
        atomic_store(&q->aborting, true);
    return m.kind != MESSAGE_FINISH && m.kind != MESSAGE_ABORT;
}

static void
wait_for_work(queue *q)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += ENCODER_SLEEP_MS * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_nsec -= 1000000000;
        t.tv_sec++;
    }
    atomic_store(&q->asleep, true);
    sem_clockwait(&q->work, CLOCK_MONOTONIC, &t);
    atomic_store(&q->asleep, false);
}

static void
end_output(queue *q)
{
    if (atomic_load(&q->aborting) || atomic_load(&q->failed) != PR_OK) {
        q->out->ops->abort(q->out);
        return;
    }
    pr_code code = q->out->ops->finish(q->out, &q->error);
    if (code != PR_OK)
        atomic_store(&q->failed, (int)code);
}

static void *
encode(void *argument)
{
    queue *q = argument;
    bool more = true;
    while (more && !atomic_load(&q->ending)) {
        if (atomic_load(&q->head) == atomic_load(&q->tail))
            wait_for_work(q);
        while (more && atomic_load(&q->head) != atomic_load(&q->tail))
            more = take(q);
    }
    end_output(q);
    return NULL;
}

/* ---- the life of a queue ---- */

static void
release(queue *q)
{
    sem_destroy(&q->work);
    free(q->times);
    free(q->status);
    free(q->pairs);
    free(q->ring);
    free(q);
}

/* Send the last message past a failure, wait for the encoder, free. */
static pr_code
end(queue *q, message_kind kind, pr_err *err)
{
    message m = {sizeof m, (uint32_t)kind};
    while (free_bytes(q) < sizeof m) {
        wake_encoder(q);
        sleep_ms(PRODUCER_WAIT_MS);
    }
    size_t at = (size_t)atomic_load(&q->head) & (q->size - 1);
    memcpy(q->ring + at, &m, sizeof m);
    atomic_fetch_add(&q->head, sizeof m);
    sem_post(&q->work);
    pthread_join(q->encoder, NULL);
    pr_code code = (pr_code)atomic_load(&q->failed);
    if (code != PR_OK && err && err->code == PR_OK)
        *err = q->error;
    release(q);
    return code;
}

pr_code
rec_queue_end(pr_sink *sink, bool keep, pr_err *err)
{
    queue *q = queue_of(sink);
    atomic_store(&q->aborting, !keep);
    atomic_store(&q->ending, true);
    sem_post(&q->work);
    pthread_join(q->encoder, NULL);
    pr_code code = (pr_code)atomic_load(&q->failed);
    if (code == PR_OK)
        atomic_store(&q->failed, (int)PR_INTERNAL);
    else if (err && err->code == PR_OK)
        *err = q->error;
    return code;
}

static pr_code
queue_finish(pr_sink *sink, pr_err *err)
{
    return end(queue_of(sink), MESSAGE_FINISH, err);
}

static void
queue_abort(pr_sink *sink)
{
    queue *q = queue_of(sink);
    if (q->started)
        end(q, MESSAGE_ABORT, NULL);
    else
        release(q);
}

static const pr_sink_ops queue_ops = {
#define QUEUE_OP(op, params, args) .op = put_##op,
    PR_SINK_MAP(QUEUE_OP)
#undef QUEUE_OP
        .finish = queue_finish,
    .abort = queue_abort,
};

pr_code
rec_queue_new(size_t bytes, pr_sink **ret, pr_err *err)
{
    size_t size = RING_LEAST;
    while (size < bytes && size <= UINT32_MAX / 2)
        size *= 2;
    queue *q = calloc(1, sizeof *q);
    uint8_t *ring = malloc(size);
    if (!q || !ring) {
        free(q);
        free(ring);
        return pr_no_memory(err);
    }
    q->sink.ops = &queue_ops;
    q->ring = ring;
    q->size = size;
    q->error = (pr_err)PR_ERR_INIT;
    sem_init(&q->work, 0, 0);
    *ret = &q->sink;
    return PR_OK;
}

pr_code
rec_queue_start(pr_sink *sink, pr_sink *out, rec_queue_idle idle, pr_err *err)
{
    queue *q = queue_of(sink);
    q->out = out;
    q->idle = idle;
    int error = pthread_create(&q->encoder, NULL, encode, q);
    if (error)
        return PR_FAIL_SYS(err, PR_INTERNAL, error,
                           "cannot start the encoder thread");
    q->started = true;
    return PR_OK;
}
