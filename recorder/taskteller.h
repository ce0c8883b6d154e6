/*
 * taskteller.h - asyncio tasks as samples.
 *
 * Each task that no other one waits for gives one sample: its coroutines, a
 * marker with its name, the coroutines of the task that awaits it, and so on
 * to a task that nobody awaits.  This is what CPython 3.15 shows live
 * (Lib/profiling/sampling/collector.py); of several waiters the one with the
 * lowest address is followed, and the marker says how many there are.
 */
#ifndef RECORDER_TASKTELLER_H
#define RECORDER_TASKTELLER_H

#include "recorder/task.h"
#include "recorder/thread.h"
#include <pyrec/unwinder.h>

typedef struct rec_taskteller {
    rec_asyncio asyncio;
    bool known;         /* `asyncio` was found in this program */
    uint64_t looked_us; /* when it was last looked for */
    rec_tasks tasks;
    bool *awaits; /* by task: it waits for another one; scratch */
    size_t cap_awaits;
    uint32_t *frame; /* innermost first; scratch */
    size_t n_frames, cap_frames;
    struct rec_task_told *told; /* name and waiters of each, as told */
    size_t n_told, cap_told;
    pr_table by_key;
    rec_thread *ended; /* stands for the ended threads of an interpreter */
    size_t n_ended, cap_ended;
} rec_taskteller;

void rec_taskteller_release(rec_taskteller *teller);

/* The process runs another program. */
void rec_taskteller_forget(rec_taskteller *teller);

/* Sample all tasks (of opts.async_mode) once; none while asyncio is not
 * imported.  The threads of the unwinder have been listed. */
pr_code rec_taskteller_tick(rec_taskteller *teller, rec_unwinder *unwinder,
                            pr_err *err);

#endif
