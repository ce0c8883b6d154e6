/*
 * gzip.c - raw deflate, a block at a time.
 */
#include "converter/encode/gzip.h"

#include <base/array.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    LEVEL = 1, /* at 100 MB/s and more; level 6 saves a fifth, at a third of
                * the speed */
    WINDOW_BITS = -15, /* raw deflate */
    MEMORY_LEVEL = 9
};

const char conv_gzip_head[CONV_GZIP_HEAD] = "\x1f\x8b\x08\0\0\0\0\0\0\x03";

struct conv_gzip {
    z_stream stream;
};

conv_gzip *
conv_gzip_new(void)
{
    conv_gzip *gzip = calloc(1, sizeof *gzip);
    if (gzip && deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, WINDOW_BITS,
                             MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(gzip);
        gzip = NULL;
    }
    return gzip;
}

void
conv_gzip_free(conv_gzip *gzip)
{
    if (gzip)
        deflateEnd(&gzip->stream);
    free(gzip);
}

/* zlib reads what its fields point to, but does not promise so with const. */
static unsigned char *
input(const char *bytes)
{
    unsigned char *p;
    memcpy(&p, &bytes, sizeof p);
    return p;
}

bool
conv_gzip_block(conv_gzip *gzip, const char *bytes, size_t n, size_t n_window,
                bool last, pr_buffer *out)
{
    z_stream *stream = &gzip->stream;
    if (deflateReset(stream) != Z_OK)
        return false;
    if (n_window && deflateSetDictionary(stream, input(bytes - n_window),
                                         (uInt)n_window) != Z_OK)
        return false;
    /* the bound, and the empty block that ends it */
    if (!pr_grow(&out->at, &out->cap, deflateBound(stream, n) + 64, 1))
        return false;
    stream->next_in = input(bytes);
    stream->avail_in = (uInt)n;
    stream->next_out = (unsigned char *)out->at;
    stream->avail_out = (uInt)out->cap;
    int rc = deflate(stream, last ? Z_FINISH : Z_SYNC_FLUSH);
    out->len = out->cap - stream->avail_out;
    return rc == (last ? Z_STREAM_END : Z_OK) && stream->avail_in == 0;
}

conv_gzip_sum
conv_gzip_sum_of(const char *bytes, size_t n)
{
    return (conv_gzip_sum){crc32(crc32(0, NULL, 0), input(bytes), (uInt)n), n};
}

void
conv_gzip_sum_append(conv_gzip_sum *sum, const conv_gzip_sum *next)
{
    sum->crc = crc32_combine(sum->crc, next->crc, (z_off_t)next->n);
    sum->n += next->n;
}

void
conv_gzip_tail(const conv_gzip_sum *sum, char ret[CONV_GZIP_TAIL])
{
    for (unsigned i = 0; i < 4; i++) {
        ret[i] = (char)(sum->crc >> (8 * i));
        ret[4 + i] = (char)(sum->n >> (8 * i));
    }
}
