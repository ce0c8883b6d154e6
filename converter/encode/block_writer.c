/*
 * block_writer.c - a ring of blocks between the caller and the threads.
 *
 * The caller fills the block at `filled`, threads take the block at `taken`
 * and compress it, and the block at `written` is written next, by the thread
 * that finds it done.  All three only grow; a block is at their remainder by
 * the number of blocks.  Without threads there is one block.
 */
#include "converter/encode/block_writer.h"

#include "converter/encode/gzip.h"

#include <base/create.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N_BLOCKS = 8, JOBS_MAX = 4 };

typedef struct block {
    char *memory; /* a window, which ends where the bytes begin */
    size_t n_window, n;
    bool last, done; /* done: to be written */
    pr_buffer packed;
    conv_gzip_sum sum;
} block;

struct conv_block_writer {
    int fd;
    bool compress;
    int jobs;
    pthread_t thread[JOBS_MAX];
    int n_threads;
    pthread_mutex_t lock; /* guards all below and block.done */
    pthread_cond_t work, room;
    uint64_t filled, taken, written;
    bool writing; /* one of the threads */
    bool ending;
    _Atomic int failed;
    conv_gzip *own;    /* the caller's, without threads */
    conv_gzip_sum sum; /* of the written blocks */
    size_t n_blocks;
    block block[N_BLOCKS];
};

static block *
block_at(conv_block_writer *w, uint64_t i)
{
    return &w->block[i % w->n_blocks];
}

static char *
bytes_of(const block *b)
{
    return b->memory + CONV_GZIP_WINDOW;
}

static void
fail(conv_block_writer *w, int sys)
{
    int none = 0;
    if (sys)
        atomic_compare_exchange_strong(&w->failed, &none, sys);
}

int
conv_block_writer_failed(conv_block_writer *w)
{
    return atomic_load_explicit(&w->failed, memory_order_relaxed);
}

/* ---- one block ---- */

static void
pack(conv_block_writer *w, conv_gzip *gzip, block *b)
{
    if (!w->compress || conv_block_writer_failed(w))
        return;
    b->sum = conv_gzip_sum_of(bytes_of(b), b->n);
    if (!gzip || !conv_gzip_block(gzip, bytes_of(b), b->n, b->n_window, b->last,
                                  &b->packed))
        fail(w, ENOMEM);
}

static void
write_bytes(conv_block_writer *w, const char *bytes, size_t n)
{
    if (n && !conv_block_writer_failed(w))
        fail(w, pr_write_whole(w->fd, bytes, n));
}

static void
write_block(conv_block_writer *w, const block *b, bool first)
{
    if (!w->compress) {
        write_bytes(w, bytes_of(b), b->n);
        return;
    }
    char tail[CONV_GZIP_TAIL];
    if (first)
        write_bytes(w, conv_gzip_head, sizeof conv_gzip_head);
    write_bytes(w, b->packed.at, b->packed.len);
    conv_gzip_sum_append(&w->sum, &b->sum);
    if (b->last) {
        conv_gzip_tail(&w->sum, tail);
        write_bytes(w, tail, sizeof tail);
    }
}

/* ---- the threads ---- */

/* The next block to compress; NULL when there will be none. */
static block *
take_block(conv_block_writer *w)
{
    block *b = NULL;
    pthread_mutex_lock(&w->lock);
    while (w->taken == w->filled && !w->ending)
        pthread_cond_wait(&w->work, &w->lock);
    if (w->taken < w->filled)
        b = block_at(w, w->taken++);
    pthread_mutex_unlock(&w->lock);
    return b;
}

/* Write what is done and next in order; with the lock held. */
static void
write_done(conv_block_writer *w)
{
    w->writing = true;
    for (block *b; (b = block_at(w, w->written))->done;) {
        bool first = w->written == 0;
        pthread_mutex_unlock(&w->lock);
        write_block(w, b, first);
        pthread_mutex_lock(&w->lock);
        b->done = false;
        w->written++;
        pthread_cond_signal(&w->room);
    }
    w->writing = false;
}

static void *
run_thread(void *context)
{
    conv_block_writer *w = context;
    conv_gzip *gzip = w->compress ? conv_gzip_new() : NULL;
    for (block *b; (b = take_block(w));) {
        pack(w, gzip, b);
        pthread_mutex_lock(&w->lock);
        b->done = true;
        if (!w->writing)
            write_done(w);
        pthread_mutex_unlock(&w->lock);
    }
    conv_gzip_free(gzip);
    return NULL;
}

/* Without memory for more blocks, or without threads, the caller does it all. */
static void
start_threads(conv_block_writer *w)
{
    int jobs = w->compress || w->jobs == 0 ? w->jobs : 1;
    size_t n = 1;
    while (jobs && n < N_BLOCKS &&
           (w->block[n].memory = malloc(CONV_GZIP_WINDOW + CONV_BLOCK)))
        n++;
    if (n < N_BLOCKS)
        return;
    w->n_blocks = N_BLOCKS; /* before a thread reads it */
    for (int i = 0; i < jobs && i < JOBS_MAX; i++)
        if (pthread_create(&w->thread[w->n_threads], NULL, run_thread, w) == 0)
            w->n_threads++;
    if (w->n_threads == 0)
        w->n_blocks = 1;
}

static void
end_threads(conv_block_writer *w)
{
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    pthread_cond_broadcast(&w->work);
    pthread_mutex_unlock(&w->lock);
    for (int i = 0; i < w->n_threads; i++)
        pthread_join(w->thread[i], NULL);
    w->n_threads = 0;
}

/* ---- the caller ---- */

/* Wait until at most `rest` blocks are on their way. */
static void
wait_for_blocks(conv_block_writer *w, uint64_t rest)
{
    while (w->filled - w->written > rest)
        pthread_cond_wait(&w->room, &w->lock);
}

static void
pass_to_threads(conv_block_writer *w, bool last)
{
    pthread_mutex_lock(&w->lock);
    w->filled++;
    pthread_cond_signal(&w->work);
    wait_for_blocks(w, last ? 0 : N_BLOCKS - 1);
    pthread_mutex_unlock(&w->lock);
}

static void
do_it_here(conv_block_writer *w, block *b)
{
    if (w->compress && !w->own)
        w->own = conv_gzip_new();
    pack(w, w->own, b);
    write_block(w, b, w->filled == 0);
    w->filled++;
}

/* The next block's window is the end of this one's bytes. */
static void
begin_block(conv_block_writer *w, const block *before)
{
    block *b = block_at(w, w->filled);
    size_t n = before->n < CONV_GZIP_WINDOW ? before->n : CONV_GZIP_WINDOW;
    if (!w->compress)
        return;
    memmove(bytes_of(b) - n, bytes_of(before) + before->n - n, n);
    b->n_window = n;
}

static void
hand_over(conv_block_writer *w, size_t n, bool last)
{
    if (w->filled == 0 && !last)
        start_threads(w);
    block *b = block_at(w, w->filled);
    b->n = n;
    b->last = last;
    if (w->n_threads)
        pass_to_threads(w, last);
    else
        do_it_here(w, b);
    if (!last)
        begin_block(w, b);
}

char *
conv_block_writer_room(conv_block_writer *w)
{
    return bytes_of(block_at(w, w->filled));
}

void
conv_block_writer_put(conv_block_writer *w, size_t n)
{
    hand_over(w, n, false);
}

int
conv_block_writer_finish(conv_block_writer *w, size_t n)
{
    hand_over(w, n, true);
    end_threads(w);
    return conv_block_writer_failed(w);
}

/* ---- life ---- */

conv_block_writer *
conv_block_writer_new(int fd)
{
    conv_block_writer *w = calloc(1, sizeof *w);
    char *memory = malloc(CONV_GZIP_WINDOW + CONV_BLOCK);
    if (!w || !memory) {
        free(w);
        free(memory);
        return NULL;
    }
    w->fd = fd;
    w->n_blocks = 1;
    w->block[0].memory = memory;
    w->sum = conv_gzip_sum_of("", 0);
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->work, NULL);
    pthread_cond_init(&w->room, NULL);
    return w;
}

void
conv_block_writer_use(conv_block_writer *w, int jobs)
{
    w->jobs = jobs;
}

void
conv_block_writer_compress(conv_block_writer *w)
{
    w->compress = true;
}

void
conv_block_writer_free(conv_block_writer *w)
{
    if (!w)
        return;
    fail(w, ECANCELED); /* an unfinished one's blocks are dropped */
    end_threads(w);
    conv_gzip_free(w->own);
    for (size_t i = 0; i < N_BLOCKS; i++) {
        free(w->block[i].memory);
        pr_buffer_release(&w->block[i].packed);
    }
    pthread_mutex_destroy(&w->lock);
    pthread_cond_destroy(&w->work);
    pthread_cond_destroy(&w->room);
    free(w);
}
