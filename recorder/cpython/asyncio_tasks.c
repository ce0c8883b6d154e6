/*
 * asyncio_tasks.c - walk the lists of tasks, coroutines and waiters; all
 * bounded, none by recursion.
 */
#include "recorder/cpython/asyncio_tasks.h"

#include "recorder/cpython/object.h"
#include "recorder/cpython/runtime.h"
#include <base/array.h>
#include <base/hash.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TABLE_WORDS = 13,
    TASK_MAX = 4096, /* bytes of a task object */
    TASKS_MAX = 65536,
    PARENTS_MAX = 16384,
    CALLS_MAX = 1 << 16,
    WRAPPERS_MAX = 16, /* one awaiting the other without a frame */
    NAME_MAX_POINTS = 4096,
    OBJECT_MAX = REC_CAP_OBJECT,
    READS_MAX = 1 << 20, /* of one walk, whatever it finds */
    TRIES = 4
};

/* ---- the table ---- */

static pr_code
bad_table(pr_err *err)
{
    return PR_FAIL(err, PR_NOT_PYTHON,
                   "asyncio's table of offsets is not valid");
}

/* Do `width` bytes at `offset` lie inside `size`? */
static bool
fits(uint64_t offset, uint64_t width, uint64_t size)
{
    return offset % (width ? width : 1) == 0 && width <= size &&
           offset <= size - width;
}

static pr_code
parse_table(const uint8_t *bytes, rec_asyncio *ret, pr_err *err)
{
    uint64_t w[TABLE_WORDS];
    memcpy(w, bytes, sizeof w);
    if (w[0] > TASK_MAX || w[7] > UINT32_MAX || w[9] > REC_CAP_TSTATE ||
        !fits(w[1], 8, w[0]) || !fits(w[2], 8, w[0]) || !fits(w[3], 1, w[0]) ||
        !fits(w[4], 1, w[0]) || !fits(w[5], 8, w[0]) ||
        !fits(w[6], 8, w[0] - 8) || !fits(w[8], 8, w[7]) ||
        !fits(w[10], 8, w[9]) || !fits(w[11], 8, w[9]) || !fits(w[12], 8, w[9]))
        return bad_table(err);
    *ret = (rec_asyncio){
        .task = {(uint32_t)w[0], (uint32_t)w[1], (uint32_t)w[2], (uint32_t)w[3],
                 (uint32_t)w[4], (uint32_t)w[5], (uint32_t)w[6]},
        .interp = {(uint32_t)w[8]},
        .thread = {(uint32_t)w[10], (uint32_t)w[11], (uint32_t)w[12]}};
    return PR_OK;
}

pr_code
rec_asyncio_load(const rec_process *process, const rec_layout *layout,
                 rec_memory *memory, rec_asyncio *ret, pr_err *err)
{
    uint64_t address, size;
    uint8_t bytes[TABLE_WORDS * 8];
    if (layout->gen.iframe == REC_ABSENT)
        return PR_FAIL(err, PR_UNSUPPORTED,
                       "CPython 3.%u does not show its asyncio tasks; 3.14 is "
                       "the first that does",
                       layout->minor);
    pr_code code =
        rec_runtime_section(process, ".AsyncioDebug", &address, &size, err);
    if (code == PR_NAME) {
        pr_err_clear(err);
        return PR_FAIL(err, PR_NAME, "process %d has not imported asyncio",
                       (int)process->pid);
    }
    if (code == PR_OK && size < sizeof bytes)
        return bad_table(err);
    if (code == PR_OK)
        code = rec_memory_read(memory, address, bytes, sizeof bytes, err);
    return code == PR_OK ? parse_table(bytes, ret, err) : code;
}

/* ---- a walk ---- */

typedef struct walk {
    rec_asyncio *asyncio;
    const rec_layout *layout;
    rec_memory *memory;
    rec_tasks *tasks;
    bool only_running;
    uint32_t interp_id; /* of the present thread */
    uint64_t tstate;    /* 0: the interpreter's own list */
    uint64_t tid;
    uint64_t running_task;
    pr_table seen;      /* indices of tasks by key, of a walk_running() */
    uint64_t last_read; /* the walk ends when memory->reads gets here */
} walk;

static pr_code
torn(pr_err *err, uint64_t address, const char *what)
{
    return PR_FAIL(err, PR_TORN, "%s at 0x%" PRIx64, what, address);
}

static bool
is_exhausted(const walk *w)
{
    return w->memory->reads >= w->last_read;
}

static pr_code
read_bytes(const walk *w, uint64_t address, void *to, size_t len, pr_err *err)
{
    if (is_exhausted(w))
        return PR_FAIL(err, PR_LIMIT, "more than %d reads for the tasks",
                       READS_MAX);
    if (!rec_plausible(address))
        return torn(err, address, "not a pointer");
    return rec_memory_read(w->memory, address, to, len, err);
}

static pr_code
read_word(const walk *w, uint64_t address, uint64_t *ret, pr_err *err)
{
    uint8_t word[8];
    pr_code code = read_bytes(w, address, word, sizeof word, err);
    if (code == PR_OK)
        *ret = rec_u64(word);
    return code;
}

static void
release_task(rec_task *t)
{
    free(t->name);
    free(t->call);
    free(t->parent);
    *t = (rec_task){0};
}

void
rec_tasks_release(rec_tasks *tasks)
{
    for (size_t i = 0; i < tasks->n; i++)
        release_task(&tasks->v[i]);
    free(tasks->v);
    *tasks = (rec_tasks){0};
}

const rec_task *
rec_tasks_find(const rec_tasks *tasks, uint64_t key)
{
    size_t i;
    PR_FIND_SORTED(i, tasks->v, tasks->n, key, key);
    return i < tasks->n && tasks->v[i].key == key ? &tasks->v[i] : NULL;
}

/* ---- one task ---- */

/* A name is a str, or the number of a task that was given none. */
static pr_code
read_name(const walk *w, uint64_t address, rec_task *t, pr_err *err)
{
    uint64_t type, flags;
    int64_t number;
    pr_code code =
        rec_object_type(w->layout, w->memory, address, &type, &flags, err);
    if (code != PR_OK)
        return code;
    if (flags & REC_TYPE_STR)
        return rec_object_str(w->layout, w->memory, address, NAME_MAX_POINTS,
                              &t->name, &t->name_len, err);
    if (!(flags & REC_TYPE_INT))
        return torn(err, address, "not the name of a task");
    code = rec_object_int(w->layout, w->memory, address, &number, err);
    if (code != PR_OK)
        return code;
    char text[32];
    int len = snprintf(text, sizeof text, "Task-%" PRId64, number);
    t->name = strdup(text);
    t->name_len = (size_t)len;
    return t->name ? PR_OK : pr_no_memory(err);
}

static pr_code
read_parents(const walk *w, const uint8_t *task, rec_task *t, pr_err *err)
{
    uint64_t waiter = rec_u64(task + w->asyncio->task.awaited_by);
    if (!waiter)
        return PR_OK;
    if (task[w->asyncio->task.awaited_by_is_set])
        return rec_object_set(w->layout, w->memory, waiter, PARENTS_MAX,
                              &t->parent, &t->n_parents, err);
    t->parent = malloc(sizeof *t->parent);
    if (!t->parent)
        return pr_no_memory(err);
    t->parent[0] = waiter;
    t->n_parents = 1;
    return PR_OK;
}

static pr_code
push_call(rec_task *t, size_t *cap, const rec_layout *l, const uint8_t *frame,
          pr_err *err)
{
    rec_call call = {rec_u64(frame + l->frame.executable) & ~l->frame.tag_mask,
                     rec_u64(frame + l->frame.instr_ptr)};
    if (t->n_calls == CALLS_MAX)
        return PR_FAIL(err, PR_LIMIT, "more than %d coroutines in one task",
                       CALLS_MAX);
    if (!rec_plausible(call.code))
        return torn(err, call.code, "coroutine without code");
    if (!pr_grow(&t->call, cap, t->n_calls + 1, sizeof *t->call))
        return pr_no_memory(err);
    t->call[t->n_calls++] = call;
    return PR_OK;
}

/* The object that a suspended coroutine awaits lies on its stack. */
static uint64_t
awaited_slot(const rec_layout *l, const uint8_t *frame)
{
    return rec_u64(frame + l->frame.stackpointer) - l->gen.awaited_below_top;
}

static bool
is_delegating(const rec_layout *l, int8_t state)
{
    return state == l->gen.yield_from || state == l->gen.yield_from_locked;
}

/* ---- types of awaited objects ---- */

typedef enum kind {
    KIND_OTHER,  /* a future, an iterator, an instance of some class */
    KIND_FRAME,  /* a generator of any kind: it has a frame */
    KIND_WRAPPER /* passes on to the object that its first field points to */
} kind;

/* tp_name of the core's own types (Objects/genobject.c, Objects/iterobject.c,
 * 3.14 and 3.15). */
static const struct {
    const char *name;
    kind kind;
} known_types[] = {
    {"coroutine", KIND_FRAME},
    {"generator", KIND_FRAME},
    {"async_generator", KIND_FRAME},
    {"async_generator_asend", KIND_WRAPPER},
    {"async_generator_athrow", KIND_WRAPPER},
    {"coroutine_wrapper", KIND_WRAPPER},
    {"anext_awaitable", KIND_WRAPPER},
};
enum {
    N_KNOWN_TYPES = sizeof known_types / sizeof *known_types,
    TYPE_NAME_MAX = 32,
    TYPES_KEPT =
        sizeof((rec_asyncio *)0)->type / sizeof *((rec_asyncio *)0)->type
};

/* A class of the program may have any name: the type must be the core's. */
static pr_code
identify_type(const walk *w, uint64_t type, kind *ret, pr_err *err)
{
    const rec_layout *l = w->layout;
    uint64_t flags, address;
    char name[TYPE_NAME_MAX];
    *ret = KIND_OTHER;
    pr_code code = read_word(w, type + l->object.type_flags, &flags, err);
    if (code != PR_OK || !(flags & REC_TYPE_BUILTIN))
        return code;
    code = read_word(w, type + l->object.type_name, &address, err);
    if (code == PR_OK)
        code = rec_memory_read(w->memory, address, name, sizeof name, err);
    for (size_t i = 0; i < N_KNOWN_TYPES && code == PR_OK; i++)
        if (strncmp(name, known_types[i].name, sizeof name) == 0)
            *ret = known_types[i].kind;
    return code;
}

/* The kind of an object by its type, which is identified once. */
static pr_code
kind_of(const walk *w, uint64_t type, kind *ret, pr_err *err)
{
    rec_asyncio *a = w->asyncio;
    for (size_t i = 0; i < a->n_types; i++)
        if (a->type[i].address == type) {
            *ret = (kind)a->type[i].kind;
            return PR_OK;
        }
    pr_code code = identify_type(w, type, ret, err);
    if (code == PR_OK && *ret != KIND_OTHER && a->n_types < TYPES_KEPT) {
        a->type[a->n_types].address = type;
        a->type[a->n_types++].kind = (uint8_t)*ret;
    }
    return code;
}

/* Follow objects that only pass on, from *address to one that has a frame; 0:
 * the chain ends without one. */
static pr_code
skip_wrappers(const walk *w, uint64_t *address, pr_err *err)
{
    for (int i = 0; i < WRAPPERS_MAX && rec_plausible(*address); i++) {
        uint64_t type;
        kind k;
        pr_code code =
            read_word(w, *address + w->layout->object.ob_type, &type, err);
        if (code == PR_OK && rec_plausible(type))
            code = kind_of(w, type, &k, err);
        else if (code == PR_OK)
            return torn(err, *address, "object without a type");
        if (code != PR_OK || k == KIND_FRAME)
            return code;
        if (k == KIND_OTHER)
            break;
        code = read_word(w, *address + w->layout->object.size, address, err);
        if (code != PR_OK)
            return code;
    }
    *address = 0;
    return PR_OK;
}

/* ---- the frames of a task ---- */

/* The coroutines from the task's own inwards, as long as each awaits another
 * one; outermost first. */
static pr_code
read_coroutines(const walk *w, uint64_t coroutine, rec_task *t, size_t *cap,
                pr_err *err)
{
    const rec_layout *l = w->layout;
    uint8_t gen[OBJECT_MAX];
    uint64_t at = coroutine;
    for (;;) {
        pr_code code = skip_wrappers(w, &at, err);
        if (code != PR_OK || !at)
            return code;
        code = read_bytes(w, at, gen, l->gen.size, err);
        if (code != PR_OK)
            return code;
        int8_t state = (int8_t)gen[l->gen.state];
        if (state == l->gen.cleared)
            return PR_OK;
        const uint8_t *frame = gen + l->gen.iframe;
        code = push_call(t, cap, l, frame, err);
        if (code != PR_OK || !is_delegating(l, state))
            return code;
        code = read_word(w, awaited_slot(l, frame), &at, err);
        if (code != PR_OK)
            return code;
        at &= ~l->frame.tag_mask;
    }
}

/* The frames of the thread from its innermost to the task's coroutine, which
 * must be among them. */
static pr_code
read_running(const walk *w, uint64_t coroutine, rec_task *t, size_t *cap,
             pr_err *err)
{
    const rec_layout *l = w->layout;
    uint8_t frame[REC_CAP_FRAME];
    uint64_t at, last = coroutine + l->gen.iframe;
    pr_code code = read_word(w, w->tstate + l->tstate.current_frame, &at, err);
    for (size_t i = 0; code == PR_OK && i < CALLS_MAX; i++) {
        if (!rec_plausible(at))
            return torn(err, at, "stack without the running task");
        code = read_bytes(w, at, frame, l->frame.size, err);
        if (code == PR_OK && frame[l->frame.owner] < l->frame.owner_shim)
            code = push_call(t, cap, l, frame, err);
        if (code != PR_OK || at == last)
            return code;
        at = rec_u64(frame + l->frame.previous);
    }
    return code == PR_OK ? torn(err, at, "stack without end") : code;
}

static void
reverse_calls(rec_task *t)
{
    for (size_t i = 0; i < t->n_calls / 2; i++) {
        rec_call *other = &t->call[t->n_calls - 1 - i];
        rec_call swapped = t->call[i];
        t->call[i] = *other;
        *other = swapped;
    }
}

/* Read a task once.  On failure *ret owns nothing. */
static pr_code
read_task_once(const walk *w, uint64_t address, rec_task *ret, pr_err *err)
{
    uint8_t task[TASK_MAX];
    size_t cap = 0;
    rec_task t = {.key = address,
                  .tid = w->tid,
                  .interp = w->interp_id,
                  .running = w->running_task == address};
    pr_code code = read_bytes(w, address, task, w->asyncio->task.size, err);
    if (code != PR_OK)
        return code;
    if (!task[w->asyncio->task.is_task])
        return torn(err, address, "not a task");
    code = read_name(w, rec_u64(task + w->asyncio->task.name), &t, err);
    if (code == PR_OK)
        code = read_parents(w, task, &t, err);
    uint64_t coroutine = rec_u64(task + w->asyncio->task.coro);
    if (code == PR_OK && t.running && w->only_running)
        code = read_running(w, coroutine, &t, &cap, err);
    else if (code == PR_OK)
        code = read_coroutines(w, coroutine, &t, &cap, err);
    if (code != PR_OK) {
        release_task(&t);
        return code;
    }
    if (!(t.running && w->only_running))
        reverse_calls(&t);
    *ret = t;
    return PR_OK;
}

/* A running task moves from read to read, so its position is not compared. */
static bool
same_task(const rec_task *a, const rec_task *b)
{
    if (a->name_len != b->name_len ||
        memcmp(a->name, b->name, a->name_len) != 0 ||
        a->n_parents != b->n_parents ||
        (a->n_parents &&
         memcmp(a->parent, b->parent, a->n_parents * sizeof *a->parent) != 0))
        return false;
    return a->running ||
           (a->n_calls == b->n_calls &&
            (!a->n_calls ||
             memcmp(a->call, b->call, a->n_calls * sizeof *a->call) == 0));
}

/* Does this failure cost one task only, not the whole walk? */
static bool
is_bearable(const walk *w, pr_code code)
{
    return code == PR_TORN || (code == PR_LIMIT && !is_exhausted(w));
}

/* Read until two reads agree. */
static pr_code
read_task(const walk *w, uint64_t address, rec_task *ret, pr_err *err)
{
    rec_task last = {0};
    bool have = false;
    for (int i = 0; i < TRIES; i++) {
        rec_task now;
        pr_err why = PR_ERR_INIT;
        pr_code code = read_task_once(w, address, &now, &why);
        if (code == PR_OK && have && same_task(&last, &now)) {
            release_task(&last);
            *ret = now;
            return PR_OK;
        }
        if (have)
            release_task(&last);
        have = code == PR_OK;
        if (have)
            last = now;
        else if (!is_bearable(w, code)) {
            if (err)
                *err = why;
            return code;
        }
    }
    if (have)
        release_task(&last);
    return torn(err, address, "a task that keeps changing");
}

static pr_code
add_task(const walk *w, uint64_t address, pr_err *err)
{
    rec_tasks *tasks = w->tasks;
    if (tasks->n == TASKS_MAX)
        return PR_FAIL(err, PR_LIMIT, "more than %d tasks", TASKS_MAX);
    if (!pr_grow(&tasks->v, &tasks->cap, tasks->n + 1, sizeof *tasks->v))
        return pr_no_memory(err);
    pr_err why = PR_ERR_INIT;
    pr_code code = read_task(w, address, &tasks->v[tasks->n], &why);
    if (code == PR_OK) {
        tasks->n++;
    } else if (is_bearable(w, code)) {
        tasks->lost++;
        code = PR_OK;
    } else if (err) {
        *err = why;
    }
    return code;
}

/* ---- lists ---- */

/* The tasks of a circular list (struct llist_node: next, prev).  A node whose
 * `prev` is not the node before it was moved meanwhile. */
static pr_code
walk_list(const walk *w, uint64_t head, pr_err *err)
{
    uint64_t from = head, node;
    pr_code code = read_word(w, head, &node, err);
    for (int i = 0; code == PR_OK && node != head; i++) {
        uint8_t links[16];
        if (!node && from == head)
            return PR_OK; /* a thread that never ran an event loop */
        if (i == TASKS_MAX)
            return torn(err, node, "broken list of tasks");
        code = read_bytes(w, node, links, sizeof links, err);
        if (code == PR_OK && rec_u64(links + 8) != from)
            return torn(err, node, "list of tasks that changes");
        if (code == PR_OK)
            code = add_task(w, node - w->asyncio->task.node, err);
        from = node;
        node = rec_u64(links);
    }
    return code;
}

static void
forget_since(rec_tasks *tasks, size_t n)
{
    while (tasks->n > n)
        release_task(&tasks->v[--tasks->n]);
}

/* A list that changes during a walk is walked again; after the last try the
 * part that was read counts, and one more task is lost. */
static pr_code
walk_list_patiently(const walk *w, uint64_t head, pr_err *err)
{
    size_t before = w->tasks->n;
    for (int i = 1;; i++) {
        pr_err why = PR_ERR_INIT;
        pr_code code = walk_list(w, head, &why);
        if (code == PR_OK)
            return PR_OK;
        if (!is_bearable(w, code)) {
            if (err)
                *err = why;
            return code;
        }
        if (i == TRIES)
            break;
        forget_since(w->tasks, before);
    }
    w->tasks->lost++;
    return PR_OK;
}

typedef struct seen_key {
    const rec_tasks *tasks;
    uint64_t key;
} seen_key;

static bool
same_task_key(const void *context, uint32_t i)
{
    const seen_key *k = context;
    return k->tasks->v[i].key == k->key;
}

/* Read a task that this walk has not read so far. */
static pr_code
add_once(walk *w, uint64_t address, pr_err *err)
{
    seen_key key = {w->tasks, address};
    uint64_t hash = pr_mix64(address);
    size_t n = w->tasks->n;
    if (pr_table_find(&w->seen, hash, same_task_key, &key) != PR_TABLE_NONE)
        return PR_OK;
    pr_code code = add_task(w, address, err);
    if (code == PR_OK && w->tasks->n > n &&
        !pr_table_insert(&w->seen, hash, (uint32_t)n))
        return pr_no_memory(err);
    return code;
}

/* The running task, and all that wait for it. */
static pr_code
walk_running(walk *w, pr_err *err)
{
    size_t first = w->tasks->n;
    if (!w->running_task)
        return PR_OK;
    pr_code code = add_once(w, w->running_task, err);
    for (size_t i = first; i < w->tasks->n && code == PR_OK; i++)
        for (size_t k = 0; k < w->tasks->v[i].n_parents && code == PR_OK; k++)
            code = add_once(w, w->tasks->v[i].parent[k], err);
    return code;
}

/* The loop and the running task of a listed thread, which must still be the
 * one that was listed. */
static pr_code
read_loop(walk *w, const rec_thread *thread, pr_err *err)
{
    uint8_t bytes[REC_CAP_TSTATE];
    uint64_t loop;
    pr_code code =
        read_bytes(w, thread->tstate, bytes, w->layout->tstate.size, err);
    if (code == PR_OK && !rec_thread_matches(thread, w->layout, bytes))
        code = torn(err, thread->tstate, "thread that ended");
    if (code == PR_OK)
        code = read_word(w, thread->tstate + w->asyncio->thread.running_loop,
                         &loop, err);
    if (code == PR_OK)
        code = read_word(w, thread->tstate + w->asyncio->thread.running_task,
                         &w->running_task, err);
    if (code == PR_OK && !loop)
        w->running_task = 0;
    return code;
}

/* A thread that ended meanwhile has no tasks any more: CPython moved its list
 * to the interpreter, which is walked later. */
static pr_code
walk_thread(walk *w, const rec_thread *thread, pr_err *err)
{
    pr_err why = PR_ERR_INIT;
    w->tstate = thread->tstate;
    w->tid = thread->tid;
    w->interp_id = thread->interp_id;
    pr_code code = read_loop(w, thread, &why);
    if (is_bearable(w, code))
        return PR_OK;
    if (code != PR_OK) {
        if (err)
            *err = why;
        return code;
    }
    if (w->only_running)
        return walk_running(w, err);
    return walk_list_patiently(
        w, thread->tstate + w->asyncio->thread.tasks_head, err);
}

static pr_code
walk_interp(walk *w, const rec_interp *interp, pr_err *err)
{
    w->tstate = w->tid = w->running_task = 0;
    w->interp_id = interp->id;
    return walk_list_patiently(
        w, interp->address + w->asyncio->interp.tasks_head, err);
}

static pr_code
walk_all(walk *w, const rec_threads_table *table, pr_err *err)
{
    pr_code code = PR_OK;
    for (size_t i = 0; i < table->n_live && code == PR_OK; i++)
        if (!table->live[i]->dead)
            code = walk_thread(w, table->live[i], err);
    for (size_t i = 0; i < table->n_interps && code == PR_OK; i++)
        if (!w->only_running)
            code = walk_interp(w, &table->interp[i], err);
    return code;
}

static int
compare_tasks(const void *a, const void *b)
{
    uint64_t x = ((const rec_task *)a)->key, y = ((const rec_task *)b)->key;
    return (x > y) - (x < y);
}

/* By key, each once: a list that was walked while it changed may show a task
 * twice. */
static void
sort_tasks(rec_tasks *tasks)
{
    size_t n = 0;
    if (tasks->n)
        qsort(tasks->v, tasks->n, sizeof *tasks->v, compare_tasks);
    for (size_t i = 0; i < tasks->n; i++) {
        if (n && tasks->v[n - 1].key == tasks->v[i].key)
            release_task(&tasks->v[i]);
        else
            tasks->v[n++] = tasks->v[i];
    }
    tasks->n = n;
}

pr_code
rec_tasks_read(rec_asyncio *asyncio, const rec_threads_table *table,
               bool only_running, rec_tasks *tasks, pr_err *err)
{
    walk w = {.asyncio = asyncio,
              .layout = &table->runtime->layout,
              .memory = table->memory,
              .tasks = tasks,
              .only_running = only_running,
              .last_read = table->memory->reads + READS_MAX};
    forget_since(tasks, 0);
    tasks->lost = 0;
    pr_code code = walk_all(&w, table, err);
    pr_table_release(&w.seen);
    sort_tasks(tasks);
    return code;
}
