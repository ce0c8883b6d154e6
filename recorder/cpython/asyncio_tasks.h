/*
 * asyncio_tasks.h - the asyncio tasks of the target (3.14 on), the tasks that
 * await them, and the coroutines in which each of them stands.
 *
 * Each thread that runs a loop has a list of tasks; the tasks of ended threads
 * are in a list of the interpreter.  A task is read twice and accepted if both
 * reads agree; one that keeps changing is counted as lost.  The stack of a
 * running task is consistent but unproven.
 *
 * An object is followed only after its type was checked: any object with the
 * right methods can be the coroutine of a task.
 */
#ifndef RECORDER_CPYTHON_ASYNCIO_TASKS_H
#define RECORDER_CPYTHON_ASYNCIO_TASKS_H

#include "recorder/cpython/thread_list.h"

/* The layout of asyncio's structures: section .AsyncioDebug, struct
 * Py_AsyncioModuleDebugOffsets (3.14.10 and 3.15.2,
 * Modules/_asynciomodule.c). */
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
    struct { /* types of awaited objects that were identified so far */
        uint64_t address;
        uint8_t kind;
    } type[16];
    size_t n_types;
} rec_asyncio;

/* PR_NAME: asyncio is not imported so far.  PR_UNSUPPORTED: this version keeps
 * no such table.  PR_NOT_PYTHON: the table is not valid. */
pr_code rec_asyncio_load(const rec_process *process, const rec_layout *layout,
                         rec_memory *memory, rec_asyncio *ret, pr_err *err);

/* A coroutine in which a task stands. */
typedef struct rec_call {
    uint64_t code, instr;
} rec_call;

typedef struct rec_task {
    uint64_t key;    /* its address */
    uint64_t tid;    /* of the thread that runs it (rec_thread); 0: that
                      * thread has ended */
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
    uint64_t lost; /* tasks that kept changing while they were read */
} rec_tasks;

/* All tasks of the threads and interpreters listed in `table`, or those that
 * run (`only_running`): these with the frames from the innermost of the thread
 * to the task's coroutine, and with all tasks that wait for them.  Replaces
 * what *tasks held.  PR_LIMIT: more tasks or reads than one walk may take. */
pr_code rec_tasks_read(rec_asyncio *asyncio, const rec_threads_table *table,
                       bool only_running, rec_tasks *tasks, pr_err *err);
void rec_tasks_release(rec_tasks *tasks);

/* The task with this key, or NULL. */
const rec_task *rec_tasks_find(const rec_tasks *tasks, uint64_t key);

#endif
