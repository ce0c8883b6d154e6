/*
 * test_prove.c - which reads of a made-up target prove that a thread stood
 * still, and what becomes of those that do not.
 */
#include "fake_target.h"
#include "own_switches.h"
#include "sleeper.h"

enum { MAIN, OTHER };

static fake_target *
attached(const uint64_t *table, size_t size)
{
    fake_target *f = fake_target_new(table, size);
    fake_add_thread(f, fake_own_tid());
    f->u.start_ns = 1;
    f->u.tick.cpu = FAKE_CPU;
    f->u.tick.counted = true;
    own_switches = 0;
    own_switches_hidden = false;
    return f;
}

BEGIN(3_15, attached)
BEGIN(3_13, attached)

static int
end(void **state)
{
    fake_target_free(*state);
    return 0;
}

/* A tick begins; thread i is wanted. */
static rec_thread *
want(fake_target *f, size_t i)
{
    if (f->u.table.n_live == 0)
        fake_list(f);
    rec_thread *t = fake_find(f, i);
    t->wanted = true;
    f->u.emitter.n_ticks = 0;
    assert_int_equal(rec_emitter_tick(&f->u.emitter, f->u.tick.time_us, NULL),
                     PR_OK);
    return t;
}

/* Read thread i between two reads of its rseq.cpu_id, and judge it. */
static rec_sampled
sample_still(fake_target *f, size_t i)
{
    rec_thread *t = want(f, i);
    rec_read read;
    rec_sampled sampled;
    rec_batch_reset(f->u.tick.batch);
    rec_interps_add(&f->u.table, f->u.tick.batch); /* as a pass begins */
    assert_true(rec_sample_add(&f->u, t, t->rseq, &read));
    assert_int_equal(rec_batch_read(f->u.tick.batch, NULL), PR_OK);
    assert_int_equal(rec_sample_still(&f->u, t, &read, &sampled, NULL), PR_OK);
    return sampled;
}

static rec_sampled
sample(fake_target *f, size_t i)
{
    rec_sampled sampled;
    assert_int_equal(rec_sample(&f->u, want(f, i), &sampled, NULL), PR_OK);
    return sampled;
}

static uint64_t
count(fake_target *f, size_t i, pr_count_kind kind)
{
    return rec_count_get(&fake_find(f, i)->counts, kind);
}

static void
expect_nothing(fake_target *f, size_t i)
{
    fake_expect(f, "");
    rec_thread *t = fake_find(f, i);
    assert_true(t->wanted);
    assert_false(t->known);
    for (size_t k = 0; k < REC_COUNTS; k++)
        assert_int_equal(t->counts.value[k], 0);
}

/* ---- still ---- */

static void
a_thread_on_our_cpu_at_both_reads_is_proven(void **state)
{
    fake_target *f = *state;
    fake_call(f, MAIN, "leaf");
    fake_hold(f, MAIN);
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_PROVEN), 1);
    rec_thread *t = fake_find(f, MAIN);
    assert_false(t->wanted);
    assert_true(t->known && t->proven);
    assert_int_equal(t->stack.n, 2);
    assert_int_equal(t->status, PR_HAS_GIL | PR_ON_CPU | PR_MAIN_THREAD);
    assert_non_null(strstr(f->sink.log, "thread main\n"
                                        "samples 0 keep 0 leaf main @"));
}

static void
leave_our_cpu(fake_target *f)
{
    fake_put32(&f->fake, f->thread[MAIN].rseq, FAKE_CPU + 1);
}

static void
come_to_our_cpu(fake_target *f)
{
    fake_put32(&f->fake, f->thread[MAIN].rseq, FAKE_CPU);
}

static void
a_thread_that_leaves_our_cpu_between_the_reads_is_not(void **state)
{
    fake_target *f = *state;
    f->poke_at = f->thread[MAIN].tstate;
    fake_list(f);
    f->poke = leave_our_cpu;
    assert_int_equal(sample_still(f, MAIN), REC_BROKEN);
    expect_nothing(f, MAIN);
}

static void
a_thread_that_comes_to_our_cpu_between_the_reads_is_not(void **state)
{
    fake_target *f = *state;
    fake_list(f);
    leave_our_cpu(f);
    f->poke_at = f->thread[MAIN].tstate;
    f->poke = come_to_our_cpu;
    assert_int_equal(sample_still(f, MAIN), REC_ELSEWHERE);
    assert_int_equal(fake_find(f, MAIN)->sched.cpu, FAKE_CPU + 1);
    expect_nothing(f, MAIN);
}

static void
without_a_cpu_of_our_own_nothing_is_proven_still(void **state)
{
    fake_target *f = *state;
    f->u.tick.cpu = REC_NO_CPU;
    fake_list(f);
    fake_put32(&f->fake, f->thread[MAIN].rseq, UINT32_MAX);
    assert_int_equal(sample_still(f, MAIN), REC_BROKEN);
    expect_nothing(f, MAIN);
}

static void
switch_us(fake_target *f)
{
    (void)f;
    own_switches++;
}

static void
a_switch_of_ours_in_between_spoils_the_proof(void **state)
{
    fake_target *f = *state;
    fake_list(f);
    f->poke_at = f->thread[MAIN].tstate;
    f->poke = switch_us;
    assert_int_equal(sample_still(f, MAIN), REC_BROKEN);
    expect_nothing(f, MAIN);
    f->poke = NULL; /* the next pass counts anew */
    f->u.tick.switches = (uint64_t)own_switches;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
}

static void
a_kernel_that_hides_our_switches_lets_nothing_be_proven(void **state)
{
    fake_target *f = *state;
    fake_list(f);
    own_switches_hidden = true;
    assert_int_equal(sample_still(f, MAIN), REC_BROKEN);
    expect_nothing(f, MAIN);
}

/* The code object is not in the first read: the guard closes after the last. */
static void
a_later_read_moves_the_end_of_the_guard(void **state)
{
    fake_target *f = *state;
    const rec_layout *l = &f->u.program.runtime.layout;
    fake_list(f);
    uint64_t code = rec_u64(f->fake.bytes + f->thread[MAIN].last +
                            l->frame.executable - FAKE_BASE);
    f->poke_at = code;
    f->poke = leave_our_cpu;
    assert_int_equal(sample_still(f, MAIN), REC_BROKEN);
    expect_nothing(f, MAIN);
    assert_int_equal(rec_u32(f->fake.bytes + f->thread[MAIN].rseq - FAKE_BASE),
                     FAKE_CPU + 1); /* that piece was read */
}

static void
a_known_stack_is_proven_by_one_read(void **state)
{
    fake_target *f = *state;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    uint64_t reads = f->u.program.memory.reads;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_int_equal(f->u.program.memory.reads - reads, 1);
    assert_int_equal(count(f, MAIN, PR_COUNT_PROVEN), 2);
}

static void
a_proven_holder_of_the_gil_is_a_witness(void **state)
{
    fake_target *f = *state;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_int_equal(f->u.table.interp[0].witness, 0);
    fake_hold(f, MAIN);
    fake_list(f);
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_int_equal(f->u.table.interp[0].witness, f->thread[MAIN].rseq);
}

static void
put_collection(fake_target *f, uint64_t frame, uint32_t collecting)
{
    const rec_layout *l = &f->u.program.runtime.layout;
    uint64_t gc = f->interp + l->interp.gc;
    fake_put64(&f->fake, gc + l->gc.frame, frame);
    fake_put32(&f->fake, gc + l->gc.collecting, collecting);
}

/* The pass began during a collection; the thread is read after it, when another
 * frame lies where that of the collection lay. */
static void
a_collection_that_ended_before_the_read_has_no_frame(void **state)
{
    fake_target *f = *state;
    f->u.opts.gc = 1;
    put_collection(f, f->thread[MAIN].last, 1);
    fake_call(f, MAIN, "leaf");
    fake_hold(f, MAIN);
    fake_list(f);
    put_collection(f, f->thread[MAIN].last, 0);
    assert_int_equal(sample(f, MAIN), REC_SAMPLED);
    assert_int_equal(fake_find(f, MAIN)->stack.n, 2);
    put_collection(f, f->thread[MAIN].last, 1);
    assert_int_equal(sample(f, MAIN), REC_SAMPLED);
    assert_int_equal(fake_find(f, MAIN)->stack.n, 3);
}

/* ---- quiet ---- */

typedef struct quiet {
    sleeper sleeper;
    rec_sched sched;
} quiet;

static void
begin_quiet(fake_target *f, quiet *q)
{
    sleeper_start(&q->sleeper, 2);
    rec_sched_init(&q->sched, 1000);
    sleeper_wait_until_asleep(&q->sched, q->sleeper.tid);
    fake_add_thread(f, q->sleeper.tid);
    f->context = q;
    fake_list(f);
    fake_find(f, OTHER)->rseq = 0; /* its own word must not prove it */
}

static void
wake_it(fake_target *f)
{
    quiet *q = f->context;
    sleeper_wake(&q->sleeper);
    f->poke = NULL;
}

static void
end_quiet(quiet *q, bool woken)
{
    if (!woken)
        sleeper_wake(&q->sleeper);
    sleeper_finish(&q->sleeper);
    rec_sched_release(&q->sched);
}

static void
a_thread_that_slept_all_the_time_is_proven(void **state)
{
    fake_target *f = *state;
    static quiet q; /* outlives a test that fails */
    begin_quiet(f, &q);
    assert_int_equal(sample(f, OTHER), REC_SAMPLED);
    assert_int_equal(count(f, OTHER, PR_COUNT_SLEEPING), 1);
    assert_int_equal(fake_find(f, OTHER)->status, 0);
    assert_true(fake_find(f, OTHER)->proven);
    end_quiet(&q, false);
}

static void
a_thread_that_ran_during_the_read_is_not(void **state)
{
    fake_target *f = *state;
    static quiet q; /* outlives a test that fails */
    begin_quiet(f, &q);
    f->poke_at = f->thread[OTHER].tstate;
    f->poke = wake_it;
    assert_int_equal(sample(f, OTHER), REC_BROKEN);
    expect_nothing(f, OTHER);
    end_quiet(&q, true);
}

static void
a_thread_that_runs_elsewhere_is_left_for_its_cpu(void **state)
{
    fake_target *f = *state;
    fake_list(f);
    fake_find(f, MAIN)->rseq = 0; /* else its own word would be asked */
    uint64_t reads = f->u.program.memory.reads;
    assert_int_equal(sample(f, MAIN), REC_ELSEWHERE);
    assert_int_equal(f->u.program.memory.reads, reads); /* none in vain */
    expect_nothing(f, MAIN);
}

/* ---- a witness ---- */

/* Thread 0 is this one, which runs; the holder of its GIL stands still. */
static void
begin_witness(fake_target *f)
{
    fake_add_thread(f, 1);
    fake_hold(f, OTHER);
    fake_list(f);
    f->u.table.interp[0].witness = f->thread[OTHER].rseq;
    fake_find(f, MAIN)->rseq = 0;
}

static void
a_thread_without_the_gil_is_proven_by_its_still_holder(void **state)
{
    fake_target *f = *state;
    begin_witness(f);
    assert_int_equal(sample(f, MAIN), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_PROVEN), 1);
    assert_int_equal(fake_find(f, MAIN)->status, PR_ON_CPU | PR_MAIN_THREAD);
}

static void
free_witness(fake_target *f)
{
    fake_put32(&f->fake, f->thread[OTHER].rseq, FAKE_CPU + 1);
}

static void
a_holder_that_left_our_cpu_is_no_witness(void **state)
{
    fake_target *f = *state;
    begin_witness(f);
    f->poke_at = f->thread[MAIN].tstate;
    f->poke = free_witness;
    assert_int_equal(sample(f, MAIN), REC_BROKEN);
    expect_nothing(f, MAIN);
}

/* ---- threads that are gone, stacks that are broken ---- */

/* The state bears another thread's id now. */
static void
end_thread(fake_target *f, size_t i)
{
    fake_put64(&f->fake,
               f->thread[i].tstate +
                   f->u.program.runtime.layout.tstate.native_thread_id,
               12345);
}

static void
a_thread_that_is_gone_is_listed_again_and_then_lost(void **state)
{
    fake_target *f = *state;
    fake_list(f);
    end_thread(f, MAIN);
    f->u.program.listed_ms = 77;
    assert_int_equal(sample_still(f, MAIN), REC_BROKEN);
    assert_int_equal(f->u.program.listed_ms, 0); /* list now */
    expect_nothing(f, MAIN);
    f->u.tick.exhausted = true;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_LOST_GONE), 1);
    assert_false(fake_find(f, MAIN)->wanted);
    fake_expect(f, "");
}

static void
a_thread_that_the_kernel_lost_has_vanished(void **state)
{
    fake_target *f = *state;
    static sleeper s;
    sleeper_start(&s, 1);
    sleeper_finish(&s);
    fake_add_thread(f, s.tid);
    fake_list(f);
    fake_find(f, OTHER)->rseq = 0;
    f->u.program.listed_ms = 77;
    assert_int_equal(sample(f, OTHER), REC_BROKEN);
    assert_true(fake_find(f, OTHER)->vanished);
    assert_int_equal(f->u.program.listed_ms, 0);
    expect_nothing(f, OTHER);
}

static void
a_still_thread_with_a_broken_stack_is_lost_as_torn(void **state)
{
    fake_target *f = *state;
    const rec_layout *l = &f->u.program.runtime.layout;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    fake_put64(&f->fake, f->thread[MAIN].last + l->frame.previous,
               f->thread[MAIN].last);
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_PROVEN), 1);
    assert_int_equal(count(f, MAIN, PR_COUNT_LOST_TORN), 1);
    assert_false(fake_find(f, MAIN)->known);
}

/* ---- no proof ---- */

/* The last try of the last pass, of a thread that runs on another CPU. */
static rec_sampled
sample_last(fake_target *f)
{
    fake_list(f);
    leave_our_cpu(f);
    f->u.tick.last = f->u.tick.exhausted = true;
    return sample(f, MAIN);
}

static void
from_3_14_on_the_last_try_takes_an_unproven_stack(void **state)
{
    fake_target *f = *state;
    assert_int_equal(sample_last(f), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_UNPROVEN), 1);
    assert_true(fake_find(f, MAIN)->known);
    assert_false(fake_find(f, MAIN)->proven);
}

static void
up_to_3_13_what_is_not_proven_is_lost(void **state)
{
    fake_target *f = *state;
    assert_int_equal(sample_last(f), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_LOST_MOVED), 1);
    assert_int_equal(count(f, MAIN, PR_COUNT_UNPROVEN), 0);
    fake_expect(f, "");
}

static void
colocated_loses_what_is_not_proven(void **state)
{
    fake_target *f = *state;
    f->u.opts.strategy = REC_COLOCATED;
    assert_int_equal(sample_last(f), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_LOST_MOVED), 1);
    fake_expect(f, "");
}

static void
remote_takes_an_unproven_stack_of_every_version(void **state)
{
    fake_target *f = *state;
    f->u.opts.strategy = REC_REMOTE;
    f->u.tick.cpu = REC_NO_CPU;
    assert_int_equal(sample_last(f), REC_SAMPLED);
    assert_int_equal(count(f, MAIN, PR_COUNT_UNPROVEN), 1);
}

/* ---- what becomes of a sample ---- */

static void
a_silent_tick_introduces_a_thread_and_counts_nothing(void **state)
{
    fake_target *f = *state;
    f->u.tick.silent = true;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    fake_expect(f, "thread main\n");
    assert_int_equal(count(f, MAIN, PR_COUNT_PROVEN), 0);
    assert_int_equal(fake_find(f, MAIN)->shared, 0);
}

static void
a_sample_that_the_mode_leaves_out_is_counted_as_skipped(void **state)
{
    fake_target *f = *state;
    f->u.opts.mode = PR_MODE_GIL;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    fake_expect(f, "");
    assert_int_equal(count(f, MAIN, PR_COUNT_SKIPPED_MODE), 1);
    assert_int_equal(count(f, MAIN, PR_COUNT_PROVEN), 0);
}

/* Frames that the sink never had must not count as kept. */
static void
a_skipped_stack_is_emitted_whole_when_the_mode_takes_it(void **state)
{
    fake_target *f = *state;
    f->u.opts.mode = PR_MODE_GIL;
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    fake_hold(f, MAIN);
    fake_list(f);
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_non_null(strstr(f->sink.log, "samples 0 keep 0 main @"));
}

/* The frames that the sink has shrink to what all stacks since had. */
static void
skipped_stacks_lower_what_the_sink_shares(void **state)
{
    fake_target *f = *state;
    f->u.opts.mode = PR_MODE_GIL;
    fake_hold(f, MAIN);
    fake_call(f, MAIN, "a");
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    fake_hold(f, SIZE_MAX);
    fake_list(f);
    f->thread[MAIN].top = f->thread[MAIN].last; /* return from a, call b */
    f->thread[MAIN].last -= 8 * FAKE_FRAME_WORDS;
    fake_call(f, MAIN, "b");
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    fake_call(f, MAIN, "c");
    fake_hold(f, MAIN);
    fake_list(f);
    assert_int_equal(sample_still(f, MAIN), REC_SAMPLED);
    assert_non_null(strstr(f->sink.log, "samples 0 keep 0 a main @"));
    assert_non_null(strstr(f->sink.log, "samples 0 keep 1 c b @"));
}

#define TEST_15(f) cmocka_unit_test_setup_teardown(f, begin_3_15, end)
#define TEST_13(f) cmocka_unit_test_setup_teardown(f, begin_3_13, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_15(a_thread_on_our_cpu_at_both_reads_is_proven),
        TEST_13(a_thread_on_our_cpu_at_both_reads_is_proven),
        TEST_15(a_thread_that_leaves_our_cpu_between_the_reads_is_not),
        TEST_15(a_thread_that_comes_to_our_cpu_between_the_reads_is_not),
        TEST_15(without_a_cpu_of_our_own_nothing_is_proven_still),
        TEST_15(a_switch_of_ours_in_between_spoils_the_proof),
        TEST_15(a_kernel_that_hides_our_switches_lets_nothing_be_proven),
        TEST_15(a_later_read_moves_the_end_of_the_guard),
        TEST_15(a_known_stack_is_proven_by_one_read),
        TEST_13(a_known_stack_is_proven_by_one_read),
        TEST_15(a_proven_holder_of_the_gil_is_a_witness),
        TEST_15(a_collection_that_ended_before_the_read_has_no_frame),
        TEST_15(a_thread_that_slept_all_the_time_is_proven),
        TEST_15(a_thread_that_ran_during_the_read_is_not),
        TEST_15(a_thread_that_runs_elsewhere_is_left_for_its_cpu),
        TEST_15(a_thread_without_the_gil_is_proven_by_its_still_holder),
        TEST_15(a_holder_that_left_our_cpu_is_no_witness),
        TEST_15(a_thread_that_is_gone_is_listed_again_and_then_lost),
        TEST_15(a_thread_that_the_kernel_lost_has_vanished),
        TEST_15(a_still_thread_with_a_broken_stack_is_lost_as_torn),
        TEST_15(from_3_14_on_the_last_try_takes_an_unproven_stack),
        TEST_13(up_to_3_13_what_is_not_proven_is_lost),
        TEST_15(colocated_loses_what_is_not_proven),
        TEST_13(remote_takes_an_unproven_stack_of_every_version),
        TEST_15(a_silent_tick_introduces_a_thread_and_counts_nothing),
        TEST_15(a_sample_that_the_mode_leaves_out_is_counted_as_skipped),
        TEST_15(a_skipped_stack_is_emitted_whole_when_the_mode_takes_it),
        TEST_15(skipped_stacks_lower_what_the_sink_shares),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
