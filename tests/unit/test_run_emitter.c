/*
 * test_run_emitter.c - runs of samples: unchanged stacks, order in time, names
 * and ends of threads.
 */
#include "fake_target.h"

#include <pthread.h>

enum { MAIN, OTHER };

typedef struct world {
    fake_target *f;
    rec_emitter *e;
    rec_thread *t[2];
} world;

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    w->f = fake_target_new(table_3_15, sizeof table_3_15);
    fake_add_thread(w->f, fake_own_tid());
    fake_add_thread(w->f, 1);
    fake_list(w->f);
    w->e = &w->f->u.emitter;
    w->t[MAIN] = fake_find(w->f, MAIN);
    w->t[OTHER] = fake_find(w->f, OTHER);
    *state = w;
    return 0;
}

static int
end(void **state)
{
    world *w = *state;
    fake_target_free(w->f);
    free(w);
    return 0;
}

/* The stack is now frames 100 .. 100+n-1, of which `shared` are as they were. */
static void
set_stack(rec_thread *t, uint32_t n, uint32_t shared)
{
    rec_stack_release(&t->stack);
    t->stack.v = calloc(n, sizeof *t->stack.v);
    assert_non_null(t->stack.v);
    t->stack.cap = t->stack.n = n;
    for (uint32_t i = 0; i < n; i++)
        t->stack.v[i].id = 100 + i;
    t->shared = shared;
}

static void
tick(world *w, uint64_t time_us)
{
    assert_int_equal(rec_emitter_tick(w->e, time_us, NULL), PR_OK);
}

static void
idle(world *w, int i)
{
    assert_int_equal(rec_emitter_idle(w->e, w->t[i], NULL), PR_OK);
}

static void
sample(world *w, int i, uint64_t time_us, uint8_t status)
{
    assert_int_equal(rec_emitter_sample(w->e, w->t[i], time_us, status, NULL),
                     PR_OK);
}

static void
flush(world *w)
{
    assert_int_equal(rec_emitter_flush(w->e, &w->f->u.table, NULL), PR_OK);
}

static void
counts(world *w)
{
    assert_int_equal(rec_emitter_counts(w->e, &w->f->u.table, NULL), PR_OK);
}

/* A first sample of thread i at time 10. */
static void
introduce(world *w, int i)
{
    set_stack(w->t[i], 2, 0);
    tick(w, 10);
    sample(w, i, 11, 1);
    w->f->sink.used = 0;
    w->f->sink.log[0] = '\0';
}

static void
a_thread_is_introduced_once_before_its_first_sample(void **state)
{
    world *w = *state;
    set_stack(w->t[MAIN], 2, 0);
    tick(w, 10);
    sample(w, MAIN, 11, 1);
    tick(w, 20);
    sample(w, MAIN, 21, 3);
    fake_expect(w->f, "thread main\n"
                      "samples 0 keep 0 #101 #100 @11/1\n"
                      "samples 0 keep 2 @21/3\n");
}

static void
an_unchanged_stack_is_one_run(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    for (uint64_t time = 20; time <= 50; time += 10) {
        tick(w, time);
        idle(w, MAIN);
        fake_expect(w->f, "");
    }
    flush(w);
    fake_expect(w->f, "samples 0 keep 2 @20/1 @30/1 @40/1 @50/1\n");
    flush(w);
    fake_expect(w->f, "");
}

static void
a_run_goes_on_after_a_flush_without_a_gap_or_a_double(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    tick(w, 20);
    idle(w, MAIN);
    flush(w);
    tick(w, 30);
    idle(w, MAIN);
    tick(w, 40);
    idle(w, MAIN);
    flush(w);
    fake_expect(w->f, "samples 0 keep 2 @20/1\n"
                      "samples 0 keep 2 @30/1 @40/1\n");
}

static void
what_is_pending_comes_before_a_new_sample(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    tick(w, 20);
    idle(w, MAIN);
    tick(w, 30);
    idle(w, MAIN);
    tick(w, 40);
    /* as the sampler does: settle with the old stack, then change it */
    assert_int_equal(rec_emitter_settle_before(w->e, w->t[MAIN], NULL), PR_OK);
    set_stack(w->t[MAIN], 1, 1);
    sample(w, MAIN, 41, 3);
    flush(w);
    fake_expect(w->f, "samples 0 keep 2 @20/1 @30/1\n"
                      "samples 0 keep 1 @41/3\n");
}

static void
a_run_ends_before_the_tick_in_which_a_thread_is_not_sampled(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    tick(w, 20);
    idle(w, MAIN);
    tick(w, 30);
    assert_int_equal(rec_emitter_settle_before(w->e, w->t[MAIN], NULL), PR_OK);
    tick(w, 40);
    idle(w, MAIN);
    flush(w);
    fake_expect(w->f, "samples 0 keep 2 @20/1\n"
                      "samples 0 keep 2 @40/1\n");
}

/* It was read after the time at which the next tick was due. */
static void
the_time_of_a_thread_never_goes_back(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    tick(w, 20);
    sample(w, MAIN, 35, 1);
    tick(w, 30);
    sample(w, MAIN, 30, 1);
    fake_expect(w->f, "samples 0 keep 2 @35/1\n"
                      "samples 0 keep 2 @35/1\n");
}

static void
the_time_of_an_unchanged_thread_never_goes_back(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    tick(w, 20);
    sample(w, MAIN, 35, 1);
    tick(w, 30);
    idle(w, MAIN);
    tick(w, 40);
    idle(w, MAIN);
    flush(w);
    fake_expect(w->f, "samples 0 keep 2 @35/1\n"
                      "samples 0 keep 2 @35/1 @40/1\n");
}

static void
a_stack_that_the_sink_does_not_have_is_emitted_by_an_idle_thread(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    set_stack(w->t[MAIN], 3, 1);
    w->t[MAIN]->status = 5;
    tick(w, 20);
    idle(w, MAIN);
    fake_expect(w->f, "samples 0 keep 1 #102 #101 @20/5\n");
    tick(w, 30);
    idle(w, MAIN);
    flush(w);
    fake_expect(w->f, "samples 0 keep 3 @30/5\n");
}

static void
threads_have_ids_in_the_order_of_their_first_samples(void **state)
{
    world *w = *state;
    introduce(w, OTHER);
    set_stack(w->t[MAIN], 1, 0);
    sample(w, MAIN, 12, 1);
    tick(w, 20);
    idle(w, OTHER);
    idle(w, MAIN);
    flush(w);
    /* the list is newest first */
    fake_expect(w->f, "thread main\n"
                      "samples 1 keep 0 #100 @12/1\n"
                      "samples 0 keep 2 @20/1\n"
                      "samples 1 keep 1 @20/1\n");
}

static void
a_new_name_is_emitted_once(void **state)
{
    world *w = *state;
    assert_int_equal(pthread_setname_np(pthread_self(), "first"), 0);
    introduce(w, MAIN);
    assert_int_equal(rec_emitter_rename(w->e, w->t[MAIN], NULL), PR_OK);
    fake_expect(w->f, "");
    assert_int_equal(pthread_setname_np(pthread_self(), "second"), 0);
    assert_int_equal(rec_emitter_rename(w->e, w->t[MAIN], NULL), PR_OK);
    assert_int_equal(rec_emitter_rename(w->e, w->t[MAIN], NULL), PR_OK);
    fake_expect(w->f, "rename 0 second\n");
}

static void
a_name_that_is_gone_does_not_replace_a_known_one(void **state)
{
    world *w = *state;
    introduce(w, MAIN);
    w->t[MAIN]->host = 1; /* no thread of this process */
    assert_int_equal(rec_emitter_rename(w->e, w->t[MAIN], NULL), PR_OK);
    fake_expect(w->f, "");
}

static void
a_thread_that_ended_leaves_once(void **state)
{
    world *w = *state;
    introduce(w, OTHER);
    fake_link(w->f, 1); /* OTHER is no longer in the list */
    assert_int_equal(rec_threads_list(&w->f->u.table, NULL), PR_OK);
    counts(w);
    fake_expect(w->f, "leave 0\n");
    counts(w);
    fake_expect(w->f, "");
}

static void
a_thread_of_which_there_are_only_losses_is_introduced(void **state)
{
    world *w = *state;
    w->f->sink.counts = true;
    rec_count_add(&w->t[MAIN]->counts, PR_COUNT_LOST_TORN, 2);
    rec_count_add(&w->e->counts, PR_COUNT_TICKS, 7);
    counts(w);
    fake_expect(w->f, "thread main\n"
                      "count 0 8 = 2\n"
                      "count -1 16 = 7\n");
    counts(w); /* nothing changed */
    fake_expect(w->f, "");
    rec_count_add(&w->e->counts, PR_COUNT_TICKS, 1);
    counts(w);
    fake_expect(w->f, "count -1 16 = 8\n");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_thread_is_introduced_once_before_its_first_sample),
        TEST(an_unchanged_stack_is_one_run),
        TEST(a_run_goes_on_after_a_flush_without_a_gap_or_a_double),
        TEST(what_is_pending_comes_before_a_new_sample),
        TEST(a_run_ends_before_the_tick_in_which_a_thread_is_not_sampled),
        TEST(the_time_of_a_thread_never_goes_back),
        TEST(the_time_of_an_unchanged_thread_never_goes_back),
        TEST(a_stack_that_the_sink_does_not_have_is_emitted_by_an_idle_thread),
        TEST(threads_have_ids_in_the_order_of_their_first_samples),
        TEST(a_new_name_is_emitted_once),
        TEST(a_name_that_is_gone_does_not_replace_a_known_one),
        TEST(a_thread_that_ended_leaves_once),
        TEST(a_thread_of_which_there_are_only_losses_is_introduced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
