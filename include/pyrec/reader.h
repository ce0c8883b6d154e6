/*
 * reader.h - a profile file into any sink (spec/format.md).
 *
 * Reads what pyrec writes (finished, cut, damaged) and every file of CPython
 * 3.15, in both byte orders.  Four results are kept apart: PR_FOREIGN (not a
 * profile), PR_NEWER (needs a newer reader), PR_CUT and PR_DAMAGED.
 * Memory is bounded: one segment at a time (a window of a stock file's single
 * zstd frame), plus the tables of names.
 */
#ifndef PYREC_READER_H
#define PYREC_READER_H

#include <pyrec/sink.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pf_reader pf_reader; /* opaque; one thread at a time */

typedef enum pf_state {
    PF_FINISHED = 0, /* complete */
    PF_CUT = 1,      /* ends early or was never finished; the rest is whole */
    PF_DAMAGED = 2   /* a checksum or a structure is wrong */
} pf_state;

typedef struct pf_info {
    pr_start start;
    pr_stats stats;
    pf_state state;
    uint64_t file_bytes;
    uint64_t good_bytes; /* up to the last whole checkpoint, if cut */
    uint64_t samples;    /* as the file declares; of whole segments if cut */
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
} pf_info;

/* Counters of the last replay; names as BinaryReader.get_stats(). */
typedef struct pf_reader_stats {
    uint64_t repeat_records, repeat_samples;
    uint64_t full_records, suffix_records, pop_push_records;
    uint64_t total_samples;
    uint64_t stack_reconstructions;
    uint64_t segments_read, segments_skipped, segments_damaged;
} pf_reader_stats;

typedef struct pf_replay_opts {
    size_t size;          /* sizeof(pf_replay_opts) */
    uint64_t from_us;     /* samples with from_us <= time < to_us; segments */
    uint64_t to_us;       /* outside are not read.  0 and UINT64_MAX: all */
    int jobs;             /* decoding threads; 0 or 1: in the caller's.  The
                          * sink is called from one thread at a time and sees
                          * the same calls in the same order for any number */
    pr_progress progress; /* in samples */
} pf_replay_opts;

#define PF_REPLAY_OPTS_INIT                       \
    {                                             \
        sizeof(pf_replay_opts), 0, UINT64_MAX, 0, \
        {                                         \
            NULL, NULL                            \
        }                                         \
    }

/* Open a file.  A cut or damaged file opens (ask pf_reader_info); foreign and
 * newer ones and those without any whole part do not. */
pr_code pf_reader_open(const char *path, pf_reader **ret, pr_err *err);
void pf_reader_free(pf_reader *reader); /* takes NULL */

const pf_info *pf_reader_info(const pf_reader *reader);

/* Metadata in order of key; NULL past the end. Borrowed from the reader. */
const char *pf_reader_meta(const pf_reader *reader, size_t i,
                           const char **ret_value, size_t *ret_len);

/* The counters of losses as last written; NULL past the end. */
const pr_count *pf_reader_count(const pf_reader *reader, size_t i);

/* Tell the whole profile, or a range of time, to the sink: start() to stats(),
 * without finish() or abort(), which stay the caller's.  *ret_samples (may be
 * NULL) is how many samples were told.  Returns PR_OK; PR_CUT or PR_DAMAGED
 * after telling all that is whole (err says what is missing); any other code
 * when it stopped.  May be called again. */
pr_code pf_reader_replay(pf_reader *reader, const pf_replay_opts *opts,
                         pr_sink *sink, uint64_t *ret_samples, pr_err *err);

void pf_reader_get_stats(const pf_reader *reader, pf_reader_stats *ret);

/* Read every byte and check every checksum and structure.
 * PR_OK, PR_CUT or PR_DAMAGED; err names the first fault, its offset and what
 * is lost. */
pr_code pf_reader_verify(pf_reader *reader, const pr_progress *progress,
                         pr_err *err);

#ifdef __cplusplus
}
#endif
#endif
