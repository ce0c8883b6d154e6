/*
 * page_data.h - a profile for the scripts of the page.
 *
 * A gzip member (RFC 1952) of blocks, each its length in bytes (32 bits, least
 * significant byte first) and its content.  Block 0 is a JSON object with the
 * facts, the names and the threads; the others are columns of varints (7 bits
 * a byte, the least significant ones first, bit 7 set in all but the last
 * byte; "signed" ones in zigzag):
 *
 *   1  node        parent: own number - parent's
 *   2  node        function, signed difference to the node's before
 *   3  node        line, signed difference to the function's; of node 0: 0
 *   4  bin list    per thread: number of bins with cells
 *   5  bin list    number of bins since the one before (of a thread's first:
 *                  its number)
 *   6  bin list    number of cells
 *   7  cell        status
 *   8  cell        node, signed difference to the cell's before
 *   9  cell        samples
 *  10  cell        signed: microseconds - samples x nominal interval
 */
#ifndef CONVERTER_PAGE_PAGE_DATA_H
#define CONVERTER_PAGE_PAGE_DATA_H

#include "converter/page/page.h"

/* The compressed bytes, which the caller frees. */
pr_code conv_page_data_make(conv_page *page, uint8_t **ret, size_t *ret_len,
                            pr_err *err);

#endif
