/*
 * test_gc_ring.c - the ring of collections in a made-up memory.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "debug_offsets.h"
#include "recorder/cpython/gc_ring.h"

enum {
    INTERPRETER = 0x10000, /* addresses of the made-up target */
    STATS = 0x20000,
    GC = 64,
    POINTER = 104,
    STATS_BYTES = 1120
};

typedef struct target {
    uint8_t stats[STATS_BYTES];
    uint64_t pointer;
    int changes;   /* reads during which the sequence still moves */
    bool collects; /* while the block is copied next */
} target;

static void collect_meanwhile(target *t, uint8_t *copy);

static ssize_t
target_read(void *context, const struct iovec *local,
            const struct iovec *remote, size_t n)
{
    target *t = context;
    assert_int_equal(n, 1);
    uint64_t at = (uint64_t)(uintptr_t)remote->iov_base;
    if (at == INTERPRETER + GC + POINTER) {
        memcpy(local->iov_base, &t->pointer, sizeof t->pointer);
    } else if (at >= STATS && at + remote->iov_len <= STATS + STATS_BYTES) {
        memcpy(local->iov_base, t->stats + (at - STATS), remote->iov_len);
        if (t->collects && remote->iov_len == STATS_BYTES)
            collect_meanwhile(t, local->iov_base);
        if (t->changes > 0) {
            t->changes--;
            t->stats[1112]++;
        }
    } else {
        return -EFAULT;
    }
    return (ssize_t)remote->iov_len;
}

static void
put64(target *t, size_t at, uint64_t value)
{
    memcpy(t->stats + at, &value, sizeof value);
}

/* Ring starts and entries of generations 0, 1, 2 in a build with a GIL. */
static const size_t ring_at[] = {0, 712, 912};
static const uint32_t ring_n[] = {11, 3, 3};

static void
collect(target *t, uint32_t g, uint64_t number)
{
    uint32_t slot = (uint32_t)(number % ring_n[g]);
    size_t at = ring_at[g] + slot * 64u;
    double seconds = 0.001 * (double)number;
    put64(t, at, (1000 + number) * 1000000); /* start: ms 1000 + number */
    put64(t, at + 8, (1000 + number) * 1000000 + 5000);
    put64(t, at + 16, number);
    put64(t, at + 24, number * 2);
    put64(t, at + 32, number * 3);
    put64(t, at + 40, number * 4);
    memcpy(t->stats + at + 48, &seconds, sizeof seconds);
    put64(t, at + 56, number * 5);
    t->stats[ring_at[g] + ring_n[g] * 64u] = (uint8_t)slot;
}

/* A collection ends while the block is copied: the copy has the end of the entry
 * and of the block, but not the end of the collection. */
static void
collect_meanwhile(target *t, uint8_t *copy)
{
    t->collects = false;
    collect(t, 0, 1);
    t->stats[1112] += 2;
    memcpy(copy, t->stats, STATS_BYTES);
    memset(copy + ring_at[0] + 64 + 8, 0, 8); /* stop */
}

typedef struct heard {
    pr_gc_event event[64];
    size_t n;
} heard;

static pr_code
hear(void *context, const pr_gc_event *event, pr_err *err)
{
    (void)err;
    heard *h = context;
    assert_true(h->n < 64);
    h->event[h->n++] = *event;
    return PR_OK;
}

typedef struct bench {
    target t;
    rec_layout layout;
    rec_memory memory;
    rec_gc gc;
    heard h;
} bench;

static void
set_up(bench *b)
{
    memset(b, 0, sizeof *b);
    b->t.pointer = STATS;
    uint8_t table[REC_TABLE_BYTES] = {0};
    memcpy(table, table_3_15, sizeof table_3_15);
    assert_int_equal(rec_layout_load(table, 0, &b->layout, NULL), PR_OK);
    b->layout.interp.gc = GC;
    b->layout.gc.stats = POINTER;
    b->layout.gc.stats_size = STATS_BYTES;
    b->memory.mem_fd = -1;
    b->memory.read = target_read;
    b->memory.context = &b->t;
    b->gc.interp = 3;
}

static pr_code
poll(bench *b, uint64_t start_us)
{
    b->h.n = 0;
    return rec_gc_poll(&b->gc, &b->layout, &b->memory, INTERPRETER, start_us,
                       hear, &b->h, NULL);
}

static void
each_collection_is_emitted_once_in_order(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.n, 0); /* slots never used */
    for (uint64_t i = 1; i <= 7; i++)
        collect(&b.t, 0, i);
    collect(&b.t, 2, 1);
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.n, 8);
    for (uint64_t i = 1; i <= 7; i++)
        assert_int_equal(b.h.event[i - 1].collections, i);
    pr_gc_event e = b.h.event[6];
    assert_int_equal(e.interp, 3);
    assert_int_equal(e.generation, 0);
    assert_int_equal(e.start_us, 1007000);
    assert_int_equal(e.stop_us, 1007005);
    assert_int_equal(e.collected, 14);
    assert_int_equal(e.uncollectable, 21);
    assert_int_equal(e.candidates, 28);
    assert_int_equal(e.duration_ns, 7000000);
    assert_int_equal(e.heap_size, 35);
    assert_int_equal(b.h.event[7].generation, 2);
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.n, 0);
    collect(&b.t, 0, 8);
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.n, 1);
    assert_int_equal(b.gc.lost, 0);
}

static void
collections_that_the_ring_lost_are_counted(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    collect(&b.t, 0, 1);
    assert_int_equal(poll(&b, 0), PR_OK);
    for (uint64_t i = 2; i <= 30; i++)
        collect(&b.t, 0, i);
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.n, 11); /* 20 .. 30 */
    assert_int_equal(b.h.event[0].collections, 20);
    assert_int_equal(b.gc.lost, 18); /* 2 .. 19 */
}

static void
a_collection_before_the_recording_is_passed_over(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    for (uint64_t i = 1; i <= 5; i++)
        collect(&b.t, 0, i);
    assert_int_equal(poll(&b, 1003500), PR_OK);
    assert_int_equal(b.h.n, 2);
    assert_int_equal(b.h.event[0].start_us, 500);
}

static void
a_block_that_is_being_written_is_read_again(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    collect(&b.t, 0, 1);
    b.t.changes = 5; /* ends odd: one more change makes it even */
    b.t.stats[1112] = 1;
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.n, 1);
    set_up(&b);
    collect(&b.t, 0, 1);
    b.t.changes = 1000;
    assert_int_equal(poll(&b, 0), PR_TORN);
    assert_int_equal(b.h.n, 0);
}

static void
a_collection_that_ends_during_the_copy_is_emitted_whole(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    b.t.collects = true;
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.n, 1);
    assert_int_equal(b.h.event[0].stop_us, 1001005);
}

static void
hostile_blocks_and_other_layouts_are_refused(void **state)
{
    (void)state;
    bench b;
    set_up(&b);
    b.t.stats[704] = 200; /* index beyond the ring */
    assert_int_equal(poll(&b, 0), PR_TORN);
    set_up(&b);
    b.t.pointer = 0;
    assert_int_equal(poll(&b, 0), PR_TORN);
    b.t.pointer = 0x7000;
    assert_int_equal(poll(&b, 0), PR_TORN);
    set_up(&b);
    b.layout.gc.stats_size = 1128;
    assert_int_equal(poll(&b, 0), PR_UNSUPPORTED);
    b.layout.gc.stats = REC_ABSENT;
    assert_int_equal(poll(&b, 0), PR_UNSUPPORTED);
    set_up(&b);
    collect(&b.t, 1, 1);
    memset(b.t.stats + ring_at[1] + 64 + 48, 0xff, 8); /* duration: NaN */
    assert_int_equal(poll(&b, 0), PR_OK);
    assert_int_equal(b.h.event[0].duration_ns, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_collection_is_emitted_once_in_order),
        cmocka_unit_test(collections_that_the_ring_lost_are_counted),
        cmocka_unit_test(a_collection_before_the_recording_is_passed_over),
        cmocka_unit_test(a_block_that_is_being_written_is_read_again),
        cmocka_unit_test(
            a_collection_that_ends_during_the_copy_is_emitted_whole),
        cmocka_unit_test(hostile_blocks_and_other_layouts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
