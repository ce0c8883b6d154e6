/*
 * block_writer.h - an output in blocks, compressed and written by threads.
 *
 * The caller fills a block and hands it over; threads of the writer compress
 * the blocks, if the caller asks for it, and write them in order, so that
 * formatting, zlib and the kernel work at the same time.  The first call of
 * conv_block_writer_put() starts the threads: a short output has none.
 *
 * Failure  the writer keeps the first one and drops later blocks.
 */
#ifndef CONVERTER_ENCODE_BLOCK_WRITER_H
#define CONVERTER_ENCODE_BLOCK_WRITER_H

#include <stdbool.h>
#include <stddef.h>

enum { CONV_BLOCK = 256 * 1024 };

typedef struct conv_block_writer conv_block_writer;

/* The caller owns fd and closes it afterwards.  NULL: out of memory. */
conv_block_writer *conv_block_writer_new(int fd);

/* Set the threads besides the caller's, or compress, both before the first
 * block.  The default is 0 jobs; without compression one is enough. */
void conv_block_writer_use(conv_block_writer *writer, int jobs);
void conv_block_writer_compress(conv_block_writer *writer);

/* The block to fill, of CONV_BLOCK bytes; valid until it is handed over. */
char *conv_block_writer_room(conv_block_writer *writer);

/* Hand over the block, which has n bytes.  May wait for a free block. */
void conv_block_writer_put(conv_block_writer *writer, size_t n);

/* The errno of the first failure; 0: none so far. */
int conv_block_writer_failed(conv_block_writer *writer);

/* Hand over the last block, which has n bytes, write all blocks and end the
 * threads.  0 or the errno of the first failure. */
int conv_block_writer_finish(conv_block_writer *writer, size_t n);

/* Free the writer, finished or not; takes NULL. */
void conv_block_writer_free(conv_block_writer *writer);

#endif
