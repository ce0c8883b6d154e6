/*
 * gzip.h - blocks of one gzip member (RFC 1952), each compressed by itself.
 *
 * The dictionary of a block is the end of the block before it, as in pigz, so
 * several threads compress one member; every reader of gzip reads the result.
 */
#ifndef CONVERTER_ENCODE_GZIP_H
#define CONVERTER_ENCODE_GZIP_H

#include <base/buffer.h>
#include <stdbool.h>
#include <stddef.h>

enum { CONV_GZIP_WINDOW = 32 * 1024, CONV_GZIP_HEAD = 10, CONV_GZIP_TAIL = 8 };

/* The compressor of one thread. */
typedef struct conv_gzip conv_gzip;

conv_gzip *conv_gzip_new(void);       /* NULL: out of memory */
void conv_gzip_free(conv_gzip *gzip); /* takes NULL */

/* Compress n bytes into *out.  The dictionary is the n_window bytes before
 * them, at most CONV_GZIP_WINDOW. last: they end the member.  False: out of
 * memory. */
bool conv_gzip_block(conv_gzip *gzip, const char *bytes, size_t n,
                     size_t n_window, bool last, pr_buffer *out);

/* The fields at the end of a member, which check its content. */
typedef struct conv_gzip_sum {
    unsigned long crc;
    uint64_t n;
} conv_gzip_sum;

conv_gzip_sum conv_gzip_sum_of(const char *bytes, size_t n);
void conv_gzip_sum_append(conv_gzip_sum *sum, const conv_gzip_sum *next);

extern const char conv_gzip_head[CONV_GZIP_HEAD];
void conv_gzip_tail(const conv_gzip_sum *sum, char ret[CONV_GZIP_TAIL]);

#endif
