/*
 * read_batch.h - bytes of the target that were read at one moment.
 *
 * A batch is a list of pieces, read with as few system calls as can be, in the
 * order in which they were added.  The caller proves that the target stood
 * still meanwhile: it adds a guard word first and last and compares them.
 */
#ifndef RECORDER_CPYTHON_READ_BATCH_H
#define RECORDER_CPYTHON_READ_BATCH_H

#include "recorder/cpython/layout.h"

#define REC_NO_PIECE SIZE_MAX

typedef struct rec_piece {
    uint64_t address;
    size_t at; /* in the batch's bytes */
    uint32_t len;
    bool there; /* it arrived */
} rec_piece;

typedef struct rec_batch {
    rec_memory *memory;
    rec_piece *piece;
    size_t n, cap_piece;
    size_t n_read; /* earlier pieces have been read or tried */
    uint8_t *bytes;
    size_t used, cap_bytes;
    size_t hint[2]; /* where rec_batch_find() found its last bytes, and those
                     * before from another piece */
    uint32_t calls; /* system calls since the reset */
    struct iovec *local, *remote;
    /* since the batch was made */
    uint64_t batches, batches_whole, batches_missed;
    uint64_t pieces_asked, pieces_there;
} rec_batch;

pr_code rec_batch_init(rec_batch *batch, rec_memory *memory, pr_err *err);
void rec_batch_release(rec_batch *batch);

/* Forget all pieces, keep the memory. */
void rec_batch_reset(rec_batch *batch);

/* Ask for `len` bytes.  REC_NO_PIECE: more than a batch may hold, or out of
 * memory. */
size_t rec_batch_add(rec_batch *batch, uint64_t address, size_t len);

/* Read the pieces that were added since the last read.  A piece that cannot be
 * read does not cost the others.  PR_OK, PR_NO_PROCESS or PR_DENIED. */
pr_code rec_batch_read(rec_batch *batch, pr_err *err);

/* The bytes of a piece; NULL if it is not there (or REC_NO_PIECE).  Valid
 * until the next rec_batch_add(). */
const uint8_t *rec_batch_bytes(const rec_batch *batch, size_t piece);

/* The bytes at an address, wherever they were read; NULL: not read. */
const uint8_t *rec_batch_find(rec_batch *batch, uint64_t address, size_t len);

#endif
