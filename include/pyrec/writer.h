/*
 * writer.h - a sink that writes a profile file (spec/format.md).
 *
 * The file is readable at every moment: each closed segment reaches the
 * kernel in one write together with the checkpoint that names all it uses.
 *
 * Memory   One segment, the stacks of the threads, and the tables of names.
 * Threads  One thread at a time uses a writer; two writers are independent.
 */
#ifndef PYREC_WRITER_H
#define PYREC_WRITER_H

#include <pyrec/sink.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum pf_compression {
    PF_COMPRESSION_NONE = 0, /* a plain file of CPython 3.15: no checkpoints */
    PF_COMPRESSION_ZSTD = 1
} pf_compression;

typedef struct pf_writer_opts {
    size_t size;                /* sizeof(pf_writer_opts), for growth */
    pf_compression compression; /* default zstd */
    int level;                  /* zstd level; 0: the default, 12 */
    uint32_t segment_bytes;     /* of records, uncompressed; 0: 1 MiB; at
                                 * most 16 MiB */
    uint32_t checkpoint_us;     /* longest time a segment stays open by the
                                 * samples' clock; 0: 2 s */
    int fsync;                  /* 1: survive a power cut at checkpoints */
    int force;                  /* 1: replace an existing file */
} pf_writer_opts;

#define PF_WRITER_OPTS_INIT                                        \
    {                                                              \
        sizeof(pf_writer_opts), PF_COMPRESSION_ZSTD, 0, 0, 0, 0, 0 \
    }

/* The work of the writer; names as CPython 3.15 BinaryWriter.get_stats(). */
typedef struct pf_writer_stats {
    uint64_t repeat_records, repeat_samples;
    uint64_t full_records, suffix_records, pop_push_records;
    uint64_t total_samples;
    uint64_t total_frames_written; /* frame ids in records */
    uint64_t frames_saved;         /* frame ids a record did not need */
    uint64_t bytes_written;        /* records, before compression */
    uint64_t bytes_compressed;     /* data frames, after */
    uint64_t segments;
    uint64_t file_bytes; /* in the file so far */
} pf_writer_stats;

/* Create `path` and give the sink; S1 of sink.h ends it.  opts NULL: the
 * defaults; an option that this version does not know is PR_USAGE.
 * The file must not exist (PR_EXISTS) unless opts->force, which unlinks it: its
 * content is gone with this call, except for those who have it open.  It must
 * be a regular file, since the header is completed at the end: a pipe or device
 * is PR_USAGE with a hint.  PR_IO, PR_NOMEM otherwise.
 * finish() completes the file as CPython 3.15 wants it; abort(), and a finish()
 * that fails, close the file as it is: every checkpoint stays.  A file without
 * one whole segment is removed, as is a plain one, which no reader could read.
 * A plain file has no place for metadata, processes, rates, counts, names of
 * threads, events, tasks, marks and first lines: they are dropped.
 * Calls that break a promise of sink.h are PR_INTERNAL, and values beyond a
 * limit of spec/format.md 8 are PR_LIMIT: nothing that a reader refuses is ever
 * written. */
pr_code pf_writer_open(const char *path, const pf_writer_opts *opts,
                       pr_sink **ret, pr_err *err);

/* Close the open segment now if it is older than its limit at `now_us` (the
 * samples' clock): for the idle moments of a live recording, in which no
 * sample would do it.  Cheap when nothing is due.  Codes as the sink's
 * delta(). */
pr_code pf_writer_tick(pr_sink *writer, uint64_t now_us, pr_err *err);

/* The counters so far.  The writer must not have ended. */
void pf_writer_get_stats(const pr_sink *writer, pf_writer_stats *ret);

/* Have the end of the writer store the final counters in *into, which must
 * outlive the writer. */
void pf_writer_keep_stats(pr_sink *writer, pf_writer_stats *into);

#ifdef __cplusplus
}
#endif
#endif
