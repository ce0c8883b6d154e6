/*
 * task_emitter.h - asyncio tasks as samples.
 *
 * Each task that no other one waits for gives one sample: its coroutines, a
 * marker with its name, the coroutines of the task that awaits it, and so on to
 * a task that no other one awaits.  CPython 3.15 shows the same live
 * (Lib/profiling/sampling/collector.py); of several waiters the one with the
 * lowest address is followed, and the marker says how many there are.
 */
#ifndef RECORDER_SAMPLE_TASK_EMITTER_H
#define RECORDER_SAMPLE_TASK_EMITTER_H

#include "recorder/cpython/asyncio_tasks.h"
#include "recorder/cpython/thread_list.h"
#include <pyrec/unwinder.h>

typedef struct rec_task_emitter {
    rec_asyncio asyncio;
    bool known;           /* `asyncio` was found in this program */
    uint64_t searched_us; /* the last search for it */
    rec_tasks tasks;
    bool *awaits; /* by task: it waits for another one; scratch */
    size_t cap_awaits;
    uint32_t *frame; /* innermost first; scratch */
    size_t n_frames, cap_frames;
    struct rec_task_emitted *emitted; /* name and waiters of each, as emitted */
    size_t n_emitted, cap_emitted;
    pr_table by_key;
} rec_task_emitter;

void rec_task_emitter_release(rec_task_emitter *emitter);

/* Sample all tasks (of opts.async_mode) once; none while asyncio is not
 * imported.  The threads of the unwinder have been listed. */
pr_code rec_task_emitter_tick(rec_task_emitter *emitter, rec_unwinder *unwinder,
                              pr_err *err);

#endif
