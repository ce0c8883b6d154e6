/*
 * task_emitter.c - from the tasks as read to samples and records of tasks.
 */
#include "recorder/sample/task_emitter.h"

#include "recorder/sample/prove.h"
#include "recorder/sample/thread_status.h"
#include <base/array.h>
#include <base/hash.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SEARCH_EVERY_US = 200000, /* for asyncio, which may be imported later */
    EMITTED_MAX = 1 << 20
};

typedef struct rec_task_emitted {
    uint64_t key, hash;
} rec_task_emitted;

void
rec_task_emitter_release(rec_task_emitter *t)
{
    rec_tasks_release(&t->tasks);
    free(t->awaits);
    free(t->frame);
    free(t->emitted);
    pr_table_release(&t->by_key);
    *t = (rec_task_emitter){0};
}

/* ---- the thread of a task ---- */

/* NULL: out of memory. */
static rec_thread *
thread_of(rec_unwinder *u, const rec_task *task)
{
    for (size_t i = 0; task->tid && i < u->table.n_live; i++) {
        rec_thread *thread = u->table.live[i];
        if (thread->tid == task->tid && thread->interp_id == task->interp)
            return thread;
    }
    return rec_emitter_ended_thread(&u->emitter, task->interp);
}

/* ---- records of tasks ---- */

static bool
same_key(const void *context, uint32_t i)
{
    const rec_task_emitted *const *k = context;
    return k[0][i].key == k[1]->key;
}

/* Remember it; *ret_news: it is new, or its name or waiters changed. */
static pr_code
note_task(rec_task_emitter *t, const rec_task *task, bool *ret_news,
          pr_err *err)
{
    rec_task_emitted now = {task->key,
                            pr_hash_bytes(task->name, task->name_len)};
    if (task->n_parents)
        now.hash = pr_hash_seeded(
            task->parent, task->n_parents * sizeof *task->parent, now.hash);
    const rec_task_emitted *const context[] = {t->emitted, &now};
    uint64_t hash = pr_mix64(task->key);
    uint32_t i = pr_table_find(&t->by_key, hash, same_key, context);
    *ret_news = i == PR_TABLE_NONE || t->emitted[i].hash != now.hash;
    if (i != PR_TABLE_NONE) {
        t->emitted[i] = now;
        return PR_OK;
    }
    if (t->n_emitted >= EMITTED_MAX) {
        t->n_emitted = 0;
        pr_table_reset(&t->by_key);
    }
    if (!pr_grow(&t->emitted, &t->cap_emitted, t->n_emitted + 1,
                 sizeof *t->emitted) ||
        !pr_table_insert(&t->by_key, hash, (uint32_t)t->n_emitted))
        return pr_no_memory(err);
    t->emitted[t->n_emitted++] = now;
    return PR_OK;
}

static pr_code
emit_task(rec_task_emitter *t, rec_unwinder *u, const rec_task *task,
          pr_err *err)
{
    bool news;
    pr_code code = note_task(t, task, &news, err);
    if (code != PR_OK || !news)
        return code;
    uint32_t id = PR_NO_THREAD;
    if (task->tid) {
        rec_thread *thread = thread_of(u, task);
        if (!thread)
            return pr_no_memory(err);
        code = rec_emitter_introduce(&u->emitter, thread, err);
        id = thread->sink_id;
    }
    if (code != PR_OK)
        return code;
    pr_task emitted = {.key = task->key,
                       .time_us = rec_now_us(u),
                       .thread = id,
                       .name = task->name,
                       .name_len = task->name_len,
                       .parent = task->parent,
                       .n_parents = (uint32_t)task->n_parents};
    return PR_SINK_CALL(u->sink, task, &emitted, err);
}

/* ---- one stack ---- */

static pr_code
push_frame(rec_task_emitter *t, uint32_t id, pr_err *err)
{
    if (!pr_grow(&t->frame, &t->cap_frames, t->n_frames + 1, sizeof *t->frame))
        return pr_no_memory(err);
    t->frame[t->n_frames++] = id;
    return PR_OK;
}

static pr_code
push_call(rec_task_emitter *t, rec_unwinder *u, const rec_call *call,
          pr_err *err)
{
    uint32_t id;
    const rec_code *code;
    pr_code r =
        rec_codes_get(u->program.codes, u->tick.batch, call->code, &code, err);
    if (r == PR_OK)
        r = rec_codes_frame(u->program.codes, code, call->instr, PR_NO_OPCODE,
                            &id, err);
    return r == PR_OK ? push_frame(t, id, err) : r;
}

static pr_code
push_marker(rec_task_emitter *t, rec_unwinder *u, const rec_task *task,
            pr_err *err)
{
    uint32_t id;
    char many[48];
    int more = task->n_parents > 1 ? snprintf(many, sizeof many,
                                              " (%zu parents)", task->n_parents)
                                   : 0;
    size_t len = task->name_len + (size_t)more;
    char *name = malloc(len + 1);
    if (!name)
        return pr_no_memory(err);
    memcpy(name, task->name, task->name_len);
    memcpy(name + task->name_len, many, (size_t)more);
    pr_code code = rec_codes_synthetic(u->program.codes, PR_TASK_FILE, name,
                                       len, &id, err);
    free(name);
    return code == PR_OK ? push_frame(t, id, err) : code;
}

/* The task that is followed: of several waiters the one at the lowest address;
 * NULL: no task waits, or it was not read. */
static const rec_task *
waiter_of(const rec_task_emitter *t, const rec_task *task)
{
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < task->n_parents; i++)
        if (task->parent[i] < lowest)
            lowest = task->parent[i];
    return task->n_parents ? rec_tasks_find(&t->tasks, lowest) : NULL;
}

static pr_code
omitted_marker(rec_unwinder *u, size_t n, uint32_t *ret, pr_err *err)
{
    char text[48];
    int len = snprintf(text, sizeof text, "<%zu frames omitted>", n);
    return rec_codes_synthetic(u->program.codes, PR_SYNTHETIC_FILE, text,
                               (size_t)len, ret, err);
}

/* Leave out the middle of a stack that is deeper than the limit, as
 * rec_stack_decode() does for threads. */
static pr_code
cut_stack(rec_task_emitter *t, rec_unwinder *u, size_t *ret_omitted,
          pr_err *err)
{
    size_t max = u->opts.max_depth ? u->opts.max_depth : REC_DEPTH_DEFAULT;
    size_t n = t->n_frames, outer = max / 2, inner = max - outer - 1;
    *ret_omitted = n > max ? n - (max - 1) : 0;
    if (!*ret_omitted)
        return PR_OK;
    uint32_t marker;
    pr_code code = omitted_marker(u, *ret_omitted, &marker, err);
    if (code != PR_OK)
        return code;
    t->frame[inner] = marker;
    memmove(t->frame + inner + 1, t->frame + (n - outer),
            outer * sizeof *t->frame);
    t->n_frames = max;
    return PR_OK;
}

/* The linear stack of a task into t->frame; *ret_omitted: frames that the limit
 * of depth left out. */
static pr_code
build_stack(rec_task_emitter *t, rec_unwinder *u, const rec_task *leaf,
            size_t *ret_omitted, pr_err *err)
{
    size_t steps = 0;
    t->n_frames = 0;
    /* tasks that wait for each other have no end */
    for (const rec_task *task = leaf; task && steps++ <= t->tasks.n;
         task = waiter_of(t, task)) {
        pr_code code = PR_OK;
        for (size_t i = 0; i < task->n_calls && code == PR_OK; i++)
            code = push_call(t, u, &task->call[i], err);
        if (code == PR_OK)
            code = push_marker(t, u, task, err);
        if (code != PR_OK)
            return code;
    }
    return cut_stack(t, u, ret_omitted, err);
}

/* t->frame as the thread's stack, of which the sink keeps the frames it can. */
static pr_code
put_stack(const rec_task_emitter *t, rec_thread *thread, pr_err *err)
{
    rec_stack *s = &thread->stack;
    uint32_t n = (uint32_t)t->n_frames, shared = 0;
    if (!pr_grow(&s->v, &s->cap, n, sizeof *s->v))
        return pr_no_memory(err);
    uint32_t most = thread->shared < n ? thread->shared : n;
    while (shared < most && s->v[shared].id == t->frame[n - 1 - shared])
        shared++;
    for (uint32_t i = shared; i < n; i++)
        s->v[i] = (rec_entry){.id = t->frame[n - 1 - i]};
    s->n = n;
    thread->shared = shared;
    thread->known = false; /* it is not the thread's own stack */
    return PR_OK;
}

/* A running task is in the state of its thread; one that waits is on no CPU and
 * holds nothing. */
static uint8_t
status_of(rec_unwinder *u, const rec_task *task, rec_thread *thread)
{
    uint8_t waits = thread->is_main ? PR_MAIN_THREAD : 0;
    return task->running ? rec_status_now(u, thread) : waits;
}

/* A task's stack is read at many moments, so its code objects are verified by
 * the count of freed ones that this tick began with. */
static void
begin_codes(rec_unwinder *u, const rec_task *task)
{
    bool counted =
        u->program.runtime.layout.interp.code_generation != REC_ABSENT;
    const rec_interp *in = NULL;
    for (size_t i = 0; counted && i < u->table.n_interps; i++)
        if (u->table.interp[i].id == task->interp)
            in = &u->table.interp[i];
    rec_batch_reset(u->tick.batch);
    rec_codes_begin(u->program.codes, in ? in->address : 0,
                    in ? &in->generation : NULL);
}

static pr_code
sample_task(rec_task_emitter *t, rec_unwinder *u, const rec_task *leaf,
            pr_err *err)
{
    size_t omitted = 0;
    pr_err why = PR_ERR_INIT;
    rec_thread *thread = thread_of(u, leaf);
    if (!thread)
        return pr_no_memory(err);
    thread->wanted = false;
    begin_codes(u, leaf);
    rec_counts *counts = leaf->tid ? &thread->counts : &u->emitter.counts;
    pr_code code = build_stack(t, u, leaf, &omitted, &why);
    if (code == PR_TORN || code == PR_LIMIT) {
        rec_count_add(counts, PR_COUNT_LOST_TORN, 1);
        return PR_OK;
    }
    if (code != PR_OK) {
        if (err)
            *err = why;
        return code;
    }
    code = put_stack(t, thread, err);
    if (code != PR_OK)
        return code;
    u->stats.total_samples++;
    rec_count_add(counts, PR_COUNT_UNPROVEN, 1);
    rec_count_omitted(counts, omitted);
    return rec_emitter_sample(&u->emitter, thread, rec_now_us(u),
                              status_of(u, leaf, thread), err);
}

/* ---- a tick ---- */

/* A task that awaits another one shows in that one's stack. */
static pr_code
find_awaiting(rec_task_emitter *t, pr_err *err)
{
    const rec_tasks *tasks = &t->tasks;
    if (!pr_grow(&t->awaits, &t->cap_awaits, tasks->n, sizeof *t->awaits))
        return pr_no_memory(err);
    if (tasks->n)
        memset(t->awaits, 0, tasks->n * sizeof *t->awaits);
    for (size_t i = 0; i < tasks->n; i++)
        for (size_t k = 0; k < tasks->v[i].n_parents; k++) {
            const rec_task *parent =
                rec_tasks_find(tasks, tasks->v[i].parent[k]);
            if (parent)
                t->awaits[parent - tasks->v] = true;
        }
    return PR_OK;
}

static pr_code
emit_all(rec_task_emitter *t, rec_unwinder *u, pr_err *err)
{
    pr_code code = find_awaiting(t, err);
    for (size_t i = 0; code == PR_OK && i < t->tasks.n; i++) {
        code = emit_task(t, u, &t->tasks.v[i], err);
        if (code == PR_OK && !t->awaits[i])
            code = sample_task(t, u, &t->tasks.v[i], err);
    }
    return code;
}

static pr_code
find_asyncio(rec_task_emitter *t, rec_unwinder *u, pr_err *err)
{
    uint64_t now = rec_now_us(u);
    if (t->searched_us && now - t->searched_us < SEARCH_EVERY_US)
        return PR_OK;
    t->searched_us = now;
    pr_err why = PR_ERR_INIT;
    pr_code code = rec_asyncio_load(&u->process, &u->program.runtime.layout,
                                    &u->program.memory, &t->asyncio, &why);
    t->known = code == PR_OK;
    if (code == PR_OK || code == PR_NAME)
        return PR_OK;
    if (err)
        *err = why;
    return code;
}

static void
want_all(rec_unwinder *u)
{
    for (size_t i = 0; i < u->table.n_live; i++)
        u->table.live[i]->wanted = !u->table.live[i]->dead;
}

/* A thread without a task has no sample.  A task that was lost may have been
 * the one of any thread. */
static void
count_skipped(rec_unwinder *u, bool lost)
{
    for (size_t i = 0; i < u->table.n_live; i++) {
        rec_thread *thread = u->table.live[i];
        if (thread->wanted && !lost)
            rec_count_add(&thread->counts, PR_COUNT_SKIPPED_ASYNC, 1);
        thread->wanted = false;
    }
}

static pr_code
sample_tasks(rec_task_emitter *t, rec_unwinder *u, pr_err *err)
{
    pr_code code = t->known ? PR_OK : find_asyncio(t, u, err);
    if (code != PR_OK || !t->known)
        return code;
    code =
        rec_tasks_read(&t->asyncio, &u->table,
                       u->opts.async_mode == REC_ASYNC_RUNNING, &t->tasks, err);
    if (code == PR_OK) {
        rec_count_add(&u->emitter.counts, PR_COUNT_LOST_TORN, t->tasks.lost);
        code = emit_all(t, u, err);
    }
    return code;
}

pr_code
rec_task_emitter_tick(rec_task_emitter *t, rec_unwinder *u, pr_err *err)
{
    want_all(u);
    t->tasks.lost = 0;
    pr_code code = sample_tasks(t, u, err);
    count_skipped(u, t->tasks.lost > 0);
    return code;
}
