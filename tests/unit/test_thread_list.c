/*
 * test_thread_list.c - the list of threads that come and go.
 *
 * The target is this process: an interpreter and its thread states are laid
 * out in memory of its own.
 */
#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/cpython/thread_list.h"

#include <unistd.h>

enum {
    THREADS = 200,
    FIRST_TID = 1000,
    INTERP_SIZE = 6 /* word of the table: interpreter_state.size */
};

typedef struct world {
    rec_process process;
    rec_runtime runtime;
    rec_memory memory;
    rec_threads_table table;
    uint8_t runtime_state[REC_TABLE_BYTES];
    uint8_t *interp;
    uint8_t tstate[2][REC_CAP_TSTATE];
} world;

static void
put(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->runtime.pthread_tid = REC_ABSENT;
    uint8_t table[REC_TABLE_BYTES] = {0};
    memcpy(table, table_3_15, sizeof table_3_15);
    rec_layout *l = &w->runtime.layout;
    assert_int_equal(rec_layout_load(table, 0, l, NULL), PR_OK);
    w->process.pid = 0; /* the threads are made up: no kernel knows them */
    w->interp = calloc(1, table_3_15[INTERP_SIZE]);
    assert_non_null(w->interp);
    w->runtime.address = (uintptr_t)w->runtime_state;
    put(w->runtime_state + l->runtime.interpreters_head, (uintptr_t)w->interp);
    rec_memory_init(&w->memory, getpid());
    assert_int_equal(
        rec_threads_init(&w->table, &w->process, &w->runtime, &w->memory, NULL),
        PR_OK);
    *state = w;
    return 0;
}

static int
end(void **state)
{
    world *w = *state;
    rec_threads_release(&w->table);
    rec_memory_release(&w->memory);
    free(w->interp);
    free(w);
    return 0;
}

/* Make `tid` the only thread that lives, and list it. */
static rec_thread *
only(world *w, uint64_t tid)
{
    const rec_layout *l = &w->runtime.layout;
    uint8_t *t = w->tstate[tid % 2];
    put(t + l->tstate.interp, (uintptr_t)w->interp);
    put(t + l->tstate.native_thread_id, tid);
    put(t + l->tstate.thread_id, tid << 12);
    put(w->interp + l->interp.threads_head, (uintptr_t)t);
    assert_int_equal(rec_threads_list(&w->table, NULL), PR_OK);
    assert_int_equal(w->table.n_live, 1);
    return w->table.live[0];
}

/* Threads one after the other, each with an id and counts of its own. */
static void
let_them_pass(world *w)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        rec_thread *t = only(w, FIRST_TID + i);
        assert_int_equal(t->sink_id, PR_NO_THREAD);
        t->sink_id = i;
        t->counts.value[0] = i;
        assert_true(rec_threads_pack(&w->table));
    }
}

static void
of_threads_that_ended_little_is_kept(void **state)
{
    world *w = *state;
    let_them_pass(w);
    assert_in_range(w->table.n_all, 1, THREADS / 2);
    assert_int_equal(w->table.n_all + w->table.n_ended, THREADS);
    uint64_t sum = w->table.ended_counts.value[0];
    for (size_t i = 0; i < w->table.n_all; i++)
        sum += w->table.all[i]->counts.value[0];
    assert_int_equal(sum, THREADS * (THREADS - 1) / 2);
}

static void
a_thread_that_comes_again_goes_on_where_it_was(void **state)
{
    world *w = *state;
    let_them_pass(w);
    uint64_t sum = w->table.ended_counts.value[0];
    for (int round = 0; round < 3; round++) {
        rec_thread *t = only(w, FIRST_TID + 5);
        assert_int_equal(t->sink_id, 5);
        assert_int_equal(t->counts.value[0], 5);
        assert_int_equal(t->shared, 0);
        only(w, FIRST_TID + 6);
        size_t ended = w->table.n_ended;
        assert_true(rec_threads_pack(&w->table));
        assert_int_equal(w->table.n_ended, ended);
    }
    assert_int_equal(w->table.ended_counts.value[0], sum - 5 - 6);
}

static void
counts_that_were_not_emitted_are_kept_whole(void **state)
{
    world *w = *state;
    only(w, FIRST_TID)->counts.changed = true;
    for (uint32_t i = 1; i < THREADS; i++) {
        only(w, FIRST_TID + i)->sink_id = i;
        assert_true(rec_threads_pack(&w->table));
    }
    assert_int_equal(w->table.all[0]->tid, FIRST_TID);
    assert_true(w->table.all[0]->counts.changed);
}

/* Read the words of a tick: do they show the listed state? */
static bool
is_as_listed(world *w)
{
    rec_batch batch;
    assert_int_equal(rec_batch_init(&batch, &w->memory, NULL), PR_OK);
    rec_interps_add(&w->table, &batch);
    assert_int_equal(rec_batch_read(&batch, NULL), PR_OK);
    bool same = rec_interps_parse(&w->table, &batch);
    rec_batch_release(&batch);
    return same;
}

/* CPython puts a new interpreter at the head of the list, so no word of the
 * others changes (3.15 Python/pystate.c, PyInterpreterState_New()). */
static void
a_new_interpreter_shows_in_the_next_tick(void **state)
{
    world *w = *state;
    const rec_layout *l = &w->runtime.layout;
    uint8_t *newest = calloc(1, table_3_15[INTERP_SIZE]);
    assert_non_null(newest);
    only(w, FIRST_TID);
    assert_true(is_as_listed(w));
    put(newest + l->interp.next, (uintptr_t)w->interp);
    put(w->runtime_state + l->runtime.interpreters_head, (uintptr_t)newest);
    assert_false(is_as_listed(w));
    assert_int_equal(rec_threads_list(&w->table, NULL), PR_OK);
    assert_int_equal(w->table.n_interps, 2);
    assert_true(is_as_listed(w));
    free(newest);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_threads_that_ended_little_is_kept,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            a_thread_that_comes_again_goes_on_where_it_was, begin, end),
        cmocka_unit_test_setup_teardown(
            counts_that_were_not_emitted_are_kept_whole, begin, end),
        cmocka_unit_test_setup_teardown(
            a_new_interpreter_shows_in_the_next_tick, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
