/*
 * test_read_batch.c - pieces of a target's memory, read with few calls.
 */
#include "fake_memory.h"

#include "recorder/cpython/read_batch.h"

typedef struct world {
    fake_memory fake;
    rec_batch batch;
} world;

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    fake_begin(&w->fake, 1 << 16);
    assert_int_equal(rec_batch_init(&w->batch, &w->fake.memory, NULL), PR_OK);
    *state = w;
    return 0;
}

static int
end(void **state)
{
    world *w = *state;
    rec_batch_release(&w->batch);
    fake_end(&w->fake);
    free(w);
    return 0;
}

static void
pieces_come_in_one_call(void **state)
{
    world *w = *state;
    size_t piece[50];
    for (uint64_t i = 0; i < 50; i++) {
        fake_put64(&w->fake, FAKE_BASE + 64 * i, i + 1);
        piece[i] = rec_batch_add(&w->batch, FAKE_BASE + 64 * i, 8);
    }
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    assert_int_equal(w->batch.calls, 1);
    for (uint64_t i = 0; i < 50; i++) {
        assert_int_equal(rec_u64(rec_batch_bytes(&w->batch, piece[i])), i + 1);
        assert_int_equal(
            rec_u64(rec_batch_find(&w->batch, FAKE_BASE + 64 * i, 8)), i + 1);
    }
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    assert_int_equal(w->batch.calls, 1); /* nothing was left to read */
}

static void
a_missing_piece_costs_one_call_and_no_other_piece(void **state)
{
    world *w = *state;
    fake_put64(&w->fake, FAKE_BASE, 7);
    size_t first = rec_batch_add(&w->batch, FAKE_BASE, 8);
    size_t missing = rec_batch_add(&w->batch, 8, 8);
    size_t last = rec_batch_add(&w->batch, FAKE_BASE, 8);
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    assert_int_equal(w->batch.calls, 2);
    assert_int_equal(rec_u64(rec_batch_bytes(&w->batch, first)), 7);
    assert_null(rec_batch_bytes(&w->batch, missing));
    assert_int_equal(rec_u64(rec_batch_bytes(&w->batch, last)), 7);
    assert_null(rec_batch_find(&w->batch, 8, 8));
}

static void
bytes_are_found_where_they_were_read_last(void **state)
{
    world *w = *state;
    fake_put64(&w->fake, FAKE_BASE + 16, 1);
    rec_batch_add(&w->batch, FAKE_BASE, 64);
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    fake_put64(&w->fake, FAKE_BASE + 16, 2);
    assert_int_equal(rec_u64(rec_batch_find(&w->batch, FAKE_BASE + 16, 8)), 1);
    rec_batch_reset(&w->batch);
    assert_null(rec_batch_find(&w->batch, FAKE_BASE + 16, 8));
    rec_batch_add(&w->batch, FAKE_BASE + 16, 8);
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    assert_int_equal(rec_u64(rec_batch_find(&w->batch, FAKE_BASE + 16, 8)), 2);
    assert_null(rec_batch_find(&w->batch, FAKE_BASE + 16, 9));
    assert_null(rec_batch_find(&w->batch, FAKE_BASE + 8, 16));
}

static void
a_batch_has_a_limit(void **state)
{
    world *w = *state;
    assert_int_equal(rec_batch_add(&w->batch, FAKE_BASE, (64 << 20) + 1),
                     REC_NO_PIECE);
    size_t n = 0;
    while (rec_batch_add(&w->batch, FAKE_BASE, 1) != REC_NO_PIECE)
        n++;
    assert_int_equal(n, 8192);
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    assert_int_equal(w->batch.calls, 8);
    assert_null(rec_batch_bytes(&w->batch, REC_NO_PIECE));
}

static size_t vectors; /* of all calls */

ssize_t __wrap_rec_memory_readv(rec_memory *memory, const struct iovec *local,
                                const struct iovec *remote, size_t n);
ssize_t __real_rec_memory_readv(rec_memory *memory, const struct iovec *local,
                                const struct iovec *remote, size_t n);

ssize_t
__wrap_rec_memory_readv(rec_memory *memory, const struct iovec *local,
                        const struct iovec *remote, size_t n)
{
    vectors += n;
    return __real_rec_memory_readv(memory, local, remote, n);
}

static void
pieces_that_are_all_missing_make_no_long_calls(void **state)
{
    world *w = *state;
    enum { N = 5000 };
    for (uint64_t i = 0; i < N; i++)
        rec_batch_add(&w->batch, 8, 8);
    size_t last = rec_batch_add(&w->batch, FAKE_BASE, 8);
    vectors = 0;
    assert_int_equal(rec_batch_read(&w->batch, NULL), PR_OK);
    assert_int_equal(w->batch.calls, N + 1);
    assert_non_null(rec_batch_bytes(&w->batch, last));
    assert_in_range(vectors, N + 1, N + 1 + 2 * REC_MAX_PIECES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pieces_come_in_one_call),
        TEST(a_missing_piece_costs_one_call_and_no_other_piece),
        TEST(bytes_are_found_where_they_were_read_last),
        TEST(a_batch_has_a_limit),
        TEST(pieces_that_are_all_missing_make_no_long_calls),
    };
    return cmocka_run_group_tests_name("read_batch", tests, NULL, NULL);
}
