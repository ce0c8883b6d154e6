/*
 * gzip.h - a stream of bytes, compressed on several processors.
 *
 * One gzip member (RFC 1952).  Blocks are compressed apart, each with the end
 * of the one before as its dictionary, as pigz does it; every reader of gzip
 * reads the result.
 */
#ifndef CONVERTER_ENCODE_GZIP_H
#define CONVERTER_ENCODE_GZIP_H

#include <pyrec/error.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct conv_gzip conv_gzip;

/* Takes compressed bytes, in the thread that writes to the stream. */
typedef void (*conv_gzip_put)(void *context, const void *bytes, size_t len);

/* jobs: threads that compress besides the caller's; 0: the caller's alone.
 * PR_NOMEM. */
pr_code conv_gzip_new(int jobs, conv_gzip_put put, void *context,
                      conv_gzip **ret, pr_err *err);

void conv_gzip_write(conv_gzip *gzip, const void *bytes, size_t len);

/* Put the rest and free the stream.  False: zlib had no memory, and the output
 * is not whole. */
bool conv_gzip_finish(conv_gzip *gzip);

/* Free it without an output; takes NULL. */
void conv_gzip_abort(conv_gzip *gzip);

#endif
