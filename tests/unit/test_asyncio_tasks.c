/*
 * test_asyncio_tasks.c - asyncio tasks in a made-up memory, the broken ones
 * above all.
 */
#include "debug_offsets.h"
#include "fake_memory.h"
#include "recorder/cpython/asyncio_tasks.h"

/* CPython 3.15.2 */
static rec_asyncio asyncio = {.task = {168, 136, 96, 108, 109, 128, 152},
                              .interp = {10856},
                              .thread = {1024, 1032, 1048}};

enum {
    MEMORY = 1 << 20,
    TSTATE_BYTES = 1104,
    INTERP_BYTES = 10880,
    TID = 42,
    YIELD_FROM = 2, /* states of a coroutine */
    EXECUTING = 4,
    CODE = 0x7000, /* addresses that are emitted, not read */
    INSTR = 0x7100
};

typedef struct world {
    fake_memory fake;
    rec_runtime runtime;
    rec_threads_table table; /* one thread of one interpreter */
    rec_thread thread, *live;
    rec_interp listed;
    rec_layout layout;
    uint64_t interp, tstate;
    uint64_t coroutine_type, name;
    rec_tasks tasks;
} world;

static void
link_to(world *w, uint64_t node, uint64_t next)
{
    fake_put64(&w->fake, node, next);
    fake_put64(&w->fake, next + 8, node);
}

static uint64_t
head_of(const world *w)
{
    return w->tstate + asyncio.thread.tasks_head;
}

static int
begin(void **state)
{
    world *w = calloc(1, sizeof *w);
    uint8_t table[REC_TABLE_BYTES] = {0};
    memcpy(table, table_3_15, sizeof table_3_15);
    fake_begin(&w->fake, MEMORY);
    const rec_layout *l = &w->layout;
    assert_int_equal(rec_layout_load(table, 0, &w->layout, NULL), PR_OK);
    w->interp = fake_alloc(&w->fake, INTERP_BYTES);
    w->tstate = fake_alloc(&w->fake, TSTATE_BYTES);
    fake_put64(&w->fake, w->tstate + l->tstate.native_thread_id, TID);
    w->runtime.layout = w->layout;
    w->thread = (rec_thread){.tstate = w->tstate, .said = TID, .tid = TID};
    w->live = &w->thread;
    w->listed = (rec_interp){.address = w->interp};
    w->table = (rec_threads_table){.runtime = &w->runtime,
                                   .memory = &w->fake.memory,
                                   .interp = &w->listed,
                                   .n_interps = 1,
                                   .live = &w->live,
                                   .n_live = 1};
    asyncio.n_types = 0;
    link_to(w, head_of(w), head_of(w));
    link_to(w, w->interp + asyncio.interp.tasks_head,
            w->interp + asyncio.interp.tasks_head);
    w->coroutine_type = fake_type(&w->fake, l, "coroutine", REC_TYPE_BUILTIN);
    w->name = fake_ascii(&w->fake, l, "name");
    fake_put64(&w->fake, w->name + l->object.ob_type,
               fake_type(&w->fake, l, "str", REC_TYPE_STR));
    *state = w;
    return 0;
}

static int
end(void **state)
{
    world *w = *state;
    rec_tasks_release(&w->tasks);
    fake_end(&w->fake);
    free(w);
    return 0;
}

/* A coroutine that awaits `inner`, or runs (0). */
static uint64_t
fake_coroutine(world *w, uint64_t code, uint64_t inner)
{
    const rec_layout *l = &w->layout;
    uint64_t at = fake_alloc(&w->fake, l->gen.size + 32);
    uint64_t frame = at + l->gen.iframe, top = at + l->gen.size + 16;
    uint8_t state = inner ? YIELD_FROM : EXECUTING;
    fake_put64(&w->fake, at + l->object.ob_type, w->coroutine_type);
    fake_put(&w->fake, at + l->gen.state, &state, 1);
    fake_put64(&w->fake, frame + l->frame.executable, code | 1);
    fake_put64(&w->fake, frame + l->frame.instr_ptr, INSTR);
    fake_put64(&w->fake, frame + l->frame.stackpointer, top);
    fake_put64(&w->fake, top - 16, inner | 1);
    return at;
}

static uint64_t
fake_task(world *w, uint64_t coroutine, uint64_t awaited_by)
{
    const uint8_t yes = 1;
    uint64_t at = fake_alloc(&w->fake, asyncio.task.size);
    uint64_t node = at + asyncio.task.node, head = head_of(w);
    uint64_t first = rec_u64(w->fake.bytes + (head - FAKE_BASE));
    fake_put64(&w->fake, at + asyncio.task.name, w->name);
    fake_put(&w->fake, at + asyncio.task.is_task, &yes, 1);
    fake_put64(&w->fake, at + asyncio.task.coro, coroutine);
    fake_put64(&w->fake, at + asyncio.task.awaited_by, awaited_by);
    link_to(w, node, first);
    link_to(w, head, node);
    return at;
}

static void
read_tasks(world *w, bool only_running)
{
    pr_err err = PR_ERR_INIT;
    if (rec_tasks_read(&asyncio, &w->table, only_running, &w->tasks, &err) !=
        PR_OK)
        fail_msg("%s", err.what);
}

static void
a_task_has_its_coroutines_innermost_first(void **state)
{
    world *w = *state;
    uint64_t inner = fake_coroutine(w, CODE + 16, 0);
    uint64_t waiter = fake_task(w, fake_coroutine(w, CODE, 0), 0);
    uint64_t task = fake_task(w, fake_coroutine(w, CODE + 8, inner), waiter);
    read_tasks(w, false);
    assert_int_equal(w->tasks.n, 2);
    const rec_task *t = rec_tasks_find(&w->tasks, task);
    assert_non_null(t);
    assert_string_equal(t->name, "name");
    assert_int_equal(t->tid, 42);
    assert_int_equal(t->n_calls, 2);
    assert_int_equal(t->call[0].code, CODE + 16);
    assert_int_equal(t->call[1].code, CODE + 8);
    assert_int_equal(t->n_parents, 1);
    assert_int_equal(t->parent[0], waiter);
    assert_null(rec_tasks_find(&w->tasks, task + 8));
}

static void
a_task_is_not_followed_beyond_its_coroutines(void **state)
{
    world *w = *state;
    uint64_t future = fake_coroutine(w, CODE + 16, 0);
    fake_put64(&w->fake, future + w->layout.object.ob_type, w->name);
    fake_task(w, fake_coroutine(w, CODE, future), 0);
    read_tasks(w, false);
    assert_int_equal(w->tasks.n, 1);
    assert_int_equal(w->tasks.v[0].n_calls, 1);
}

/* An object whose first field is `inner`. */
static uint64_t
fake_wrapper(world *w, const char *type, uint64_t flags, uint64_t inner)
{
    const rec_layout *l = &w->layout;
    uint64_t at = fake_alloc(&w->fake, l->gen.size);
    fake_put64(&w->fake, at + l->object.ob_type,
               fake_type(&w->fake, l, type, flags));
    fake_put64(&w->fake, at + l->object.size, inner);
    return at;
}

static void
asynchronous_generators_are_followed_through_their_awaiters(void **state)
{
    world *w = *state;
    static const char *const wrappers[] = {
        "async_generator_asend", "async_generator_athrow", "coroutine_wrapper",
        "anext_awaitable"};
    for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++) {
        uint64_t inner = fake_coroutine(w, CODE + 16, 0);
        uint64_t task = fake_task(
            w,
            fake_coroutine(
                w, CODE, fake_wrapper(w, wrappers[i], REC_TYPE_BUILTIN, inner)),
            0);
        read_tasks(w, false);
        const rec_task *t = rec_tasks_find(&w->tasks, task);
        assert_non_null(t);
        assert_int_equal(t->n_calls, 2);
        assert_int_equal(t->call[0].code, CODE + 16);
        /* the same as the task's own coroutine */
        task = fake_task(
            w, fake_wrapper(w, wrappers[i], REC_TYPE_BUILTIN, inner), 0);
        read_tasks(w, false);
        t = rec_tasks_find(&w->tasks, task);
        assert_non_null(t);
        assert_int_equal(t->n_calls, 1);
    }
}

static void
a_class_of_the_program_is_not_followed_whatever_its_name(void **state)
{
    world *w = *state;
    uint64_t inner = fake_coroutine(w, CODE + 16, 0);
    static const char *const names[] = {"coroutine", "async_generator_asend"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t task =
            fake_task(w, fake_wrapper(w, names[i], REC_TYPE_HEAP, inner), 0);
        read_tasks(w, false);
        const rec_task *t = rec_tasks_find(&w->tasks, task);
        assert_non_null(t);
        assert_int_equal(t->n_calls, 0);
    }
    assert_int_equal(w->tasks.lost, 0);
}

static void
a_wrapper_that_wraps_itself_has_no_frames(void **state)
{
    world *w = *state;
    uint64_t loop = fake_wrapper(w, "coroutine_wrapper", REC_TYPE_BUILTIN, 0);
    fake_put64(&w->fake, loop + w->layout.object.size, loop);
    fake_task(w, loop, 0);
    read_tasks(w, false);
    assert_int_equal(w->tasks.n, 1);
    assert_int_equal(w->tasks.v[0].n_calls, 0);
}

static void
a_coroutine_that_awaits_itself_costs_its_task_only(void **state)
{
    world *w = *state;
    uint64_t loop = fake_coroutine(w, CODE, w->tstate);
    fake_put64(&w->fake, loop + w->layout.gen.size, loop);
    fake_task(w, loop, 0);
    uint64_t good = fake_task(w, fake_coroutine(w, CODE, 0), 0);
    read_tasks(w, false);
    assert_int_equal(w->tasks.n, 1);
    assert_int_equal(w->tasks.v[0].key, good);
    assert_int_equal(w->tasks.lost, 1);
}

static void
a_list_that_does_not_lead_back_is_lost_but_not_its_tasks(void **state)
{
    world *w = *state;
    uint64_t last = fake_task(w, fake_coroutine(w, CODE, 0), 0);
    uint64_t first = fake_task(w, fake_coroutine(w, CODE, 0), 0);
    fake_put64(&w->fake, last + asyncio.task.node + 8, 0x4242);
    read_tasks(w, false);
    assert_int_equal(w->tasks.n, 1);
    assert_int_equal(w->tasks.v[0].key, first);
    assert_int_equal(w->tasks.lost, 1);
    /* a ring that leaves the head out */
    fake_put64(&w->fake, last + asyncio.task.node + 8,
               first + asyncio.task.node);
    fake_put64(&w->fake, last + asyncio.task.node, first + asyncio.task.node);
    read_tasks(w, false);
    assert_true(w->tasks.lost >= 1);
}

static void
tasks_that_await_each_other_are_read_once_each(void **state)
{
    world *w = *state;
    uint64_t a = fake_task(w, fake_coroutine(w, CODE, 0), 0);
    uint64_t b = fake_task(w, fake_coroutine(w, CODE, 0), a);
    fake_put64(&w->fake, a + asyncio.task.awaited_by, b);
    read_tasks(w, false);
    assert_int_equal(w->tasks.n, 2);
    /* the same by way of the running task, whose frame is the thread's */
    uint64_t frame =
        rec_u64(w->fake.bytes + (b - FAKE_BASE) + asyncio.task.coro) +
        w->layout.gen.iframe;
    fake_put64(&w->fake, w->tstate + asyncio.thread.running_loop, w->name);
    fake_put64(&w->fake, w->tstate + asyncio.thread.running_task, b);
    fake_put64(&w->fake, w->tstate + w->layout.tstate.current_frame, frame);
    read_tasks(w, true);
    assert_int_equal(w->tasks.n, 2);
    assert_true(rec_tasks_find(&w->tasks, b)->running);
    assert_false(rec_tasks_find(&w->tasks, a)->running);
}

static void
a_running_task_that_is_not_on_its_threads_stack_is_lost(void **state)
{
    world *w = *state;
    uint64_t task = fake_task(w, fake_coroutine(w, CODE, 0), 0);
    uint64_t other = fake_coroutine(w, CODE, 0) + w->layout.gen.iframe;
    fake_put64(&w->fake, w->tstate + asyncio.thread.running_loop, w->name);
    fake_put64(&w->fake, w->tstate + asyncio.thread.running_task, task);
    fake_put64(&w->fake, w->tstate + w->layout.tstate.current_frame, other);
    read_tasks(w, true);
    assert_int_equal(w->tasks.n, 0);
    assert_int_equal(w->tasks.lost, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_task_has_its_coroutines_innermost_first),
        TEST(a_task_is_not_followed_beyond_its_coroutines),
        TEST(asynchronous_generators_are_followed_through_their_awaiters),
        TEST(a_class_of_the_program_is_not_followed_whatever_its_name),
        TEST(a_wrapper_that_wraps_itself_has_no_frames),
        TEST(a_coroutine_that_awaits_itself_costs_its_task_only),
        TEST(a_list_that_does_not_lead_back_is_lost_but_not_its_tasks),
        TEST(tasks_that_await_each_other_are_read_once_each),
        TEST(a_running_task_that_is_not_on_its_threads_stack_is_lost),
    };
    return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
