/*
 * snapshot.h - bytes of the target that were read in one window of time.
 *
 * A window is a list of pieces, read with as few system calls as can be, in
 * the order in which they were added.  What proves that the target stood
 * still meanwhile is the caller's business: he adds a guard word first and
 * last and compares.
 *
 * A rec_source remembers where the stack of one thread lay at its last look,
 * so that the next look asks for everything in one call.
 */
#ifndef RECORDER_SNAPSHOT_H
#define RECORDER_SNAPSHOT_H

#include "recorder/layout.h"

#define REC_NO_PIECE SIZE_MAX

typedef struct rec_piece {
    uint64_t address;
    size_t at; /* in the window's bytes */
    uint32_t len;
    bool there; /* it was read */
} rec_piece;

typedef struct rec_window {
    rec_memory *memory;
    rec_piece *piece;
    size_t n, cap_piece;
    size_t n_read; /* pieces before this one have been asked for */
    uint8_t *bytes;
    size_t used, cap_bytes;
    size_t hint;    /* where rec_window_find() found its last bytes */
    uint32_t calls; /* system calls since the reset */
    struct iovec *local, *remote;
    /* since the window was made */
    uint64_t batches, batches_whole, batches_missed;
    uint64_t pieces_asked, pieces_there;
} rec_window;

pr_code rec_window_init(rec_window *window, rec_memory *memory, pr_err *err);
void rec_window_release(rec_window *window);

/* Forget all pieces, keep the memory. */
void rec_window_reset(rec_window *window);

/* Ask for `len` bytes.  REC_NO_PIECE: more than a window may hold, or out of
 * memory. */
size_t rec_window_add(rec_window *window, uint64_t address, size_t len);

/* Read what was added and not yet read.  A piece that is not there does not
 * cost the others.  PR_OK, PR_NO_PROCESS or PR_DENIED. */
pr_code rec_window_read(rec_window *window, pr_err *err);

/* The bytes of a piece; NULL if it is not there (or REC_NO_PIECE).  Valid
 * until the next rec_window_add(). */
const uint8_t *rec_window_bytes(const rec_window *window, size_t piece);

/* The bytes at an address, wherever they were read; NULL: not read. */
const uint8_t *rec_window_find(rec_window *window, uint64_t address,
                               size_t len);

/* A chunk of a thread's data stack. */
typedef struct rec_chunk {
    uint64_t address;
    uint32_t size; /* with its head */
    uint32_t want; /* bytes worth reading */
    size_t piece;
} rec_chunk;

typedef struct rec_source {
    uint64_t tstate;
    uint64_t cframe;  /* 3.11, 3.12: where its cframe lay */
    rec_chunk *chunk; /* outermost first */
    size_t n_chunks, cap_chunks;
    size_t n_live; /* of them in use; the others were so lately */
    size_t first;  /* of the live ones, to be read ahead; mostly 0 */
    uint64_t *off; /* frames that lie elsewhere (C stack, heap) */
    size_t n_off, cap_off;
} rec_source;

void rec_source_release(rec_source *source);

/* What one look found in a thread's state. */
typedef struct rec_shot {
    size_t tstate; /* pieces */
    size_t cframe;
    size_t again; /* the current frame, read last */
    uint64_t current_frame;
    uint64_t outer_frame; /* 3.11, 3.12: the walk must pass it; or 0 */
} rec_shot;

/* Bytes of the thread state that rec_source_add() reads. */
uint32_t rec_tstate_bytes(const rec_layout *layout);

/* Add the pieces of a thread.  With `again`, its current frame once more
 * behind them all. */
bool rec_source_add(rec_source *source, const rec_layout *layout,
                    rec_window *window, bool again, rec_shot *ret);

/* After rec_window_read(): find the current frame and read what of the data
 * stack was not foreseen.  PR_TORN if it does not fit together. */
pr_code rec_source_follow(rec_source *source, const rec_layout *layout,
                          rec_window *window, rec_shot *shot, pr_err *err);

/* Read a live chunk that was not read ahead. */
pr_code rec_source_load(rec_source *source, rec_window *window, size_t chunk,
                        pr_err *err);

/* Index of the live chunk that holds [address, +len), or SIZE_MAX. */
size_t rec_source_chunk(const rec_source *source, size_t hint, uint64_t address,
                        size_t len);

/* Remember a frame off the data stack for the next look. */
void rec_source_note_off(rec_source *source, uint64_t address);

#endif
