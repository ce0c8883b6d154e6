/*
 * limits.h - the most that a file may cost a reader, each with its reason.
 */
#ifndef FORMAT_LIMITS_H
#define FORMAT_LIMITS_H

#include "format/wire.h"

/* Records of one segment, decoded: as much as a checkpoint's body may be.
 * Writers close a segment at a few MiB. */
#define PF_RECORDS_MAX (256u << 20)

/* RFC 8878 3.1.1.2: a block takes at least 4 bytes (three of header, one of a
 * run) and holds at most 128 KiB.  A frame that claims more is not a frame of
 * zstd. */
#define PF_ZSTD_BLOCK_MIN 4u
#define PF_ZSTD_BLOCK_MAX (128u << 10)

/* Incompressible bytes grow by less than this when compressed. */
#define PF_ZSTD_BOUND(n) ((uint64_t)(n) + ((n) >> 7) + (64u << 10))

/* The window of a zstd stream that is read piece by piece: CPython 3.15 needs
 * 2 MiB, level 19 needs 8 MiB, and the memory of a reader stays below 64. */
#define PF_WINDOW_LOG_MAX 25

/* Frames of a stack: 64 MiB of ids. */
#define PF_DEPTH_MAX (1u << 24)

/* Bytes of records of a CPython file that are decompressed before they are
 * decoded: few enough to stay in the second cache beside zstd's window. */
#define PF_PIECE_SIZE (1u << 18)
/* The most such bytes, which must hold the longest record with a stack. */
#define PF_PIECE_MAX       (1u << 20)
#define PF_PIECE_DEPTH_MAX (1u << 17)
_Static_assert(PF_RECORD_SIZE + PF_VARINT_MAX + 1 + 2 * PF_VARINT_U32_MAX +
                       PF_VARINT_U32_MAX * PF_PIECE_DEPTH_MAX <=
                   PF_PIECE_MAX,
               "a record fits a piece");

/* Samples of one delta: a longer run is emitted in parts, so that the arrays of
 * times and statuses stay in the first cache. */
#define PF_RUN_MAX 2048u

/* Bytes of the index of a finished file: 3 million segments and more. */
#define PF_INDEX_MAX (64u << 20)

/* The budget of a reader unless its caller sets another.  Recorded profiles
 * expand by 3 to 60; a small file of any content may take a tenth of a
 * second. */
#define PF_MEMORY_DEFAULT    ((uint64_t)1 << 30)
#define PF_EXPANSION_DEFAULT 256u
#define PF_EXPANSION_LEAST   (16u << 20)

/* Threads of one reader that decompress at the same time. */
#define PF_JOBS_MAX 64

#endif
