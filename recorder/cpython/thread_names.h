/*
 * thread_names.h - the names of threads in the module threading.
 *
 * threading._active maps the ident of each started thread, its pthread_self(),
 * to its Thread object, whose _name is a str (Lib/threading.py, 3.11 to 3.15).
 * The dict may change during the read: an entry of another form gives no name,
 * and the kernel's name takes its place.
 */
#ifndef RECORDER_CPYTHON_THREAD_NAMES_H
#define RECORDER_CPYTHON_THREAD_NAMES_H

#include "recorder/cpython/layout.h"

/* The threads of one interpreter that threading knew at the last load. */
typedef struct rec_thread_names {
    struct rec_named *v; /* by ident */
    size_t n;
    uint64_t interp;    /* address */
    uint64_t loaded_ns; /* CLOCK_MONOTONIC; 0: never */
} rec_thread_names;

void rec_thread_names_release(rec_thread_names *names);

/* Read threading._active of the interpreter at `interp`.  PR_NAME: threading is
 * not imported there.  Names loaded before are dropped in any case. */
pr_code rec_thread_names_load(rec_thread_names *names, const rec_layout *layout,
                              rec_memory *memory, uint64_t interp, pr_err *err);

/* The name of the thread whose ident is `pthread`, UTF-8 with surrogates kept;
 * the caller frees *ret.  PR_NAME: threading did not know it. */
pr_code rec_thread_names_get(const rec_thread_names *names,
                             const rec_layout *layout, rec_memory *memory,
                             uint64_t pthread, char **ret, size_t *ret_len,
                             pr_err *err);

#endif
