/*
 * writer.h - a sink that writes a profile file (spec/format.md).
 *
 * The file is readable at every moment: each closed segment reaches the kernel
 * in one write with its checkpoint, and this checkpoint and earlier ones hold
 * all names that the segment uses.
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
    size_t size;                /* sizeof(pf_writer_opts) */
    pf_compression compression; /* default zstd */
    int level;                  /* zstd level; 0: the default, 12 */
    uint32_t segment_bytes;     /* of records, uncompressed; 0: 1 MiB; more
                                 * than 16 MiB count as 16 MiB */
    uint32_t checkpoint_us;     /* the longest time that a segment stays open,
                                 * by the samples' clock; 0: 2 s */
    int fsync;                  /* 1: checkpoints survive a power cut */
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
    uint64_t frames_saved;         /* frame ids that records did not need */
    uint64_t bytes_written;        /* of records, before compression */
    uint64_t bytes_compressed;     /* of data frames */
    uint64_t segments;
    uint64_t file_bytes; /* in the file so far */
} pf_writer_stats;

/* Create `path` and the sink *ret that writes it; S1 of sink.h ends the sink.
 * opts NULL: the defaults; an option that this version does not know is
 * PR_USAGE.
 * A file of that name is PR_EXISTS unless opts->force, which unlinks it: only a
 * program that has it open still reads its content.  `path` must become a
 * regular file, since the header is completed at the end: a pipe or device is
 * PR_USAGE with a hint.  PR_IO, PR_NOMEM otherwise.
 * finish() completes the file so that CPython 3.15 reads it.  abort(), and a
 * finish() that fails, leave the file with every checkpoint so far.  They
 * remove a file without a whole segment, and a plain file, which no reader
 * could read.
 * A plain file has no place for metadata, processes, rates, counts, names of
 * threads, events, tasks, marks and first lines: they are dropped.
 * A call that breaks a promise of sink.h is PR_INTERNAL, and a value beyond a
 * limit of spec/format.md 8 is PR_LIMIT: the writer never writes a file that a
 * reader refuses. */
pr_code pf_writer_open(const char *path, const pf_writer_opts *opts,
                       pr_sink **ret, pr_err *err);

/* Close the open segment if it is older than its limit at `now_us` (the
 * samples' clock).  A live recording calls this while no sample arrives that
 * would close the segment.  Cheap when nothing is due.  Codes as the sink's
 * delta(). */
pr_code pf_writer_tick(pr_sink *writer, uint64_t now_us, pr_err *err);

/* The counters so far, before finish() or abort(). */
void pf_writer_get_stats(const pr_sink *writer, pf_writer_stats *ret);

/* Let finish() or abort() store the final counters in *into, which must outlive
 * the writer. */
void pf_writer_keep_stats(pr_sink *writer, pf_writer_stats *into);

#ifdef __cplusplus
}
#endif
#endif
