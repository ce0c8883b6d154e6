/*
 * gc_ring.h - garbage collections as events, from the ring CPython 3.15 keeps.
 *
 * Read-only.  Each interpreter has a block (gc.generation_stats in the table of
 * offsets) with a small ring of the last collections of every generation
 * (struct gc_stats, 3.15.2 Include/internal/pycore_interp_structs.h) and a
 * sequence number that is odd while it is written.
 */
#ifndef RECORDER_CPYTHON_GC_RING_H
#define RECORDER_CPYTHON_GC_RING_H

#include "recorder/cpython/layout.h"
#include <pyrec/sink.h>

enum { REC_GENERATIONS = 3 };

/* The known collections of one interpreter. */
typedef struct rec_gc {
    uint32_t interp;                /* its id */
    uint64_t seen[REC_GENERATIONS]; /* collections emitted or passed over */
    uint64_t lost;                  /* overwritten before they were read */
} rec_gc;

typedef pr_code (*rec_gc_emit)(void *context, const pr_gc_event *event,
                               pr_err *err);

/* Does this version keep the ring?  PR_UNSUPPORTED with the reason if not, or if
 * pyrec does not know the size of the ring. */
pr_code rec_gc_check(const rec_layout *layout, pr_err *err);

/* Emit the collections that ended since the last call, oldest first within a
 * generation; the first call emits those that the ring still holds.  Their
 * times are relative to start_us (CLOCK_MONOTONIC); collections that began
 * before it are passed over.  PR_TORN if the block changed during each read:
 * call again later. */
pr_code rec_gc_poll(rec_gc *gc, const rec_layout *layout, rec_memory *memory,
                    uint64_t interpreter, uint64_t start_us, rec_gc_emit emit,
                    void *context, pr_err *err);

#endif
