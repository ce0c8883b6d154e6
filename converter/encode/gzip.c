/*
 * gzip.c - a ring of blocks between the writer and the threads.
 *
 * The writer fills the block at `filled`, the threads take the block at
 * `taken`, and the writer puts finished blocks in order, at `put`.  All three
 * only grow; a block is at their remainder by N_BLOCKS.
 */
#include "converter/encode/gzip.h"

#include <base/array.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LEVEL = 1, /* at 100 MB/s and more; level 6 saves a fifth, at a third of
                * the speed */
    BLOCK = 256 * 1024,
    WINDOW = 32 * 1024,
    N_BLOCKS = 6,
    JOBS_MAX = 4,
    WINDOW_BITS = -15 /* raw deflate */
};

typedef struct block {
    unsigned char window[WINDOW]; /* the end of the block before */
    size_t n_window;
    unsigned char in[BLOCK];
    size_t n_in;
    unsigned char *out;
    size_t n_out, cap_out;
    uLong crc;
    bool last, done;
} block;

struct conv_gzip {
    conv_gzip_put put_bytes;
    void *context;
    int jobs;
    pthread_t thread[JOBS_MAX];
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    uint64_t filled, taken, put;
    bool ending, failed;
    uLong crc;
    uint64_t n_bytes;
    z_stream own; /* of the caller's thread, without others */
    bool own_ready;
    block block[N_BLOCKS];
};

static block *
block_at(conv_gzip *gzip, uint64_t i)
{
    return &gzip->block[i % N_BLOCKS];
}

/* ---- one block ---- */

static bool
compress_block(z_stream *stream, block *b)
{
    b->n_out = 0;
    b->crc = crc32(crc32(0, NULL, 0), b->in, (uInt)b->n_in);
    if (deflateReset(stream) != Z_OK)
        return false;
    if (b->n_window &&
        deflateSetDictionary(stream, b->window, (uInt)b->n_window) != Z_OK)
        return false;
    /* the bound, and the empty block that ends it */
    if (!pr_grow(&b->out, &b->cap_out, deflateBound(stream, b->n_in) + 64, 1))
        return false;
    stream->next_in = b->in;
    stream->avail_in = (uInt)b->n_in;
    stream->next_out = b->out;
    stream->avail_out = (uInt)b->cap_out;
    int rc = deflate(stream, b->last ? Z_FINISH : Z_SYNC_FLUSH);
    b->n_out = b->cap_out - stream->avail_out;
    return rc == (b->last ? Z_STREAM_END : Z_OK) && stream->avail_in == 0;
}

static bool
begin_stream(z_stream *stream)
{
    memset(stream, 0, sizeof *stream);
    return deflateInit2(stream, LEVEL, Z_DEFLATED, WINDOW_BITS, 9,
                        Z_DEFAULT_STRATEGY) == Z_OK;
}

/* ---- the threads ---- */

/* The next block to compress; NULL when there will be none. */
static block *
take_block(conv_gzip *gzip)
{
    block *b = NULL;
    pthread_mutex_lock(&gzip->lock);
    while (gzip->taken == gzip->filled && !gzip->ending)
        pthread_cond_wait(&gzip->work, &gzip->lock);
    if (gzip->taken < gzip->filled)
        b = block_at(gzip, gzip->taken++);
    pthread_mutex_unlock(&gzip->lock);
    return b;
}

static void
finish_block(conv_gzip *gzip, block *b, bool good)
{
    pthread_mutex_lock(&gzip->lock);
    b->done = true;
    gzip->failed = gzip->failed || !good;
    pthread_cond_signal(&gzip->finished);
    pthread_mutex_unlock(&gzip->lock);
}

static void *
run_thread(void *context)
{
    conv_gzip *gzip = context;
    z_stream stream;
    bool ready = begin_stream(&stream);
    for (block *b; (b = take_block(gzip));)
        finish_block(gzip, b, ready && compress_block(&stream, b));
    if (ready)
        deflateEnd(&stream);
    return NULL;
}

/* ---- the writer ---- */

static void
put_block(conv_gzip *gzip, bool failed)
{
    block *b = block_at(gzip, gzip->put++);
    if (!failed)
        gzip->put_bytes(gzip->context, b->out, b->n_out);
    gzip->crc = crc32_combine(gzip->crc, b->crc, (z_off_t)b->n_in);
    gzip->n_bytes += b->n_in;
    b->done = false;
}

/* Put blocks until at most `rest` are on their way. */
static void
drain(conv_gzip *gzip, uint64_t rest)
{
    while (gzip->filled - gzip->put > rest) {
        block *b = block_at(gzip, gzip->put);
        pthread_mutex_lock(&gzip->lock);
        while (!b->done)
            pthread_cond_wait(&gzip->finished, &gzip->lock);
        bool failed = gzip->failed;
        pthread_mutex_unlock(&gzip->lock);
        put_block(gzip, failed);
    }
}

static void
start_block(conv_gzip *gzip)
{
    block *b = block_at(gzip, gzip->filled);
    b->n_in = b->n_window = 0;
    if (gzip->filled == 0)
        return;
    const block *before = block_at(gzip, gzip->filled - 1);
    b->n_window = before->n_in < WINDOW ? before->n_in : WINDOW;
    memcpy(b->window, before->in + before->n_in - b->n_window, b->n_window);
}

static void
end_block(conv_gzip *gzip, bool last)
{
    block *b = block_at(gzip, gzip->filled);
    b->last = last;
    if (gzip->jobs == 0) {
        bool good = gzip->own_ready && compress_block(&gzip->own, b);
        gzip->failed = gzip->failed || !good;
        b->done = true;
    }
    pthread_mutex_lock(&gzip->lock);
    gzip->filled++;
    pthread_cond_signal(&gzip->work);
    pthread_mutex_unlock(&gzip->lock);
    drain(gzip, last ? 0 : N_BLOCKS - 1);
    if (!last)
        start_block(gzip);
}

void
conv_gzip_write(conv_gzip *gzip, const void *bytes, size_t len)
{
    const char *at = bytes;
    while (len) {
        block *b = block_at(gzip, gzip->filled);
        size_t room = BLOCK - b->n_in, n = len < room ? len : room;
        memcpy(b->in + b->n_in, at, n);
        b->n_in += n;
        at += n;
        len -= n;
        if (b->n_in == BLOCK)
            end_block(gzip, false);
    }
}

/* ---- life ---- */

pr_code
conv_gzip_new(int jobs, conv_gzip_put put, void *context, conv_gzip **ret,
              pr_err *err)
{
    static const unsigned char header[10] = {0x1f, 0x8b, 8, 0, 0,
                                             0,    0,    0, 0, 3};
    conv_gzip *gzip = calloc(1, sizeof *gzip);
    if (!gzip)
        return pr_no_memory(err);
    gzip->put_bytes = put;
    gzip->context = context;
    pthread_mutex_init(&gzip->lock, NULL);
    pthread_cond_init(&gzip->work, NULL);
    pthread_cond_init(&gzip->finished, NULL);
    for (int i = 0; i < jobs && i < JOBS_MAX; i++)
        if (pthread_create(&gzip->thread[gzip->jobs], NULL, run_thread, gzip) ==
            0)
            gzip->jobs++;
    if (gzip->jobs == 0)
        gzip->own_ready = begin_stream(&gzip->own);
    gzip->crc = crc32(0, NULL, 0);
    put(context, header, sizeof header);
    start_block(gzip);
    *ret = gzip;
    return PR_OK;
}

static void
free_gzip(conv_gzip *gzip)
{
    pthread_mutex_lock(&gzip->lock);
    gzip->ending = true;
    pthread_cond_broadcast(&gzip->work);
    pthread_mutex_unlock(&gzip->lock);
    for (int i = 0; i < gzip->jobs; i++)
        pthread_join(gzip->thread[i], NULL);
    if (gzip->own_ready)
        deflateEnd(&gzip->own);
    pthread_mutex_destroy(&gzip->lock);
    pthread_cond_destroy(&gzip->work);
    pthread_cond_destroy(&gzip->finished);
    for (size_t i = 0; i < N_BLOCKS; i++)
        free(gzip->block[i].out);
    free(gzip);
}

bool
conv_gzip_finish(conv_gzip *gzip)
{
    unsigned char trailer[8];
    end_block(gzip, true);
    for (unsigned i = 0; i < 4; i++) {
        trailer[i] = (unsigned char)(gzip->crc >> (8 * i));
        trailer[4 + i] = (unsigned char)(gzip->n_bytes >> (8 * i));
    }
    bool good = !gzip->failed;
    if (good)
        gzip->put_bytes(gzip->context, trailer, sizeof trailer);
    free_gzip(gzip);
    return good;
}

void
conv_gzip_abort(conv_gzip *gzip)
{
    if (gzip)
        free_gzip(gzip);
}
