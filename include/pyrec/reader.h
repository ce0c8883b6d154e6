/*
 * reader.h - emit a profile file to a sink (spec/format.md).
 *
 * The reader takes the files of pyrec (finished, cut, damaged) and every file
 * of CPython 3.15, in both byte orders.  It answers other files with PR_FOREIGN
 * (not a profile) or PR_NEWER (needs a newer reader), and profiles that are not
 * whole with PR_CUT or PR_DAMAGED.
 *
 * Memory   One segment at a time (a window of a CPython file's single zstd
 *          frame), plus the tables of names.  A budget (pf_reader_opts) bounds
 *          memory and time for a file of any content.
 * Threads  One thread at a time uses a reader; two readers are independent,
 *          also of the same file.
 */
#ifndef PYREC_READER_H
#define PYREC_READER_H

#include <pyrec/sink.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pf_reader pf_reader;

typedef enum pf_state {
    PF_FINISHED = 0, /* complete */
    PF_CUT = 1,      /* ends early or was never finished, else whole */
    PF_DAMAGED = 2   /* a checksum or a structure is wrong */
} pf_state;

typedef struct pf_info {
    pr_start start;
    pr_stats stats;
    pf_state state;
    uint64_t file_bytes;
    uint64_t good_bytes; /* up to the last whole checkpoint, if cut */
    uint64_t samples; /* of whole segments; of a CPython file, by its header */
    uint32_t threads;
    uint64_t strings, frames;
    uint64_t segments;
    uint64_t first_us, last_us; /* of the samples, if the file says */
    uint8_t compressed;         /* 1 zstd */
    uint8_t swapped;            /* 1 written in the other byte order */
    uint8_t has_checkpoints;    /* 0: a file of CPython */
    uint8_t newer_rewriter;     /* 1: read it, but leave rewriting to a newer
                                 * version, which knows what it would lose */
    uint64_t bytes_compressed, bytes_records; /* sample region; 0 not known */
    uint64_t samples_lost; /* in damaged parts or cut off: at least so many */
    uint8_t lost_is_known; /* 1: samples_lost is exact */
} pf_info;

/* Counters of the last replay; names as CPython 3.15
 * BinaryReader.get_stats(). */
typedef struct pf_reader_stats {
    uint64_t repeat_records, repeat_samples;
    uint64_t full_records, suffix_records, pop_push_records;
    uint64_t total_samples;
    uint64_t stack_reconstructions;
    uint64_t segments_read, segments_skipped, segments_damaged;
} pf_reader_stats;

typedef struct pf_replay_opts {
    size_t size;          /* sizeof(pf_replay_opts) */
    uint64_t from_us;     /* emit samples with from_us <= time < to_us, and */
    uint64_t to_us;       /* read only their segments; 0 and UINT64_MAX: all */
    int jobs;             /* threads that decompress; 0 or 1: the caller's.  The
                           * caller's thread alone calls the sink, and makes the
                           * same calls in the same order for any number */
    pr_progress progress; /* in samples */
    int with_next;        /* 1: emit also, of each thread that has samples in
                           * the range, the sample after them, which ends the
                           * time of the last one */
} pf_replay_opts;

#define PF_REPLAY_OPTS_INIT                                       \
    {                                                             \
        sizeof(pf_replay_opts), 0, UINT64_MAX, 0, {NULL, NULL}, 0 \
    }

/* The budget of a file.  A file beyond it is refused with PR_LIMIT and a
 * message that names the budget, before the memory or time is spent. */
typedef struct pf_reader_opts {
    size_t size;        /* sizeof(pf_reader_opts) */
    uint64_t memory;    /* bytes at any moment; 0: 1 GiB */
    uint64_t expansion; /* decompressed bytes per byte of the file, in all;
                         * 0: 256, or more up to the size of `memory` if that
                         * is set.  A small file may always decompress to
                         * 16 MiB */
} pf_reader_opts;

#define PF_READER_OPTS_INIT          \
    {                                \
        sizeof(pf_reader_opts), 0, 0 \
    }

/* Open a file; opts NULL: the defaults.  The caller frees *ret by
 * pf_reader_free().  A cut or damaged file opens with PR_OK, and
 * pf_reader_info() gives its state.
 * PR_FOREIGN, PR_NEWER; PR_CUT or PR_DAMAGED if no part of the file is whole;
 * PR_LIMIT beyond the budget; PR_IO; PR_USAGE for a path that is not a regular
 * file, or an option that this version does not know; PR_NOMEM. */
pr_code pf_reader_open(const char *path, const pf_reader_opts *opts,
                       pf_reader **ret, pr_err *err);
void pf_reader_free(pf_reader *reader); /* takes NULL */

/* The facts about the file, valid until the reader is freed; a replay that
 * finds damage updates them. */
const pf_info *pf_reader_info(const pf_reader *reader);

/* The i-th key of the metadata in order of key, and its value, both
 * NUL-terminated; NULL past the end.  They belong to the reader and live as
 * long as it does. */
const char *pf_reader_meta(const pf_reader *reader, size_t i,
                           const char **ret_value, size_t *ret_len);

/* The i-th process as last written, in order of index, NULL past the end: at
 * least process 0.  It belongs to the reader and lives as long as it does. */
const pr_process *pf_reader_process(const pf_reader *reader, size_t i);

/* The i-th counter as last written; NULL past the end.  It belongs to the
 * reader and lives as long as it does. */
const pr_count *pf_reader_count(const pf_reader *reader, size_t i);

/* Emit the whole profile, or a range of time, to the sink: start() to stats();
 * the caller calls finish() or abort().  *ret_samples (may be NULL) is the
 * number of samples emitted that lie in the range.  opts NULL: the whole profile.
 * Counts keep the order of P2 of sink.h and have the time of their checkpoint.
 * A lost part becomes a mark PR_MARK_LOST and counts in PR_COUNT_LOST_FILE.
 * PR_OK; PR_CUT or PR_DAMAGED after emitting all that is whole (err says what
 * is missing); PR_LIMIT beyond the budget; PR_USAGE for an option that this
 * version does not know; PR_IO, PR_NOMEM, or the sink's code.  A reader may
 * replay any number of times. */
pr_code pf_reader_replay(pf_reader *reader, const pf_replay_opts *opts,
                         pr_sink *sink, uint64_t *ret_samples, pr_err *err);

/* Counters of the last replay. */
void pf_reader_get_stats(const pf_reader *reader, pf_reader_stats *ret);

/* Read every byte and check every checksum and structure.  progress may be
 * NULL.  PR_OK; PR_CUT or PR_DAMAGED, and err names the first fault, its offset
 * and the loss; PR_LIMIT, PR_IO, PR_NOMEM. */
pr_code pf_reader_verify(pf_reader *reader, const pr_progress *progress,
                         pr_err *err);

#ifdef __cplusplus
}
#endif
#endif
