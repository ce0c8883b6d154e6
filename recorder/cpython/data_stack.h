/*
 * data_stack.h - the data stack of one thread, read with its state.
 *
 * CPython keeps the frames of a thread in chunks of memory (struct
 * _stack_chunk, Include/cpython/pystate.h; generators and C code keep theirs
 * elsewhere).  A rec_data_stack remembers the places at which the last read
 * found the frames, so that the next read asks for all of them in one batch.
 */
#ifndef RECORDER_CPYTHON_DATA_STACK_H
#define RECORDER_CPYTHON_DATA_STACK_H

#include "recorder/cpython/read_batch.h"

/* A chunk of a thread's data stack. */
typedef struct rec_chunk {
    uint64_t address;
    uint32_t size; /* with its head */
    uint32_t want; /* bytes worth reading */
    size_t piece;
} rec_chunk;

typedef struct rec_data_stack {
    uint64_t tstate;
    uint64_t cframe;  /* 3.11, 3.12: where its cframe lay, ... */
    uint64_t below;   /* ... and the one below that, or 0 */
    uint32_t head;    /* bytes before the first frame of a chunk */
    rec_chunk *chunk; /* outermost first */
    size_t n_chunks, cap_chunks;
    size_t n_live; /* of them in use; the others were so lately */
    size_t first;  /* of the live ones, to be read ahead; mostly 0 */
    uint64_t *off; /* frames that lie elsewhere (C stack, heap) */
    size_t n_off, cap_off;
} rec_data_stack;

void rec_data_stack_release(rec_data_stack *source);

/* The words of a thread's state in one read. */
typedef struct rec_shot {
    size_t tstate; /* pieces */
    size_t cframe;
    size_t again; /* the current frame, read last */
    uint64_t current_frame;
    uint64_t outer_frame; /* 3.11, 3.12: the walk must pass it; or 0 */
} rec_shot;

/* Bytes of the thread state that rec_data_stack_add() reads. */
uint32_t rec_tstate_bytes(const rec_layout *layout);

/* Add the pieces of a thread.  With `again`, its current frame once more after
 * them all. */
bool rec_data_stack_add(rec_data_stack *source, const rec_layout *layout,
                        rec_batch *batch, bool again, rec_shot *ret);

/* After rec_batch_read(): find the current frame and read the parts of the data
 * stack that were not foreseen.  PR_TORN if the parts do not fit together. */
pr_code rec_data_stack_follow(rec_data_stack *source, const rec_layout *layout,
                              rec_batch *batch, rec_shot *shot, pr_err *err);

/* Read a live chunk that was not read ahead. */
pr_code rec_data_stack_load(rec_data_stack *source, rec_batch *batch,
                            size_t chunk, pr_err *err);

/* Index of the live chunk that holds [address, +len), or SIZE_MAX. */
size_t rec_data_stack_chunk(const rec_data_stack *source, size_t hint,
                            uint64_t address, size_t len);

/* Remember a frame off the data stack for the next read. */
void rec_data_stack_note_off(rec_data_stack *source, uint64_t address);

#endif
