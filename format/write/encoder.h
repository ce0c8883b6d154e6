/*
 * encoder.h - deltas into the records of one segment after another
 * (spec/format.md 4.2, 5.1).
 *
 *  E1 records[] holds whole records only.  Within a segment the first record
 *     of a thread is FULL, so a segment decodes alone.
 *  E2 Samples that repeat a thread's stack wait in its `run` as they will be
 *     written; waiting and written bytes together end the segment.
 *  E3 Order within a thread is kept: its run is written before its next other
 *     record, and all runs before the segment ends.
 *  E4 Nothing is allocated for a sample once the buffers have grown.
 */
#ifndef FORMAT_WRITE_ENCODER_H
#define FORMAT_WRITE_ENCODER_H

#include "format/bytes.h"
#include <base/hash_table.h>
#include <pyrec/profile.h>
#include <pyrec/writer.h>

/* One thread: the state from which its next record starts. */
typedef struct pf_lane {
    pf_ref ref; /* as records name it */
    uint64_t tid;
    uint32_t interp, process;
    uint32_t depth;
    uint32_t *stack; /* outermost first */
    bool is_main;
    size_t cap;
    uint64_t last_us; /* of its last sample; 0 before the first */
    uint64_t samples;
    uint64_t segment; /* the last one with a record of it, plus 1; 0 none */
    pf_buf run;       /* waiting (delta, status) pairs */
    uint64_t run_samples;
} pf_lane;

/* A thread's entry into the open segment (5.3 BASES). */
typedef struct pf_base {
    uint32_t lane;
    uint64_t base_us;
} pf_base;

typedef struct pf_encoder {
    /* limits */
    size_t segment_bytes;
    uint64_t checkpoint_us;
    bool one_segment; /* a plain file: stacks and times go on */
    /* the open segment */
    pf_buf records;
    size_t waiting; /* bytes in all runs */
    uint64_t number;
    pf_base *base; /* in order of first record */
    size_t n_bases, cap_bases;
    uint64_t close_us; /* a sample from here on belongs to the next one */
    uint64_t first_us, last_us;
    uint64_t samples;
    /* the whole profile */
    pf_lane *lane;
    size_t n_lanes, cap_lanes;
    pr_table lanes;        /* ref to lane */
    uint32_t threads;      /* lanes with a sample */
    pf_writer_stats stats; /* of records and samples */
} pf_encoder;

void pf_encoder_init(pf_encoder *e, size_t segment_bytes,
                     uint64_t checkpoint_us, bool one_segment);
void pf_encoder_release(pf_encoder *e);

/* The next thread id.  PR_INTERNAL: this thread has one already. */
pr_code pf_encoder_thread(pf_encoder *e, const pr_thread *thread, pr_err *err);

/* A thread ended: free what only its next sample would need. */
pr_code pf_encoder_leave(pf_encoder *e, uint32_t thread, pr_err *err);

/* How a delta changes the stack, after frames that it removes and pushes again
 * are counted as kept. */
typedef struct pf_change {
    const uint32_t *push; /* innermost first */
    uint32_t keep, pop, n_push;
    bool same; /* nothing changed */
} pf_change;

/* Check a delta against the thread (PR_INTERNAL: the caller broke a promise
 * of sink.h) and make its stack the thread's.  n_frames: frames emitted. */
pr_code pf_encoder_change(pf_encoder *e, const pr_delta *delta,
                          uint64_t n_frames, pf_change *ret, pr_err *err);

/* Put the samples of the delta from *done on, and advance *done to what is
 * in.  Fewer than delta->n: close the segment and come again. */
pr_code pf_encoder_put(pf_encoder *e, const pr_delta *delta,
                       const pf_change *change, uint32_t *done, pr_err *err);

/* Is the segment as large as it should get? */
bool pf_encoder_full(const pf_encoder *e);

/* Write the runs that wait; then records[] is the segment. */
pr_code pf_encoder_flush(pf_encoder *e, pr_err *err);
/* The segment was taken: begin the next one. */
void pf_encoder_next(pf_encoder *e);

#endif
