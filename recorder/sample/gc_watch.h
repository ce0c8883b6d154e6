/*
 * gc_watch.h - the collections of all interpreters, watched while recording.
 */
#ifndef RECORDER_SAMPLE_GC_WATCH_H
#define RECORDER_SAMPLE_GC_WATCH_H

#include "recorder/cpython/gc_ring.h"
#include "recorder/cpython/thread_list.h"

typedef struct rec_gc_watched {
    uint64_t address; /* of the interpreter */
    rec_gc gc;
} rec_gc_watched;

typedef struct rec_gc_watch {
    rec_gc_watched *v;
    size_t n, cap;
} rec_gc_watch;

void rec_gc_watch_release(rec_gc_watch *watch);

/* Emit the collections that ended since the last call; an interpreter whose
 * ring changed during each read is read again at the next call. */
pr_code rec_gc_watch_poll(rec_gc_watch *watch, const rec_threads_table *table,
                          uint64_t start_us, pr_sink *sink, pr_err *err);

/* Collections that were overwritten before they were read. */
uint64_t rec_gc_watch_lost(const rec_gc_watch *watch);

#endif
