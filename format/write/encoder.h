/*
 * encoder.h - encode deltas into the records of one segment after another
 * (spec/format.md 4.2, 5.1).
 *
 *  E1 records[] holds whole records only.  Within a segment the first record
 *     of a thread is FULL, so a segment decodes alone.
 *  E2 Samples that repeat a thread's stack wait in its `run`, encoded; waiting
 *     bytes and those of records[] together decide when the segment ends.
 *  E3 The records of a thread keep its order: its run comes before its next
 *     other record, and all runs come before the segment ends.
 *  E4 A sample allocates nothing, except to grow a buffer.
 */
#ifndef FORMAT_WRITE_ENCODER_H
#define FORMAT_WRITE_ENCODER_H

#include "format/bytes.h"
#include <base/hash_table.h>
#include <pyrec/profile.h>
#include <pyrec/writer.h>

/* The state of one thread, from which its next record starts. */
typedef struct pf_lane {
    pf_ref ref; /* its name in records */
    uint64_t tid;
    uint32_t interp, process;
    uint32_t depth;
    uint32_t *stack; /* outermost first */
    bool is_main;
    size_t cap;
    uint64_t last_us; /* of its last sample; 0 before the first */
    uint64_t samples;
    uint64_t segment; /* number of its last segment, plus 1; 0: none */
    pf_buf run;       /* waiting (delta, status) pairs */
    uint64_t run_samples;
} pf_lane;

/* A thread's entry in BASES of the open segment (5.3). */
typedef struct pf_base {
    uint32_t lane;
    uint64_t base_us;
} pf_base;

typedef struct pf_encoder {
    /* limits */
    size_t segment_bytes;
    uint64_t checkpoint_us;
    bool one_segment; /* a plain file: stacks and times are kept */
    /* the open segment */
    pf_buf records;
    size_t waiting; /* bytes in all runs */
    uint64_t number;
    pf_base *base; /* in order of first record */
    size_t n_bases, cap_bases;
    uint64_t close_us; /* samples from here on belong to the next segment */
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

/* Give a thread the next id.  PR_INTERNAL: it has an id already; PR_LIMIT,
 * PR_NOMEM. */
pr_code pf_encoder_thread(pf_encoder *e, const pr_thread *thread, pr_err *err);

/* Free the part of an ended thread's state that only its next sample would
 * need.  PR_INTERNAL, PR_NOMEM. */
pr_code pf_encoder_leave(pf_encoder *e, uint32_t thread, pr_err *err);

/* The change of a stack by a delta; frames that the delta removes and pushes
 * again count as kept. */
typedef struct pf_change {
    const uint32_t *push; /* innermost first */
    uint32_t keep, pop, n_push;
    bool same; /* nothing changed */
} pf_change;

/* Check a delta against its thread, and make its stack the thread's.  n_frames:
 * frames emitted.  PR_INTERNAL: the caller broke a promise of sink.h; PR_LIMIT,
 * PR_NOMEM. */
pr_code pf_encoder_change(pf_encoder *e, const pr_delta *delta,
                          uint64_t n_frames, pf_change *ret, pr_err *err);

/* Put the samples of the delta from *done on into the segment, and advance
 * *done.  If it stays below delta->n, the caller closes the segment and calls
 * again.  PR_NOMEM. */
pr_code pf_encoder_put(pf_encoder *e, const pr_delta *delta,
                       const pf_change *change, uint32_t *done, pr_err *err);

/* Has the segment reached its size? */
bool pf_encoder_full(const pf_encoder *e);

/* Put the waiting runs into records[], which then is the segment.  PR_NOMEM. */
pr_code pf_encoder_flush(pf_encoder *e, pr_err *err);
/* Begin the next segment, after the caller has taken this one. */
void pf_encoder_next(pf_encoder *e);

#endif
