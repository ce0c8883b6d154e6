/*
 * wire.h - every number of spec/format.md, once, with its section.
 *
 * Numbers only: bytes.h puts bytes together and takes them apart.  An offset is
 * from the start of the structure with which its name begins.
 */
#ifndef FORMAT_WIRE_H
#define FORMAT_WIRE_H

#include <stdint.h>

/* 4.1 header */
#define PF_MAGIC   0x54414348u /* "TACH"; read as PF_HCAM: other byte order */
#define PF_HCAM    0x48434154u
#define PF_VERSION 1u
enum {
    PF_HEADER_MAGIC = 0,        /* u32 */
    PF_HEADER_VERSION = 4,      /* u32 */
    PF_HEADER_PYTHON = 8,       /* u8[3], then one unused byte */
    PF_HEADER_START = 12,       /* u64 */
    PF_HEADER_INTERVAL = 20,    /* u64 */
    PF_HEADER_SAMPLES = 28,     /* u64 */
    PF_HEADER_THREADS = 36,     /* u32 */
    PF_HEADER_STRINGS = 40,     /* u64: offset of the string table; 0 open */
    PF_HEADER_FRAMES = 48,      /* u64: offset of the frame table */
    PF_HEADER_COMPRESSION = 56, /* u32: pf_compression */
    PF_HEADER_CAPTURE = 60,     /* u32: mode + 1 and PR_CAPTURE_* */
    PF_HEADER_SIZE = 64
};
#define PF_CAPTURE_MODE_MASK 7u /* 4.1: mode + 1, 0 not known */

/* 4.2 records */
enum {
    PF_RECORD_THREAD = 0, /* u64 */
    PF_RECORD_INTERP = 8, /* u32 */
    PF_RECORD_KIND = 12,  /* u8 */
    PF_RECORD_SIZE = 13   /* the part that all kinds begin with */
};
typedef enum pf_record_kind {
    PF_REPEAT = 0,
    PF_FULL = 1,
    PF_SUFFIX = 2,
    PF_POP_PUSH = 3
} pf_record_kind;

/* 2 notation: the most bytes a varint takes */
#define PF_VARINT_MAX     10
#define PF_VARINT_U32_MAX 5

/* 4.4 frame entry: the fewest bytes, and the most that a writer uses */
#define PF_FRAME_MIN 7
#define PF_FRAME_MAX (6 * PF_VARINT_U32_MAX + 1)

/* 4.5 statistics, the form with all fields and the short one */
enum {
    PF_STATS_DURATION = 0, /* f64 */
    PF_STATS_RATE = 8,     /* f64 */
    PF_STATS_ERROR = 16,   /* f64 */
    PF_STATS_MISSED = 24,  /* f64 */
    PF_STATS_KNOWN = 32,   /* u32, then u32 reserved */
    PF_STATS_RESERVED = 36,
    PF_STATS_SIZE = 56,
    PF_STATS_SHORT_SIZE = 32, /* duration, rate, then the tail */
    /* the tail, from its own start: magic, version, size of the block */
    PF_STATS_TAIL_VERSION = 8, /* u32 */
    PF_STATS_TAIL_LENGTH = 12, /* u32 */
    PF_STATS_TAIL_SIZE = 16
};
#define PF_STATS_MAGIC   "TACHSTAT"
#define PF_STATS_VERSION 1u
enum {
    PF_STATS_KNOWN_ERROR = 1, /* the bits of `known`, as pr_stats.known */
    PF_STATS_KNOWN_MISSED = 2
};

/* 4.6 footer */
enum {
    PF_FOOTER_STRINGS = 0,   /* u32 */
    PF_FOOTER_FRAMES = 4,    /* u32 */
    PF_FOOTER_FILE_SIZE = 8, /* u64 */
    PF_FOOTER_ZERO = 16,     /* bytes(16) */
    PF_FOOTER_SIZE = 32
};

/* RFC 8878: the first bytes of a zstd data and skippable frame */
#define PF_ZSTD_MAGIC    0xfd2fb528u /* le32 */
#define PF_ZSTD_SKIP_MIN 0x184d2a50u /* to .. + 15 */

/* 5.2 checkpoint */
#define PF_CHECKPOINT_SKIP    0x184d2a5bu /* le32 */
#define PF_CHECKPOINT_MAGIC   "PRCK"
#define PF_CHECKPOINT_VERSION 1u
enum {
    PF_CHECKPOINT_LENGTH = 4, /* le32: of the rest of the frame */
    PF_CHECKPOINT_MAGIC_AT = 8,
    PF_CHECKPOINT_READ = 12,       /* u8: version that a reader needs */
    PF_CHECKPOINT_REWRITE = 13,    /* u8: version that a rewriter needs */
    PF_CHECKPOINT_FLAGS = 14,      /* u8 */
    PF_CHECKPOINT_RESERVED = 15,   /* u8 */
    PF_CHECKPOINT_CHECKSUM = 16,   /* u64 */
    PF_CHECKPOINT_NUMBER = 24,     /* u32 */
    PF_CHECKPOINT_BODY_SIZE = 28,  /* u32: decoded */
    PF_CHECKPOINT_FIRST = 32,      /* u64: checksum of checkpoint 0 */
    PF_CHECKPOINT_DATA_SIZE = 40,  /* u64 */
    PF_CHECKPOINT_DATA_CHECK = 48, /* u64 */
    PF_CHECKPOINT_SIZE = 56        /* the body follows */
};
#define PF_CHECKPOINT_ZSTD     1u           /* flags bit 0 */
#define PF_CHECKPOINT_BODY_MAX (256u << 20) /* decoded */
#define PF_SKIP_HEADER_SIZE    8            /* magic and length, le32 each */

/* 5.3 typed records of the body */
#define PF_TYPE_CRITICAL 0x40u /* a reader that does not know it refuses */
#define PF_TYPE_PRIVATE  0x80u
enum {
    PF_TYPE_THREADS = 0x06,
    PF_TYPE_META = 0x07,
    PF_TYPE_COUNTS = 0x08,
    PF_TYPE_GC = 0x09,
    PF_TYPE_TASKS = 0x0a,
    PF_TYPE_MARKS = 0x0b,
    PF_TYPE_PROCESSES = 0x0c,
    PF_TYPE_RATES = 0x0d,
    PF_TYPE_STRINGS = 0x41,
    PF_TYPE_FRAMES = 0x42,
    PF_TYPE_BASES = 0x43,
    PF_TYPE_SPAN = 0x44,
    PF_TYPE_HEADER = 0x45
};
/* The records whose entries the reader keeps as structs, with processes
 * numbered by arrival, and emits before the samples: operation of the sink,
 * struct. */
#define PF_LISTED_MAP(X) X(rate, pr_rate)

#define PF_THREAD_MAIN        1u /* THREADS flags bit 0 */
#define PF_THREAD_IDENTITY    2u /* bit 1: process, thread, interp follow */
#define PF_REF_PROCESS_INTERP UINT32_MAX /* a ref whose thread is a process */

/* 4.2: the latest time of a sample, and the latest sum of deltas */
#define PF_TIME_MAX ((UINT64_C(1) << 63) - 1)

/* 5.5 metadata */
#define PF_META_KEY_MAX 255 /* bytes; at least one */
#define PF_META_WALL    "wall_us"

/* 6 index */
#define PF_INDEX_MAGIC      "PRIX"
#define PF_INDEX_TAIL_MAGIC "PYRECIDX"
#define PF_INDEX_VERSION    1u
enum {
    PF_INDEX_READ = 4,          /* u8: version that a reader needs */
    PF_INDEX_REWRITE = 5,       /* u8 */
    PF_INDEX_RESERVED = 6,      /* u8[2] */
    PF_INDEX_CHECKSUM = 8,      /* u64 */
    PF_INDEX_HEADER_CHECK = 16, /* u64 */
    PF_INDEX_TABLES_CHECK = 24, /* u64 */
    PF_INDEX_END_CHECK = 32,    /* u64: statistics and footer */
    PF_INDEX_SIZE = 40,         /* the varints follow */
    PF_INDEX_TAIL_LENGTH = 0,   /* u64, from the start of the tail */
    PF_INDEX_TAIL_MAGIC_AT = 8,
    PF_INDEX_TAIL_SIZE = 16
};

_Static_assert(PF_HEADER_SIZE == PF_HEADER_CAPTURE + 4, "4.1");
_Static_assert(PF_RECORD_SIZE == PF_RECORD_KIND + 1, "4.2");
_Static_assert(PF_STATS_SIZE == PF_STATS_RESERVED + 4 + PF_STATS_TAIL_SIZE,
               "4.5");
_Static_assert(PF_STATS_SHORT_SIZE == 16 + PF_STATS_TAIL_SIZE, "4.5");
_Static_assert(sizeof PF_STATS_MAGIC - 1 == PF_STATS_TAIL_VERSION, "4.5");
_Static_assert(PF_FOOTER_SIZE == PF_FOOTER_ZERO + 16, "4.6");
_Static_assert(PF_CHECKPOINT_SIZE == PF_CHECKPOINT_DATA_CHECK + 8, "5.2");
_Static_assert(PF_CHECKPOINT_READ ==
                   PF_CHECKPOINT_MAGIC_AT + sizeof PF_CHECKPOINT_MAGIC - 1,
               "5.2");
_Static_assert(PF_INDEX_SIZE == PF_INDEX_END_CHECK + 8, "6");
_Static_assert(PF_INDEX_TAIL_SIZE ==
                   PF_INDEX_TAIL_MAGIC_AT + sizeof PF_INDEX_TAIL_MAGIC - 1,
               "6");

#endif
