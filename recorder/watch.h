/*
 * watch.h - the collections of all interpreters, watched while recording.
 */
#ifndef RECORDER_WATCH_H
#define RECORDER_WATCH_H

#include "recorder/gc.h"
#include "recorder/thread.h"

typedef struct rec_watched {
    uint64_t address; /* of the interpreter */
    rec_gc gc;
} rec_watched;

typedef struct rec_watch {
    rec_watched *v;
    size_t n, cap;
} rec_watch;

void rec_watch_release(rec_watch *watch);

/* Tell the sink what ended since the last call; an interpreter that would not
 * hold still is asked again next time. */
pr_code rec_watch_poll(rec_watch *watch, const rec_threads_table *table,
                       uint64_t start_us, pr_sink *sink, pr_err *err);

/* Collections that were overwritten before they were read. */
uint64_t rec_watch_lost(const rec_watch *watch);

#endif
