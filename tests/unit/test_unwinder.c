/*
 * test_unwinder.c - one tick over the threads of a made-up target: its choice
 * of threads, its passes, its recovery, and the target's exec.
 */
#include "fake_target.h"
#include "own_switches.h"
#include "sleeper.h"

enum { MAIN, OTHER };

/* ---- the target's process and program, as the test wants them ---- */

static rec_alive process_is;         /* rec_process_check() says so */
static pr_code program_is;           /* rec_runtime_find() says so ... */
static const fake_target *in_memory; /* ... or finds this one */
static int checks;

rec_alive __wrap_rec_process_check(const rec_process *process);
pr_code __wrap_rec_runtime_find(const rec_process *process, rec_memory *memory,
                                rec_runtime *ret, pr_err *err);

rec_alive
__wrap_rec_process_check(const rec_process *process)
{
    (void)process;
    checks++;
    return process_is;
}

pr_code
__wrap_rec_runtime_find(const rec_process *process, rec_memory *memory,
                        rec_runtime *ret, pr_err *err)
{
    (void)process;
    if (program_is != PR_OK)
        return PR_FAIL(err, program_is, "not found");
    memory->read = fake_target_read;
    memory->context = (void *)(uintptr_t)in_memory;
    *ret = in_memory->u.program.runtime;
    return PR_OK;
}

/* ---- a target with a thread that runs and one that sleeps ---- */

typedef struct world {
    fake_target *f;
    sleeper sleeper;
    bool sleeps;
    rec_sched sched;
    uint64_t time_us;
} world;

static pr_code
take_mark(pr_sink *sink, const pr_mark *mark, pr_err *err)
{
    (void)err;
    if (mark->kind == PR_MARK_EXEC)
        fake_log((fake_sink *)sink, "exec\n");
    return PR_OK;
}

static world *
world_of(const uint64_t *table, size_t size)
{
    static pr_sink_ops ops;
    static world w;
    ops = fake_sink_ops;
    ops.mark = take_mark;
    w = (world){
        .f = fake_target_new(table, size), .sleeps = true, .time_us = 1000};
    sleeper_start(&w.sleeper, 1);
    rec_sched_init(&w.sched, 1000);
    sleeper_wait_until_asleep(&w.sched, w.sleeper.tid);
    fake_add_thread(w.f, fake_own_tid());
    fake_add_thread(w.f, w.sleeper.tid);
    fake_link(w.f, 2);
    fake_hold(w.f, MAIN);
    w.f->sink.sink.ops = &ops;
    w.f->u.start_ns = 1;
    own_switches = 0;
    own_switches_hidden = false;
    process_is = REC_ALIVE;
    program_is = PR_OK;
    in_memory = w.f;
    checks = 0;
    return &w;
}

BEGIN(3_15, world_of)
BEGIN(3_13, world_of)

static void
end_sleeper(world *w)
{
    if (w->sleeps)
        sleeper_finish(&w->sleeper);
    w->sleeps = false;
}

static int
end(void **state)
{
    world *w = *state;
    end_sleeper(w);
    rec_sched_release(&w->sched);
    fake_target_free(w->f);
    return 0;
}

static pr_code
pass(world *w, int cpu, bool last, pr_err *err)
{
    return rec_tick_pass(&w->f->u, cpu, last, err);
}

/* A tick of one pass, from a CPU that no thread runs on. */
static void
tick(world *w)
{
    rec_tick_begin(&w->f->u, w->time_us += 1000);
    assert_int_equal(pass(w, FAKE_CPU + 7, true, NULL), PR_OK);
}

static uint64_t
count(world *w, size_t i, pr_count_kind kind)
{
    return rec_count_get(&fake_find(w->f, i)->counts, kind);
}

static uint64_t
total(world *w, pr_count_kind kind)
{
    return rec_tick_total(&w->f->u, kind);
}

/* ---- the choice of threads ---- */

static void
each_thread_is_sampled_once_a_tick(void **state)
{
    world *w = *state;
    for (uint64_t i = 1; i <= 3; i++) {
        tick(w);
        assert_int_equal(count(w, MAIN, PR_COUNT_UNPROVEN), i);
        assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), i);
    }
    assert_int_equal(total(w, PR_COUNT_TICKS), 3);
}

static void
a_thread_that_slept_on_is_not_read_again(void **state)
{
    world *w = *state;
    tick(w);
    fake_put64(&w->f->fake,
               w->f->thread[OTHER].last +
                   w->f->u.program.runtime.layout.frame.executable,
               0); /* a read would find a broken stack */
    tick(w);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 2);
    assert_int_equal(total(w, PR_COUNT_LOST_TORN), 0);
}

static void
threads_that_the_options_leave_out_are_counted(void **state)
{
    world *w = *state;
    w->f->u.opts.threads = REC_THREADS_MAIN;
    tick(w);
    assert_int_equal(count(w, MAIN, PR_COUNT_UNPROVEN), 1);
    assert_int_equal(count(w, OTHER, PR_COUNT_SKIPPED_THREADS), 1);
    w->f->u.opts.threads = REC_THREADS_GIL;
    fake_hold(w->f, OTHER);
    tick(w);
    assert_int_equal(count(w, MAIN, PR_COUNT_SKIPPED_THREADS), 1);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 1);
    fake_hold(w->f, SIZE_MAX);
    tick(w);
    assert_int_equal(count(w, MAIN, PR_COUNT_SKIPPED_THREADS), 2);
    assert_int_equal(count(w, OTHER, PR_COUNT_SKIPPED_THREADS), 2);
}

static void
a_thread_that_begins_is_sampled_in_the_tick_that_lists_it(void **state)
{
    world *w = *state;
    fake_link(w->f, 1);
    tick(w);
    assert_int_equal(w->f->u.table.n_live, 1);
    fake_link(w->f, 2);
    tick(w);
    assert_int_equal(w->f->u.table.n_live, 2);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 1);
    fake_link(w->f, 1); /* and it ends */
    tick(w);
    assert_int_equal(w->f->u.table.n_live, 1);
    assert_int_equal(total(w, PR_COUNT_SLEEPING), 1);
}

/* Thread i has this kernel id from now on. */
static void
put_id(world *w, size_t i, pid_t tid)
{
    uint32_t at = w->f->u.program.runtime.layout.tstate.native_thread_id;
    fake_put64(&w->f->fake, w->f->thread[i].tstate + at, (uint64_t)tid);
}

/* The state of OTHER says `tid` until its thread runs: nothing but that word
 * changes then. */
static void
expect_sample_once_bound(world *w, pid_t tid)
{
    put_id(w, OTHER, tid);
    tick(w);
    uint32_t listed = w->f->u.table.listings;
    tick(w);
    assert_int_equal(w->f->u.table.n_live, 1);
    assert_int_equal(w->f->u.table.listings, listed);
    put_id(w, OTHER, w->sleeper.tid);
    tick(w);
    assert_int_equal(w->f->u.table.n_live, 2);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 1);
}

static void
a_new_thread_is_sampled_in_the_tick_that_finds_it_bound(void **state)
{
    expect_sample_once_bound(*state, 0);
}

/* CPython 3.11: until then its state has the id of the thread that made it. */
static void
so_is_one_whose_state_had_its_makers_id(void **state)
{
    expect_sample_once_bound(*state, fake_own_tid());
}

/* The list does not change: the new state lies where the old one lay. */
static void
a_thread_with_the_state_of_one_that_ended_is_sampled_at_once(void **state)
{
    world *w = *state;
    uint32_t switches = w->f->u.program.runtime.layout.gil.switch_number;
    sleeper heir;
    sleeper_start(&heir, 1);
    sleeper_wait_until_asleep(&w->sched, heir.tid);
    tick(w);
    end_sleeper(w);
    put_id(w, OTHER, heir.tid);
    fake_put64(&w->f->fake, w->f->gil + switches, 2);
    tick(w);
    assert_int_equal(fake_find(w->f, OTHER)->tid, heir.tid);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 1);
    assert_int_equal(total(w, PR_COUNT_LOST_GONE), 0);
    sleeper_finish(&heir);
}

/* ---- threads that the kernel does not have ---- */

enum {
    TID_AT = 32,            /* in a made-up struct pthread */
    NOBODY = INT32_MAX - 1, /* more than PID_MAX_LIMIT: of no thread */
    NOBODY_ELSE
};

/* OTHER has the state of a thread of another process, as after a fork in C: its
 * rseq says that it was on our CPU, and its struct pthread has `own`. */
static void
fork_in_c(world *w, pid_t own)
{
    fake_target *f = w->f;
    uint32_t at = f->u.program.runtime.layout.tstate.native_thread_id;
    fake_put64(&f->fake, f->thread[OTHER].tstate + at, NOBODY);
    fake_put32(&f->fake, f->thread[OTHER].pthread + TID_AT, (uint32_t)own);
    f->u.program.runtime.pthread_tid = TID_AT;
}

/* A tick that can prove threads of our CPU. */
static void
tick_here(world *w)
{
    rec_tick_begin(&w->f->u, w->time_us += 1000);
    assert_int_equal(pass(w, FAKE_CPU, false, NULL), PR_OK);
}

static uint64_t
samples_of(const rec_thread *t)
{
    return rec_count_get(&t->counts, PR_COUNT_PROVEN) +
           rec_count_get(&t->counts, PR_COUNT_SLEEPING) +
           rec_count_get(&t->counts, PR_COUNT_UNPROVEN);
}

static void
a_state_of_another_process_is_lost_once(void **state)
{
    world *w = *state;
    fork_in_c(w, NOBODY);
    for (int i = 0; i < 3; i++)
        tick_here(w);
    assert_int_equal(count(w, MAIN, PR_COUNT_PROVEN), 3);
    assert_int_equal(count(w, OTHER, PR_COUNT_LOST_GONE), 1);
    assert_int_equal(samples_of(fake_find(w->f, OTHER)), 0);
    assert_null(strstr(w->f->sink.log, "samples 1"));
}

/* The child of a fork in C stores its own id when it first runs; the first
 * tick came before that. */
static void
a_child_that_had_not_run_is_sampled_under_its_own_id(void **state)
{
    world *w = *state;
    fork_in_c(w, NOBODY);
    tick_here(w);
    rec_thread *before = fake_find(w->f, OTHER);
    fork_in_c(w, w->sleeper.tid);
    w->f->u.program.listed_ms = 0; /* a list is due */
    tick_here(w);
    rec_thread *after = fake_find(w->f, OTHER);
    assert_int_equal(samples_of(before), 0);
    assert_int_equal(after->tid, w->sleeper.tid);
    assert_int_equal(samples_of(after), 1);
}

/* No tick emits a sample before a first list of threads mended their ids,
 * whichever of them the first list could not mend. */
static void
a_first_tick_finds_each_state_of_another_process(void **state)
{
    world *w = *state;
    uint32_t at = w->f->u.program.runtime.layout.tstate.native_thread_id;
    fork_in_c(w, NOBODY);
    fake_put64(&w->f->fake, w->f->thread[MAIN].tstate + at, NOBODY_ELSE);
    fake_put32(&w->f->fake, w->f->thread[MAIN].pthread + TID_AT, NOBODY_ELSE);
    assert_int_equal(rec_tick_prepare(&w->f->u, NULL), PR_OK);
    assert_true(fake_find(w->f, MAIN)->dead && fake_find(w->f, OTHER)->dead);
    tick_here(w);
    assert_null(strstr(w->f->sink.log, "samples"));
}

/* Nobody takes the GIL from the thread that runs, so nothing shows that the
 * sleeper does not live any more. */
static void
a_thread_that_ended_and_left_its_state_is_not_idle(void **state)
{
    world *w = *state;
    tick(w);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 1);
    end_sleeper(w);
    for (int i = 0; i < 3; i++)
        tick(w);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 1);
    assert_int_equal(count(w, OTHER, PR_COUNT_LOST_GONE), 1);
}

/* A stopped target has it no more than a running one. */
static void
a_stop_samples_no_thread_that_the_kernel_does_not_have(void **state)
{
    world *w = *state;
    fork_in_c(w, NOBODY);
    fake_list(w->f);
    rec_thread *t = fake_find(w->f, OTHER);
    assert_int_equal(rec_emitter_tick(&w->f->u.emitter, 1000, NULL), PR_OK);
    t->wanted = t->vanished = true;
    rec_sampled sampled;
    w->f->u.tick.exhausted = false;
    assert_int_equal(rec_sample_stopped(&w->f->u, t, &sampled, NULL), PR_OK);
    assert_int_equal(sampled, REC_BROKEN); /* first the list is read anew */
    w->f->u.tick.exhausted = true;
    assert_int_equal(rec_sample_stopped(&w->f->u, t, &sampled, NULL), PR_OK);
    assert_int_equal(count(w, OTHER, PR_COUNT_LOST_GONE), 1);
    assert_int_equal(count(w, OTHER, PR_COUNT_STOPPED), 0);
}

/* ---- passes ---- */

/* The thread runs on another CPU than that of the first pass. */
static void
a_tick_goes_on_where_its_threads_run(void **state)
{
    world *w = *state;
    rec_unwinder *u = &w->f->u;
    fake_put32(&w->f->fake, w->f->thread[MAIN].rseq, FAKE_CPU + 1);
    rec_tick_begin(u, 2000);
    assert_int_equal(pass(w, FAKE_CPU, false, NULL), PR_OK);
    assert_int_equal(rec_tick_next(u)->n, 1);
    assert_true(fake_find(w->f, MAIN)->wanted);
    assert_false(fake_find(w->f, OTHER)->wanted);
    assert_int_equal(pass(w, FAKE_CPU + 1, false, NULL), PR_OK);
    assert_int_equal(rec_tick_next(u)->n, 0);
    assert_int_equal(count(w, MAIN, PR_COUNT_PROVEN), 1);
    assert_int_equal(count(w, OTHER, PR_COUNT_SLEEPING), 1);
    assert_int_equal(total(w, PR_COUNT_TICKS), 1);
}

static void
switch_us(fake_target *f)
{
    (void)f;
    own_switches++;
}

/* Each try of a pass is broken: the pass has three. */
static void
a_pass_that_is_broken_begins_again(void **state)
{
    world *w = *state;
    fake_put32(&w->f->fake, w->f->thread[MAIN].rseq, FAKE_CPU);
    w->f->poke_at = w->f->thread[MAIN].tstate;
    w->f->poke = switch_us;
    rec_tick_begin(&w->f->u, 2000);
    assert_int_equal(pass(w, FAKE_CPU, false, NULL), PR_OK);
    assert_true(fake_find(w->f, MAIN)->wanted);
    assert_int_equal(count(w, MAIN, PR_COUNT_RETRIES), 2);
    w->f->poke = NULL;
    assert_int_equal(pass(w, FAKE_CPU, false, NULL), PR_OK);
    assert_int_equal(count(w, MAIN, PR_COUNT_PROVEN), 1);
}

/* Up to 3.13 a thread that no pass proves is lost, with the last pass. */
static void
a_thread_that_no_pass_proves_is_lost(void **state)
{
    world *w = *state;
    rec_tick_begin(&w->f->u, 2000);
    assert_int_equal(pass(w, FAKE_CPU + 7, false, NULL), PR_OK);
    assert_true(fake_find(w->f, MAIN)->wanted);
    assert_int_equal(pass(w, FAKE_CPU + 7, true, NULL), PR_OK);
    assert_int_equal(count(w, MAIN, PR_COUNT_LOST_MOVED), 1);
    assert_int_equal(rec_tick_next(&w->f->u)->n, 0);
}

/* ---- recovery ---- */

static void
a_list_that_leads_nowhere_loses_one_tick(void **state)
{
    world *w = *state;
    uint64_t head =
        w->f->interp + w->f->u.program.runtime.layout.interp.threads_head;
    tick(w);
    fake_put64(&w->f->fake, head, 0x40);
    rec_tick_begin(&w->f->u, 5000);
    assert_int_equal(pass(w, FAKE_CPU + 7, true, NULL), PR_OK);
    assert_int_equal(total(w, PR_COUNT_LOST_TORN), 1);
    fake_link(w->f, 2);
    tick(w);
    assert_int_equal(count(w, MAIN, PR_COUNT_UNPROVEN), 2);
    assert_int_equal(total(w, PR_COUNT_LOST_TORN), 1);
}

static ssize_t
no_process(void *context, const struct iovec *local, const struct iovec *remote,
           size_t n)
{
    (void)context;
    (void)local;
    (void)remote;
    (void)n;
    return -ESRCH;
}

static void
a_target_that_ended_ends_the_recording(void **state)
{
    world *w = *state;
    pr_err err = PR_ERR_INIT;
    tick(w);
    w->f->u.program.memory.read = no_process;
    process_is = REC_ENDED;
    rec_tick_begin(&w->f->u, 5000);
    assert_int_equal(pass(w, FAKE_CPU + 7, true, &err), PR_NO_PROCESS);
    assert_non_null(strstr(err.what, "has ended"));
}

/* ---- exec ---- */

/* The target executes another program. */
static void
execute(world *w)
{
    w->f->u.program.memory.read = no_process;
    process_is = REC_EXECED;
    program_is = PR_NOT_PYTHON;
    rec_tick_begin(&w->f->u, w->time_us += 1000);
    assert_int_equal(pass(w, FAKE_CPU + 7, true, NULL), PR_OK);
    process_is = REC_ALIVE;
}

/* A tick that tries to find a Python. */
static pr_code
join(world *w, pr_err *err)
{
    w->f->u.alive_ms = 0;
    rec_tick_begin(&w->f->u, w->time_us += 1000);
    return pass(w, FAKE_CPU + 7, true, err);
}

static void
an_exec_makes_the_program_anew(void **state)
{
    world *w = *state;
    rec_unwinder *u = &w->f->u;
    rec_runtime runtime = u->program.runtime;
    tick(w);
    w->f->sink.used = 0;
    rec_stats before, after;
    rec_unwinder_get_stats(u, &before);
    execute(w);
    assert_non_null(strstr(w->f->sink.log, "exec\n"));
    assert_true(u->detached);
    assert_int_equal(u->table.n_live, 0);
    assert_null(u->program.codes);
    assert_int_equal(u->program.listed_ms, 0);
    rec_unwinder_get_stats(u, &after);
    assert_true(after.memory_reads >= before.memory_reads);
    assert_int_equal(after.code_object_cache_misses,
                     before.code_object_cache_misses);
    assert_int_equal(join(w, NULL), PR_OK); /* not a Python so far */
    assert_true(u->detached);
    w->f->u.program.runtime = runtime; /* what the wrapped search finds */
    program_is = PR_OK;
    w->f->sink.used = 0;
    assert_int_equal(join(w, NULL), PR_OK);
    assert_false(u->detached);
    assert_int_equal(count(w, MAIN, PR_COUNT_UNPROVEN), 2);
    /* the same threads of the sink, and whole stacks */
    assert_null(strstr(w->f->sink.log, "thread"));
    assert_non_null(strstr(w->f->sink.log, "samples 0 keep 0 main @"));
}

static void
a_program_that_stays_another_one_ends_the_recording(void **state)
{
    world *w = *state;
    pr_err err = PR_ERR_INIT;
    tick(w);
    execute(w);
    w->f->u.execed_ms = 0; /* long ago */
    assert_int_equal(join(w, &err), PR_NO_PROCESS);
    assert_non_null(strstr(err.what, "not a Python"));
}

/* At once, and not as a program that is not a Python. */
static void
a_program_without_what_an_option_needs_is_refused(void **state)
{
    world *w = *state;
    pr_err err = PR_ERR_INIT;
    rec_runtime runtime = w->f->u.program.runtime;
    tick(w);
    execute(w);
    w->f->u.program.runtime = runtime;
    w->f->u.program.runtime.layout.gc.stats = REC_ABSENT;
    w->f->u.opts.gc_events = 1;
    program_is = PR_OK;
    assert_int_equal(join(w, &err), PR_UNSUPPORTED);
    assert_non_null(strstr(err.what, "3.15 is the first"));
}

#define TEST_15(f) cmocka_unit_test_setup_teardown(f, begin_3_15, end)
#define TEST_13(f) cmocka_unit_test_setup_teardown(f, begin_3_13, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST_15(each_thread_is_sampled_once_a_tick),
        TEST_15(a_thread_that_slept_on_is_not_read_again),
        TEST_13(a_thread_that_slept_on_is_not_read_again),
        TEST_15(threads_that_the_options_leave_out_are_counted),
        TEST_15(a_thread_that_begins_is_sampled_in_the_tick_that_lists_it),
        TEST_15(a_new_thread_is_sampled_in_the_tick_that_finds_it_bound),
        TEST_13(a_new_thread_is_sampled_in_the_tick_that_finds_it_bound),
        TEST_13(so_is_one_whose_state_had_its_makers_id),
        TEST_15(a_thread_with_the_state_of_one_that_ended_is_sampled_at_once),
        TEST_13(a_thread_with_the_state_of_one_that_ended_is_sampled_at_once),
        TEST_15(a_state_of_another_process_is_lost_once),
        TEST_13(a_state_of_another_process_is_lost_once),
        TEST_13(a_child_that_had_not_run_is_sampled_under_its_own_id),
        TEST_13(a_first_tick_finds_each_state_of_another_process),
        TEST_15(a_thread_that_ended_and_left_its_state_is_not_idle),
        TEST_13(a_stop_samples_no_thread_that_the_kernel_does_not_have),
        TEST_15(a_tick_goes_on_where_its_threads_run),
        TEST_13(a_tick_goes_on_where_its_threads_run),
        TEST_15(a_pass_that_is_broken_begins_again),
        TEST_13(a_thread_that_no_pass_proves_is_lost),
        TEST_15(a_list_that_leads_nowhere_loses_one_tick),
        TEST_15(a_target_that_ended_ends_the_recording),
        TEST_15(an_exec_makes_the_program_anew),
        TEST_15(a_program_that_stays_another_one_ends_the_recording),
        TEST_15(a_program_without_what_an_option_needs_is_refused),
    };
    return cmocka_run_group_tests_name("unwinder", tests, NULL, NULL);
}
