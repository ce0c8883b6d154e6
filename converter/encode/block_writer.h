/*
 * block_writer.h - an output in blocks, compressed and written by threads.
 *
 * The caller fills a block and hands it over; threads of the writer compress
 * it, if so asked, and write the blocks in order, so that formatting, zlib and
 * the kernel work at the same time.  The first block that is handed over with
 * more to come starts the threads: a short output has none.
 *
 * Failure  the first one sticks; later blocks are dropped.
 */
#ifndef CONVERTER_ENCODE_BLOCK_WRITER_H
#define CONVERTER_ENCODE_BLOCK_WRITER_H

#include <stdbool.h>
#include <stddef.h>

enum { CONV_BLOCK = 256 * 1024 };

typedef struct conv_block_writer conv_block_writer;

/* fd is the caller's, who closes it afterwards.  NULL: out of memory. */
conv_block_writer *conv_block_writer_new(int fd);

/* Both before the first block.  jobs: threads besides the caller's; 0, as it
 * is at first: none.  Without compression one is enough. */
void conv_block_writer_use(conv_block_writer *writer, int jobs);
void conv_block_writer_compress(conv_block_writer *writer);

/* The block to fill, of CONV_BLOCK bytes; valid until it is handed over. */
char *conv_block_writer_room(conv_block_writer *writer);

/* The block has n bytes.  May wait for one that is free. */
void conv_block_writer_put(conv_block_writer *writer, size_t n);

/* The errno of the first failure; 0: none so far. */
int conv_block_writer_failed(conv_block_writer *writer);

/* The block has n bytes and is the last one: write all, end the threads.  0 or
 * the errno of the first failure. */
int conv_block_writer_finish(conv_block_writer *writer, size_t n);

/* Whether finished or not; takes NULL. */
void conv_block_writer_free(conv_block_writer *writer);

#endif
