/*
 * code_set.h - the memory that identifies the code objects of a thread's latest
 * stacks.
 *
 * A batch reads it together with the next stack, which mostly consists of the
 * same code objects.  Extents that lie near each other become one piece of the
 * batch: a piece of its own costs more than the bytes between two neighbours.
 */
#ifndef RECORDER_CPYTHON_CODE_SET_H
#define RECORDER_CPYTHON_CODE_SET_H

#include "recorder/cpython/read_batch.h"

typedef struct rec_extent {
    uint64_t address;
    uint32_t len;
} rec_extent;

typedef struct rec_code_set {
    rec_extent *v; /* in order of address, each address once */
    size_t n, cap;
    uint32_t asked; /* batches since the set was last emptied */
    uint32_t ahead; /* 3.14+: so many next batches should read it */
} rec_code_set;

void rec_code_set_release(rec_code_set *set);

/* Add an extent.  Without memory the set stays as it is: the extent is then
 * read when a batch lacks it. */
void rec_code_set_add(rec_code_set *set, uint64_t address, uint32_t len);

/* The batch that asked for the set lacks this extent.  If the set has it, a
 * neighbour in the same piece lies in memory that is gone: the set is
 * emptied. */
void rec_code_set_miss(rec_code_set *set, uint64_t address);

/* Add the extents to a batch.  Now and then the set empties itself afterwards,
 * so that it loses the code objects that are no longer met. */
void rec_code_set_ask(rec_code_set *set, rec_batch *batch);

#endif
