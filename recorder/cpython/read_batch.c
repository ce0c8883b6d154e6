/*
 * read_batch.c - a batch of reads of the target's memory.
 */
#include "recorder/cpython/read_batch.h"

#include <base/array.h>
#include <errno.h>
#include <stdlib.h>

enum {
    BATCH_MAX_PIECES = 8192,
    BATCH_MAX_BYTES = 64 << 20 /* of one sample of one thread */
};

pr_code
rec_batch_init(rec_batch *w, rec_memory *memory, pr_err *err)
{
    *w = (rec_batch){.memory = memory};
    w->local = calloc(REC_MAX_PIECES, sizeof *w->local);
    w->remote = calloc(REC_MAX_PIECES, sizeof *w->remote);
    if (w->local && w->remote)
        return PR_OK;
    rec_batch_release(w);
    return pr_no_memory(err);
}

void
rec_batch_release(rec_batch *w)
{
    free(w->piece);
    free(w->bytes);
    free(w->local);
    free(w->remote);
    *w = (rec_batch){0};
}

void
rec_batch_reset(rec_batch *w)
{
    w->n = w->n_read = w->used = w->hint[0] = w->hint[1] = 0;
    w->calls = 0;
}

size_t
rec_batch_add(rec_batch *w, uint64_t address, size_t len)
{
    if (w->n >= BATCH_MAX_PIECES || len > BATCH_MAX_BYTES - w->used ||
        !pr_grow(&w->piece, &w->cap_piece, w->n + 1, sizeof *w->piece) ||
        !pr_grow(&w->bytes, &w->cap_bytes, w->used + len, 1))
        return REC_NO_PIECE;
    w->piece[w->n] = (rec_piece){address, w->used, (uint32_t)len, false};
    w->used += len;
    return w->n++;
}

static size_t
fill_vectors(rec_batch *w, size_t most)
{
    size_t n = 0;
    for (size_t i = w->n_read; i < w->n && n < most; i++, n++) {
        const rec_piece *p = &w->piece[i];
        w->local[n] = (struct iovec){w->bytes + p->at, p->len};
        /* an address of the other process: never followed here */
        w->remote[n].iov_len = p->len;
        memcpy(&w->remote[n].iov_base, &p->address, sizeof p->address);
    }
    return n;
}

/* Pieces arrive whole or not at all; the first that did not is skipped. */
static void
take_arrived(rec_batch *w, size_t n, size_t arrived)
{
    size_t i = 0;
    for (; i < n && w->piece[w->n_read].len <= arrived; i++) {
        arrived -= w->piece[w->n_read].len;
        w->piece[w->n_read++].there = true;
        w->pieces_there++;
    }
    if (i < n)
        w->n_read++;
}

pr_code
rec_batch_read(rec_batch *w, pr_err *err)
{
    if (w->n_read == w->n)
        return PR_OK;
    w->batches++;
    w->pieces_asked += w->n - w->n_read;
    uint32_t calls = 0;
    size_t most = REC_MAX_PIECES;
    while (w->n_read < w->n) {
        size_t n = fill_vectors(w, most);
        uint64_t address = w->piece[w->n_read].address;
        size_t len = w->piece[w->n_read].len;
        ssize_t r = rec_memory_readv(w->memory, w->local, w->remote, n);
        w->calls++;
        calls++;
        if (r < 0 && r != -EFAULT && r != -EIO)
            return rec_memory_fail(w->memory, (int)-r, address, len, err);
        take_arrived(w, n, r < 0 ? 0 : (size_t)r);
        /* a target with thousands of wild pointers makes no long calls */
        most = r > 0 ? REC_MAX_PIECES : most / 2 + most % 2;
    }
    if (calls <= 1)
        w->batches_whole++;
    else
        w->batches_missed++;
    return PR_OK;
}

const uint8_t *
rec_batch_bytes(const rec_batch *w, size_t piece)
{
    if (piece >= w->n || !w->piece[piece].there)
        return NULL;
    return w->bytes + w->piece[piece].at;
}

static const uint8_t *
bytes_in(const rec_batch *w, size_t i, uint64_t address, size_t len)
{
    const rec_piece *p = &w->piece[i];
    uint64_t from = address - p->address;
    if (!p->there || from > p->len || len > p->len - from)
        return NULL;
    return w->bytes + p->at + from;
}

/* Piece i, after hint k or in its place, becomes the first hint. */
static const uint8_t *
found_in(rec_batch *w, size_t i, size_t k, const uint8_t *p)
{
    if (k == 1)
        w->hint[1] = w->hint[0];
    w->hint[0] = i;
    return p;
}

const uint8_t *
rec_batch_find(rec_batch *w, uint64_t address, size_t len)
{
    /* the same piece again, or the next one of a list, or of another list that
     * takes turns with it */
    for (size_t k = 0; k < 2; k++) {
        size_t from = w->hint[k];
        for (size_t i = from; i < w->n && i < from + 2; i++) {
            const uint8_t *p = bytes_in(w, i, address, len);
            if (p)
                return found_in(w, i, k, p);
        }
    }
    for (size_t i = w->n; i-- > 0;) { /* the last read is right */
        const uint8_t *p = bytes_in(w, i, address, len);
        if (p)
            return found_in(w, i, 1, p);
    }
    return NULL;
}
