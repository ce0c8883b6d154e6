/*
 * asyncio_tasks.h - the asyncio tasks of the target (3.14+), who awaits whom, and where
 * each of them stands.
 *
 * Tasks hang in a list at each thread that runs a loop; those whose thread
 * ended hang at the interpreter.  A task is read twice and believed if both
 * looks agree; what does not agree is counted as lost.  Where a task stands
 * that runs at the moment is as true as a read from another CPU can be: its
 * stack fits together, but is not proven.
 */
#ifndef RECORDER_CPYTHON_ASYNCIO_TASKS_H
#define RECORDER_CPYTHON_ASYNCIO_TASKS_H

#include "recorder/cpython/layout.h"
#include "recorder/linux/process.h"

/* Where asyncio keeps things: section .AsyncioDebug, struct
 * Py_AsyncioModuleDebugOffsets (3.14.10 and 3.15.2, Modules/_asynciomodule.c). */
typedef struct rec_asyncio {
    struct {
        uint32_t size, name, awaited_by, is_task, awaited_by_is_set, coro, node;
    } task;
    struct {
        uint32_t tasks_head;
    } interp;
    struct {
        uint32_t running_loop, running_task, tasks_head;
    } thread;
} rec_asyncio;

/* PR_NAME: asyncio is not imported (yet).  PR_NOT_PYTHON: this version keeps
 * no such table, or the table makes no sense. */
pr_code rec_asyncio_load(const rec_process *process, const rec_layout *layout,
                         rec_memory *memory, rec_asyncio *ret, pr_err *err);

/* A coroutine in which a task stands. */
typedef struct rec_call {
    uint64_t code, instr;
} rec_call;

typedef struct rec_task {
    uint64_t key;    /* its address */
    uint64_t tid;    /* of the thread that runs it, as the target knows it; 0:
                      * that thread has ended */
    uint32_t interp; /* id */
    bool running;    /* the loop runs it at the moment */
    char *name;
    size_t name_len;
    rec_call *call; /* innermost first */
    size_t n_calls;
    uint64_t *parent; /* keys of the tasks that await it */
    size_t n_parents;
} rec_task;

typedef struct rec_tasks {
    rec_task *v;
    size_t n, cap;
    uint64_t lost; /* tasks that would not hold still */
} rec_tasks;

/* All tasks of all interpreters, or those that run (`only_running`): these
 * with the frames from the innermost of the thread to the task's coroutine,
 * and with all that wait for them.  Replaces what *tasks held. */
pr_code rec_tasks_read(const rec_asyncio *asyncio, const rec_layout *layout,
                       rec_memory *memory, uint64_t runtime, bool only_running,
                       rec_tasks *tasks, pr_err *err);
void rec_tasks_release(rec_tasks *tasks);

/* The task with this key, or NULL. */
const rec_task *rec_tasks_find(const rec_tasks *tasks, uint64_t key);

#endif
